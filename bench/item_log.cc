// Prints lines as a training or a conversion would: item_log ITEM BYTES. Every item prints others, and they compress no
// better than real ones do.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::uint64_t state = 0;

std::uint64_t next() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

constexpr const char* kParts[] = {"loader",   "decode",    "augment",    "forward",
                                  "backward", "optimizer", "checkpoint", "metrics"};
constexpr const char* kLevels[] = {"DEBUG", "INFO", "INFO", "INFO", "WARN"};

int format_line(char* out, std::size_t room, std::uint64_t step) {
  const std::uint64_t a = next();
  const std::uint64_t b = next();
  return std::snprintf(
      out, room, "2026-01-14T%02llu:%02llu:%02llu.%06llu %s %s step=%llu loss=%.6f lr=%.3e batch=%llx in %llu us\n",
      static_cast<unsigned long long>(step / 3600 % 24), static_cast<unsigned long long>(step / 60 % 60),
      static_cast<unsigned long long>(step % 60), static_cast<unsigned long long>(a % 1'000'000), kLevels[a >> 20 & 3],
      kParts[a >> 30 & 7], static_cast<unsigned long long>(step), static_cast<double>(b % 10'000'000) / 3e6,
      static_cast<double>(a >> 40) / 1e12, static_cast<unsigned long long>(b),
      static_cast<unsigned long long>(a >> 50));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: item_log ITEM BYTES\n", stderr);
    return 2;
  }
  const std::uint64_t item = std::strtoull(argv[1], nullptr, 10);
  std::uint64_t left = std::strtoull(argv[2], nullptr, 10);
  state = item * 0x9E3779B97F4A7C15 + 0x1234567;
  static char buffer[std::size_t{64} << 10];
  std::size_t used = 0;
  const auto flush = [&] {
    for (std::size_t at = 0; at < used;) {
      const ssize_t wrote = write(STDOUT_FILENO, buffer + at, used - at);
      if (wrote <= 0) return false;
      at += static_cast<std::size_t>(wrote);
    }
    used = 0;
    return true;
  };
  for (std::uint64_t step = item; left > 0; ++step) {
    if (sizeof buffer - used < 256 && !flush()) return 1;
    const auto size = static_cast<std::uint64_t>(format_line(buffer + used, sizeof buffer - used, step));
    used += size;
    left -= size < left ? size : left;
  }
  // What a search looks for: once in a thousand items.
  if (item % 1000 == 7)
    used += static_cast<std::size_t>(std::snprintf(buffer + used, sizeof buffer - used, "ERROR needle of item %llu\n",
                                                   static_cast<unsigned long long>(item)));
  return flush() ? 0 : 1;
}

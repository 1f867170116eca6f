#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/random.h"
#include "manifest_bench.h"
#include "measure.h"

namespace drover {

// A line is a path with 128 random bits in hexadecimal: at best a quarter of it is left after compression.
void write_list(const std::string& path, std::uint64_t items) {
  constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) give_up(errno_error(errno, path).message);
  Random random(items);
  std::string buffer;
  const auto write_out = [&] {
    for (std::size_t at = 0; at < buffer.size();) {
      const ssize_t wrote = write(descriptor, buffer.data() + at, buffer.size() - at);
      if (wrote < 0) give_up(errno_error(errno, path).message);
      at += static_cast<std::size_t>(wrote);
    }
    buffer.clear();
  };
  for (std::uint64_t i = 0; i < items; ++i) {
    fmt::format_to(std::back_inserter(buffer), "s3://scans/2026/{:02x}/{:016x}{:016x}-{:03}.jpg\n", i >> 12 & 255,
                   random.next(), random.next(), i % 1000);
    if (buffer.size() >= kWriteBytes) write_out();
  }
  write_out();
  // So that writing it back does not fall into what is timed next.
  if (fsync(descriptor) != 0 || close(descriptor) != 0) give_up(errno_error(errno, path).message);
  fmt::print("{{\"items\":{}}}\n", items);
}

}  // namespace drover

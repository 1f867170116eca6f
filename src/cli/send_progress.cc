#include "cli/send_progress.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "screen/time_words.h"

namespace drover {

SendProgress::SendProgress(const CommonFlags& flags, std::string stream, std::uint64_t total_bytes)
    : stream_(std::move(stream)), total_bytes_(total_bytes), line_(flags) {}

double SendProgress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begun_).count();
}

void SendProgress::note(std::uint64_t messages, std::uint64_t bytes, bool soon_again) {
  const double rate = messages_.note(seconds(), messages);
  bytes_.note(seconds(), bytes);
  if (!line_.wants_line(soon_again)) return;
  std::string words = fmt::format("{} sent to '{}'", plural(messages, "message"), stream_);
  if (rate > 0) words += fmt::format(" · {}/s", format_count(static_cast<std::uint64_t>(std::llround(rate))));
  if (total_bytes_ > bytes) {
    if (const auto left = bytes_.left(total_bytes_ - bytes)) words += " · " + time_left_words(*left);
  }
  line_.draw(bytes, total_bytes_, words);
}

}  // namespace drover

#include "cli/send_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "screen/bar.h"
#include "screen/styled_line.h"
#include "screen/time_words.h"

namespace drover {
namespace {

constexpr std::chrono::milliseconds kDrawEvery{100};
constexpr std::size_t kBarCells = 30;
constexpr std::size_t kNarrow = 70;  // columns; below, there is no room for the bar

}  // namespace

SendProgress::SendProgress(const CommonFlags& flags, std::string stream, std::uint64_t total_bytes)
    : stream_(std::move(stream)), total_bytes_(total_bytes) {
  if (flags.json || flags.quiet || !can_draw_on(STDERR_FILENO)) return;
  block_ = std::make_unique<LiveBlock>(STDERR_FILENO);
}

double SendProgress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begun_).count();
}

void SendProgress::note(std::uint64_t messages, std::uint64_t bytes, bool soon_again) {
  const double rate = messages_.note(seconds(), messages);
  bytes_.note(seconds(), bytes);
  if (!block_ || (soon_again && Clock::now() - drawn_ < kDrawEvery)) return;
  drawn_ = Clock::now();
  const std::size_t columns = block_->size().columns;
  const Colours colours = wanted_colours();
  StyledLine line(columns > 1 ? columns - 1 : 1, colours);
  if (total_bytes_ > 0 && columns >= kNarrow) {
    const std::uint64_t done = std::min(bytes, total_bytes_);
    line.add_as_is(draw_bar({.succeeded = done, .total = total_bytes_}, kBarCells, colours), kBarCells);
    line.add(fmt::format(" {:>3} %  ", done * 100 / total_bytes_));
  }
  line.add(fmt::format("{} sent to '{}'", plural(messages, "message"), stream_));
  if (rate > 0) line.add(fmt::format(" · {}/s", format_count(static_cast<std::uint64_t>(std::llround(rate)))));
  if (total_bytes_ > bytes) {
    if (const auto left = bytes_.left(total_bytes_ - bytes)) line.add(" · " + time_left_words(*left));
  }
  block_->draw({line.take()});
}

}  // namespace drover

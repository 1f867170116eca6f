#include "cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "screen/bar.h"
#include "screen/styled_line.h"

namespace drover {
namespace {

constexpr std::chrono::milliseconds kDrawEvery{100};
constexpr std::size_t kBarCells = 30;
constexpr std::size_t kNarrow = 70;  // columns; below, there is no room for the bar

}  // namespace

ProgressLine::ProgressLine(const CommonFlags& flags) {
  if (flags.json || flags.quiet || !can_draw_on(STDERR_FILENO)) return;
  block_ = std::make_unique<LiveBlock>(STDERR_FILENO);
}

bool ProgressLine::wants_line(bool soon_again) const {
  return block_ && (!soon_again || Clock::now() - drawn_ >= kDrawEvery);
}

void ProgressLine::draw(std::uint64_t done, std::uint64_t total, const std::string& words) {
  if (!block_) return;
  drawn_ = Clock::now();
  const std::size_t columns = block_->size().columns;
  const Colours colours = wanted_colours();
  StyledLine line(columns > 1 ? columns - 1 : 1, colours);
  if (total > 0 && columns >= kNarrow) {
    const std::uint64_t shown = std::min(done, total);
    line.add_as_is(draw_bar({.succeeded = shown, .total = total}, kBarCells, colours), kBarCells);
    line.add(fmt::format(" {:>3} %  ",
                         static_cast<std::uint64_t>(static_cast<double>(shown) * 100 / static_cast<double>(total))));
  }
  line.add(words);
  block_->draw({line.take()});
}

}  // namespace drover

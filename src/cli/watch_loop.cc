#include "cli/watch_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "screen/full_screen.h"
#include "screen/layout.h"
#include "screen/live_block.h"
#include "screen/time_words.h"

namespace drover {
namespace {

constexpr double kEvery_s = 1;

}  // namespace

double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<int> watch(const CommonFlags& common, Scene& scene) {
  if (common.json || common.quiet) {
    return fail(ErrorCode::bad_input, "--watch cannot be combined with --json or --quiet",
                "omit --watch, and repeat the command as often as needed");
  }
  if (!can_draw_on(STDOUT_FILENO)) {
    return fail(ErrorCode::bad_input, "--watch requires a terminal as standard output",
                "omit --watch; in scripts, use --json");
  }
  // What cannot be seen even once is an error like any other.
  if (auto first = scene.fetch(); !first) return pass(first);
  FullScreen screen(STDIN_FILENO, STDOUT_FILENO);
  std::string trouble;
  double answered_s = steady_s();
  double due_s = steady_s() + kEvery_s;
  while (true) {
    screen.draw(scene.lines(screen.size(), trouble));
    const int left_ms = std::max(1, static_cast<int>((due_s - steady_s()) * 1000));
    const FullScreen::Event event = screen.wait(left_ms);
    if (event == FullScreen::Event::quit) return kAllSucceeded;
    if (event == FullScreen::Event::resized) continue;
    auto fetched = scene.fetch();
    if (fetched) answered_s = steady_s();
    trouble = fetched ? ""
                      : fmt::format("no response for {}: {}", duration_words(steady_s() - answered_s),
                                    fetched.error().message);
    due_s = steady_s() + kEvery_s;
  }
}

std::vector<std::string> whole_screen(RunView view, ScreenSize size, const std::string& trouble) {
  if (!trouble.empty()) view.state_note = trouble;
  std::vector<std::string> lines = lay_out_whole(view, {size.columns, size.rows - 1}, wanted_colours());
  StyledLine last(std::max<std::size_t>(size.columns, 2) - 1, wanted_colours());
  last.add("q: quit", Style::faint);
  if (size.rows > 1) lines.push_back(last.take());
  return lines;
}

}  // namespace drover

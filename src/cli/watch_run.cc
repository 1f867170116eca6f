#include <fmt/format.h>

#include <algorithm>

#include "cli/opened_run.h"
#include "cli/watch.h"
#include "cli/watch_loop.h"
#include "engine/system_clock.h"
#include "screen/recent_rate.h"
#include "worker/run_summary.h"

namespace drover {
namespace {

class RunScene : public Scene {
 public:
  RunScene(const CommonFlags& common, std::string reference) : common_(common), reference_(std::move(reference)) {}

  Result<void> fetch() override {
    auto run = open_run(common_, reference_);
    if (!run) return pass(run);
    if (auto whole = refuse_item(run->reference); !whole) return whole;
    reference_ = run->folder.name();  // the newest stays the one that is watched
    const auto running = run->running();
    auto counts = count_items(*run->reader, run->job, running.size());
    if (!counts) return pass(counts);
    const Job& job = run->job;
    const std::int64_t until_ms = job.ended() ? job.ended_ms : SystemWallClock().epoch_ms();
    RunView view{.name = run->folder.name(), .total = job.total};
    view.succeeded = counts->succeeded;
    view.failed = counts->failed;
    view.cancelled = counts->cancelled;
    view.running = counts->running;
    view.waiting = counts->waiting;
    view.pending = counts->pending;
    view.elapsed_s = static_cast<double>(until_ms - job.created_ms) / 1000;
    view.rate = rate_.note(steady_s(), view.succeeded + view.failed + view.cancelled);
    view.left = rate_.left(view.running + view.waiting + view.pending);
    for (const auto& [item, it] : running) {
      view.longest.push_back({item, static_cast<std::uint32_t>(it.attempt), "", it.seconds});
    }
    std::ranges::sort(view.longest, std::greater{}, &RunView::RunningItem::seconds);
    if (job.ended()) {
      view.state_note = fmt::format("{}{}{}", to_string(job.state), job.reason.empty() ? "" : ": ", job.reason);
    } else if (!run->holder) {
      view.state_note = fmt::format("stopped; resume with: drover resume {}", run->folder.name());
    }
    view_ = std::move(view);
    return {};
  }

  std::vector<std::string> lines(ScreenSize size, const std::string& trouble) const override {
    return whole_screen(view_, size, trouble);
  }

 private:
  const CommonFlags common_;
  std::string reference_;
  RecentRate rate_;
  RunView view_;
};

}  // namespace

Result<int> watch_run(const CommonFlags& common, const std::string& reference) {
  RunScene run(common, reference);
  return watch(common, run);
}

}  // namespace drover

#include "cli/wait_for_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <thread>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "cli/server_job.h"
#include "wire/views.h"
#include "worker/run_summary.h"

namespace drover {
namespace json = boost::json;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{1'000};
constexpr std::chrono::milliseconds kLongestLook{20'000};

/// Pauses between two looks that become longer.
class Pauses {
 public:
  explicit Pauses(const WaitLimits& limits) : deadline_(limits.deadline) {}

  bool is_time_up() const { return deadline_ && Clock::now() >= *deadline_; }
  /// How long a look may take.
  std::int64_t look_ms() const {
    if (!deadline_) return kLongestLook.count();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
    return std::clamp(left, std::chrono::milliseconds{1}, kLongestLook).count();
  }
  /// False: the time is up.
  bool next() {
    const auto now = Clock::now();
    if (deadline_ && now >= *deadline_) return false;
    auto pause = std::chrono::duration_cast<Clock::duration>(pause_);
    if (deadline_) pause = std::min(pause, *deadline_ - now);
    std::this_thread::sleep_for(pause);
    pause_ = std::min(pause_ * 2, kLongestPause);
    return true;
  }

 private:
  const std::optional<Clock::time_point> deadline_;
  std::chrono::milliseconds pause_ = kFirstPause;
};

int report_timeout(const WaitLimits& limits, const std::string& what) {
  if (!limits.common.quiet) print_notice(fmt::format("{} did not end within the time set by --timeout", what));
  return kTimedOut;
}

std::string counts_text(std::uint64_t succeeded, std::uint64_t failed, std::uint64_t cancelled, std::uint64_t total) {
  std::string out = fmt::format("{} succeeded, {} failed", format_count(succeeded), format_count(failed));
  if (cancelled > 0) out += fmt::format(", {} cancelled", format_count(cancelled));
  return out + fmt::format(" of {}", plural(total, "item"));
}

/// The run's job if it has been accepted, and whether a process holds the run. The holder is looked for first: one
/// that ends in between has recorded the end of the job.
struct Seen {
  bool is_held = false;
  std::optional<Job> job;
  ItemCounts counts;
};

Result<Seen> look_at_run(const CommonFlags& common, const std::string& name) {
  auto folder = RunFolder::look(data_root(common.data), name);
  if (!folder) return pass(folder);
  Seen seen{.is_held = folder->holder().has_value(), .job = {}, .counts = {}};
  auto run = open_run(common, name);
  if (!run && seen.is_held) return seen;  // its list is still being read
  if (!run) return pass(run);
  auto counts = count_items(*run->reader, run->job, 0);
  if (!counts) return pass(counts);
  seen.job = std::move(run->job);
  seen.counts = *counts;
  return seen;
}

}  // namespace

Result<int> wait_for_run(const WaitLimits& limits, const std::string& reference) {
  const CommonFlags& common = limits.common;
  auto which = resolve(data_root(common.data), reference);
  if (!which) return pass(which);
  if (auto whole = refuse_item(*which); !whole) return pass(whole);
  Pauses pauses(limits);
  while (true) {
    auto seen = look_at_run(common, which->run);
    if (!seen) return pass(seen);
    const std::optional<Job>& known = seen->job;
    if (known && known->ended()) {
      const Job& job = *known;
      const ItemCounts& counts = seen->counts;
      tell(common, job_to_json(job, counts),
           fmt::format("run '{}' {}: {}", which->run, to_string(job.state),
                       counts_text(counts.succeeded, counts.failed, counts.cancelled, job.total)));
      return job.state == JobState::succeeded ? kAllSucceeded : kSomeDidNot;
    }
    if (known && !seen->is_held) {
      const std::uint64_t left = seen->counts.pending + seen->counts.waiting + seen->counts.running;
      print_error({ErrorCode::conflict, fmt::format("run '{}' is stopped: {} left", which->run, plural(left, "item")),
                   fmt::format("continue it: drover resume {}", which->run)});
      return kSomeDidNot;
    }
    if (!pauses.next()) return report_timeout(limits, fmt::format("run '{}'", which->run));
  }
}

Result<int> wait_for_job(ServerClient& client, const WaitLimits& limits, const std::string& job, JobIs job_is) {
  const CommonFlags& common = limits.common;
  Pauses pauses(limits);
  std::string name = job;
  std::string id = job;
  bool was_away = false;
  while (true) {
    auto answer = client.get_soon(job_path(id), pauses.look_ms());
    if (!answer && pauses.is_time_up()) return report_timeout(limits, fmt::format("job '{}'", name));
    if (!answer && (job_is == JobIs::to_be_found || !may_answer_later(answer.error()))) return pass(answer);
    if (!answer && !was_away && !common.quiet) {
      print_notice(fmt::format("{}; waiting for the server", answer.error().message));
    }
    was_away = !answer;
    if (answer) {
      job_is = JobIs::known;
      name = text_in(*answer, "name");
      id = text_in(*answer, "id");
      const std::string state = text_in(*answer, "state");
      if (state == "succeeded" || state == "failed" || state == "cancelled") {
        const json::value counts = object_in(*answer, "counts");
        tell(common, *answer,
             fmt::format("job '{}' {}: {}", name, state,
                         counts_text(number_in(counts, "succeeded"), number_in(counts, "failed"),
                                     number_in(counts, "cancelled"), number_in(*answer, "total"))));
        return state == "succeeded" ? kAllSucceeded : kSomeDidNot;
      }
    }
    if (!pauses.next()) return report_timeout(limits, fmt::format("job '{}'", name));
  }
}

}  // namespace drover

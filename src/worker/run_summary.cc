#include "worker/run_summary.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/text.h"

namespace drover {
namespace {

std::string failure_kind(const Attempt& attempt) {
  switch (attempt.ending) {
    case Ending::exited: return concat("exit code ", attempt.exit_code.value_or(0));
    case Ending::signalled: {
      const int signal = attempt.signal.value_or(0);
      const char* name = sigabbrev_np(signal);
      return concat("signal ", signal, name != nullptr ? concat(" (SIG", name, ")") : "");
    }
    case Ending::timed_out: return "timed out";
    case Ending::not_started: return "could not start";
    case Ending::stopped: return "stopped";
    case Ending::lost: return "lost";
  }
  return "unknown";
}

}  // namespace

Result<ItemCounts> count_items(StoreReader& reader, const Job& job, std::uint64_t running) {
  ItemCounts counts{.succeeded = job.succeeded, .failed = job.failed, .cancelled = job.cancelled};
  if (job.ended()) {
    counts.cancelled = job.total - job.succeeded - job.failed;
    return counts;
  }
  auto read = reader.each_open_item(job.id, [&](const OpenItem& item) { counts.waiting += item.waiting() ? 1 : 0; });
  if (!read) return pass(read);
  const std::uint64_t left = job.total - job.succeeded - job.failed - job.cancelled;
  counts.waiting = std::min(counts.waiting, left);
  counts.running = std::min(running, left - counts.waiting);
  counts.pending = left - counts.waiting - counts.running;
  return counts;
}

Result<std::string> example_text(StoreReader& reader, JobId job, const FailureGroup& group) {
  auto output = reader.output(job, group.example, group.example_attempt);
  if (!output) return pass(output);
  const AttemptOutput printed = output->value_or(AttemptOutput{});
  std::string_view text = printed.stderr_tail;
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  text.remove_prefix(text.find_last_of('\n') + 1);
  return text.empty() ? group.example_reason : std::string(text);
}

Result<RunSummary> summarize(StoreReader& reader, JobId job) {
  RunSummary summary;
  std::map<std::string, FailureGroup> groups;
  auto read = reader.each_attempt(job, ItemIndex{0}, [&](const Attempt& attempt) {
    ++summary.attempts;
    summary.cpu_us += attempt.user_us + attempt.system_us;
    if (attempt.ending != Ending::not_started && attempt.ending != Ending::lost) {
      summary.wall_us.add(attempt.wall_us);
      summary.memory_kib.add(attempt.peak_memory_kib);
    }
    if (!attempt.settled || attempt.state != AttemptState::failed) return true;
    FailureGroup& group = groups[failure_kind(attempt)];
    if (group.items++ == 0) {
      group.example = attempt.item;
      group.example_attempt = attempt.attempt;
      group.example_reason = attempt.reason;
    }
    return true;
  });
  if (!read) return pass(read);
  for (auto& [what, group] : groups) {
    group.what = what;
    summary.failures.push_back(std::move(group));
  }
  std::ranges::stable_sort(summary.failures, std::ranges::greater{}, &FailureGroup::items);
  return summary;
}

}  // namespace drover

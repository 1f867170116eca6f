#include "worker/run_summary.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/text.h"
#include "screen/shape.h"

namespace drover {
namespace {

// Of kinds of failures there are few. Should every item fail in its own way, those beyond are put together.
constexpr std::size_t kMostGroups = 1000;

}  // namespace

Result<ItemCounts> count_items(StoreReader& reader, const Job& job, std::uint64_t running) {
  ItemCounts counts{.succeeded = job.succeeded, .failed = job.failed, .cancelled = job.cancelled};
  if (job.ended()) {
    counts.cancelled = job.total - job.succeeded - job.failed;
    return counts;
  }
  auto read =
      reader.each_open_item(job.id, {}, [&](const OpenItem& item) { counts.waiting += item.waiting() ? 1 : 0; });
  if (!read) return pass(read);
  const std::uint64_t left = job.total - job.succeeded - job.failed - job.cancelled;
  counts.waiting = std::min(counts.waiting, left);
  counts.running = std::min(running, left - counts.waiting);
  counts.pending = left - counts.waiting - counts.running;
  return counts;
}

Result<RunSummary> summarize(StoreReader& reader, JobId job) {
  RunSummary summary;
  std::map<std::pair<std::string, std::string>, FailureGroup> groups;
  auto read = reader.each_attempt(job, ItemIndex{0}, [&](const Attempt& attempt) {
    ++summary.attempts;
    summary.cpu_us += attempt.user_us + attempt.system_us;
    summary.read_bytes += attempt.read_bytes;
    summary.written_bytes += attempt.written_bytes;
    summary.log_bytes += attempt.log.bytes;
    if (attempt.ending != Ending::not_started && attempt.ending != Ending::lost) {
      summary.wall_us.add(attempt.wall_us);
      summary.memory_kib.add(attempt.peak_memory_kib);
    }
    if (!attempt.settled || attempt.state != AttemptState::failed) return true;
    std::pair key(failure_kind(attempt.ending, attempt.exit_code.value_or(0), attempt.signal.value_or(0)),
                  shape_of(attempt.log.last_line));
    if (groups.size() >= kMostGroups && !groups.contains(key)) key = {"other ways", ""};
    FailureGroup& group = groups[key];
    if (group.items++ == 0) {
      group.example = attempt.item;
      group.example_attempt = attempt.attempt;
      group.example_text = attempt.log.last_line.empty() ? attempt.reason : attempt.log.last_line;
    }
    return true;
  });
  if (!read) return pass(read);
  for (auto& [key, group] : groups) {
    group.what = key.first;
    group.shape = key.second;
    summary.failures.push_back(std::move(group));
  }
  std::ranges::stable_sort(summary.failures, std::ranges::greater{}, &FailureGroup::items);
  return summary;
}

}  // namespace drover

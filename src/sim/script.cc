#include "sim/script.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "sim/happenings/groups.h"
#include "sim/saturated.h"
#include "sim/script_draft.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

void write_faults(ScriptDraft& draft, const std::vector<std::unique_ptr<ScriptWriter>>& writers, std::int64_t from_ms) {
  const std::uint64_t faults = 1 + draft.random.below(8);
  for (std::uint64_t i = 0; i < faults; ++i) {
    const std::int64_t at_ms = from_ms + draft.between(0, kHour - 1);
    const std::size_t worker = draft.any_worker();
    const std::uint64_t roll = draft.random.below(ScriptWriter::kRolls);
    const bool is_written =
        std::ranges::any_of(writers, [&](const auto& it) { return it->write_fault(roll, at_ms, worker); });
    DROVER_CHECK(is_written, "each roll stands for a fault");
  }
}

Script write_script(std::uint64_t seed, std::int64_t hours) {
  ScriptDraft draft(seed, hours);
  std::vector<std::unique_ptr<ScriptWriter>> writers;
  for (const HappeningGroup& group : happening_groups()) writers.push_back(group.make_writer(draft));
  for (const auto& writer : writers) writer->write_beginning();
  for (std::int64_t from_ms = 0; from_ms < draft.script.length_ms; from_ms += kHour) {
    for (const auto& writer : writers) writer->write_hour(from_ms);
    write_faults(draft, writers, from_ms);
  }
  for (const auto& writer : writers) writer->write_end();
  std::ranges::stable_sort(draft.script.events, {}, &ScriptEvent::at_ms);
  return std::move(draft.script);
}

}  // namespace

Script make_script(std::uint64_t seed, std::int64_t hours) {
  return seed % 64 == 16 ? make_saturated(seed, hours) : write_script(seed, hours);
}

}  // namespace drover::sim

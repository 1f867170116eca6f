// What must hold of jobs and their items.
#include <algorithm>

#include "base/text.h"
#include "core/sanity.h"

namespace drover {
namespace {

class JobsInspection : Inspection {
 public:
  JobsInspection(const Core& core, Faults& faults) : Inspection(core, faults) {}

  void inspect() {
    for (const auto& [id, job] : durable_.jobs) inspect_job(job);
    for (const auto& [key, item] : durable_.open_items) inspect_open(item);
    inspect_waiting();
  }

 private:
  void inspect_job(const Job& job) {
    const ItemBlocks* blocks = durable_.find_blocks(job.id);
    inspect_need_of_blocks(job, blocks != nullptr);
    if (blocks != nullptr) inspect_blocks(job, *blocks);
    expect(job.failed_before <= job.failed, "job ", job.id.value, ": more old failures than failures");
    expect(job.id.value < durable_.counters.next_job, "job ", job.id.value, ": numbered ahead of the counter");

    bool all_settled = !job.reopening && job.succeeded + job.failed + job.cancelled == job.total;
    if (!job.stream.empty()) all_settled = all_settled && job.until_empty && is_empty(job.stream);
    const JobInHands& in_hands = volatile_.in_hands.at(job.id);
    if (job.ended()) {
      expect(in_hands.grants.empty(), "job ", job.id.value, ": ended with grants");
      // Others may have sent messages since.
      const bool was_settled = job.stream.empty() ? all_settled : job.until_empty;
      expect(was_settled || job.stop != StopCause::none, "job ", job.id.value, ": ended with items left");
      expect(job.ended_ms != 0 || now_ms_ == 0, "job ", job.id.value, ": ended at no time");
      expect(!job.reopening, "job ", job.id.value, ": ended with a retry under way");
    } else {
      const bool is_to_hear = !job.stream.empty() && !volatile_.changed_streams.empty();
      expect(!all_settled || job.state == JobState::pending || is_to_hear, "job ", job.id.value,
             ": all is settled but it goes on");
      expect(job.stop == StopCause::none || !in_hands.grants.empty(), "job ", job.id.value, ": stopped but not ended");
    }
    expect(volatile_.runnable.contains(job.id) != job.ended(), "job ", job.id.value, ": wrongly in the runnable set");

    std::set<GrantId> grants;
    for (const auto& [id, grant] : durable_.grants) {
      if (grant.job == job.id) grants.insert(id);
    }
    expect(grants == in_hands.grants, "job ", job.id.value, ": its index of grants is off");
  }

  bool is_empty(const std::string& stream) const {
    const auto id = volatile_.stream_by_name.find(stream);
    return id == volatile_.stream_by_name.end() ||
           (durable_.messages.at(id->second).open.empty() && volatile_.streams_now.at(id->second).untouched == 0);
  }

  // Of an ended job, blocks are kept for those that go item by item after it.
  void inspect_need_of_blocks(const Job& job, bool are_here) {
    std::uint64_t followers = 0;
    for (const auto& [id, other] : durable_.jobs) {
      if (other.ended()) continue;
      followers += static_cast<std::uint64_t>(
          std::ranges::count_if(other.after, [&](const Dependency& it) { return it.each && it.job == job.id; }));
    }
    expect(volatile_.jobs.at(job.id).item_dependents == followers, "job ", job.id.value, ": ",
           volatile_.jobs.at(job.id).item_dependents, " jobs are counted that go item by item after it, not ",
           followers);
    if (!job.ended()) return expect(are_here, "job ", job.id.value, ": has not ended and has no blocks");
    const auto& waiting = volatile_.maybe_unneeded;  // while a command waits for marks
    const bool is_to_go = std::ranges::find(waiting, job.id) != waiting.end();
    expect(!are_here || is_to_go || (followers > 0 && job.state != JobState::succeeded), "job ", job.id.value,
           ": has ended, and its blocks are kept for nobody");
  }

  void inspect_blocks(const Job& job, const ItemBlocks& blocks) {
    const JobIndex& index = volatile_.jobs.at(job.id);
    expect(blocks.total() == job.total, "job ", job.id.value, ": blocks of another size");
    expect(blocks.count(ItemMark::succeeded) == job.succeeded, "job ", job.id.value, ": succeeded ", job.succeeded,
           " but its blocks say ", blocks.count(ItemMark::succeeded));
    expect(blocks.count(ItemMark::ended) == job.failed + job.cancelled, "job ", job.id.value, ": failed and cancelled ",
           job.failed + job.cancelled, " but its blocks say ", blocks.count(ItemMark::ended));
    const auto first_pending = blocks.find(ItemMark::pending, ItemIndex{0});
    expect(!first_pending || *first_pending >= index.pending_from, "job ", job.id.value,
           ": an untouched item would be passed over");
    inspect_open_marks(job, blocks);
  }

  // Each open item without a row is covered by exactly one grant.
  void inspect_open_marks(const Job& job, const ItemBlocks& blocks) {
    std::map<std::uint64_t, int> begins_and_ends;
    for (const GrantId id : volatile_.in_hands.at(job.id).grants) {
      const Grant& grant = durable_.grants.at(id);
      ++begins_and_ends[grant.first.value];
      --begins_and_ends[grant.first.value + grant.count];
    }
    auto change = begins_and_ends.begin();
    int covering = 0;
    auto at = blocks.find(ItemMark::open, ItemIndex{0});
    for (; at; at = blocks.find(ItemMark::open, ItemIndex{at->value + 1})) {
      for (; change != begins_and_ends.end() && change->first <= at->value; ++change) covering += change->second;
      if (durable_.find_open(job.id, *at) != nullptr) continue;
      expect(covering == 1, "item ", job.id.value, ":", at->value, ": open without a row, covered by ", covering,
             " grants");
    }
  }

  void inspect_open(const OpenItem& item) {
    const std::string name = concat("item ", item.job.value, ":", item.item.value);
    const ItemBlocks* blocks = durable_.find_blocks(item.job);
    expect(blocks == nullptr || blocks->get(item.item) == ItemMark::open, name, ": has a row but is not open");
    expect(item.tries + item.losses <= item.attempts, name, ": more tries and losses than attempts");
    expect(!item.counted || item.attempts > 0, name, ": runs as attempt 0");
    if (item.waiting()) {
      expect(!item.counted, name, ": waits and runs");
      const JobIndex& index = volatile_.jobs.at(item.job);
      const bool ready = index.ready.contains(item.item);
      const bool sheltered = index.sheltered.contains(item.item);
      const bool delayed = volatile_.delayed.contains({item.not_before_ms, item.job, item.item});
      expect(int{ready} + int{sheltered} + int{delayed} == 1, name,
             ": waits but is not exactly once in a waiting list");
      const SpotRules& spot = durable_.jobs.at(item.job).spot;
      const std::int64_t shelter_end_ms = item.not_before_ms + spot.on_demand_after_ms;
      expect(volatile_.shelter_ends.contains({shelter_end_ms, item.job, item.item}) == sheltered, name,
             ": kept from spot machines until no time, or another");
    } else {
      const auto grant = durable_.grants.find(item.grant);
      expect(grant != durable_.grants.end() && grant->second.job == item.job && grant->second.covers(item.item), name,
             ": held by grant ", item.grant.value, ", which does not cover it");
    }
  }

  void inspect_waiting() {
    std::size_t waiting = 0;
    for (const auto& [key, item] : durable_.open_items) waiting += item.waiting() ? 1 : 0;
    std::size_t listed = volatile_.delayed.size();
    std::size_t sheltered = 0;
    std::size_t delayed = 0;
    for (const auto& [id, index] : volatile_.jobs) {
      sheltered += index.sheltered.size();
      delayed += index.delayed;
    }
    expect(volatile_.delayed.size() == delayed, "delayed items: ", volatile_.delayed.size(), " but ", delayed,
           " in their jobs");
    expect(volatile_.shelter_ends.size() == sheltered, "sheltered items: ", sheltered, " but ",
           volatile_.shelter_ends.size(), " ends");
    for (const auto& [id, index] : volatile_.jobs) listed += index.ready.size() + index.sheltered.size();
    expect(waiting == listed, "waiting items: ", waiting, " rows but ", listed, " in the lists");
    expect(volatile_.grant_left.size() == durable_.grants.size(), "grants: index of another size");
  }
};

}  // namespace

void inspect_jobs(const Core& core, Faults& faults) {
  JobsInspection(core, faults).inspect();
}

}  // namespace drover

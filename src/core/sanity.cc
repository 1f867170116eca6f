#include "core/sanity.h"

#include <algorithm>

#include "base/text.h"

namespace drover {
namespace {

/// Recounts everything from the durable part and holds the rest against it.
class Inspector {
 public:
  explicit Inspector(const Core& core) : durable_(core.durable()), volatile_(core.volatile_part()) {}

  std::optional<std::string> inspect() {
    for (const auto& [id, job] : durable_.jobs) inspect_job(job);
    for (const auto& [key, item] : durable_.open_items) inspect_open(item);
    for (const auto& [id, grant] : durable_.grants) inspect_grant(grant);
    inspect_waiting();
    inspect_sessions();
    inspect_schedule();
    return fault_;
  }

 private:
  template <class... Parts>
  void expect(bool holds, const Parts&... what) {
    if (!holds && !fault_) fault_ = concat(what...);
  }

  void inspect_job(const Job& job) {
    const ItemBlocks* blocks = durable_.find_blocks(job.id);
    inspect_need_of_blocks(job, blocks != nullptr);
    if (blocks != nullptr) inspect_blocks(job, *blocks);
    expect(job.failed_before <= job.failed, "job ", job.id.value, ": more old failures than failures");
    expect(job.id.value < durable_.counters.next_job, "job ", job.id.value, ": numbered ahead of the counter");

    const bool all_settled = !job.reopening && job.succeeded + job.failed + job.cancelled == job.total;
    const JobIndex& index = volatile_.jobs.at(job.id);
    if (job.ended()) {
      expect(index.grants.empty(), "job ", job.id.value, ": ended with grants");
      expect(all_settled || job.stop != StopCause::none, "job ", job.id.value, ": ended with items left");
      expect(job.ended_ms != 0 || volatile_.now_ms == 0, "job ", job.id.value, ": ended at no time");
      expect(!job.reopening, "job ", job.id.value, ": ended with a retry under way");
    } else {
      expect(!all_settled || job.state == JobState::pending, "job ", job.id.value, ": all is settled but it goes on");
      expect(job.stop == StopCause::none || !index.grants.empty(), "job ", job.id.value, ": stopped but not ended");
    }
    expect(volatile_.runnable.contains(job.id) != job.ended(), "job ", job.id.value, ": wrongly in the runnable set");

    std::set<GrantId> grants;
    for (const auto& [id, grant] : durable_.grants) {
      if (grant.job == job.id) grants.insert(id);
    }
    expect(grants == index.grants, "job ", job.id.value, ": its index of grants is off");
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
    for (const GrantId id : volatile_.jobs.at(job.id).grants) {
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
      const bool ready = volatile_.jobs.at(item.job).ready.contains(item.item);
      const bool delayed = volatile_.delayed.contains({item.not_before_ms, item.job, item.item});
      expect(ready != delayed, name, ": waits but is not exactly once in a waiting list");
    } else {
      const auto grant = durable_.grants.find(item.grant);
      expect(grant != durable_.grants.end() && grant->second.job == item.job && grant->second.covers(item.item), name,
             ": held by grant ", item.grant.value, ", which does not cover it");
    }
  }

  void inspect_grant(const Grant& grant) {
    const std::string name = concat("grant ", grant.id.value);
    expect(grant.id.value < durable_.counters.next_grant, name, ": numbered ahead of the counter");
    expect(durable_.workers.contains(grant.worker), name, ": held by no worker");
    expect(volatile_.worker_grants.at(grant.worker).contains(grant.id), name, ": not in its worker's index");
    expect(suits(durable_.workers.at(grant.worker), durable_.jobs.at(grant.job)), name,
           ": held by a worker that cannot run it");
    std::uint64_t held = 0;
    for (std::uint64_t offset = 0; offset < grant.count; ++offset) {
      const ItemIndex item{grant.first.value + offset};
      if (durable_.blocks.at(grant.job).get(item) != ItemMark::open) continue;
      const OpenItem* open = durable_.find_open(grant.job, item);
      held += (open == nullptr || open->grant == grant.id) ? 1 : 0;
    }
    expect(held > 0, name, ": holds nothing");
    expect(volatile_.grant_left.at(grant.id) == held, name, ": counts ", volatile_.grant_left.at(grant.id),
           " items but holds ", held);
  }

  void inspect_waiting() {
    std::size_t waiting = 0;
    for (const auto& [key, item] : durable_.open_items) waiting += item.waiting() ? 1 : 0;
    std::size_t listed = volatile_.delayed.size();
    for (const auto& [id, index] : volatile_.jobs) listed += index.ready.size();
    expect(waiting == listed, "waiting items: ", waiting, " rows but ", listed, " in the lists");
    expect(volatile_.grant_left.size() == durable_.grants.size(), "grants: index of another size");
  }

  void inspect_sessions() {
    std::size_t parked = 0;
    std::size_t expiring = 0;
    for (const auto& [worker, session] : volatile_.sessions) {
      const auto known = durable_.workers.find(worker);
      expect(known != durable_.workers.end(), "session of no worker ", worker.value);
      if (known != durable_.workers.end()) inspect_presence(known->second, session);
      if (session.expires_ms != 0) {
        ++expiring;
        expect(volatile_.expiries.contains({session.expires_ms, worker}), "worker ", worker.value,
               ": expiry not listed");
      }
      if (session.parked == 0) continue;
      ++parked;
      const auto poll = volatile_.parked.find(session.parked);
      expect(poll != volatile_.parked.end() && poll->second.worker == worker, "worker ", worker.value,
             ": its parked poll is not there");
    }
    expect(parked == volatile_.parked.size() && parked == volatile_.poll_deadlines.size(), "parked polls miscounted");
    expect(expiring == volatile_.expiries.size(), "expiries miscounted");
    expect(volatile_.sessions.size() == durable_.workers.size(), "a worker without a session");
    expect(volatile_.worker_by_name.size() == durable_.workers.size(), "a worker that has no name of its own");
    expect(volatile_.worker_grants.size() == durable_.workers.size(), "grants of no worker");
    expect(volatile_.present.size() + volatile_.departed.size() <= durable_.workers.size(),
           "a worker is present and departed, or neither known");
  }

  void inspect_readiness(const Worker& worker, const Session& session) {
    const Readiness readiness = session.draining || !worker.quarantine.empty()   ? Readiness::apart
                                : !volatile_.worker_grants.at(worker.id).empty() ? Readiness::busy
                                : session.parked != 0                            ? Readiness::idle
                                                                                 : Readiness::free;
    expect(session.readiness == readiness, "worker ", worker.id.value, ": is ready otherwise than is known");
    const Schedule::SiteId site = volatile_.schedule.kind(session.kind).site;
    expect(volatile_.schedule.site(site).those(readiness).contains(worker.id), "worker ", worker.id.value,
           ": its site counts it otherwise");
  }

  // Whoever is present can be given work, and is noticed when it falls silent; whoever is not is forgotten one day.
  void inspect_presence(const Worker& worker, const Session& session) {
    const std::string name = concat("worker ", worker.id.value);
    const bool present = worker.is_present();
    expect((worker.state == WorkerState::alive) == (worker.gone_ms == 0), name, ": departed at no time, or has not");
    expect(volatile_.present.contains(worker.id) == present, name, ": wrongly in the set of those present");
    expect((session.kind != Schedule::kNone) == present, name, ": departed and of a kind, or present and of none");
    expect(present || session.parked == 0, name, ": departed, and a poll of it waits");
    if (present) inspect_readiness(worker, session);
    expect(!present || worker.term_ms == 0 || session.expires_ms != 0, name, ": its silence would not be noticed");
    const bool holds_some = !volatile_.worker_grants.at(worker.id).empty();
    const bool departed = !present && session.expires_ms == 0 && !holds_some;
    expect((session.departed_ms != 0) == departed, name, ": present and to be forgotten, or neither");
    if (departed) {
      expect(volatile_.departed.contains({session.departed_ms, worker.id}), name, ": would never be forgotten");
    }
    for (const auto& [job, note] : session.notes) {
      const auto index = volatile_.jobs.find(job);
      const bool holds_some_of_it =
          index != volatile_.jobs.end() && std::ranges::any_of(index->second.grants, [&](GrantId id) {
            return durable_.grants.at(id).worker == worker.id;
          });
      expect(holds_some_of_it, name, ": what it said of job ", job.value, " is kept, and it holds nothing of it");
    }
  }

  // What is in workers' hands, by share and by worker, counted anew; and nobody waits for what could be handed out.
  void inspect_schedule() {
    const Schedule& schedule = volatile_.schedule;
    std::map<Schedule::ShareId, Resources> milli_cpus;
    std::map<Schedule::ShareId, std::uint64_t> items;
    std::map<Schedule::ShareId, std::uint64_t> jobs;
    std::map<WorkerId, Schedule::Held> held;
    std::map<JobId, std::uint64_t> running;
    for (const auto& [key, item] : durable_.open_items) running[item.job] += item.counted ? 1 : 0;
    for (const auto& [id, grant] : durable_.grants) {
      const JobIndex& index = volatile_.jobs.at(grant.job);
      const std::uint64_t left = volatile_.grant_left.at(id);
      items[index.share] += left;
      milli_cpus[index.share] = milli_cpus[index.share].plus(durable_.jobs.at(grant.job).ask.times(left));
      held[grant.worker][index.of] += static_cast<std::uint32_t>(left);
    }
    for (const auto& [id, job] : durable_.jobs) {
      const JobIndex& index = volatile_.jobs.at(id);
      expect(index.scheduled != job.ended(), "job ", id.value, ": ended and has a place, or has not and has none");
      if (!index.scheduled) continue;
      expect(index.running == running[id], "job ", id.value, ": counts ", index.running, " that run, has ",
             running[id]);
      ++jobs[index.share];
      const Schedule::Share& share = schedule.at(index.share);
      const auto ranks = share.offered.find(index.of);
      const bool offered =
          ranks != share.offered.end() && ranks->second.contains({kHighestPriority - job.place.priority, job.id});
      expect(offered == index.offered, "job ", id.value, ": offered or not, its share says otherwise");
      expect(job.max_running == 0 || index.in_hands <= job.max_running, "job ", id.value,
             ": more in hands than may be");
      if (index.offered) inspect_offer(job, index);
    }
    for (const auto& [worker, session] : volatile_.sessions) {
      expect(session.held == held[worker], "worker ", worker.value, ": what it holds of which class is off");
    }
    for (const auto& [name, lane] : schedule.lanes()) {
      std::uint64_t busy = 0;
      std::uint64_t active = 0;
      for (const auto& [share_name, id] : lane.shares) {
        const Schedule::Share& share = schedule.at(id);
        expect(share.jobs.size() == jobs[id], "share '", share_name, "': counts ", share.jobs.size(), " jobs, has ",
               jobs[id]);
        expect(share.items == items[id], "share '", share_name, "': counts ", share.items, " items, has ", items[id]);
        expect(share.milli_cpus == milli_cpus[id].milli_cpus, "share '", share_name, "': CPUs in hands are off");
        busy += share.milli_cpus;
        active += share.items > 0 ? 1 : 0;
        const auto record = durable_.shares.find({name, share_name});
        expect(share.settled == (record == durable_.shares.end() ? Wide{0} : record->second.used.value()), "share '",
               share_name, "': has used other than its record says");
      }
      expect(lane.milli_cpus == busy && lane.active_shares == active, "queue '", name, "': CPUs in hands are off");
    }
  }

  // What is offered may go, and nobody who waits could take it.
  void inspect_offer(const Job& job, const JobIndex& index) {
    const Queue* queue = durable_.find_queue(job.place.queue);
    expect(queue == nullptr || queue->enabled, "job ", job.id.value, ": offered from a disabled queue");
    expect(job.stop == StopCause::none, "job ", job.id.value, ": offered although it was stopped");
    for (const Dependency& it : job.after) {
      const Job* other = durable_.find_job(it.job);
      expect(it.each || (other != nullptr && other->state == JobState::succeeded), "job ", job.id.value,
             ": offered before the job it comes after has succeeded");
    }
    const Schedule& schedule = volatile_.schedule;
    if (schedule.at(index.share).lane->reserved_percent > 0) return;
    for (const auto& [sequence, poll] : volatile_.parked) {
      const Worker& worker = durable_.workers.at(poll.worker);
      const Session& session = volatile_.sessions.at(poll.worker);
      if (!poll.not_now.empty()) continue;  // who does not take everything asks again soon
      if (poll.want == 0 || session.draining || !worker.quarantine.empty()) continue;
      if (!may_run(durable_, worker, job)) continue;
      expect(!job.ask.fits(poll.room), "job ", job.id.value, ": could be handed to worker ", worker.name,
             ", which waits for work");
    }
  }

  const Durable& durable_;
  const Volatile& volatile_;
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> find_fault(const Core& core) {
  return Inspector(core).inspect();
}

}  // namespace drover

// What must hold of places, shares and offers.
#include "core/sanity.h"

namespace drover {
namespace {

class PlacesInspection : Inspection {
 public:
  PlacesInspection(const Core& core, Faults& faults) : Inspection(core, faults) {}

  void inspect() {
    inspect_schedule();
    inspect_kinds();
  }

 private:
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
      const Place& place = volatile_.places.at(grant.job);
      const std::uint64_t left = volatile_.grant_left.at(id);
      items[place.share] += left;
      milli_cpus[place.share] = milli_cpus[place.share].plus(durable_.jobs.at(grant.job).ask.times(left));
      held[grant.worker][place.of] += static_cast<std::uint32_t>(left);
    }
    for (const auto& [id, job] : durable_.jobs) {
      const Place& place = volatile_.places.at(id);
      expect(place.scheduled != job.ended(), "job ", id.value, ": ended and has a place, or has not and has none");
      if (!place.scheduled) continue;
      expect(place.running == running[id], "job ", id.value, ": counts ", place.running, " that run, has ",
             running[id]);
      ++jobs[place.share];
      const Schedule::Share& share = schedule.at(place.share);
      const auto ranks = share.offered.find(place.offered_as());
      const bool offered =
          ranks != share.offered.end() && ranks->second.contains({kHighestPriority - job.place.priority, job.id});
      expect(offered == place.offered, "job ", id.value, ": offered or not, its share says otherwise");
      const JobIndex& index = volatile_.jobs.at(id);
      expect(!place.offered || !place.is_sheltered() || !index.sheltered.empty(), "job ", id.value,
             ": kept from spot machines for no item");
      expect(job.max_running == 0 || place.in_hands <= job.max_running, "job ", id.value,
             ": more in hands than may be");
      if (place.offered) inspect_offer(job, place);
    }
    expect(held.size() == volatile_.held.size(), "somebody who holds nothing is said to hold something");
    for (const auto& [worker, of_classes] : volatile_.held) {
      expect(of_classes == held[worker], "worker ", worker.value, ": what it holds of which class is off");
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

  // What is said of the kinds of a block holds for each of them.
  void inspect_kinds() {
    std::uint64_t alive = 0;
    for (const auto& [key, block] : volatile_.schedule.kind_blocks()) {
      Schedule::WorkerCounts counts;
      for (const Schedule::KindId id : block.kinds) {
        const Schedule::Kind& kind = volatile_.schedule.kind(id);
        counts.add(kind);
        expect(key <= std::pair(kind.site, kind.has), "kind ", id, ": in a block that is not its own");
        expect(block.first_site <= kind.site && kind.site <= block.last_site && block.least.fits(kind.has) &&
                   kind.has.fits(block.most),
               "kind ", id, ": its block says otherwise");
      }
      expect(counts.workers == block.workers, "workers of a block of kinds miscounted");
      alive += block.alive();
    }
    expect(alive == volatile_.schedule.alive_workers(), "workers that are alive miscounted");
  }

  // What is offered may go, and nobody who waits could take it.
  void inspect_offer(const Job& job, const Place& place) {
    const Queue* queue = durable_.find_queue(job.place.queue);
    expect(queue == nullptr || queue->enabled, "job ", job.id.value, ": offered from a disabled queue");
    expect(job.stop == StopCause::none, "job ", job.id.value, ": offered although it was stopped");
    for (const Dependency& it : job.after) {
      const Job* other = durable_.find_job(it.job);
      expect(it.each || (other != nullptr && other->state == JobState::succeeded), "job ", job.id.value,
             ": offered before the job it comes after has succeeded");
    }
    const Schedule& schedule = volatile_.schedule;
    if (schedule.at(place.share).lane->reserved_percent > 0) return;
    for (const auto& [sequence, poll] : volatile_.parked) {
      const Worker& worker = durable_.workers.at(poll.worker);
      const Session& session = volatile_.sessions.at(poll.worker);
      if (!poll.not_now.empty()) continue;  // who does not take everything asks again soon
      if (poll.want == 0 || session.drain.is_draining() || !worker.quarantine.empty()) continue;
      if (!may_run(durable_, worker, job) || (place.is_sheltered() && is_spot(worker.labels))) continue;
      expect(!job.ask.fits(poll.room), "job ", job.id.value, ": could be handed to worker ", worker.name,
             ", which waits for work");
    }
  }
};

}  // namespace

void inspect_places(const Core& core, Faults& faults) {
  PlacesInspection(core, faults).inspect();
}

}  // namespace drover

// What must hold of workers and what is in their hands.
#include <algorithm>

#include "base/text.h"
#include "core/sanity.h"

namespace drover {
namespace {

class WorkersInspection : Inspection {
 public:
  WorkersInspection(const Core& core, Faults& faults) : Inspection(core, faults) {}

  void inspect() {
    for (const auto& [id, grant] : durable_.grants) inspect_grant(grant);
    inspect_sessions();
    for (const auto& [job, hands] : volatile_.in_hands) {
      for (const WorkerId worker : hands.noted_by) {
        const auto session = volatile_.sessions.find(worker);
        expect(session != volatile_.sessions.end() && session->second.notes.contains(job), "job ", job.value,
               ": a worker that said nothing of it is listed");
      }
    }
  }

 private:
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
      if (!session.polls.waits()) continue;
      ++parked;
      const auto poll = volatile_.parked.find(session.polls.parked());
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
    const Readiness readiness = session.drain.is_draining() || !worker.quarantine.empty() ? Readiness::apart
                                : !volatile_.worker_grants.at(worker.id).empty()          ? Readiness::busy
                                : session.polls.waits()                                   ? Readiness::idle
                                                                                          : Readiness::free;
    expect(session.readiness == readiness, "worker ", worker.id.value, ": is ready otherwise than is known");
    expect(volatile_.schedule.workers(session.kind, readiness).contains(worker.id), "worker ", worker.id.value,
           ": its kind counts it otherwise");
  }

  // Whoever is present can be given work, and is noticed when it falls silent; whoever is not is forgotten one day.
  void inspect_presence(const Worker& worker, const Session& session) {
    const std::string name = concat("worker ", worker.id.value);
    const bool present = worker.is_present();
    expect((worker.state == WorkerState::alive) == (worker.gone_ms == 0), name, ": departed at no time, or has not");
    expect(volatile_.present.contains(worker.id) == present, name, ": wrongly in the set of those present");
    expect((session.kind != Schedule::kNone) == present, name, ": departed and of a kind, or present and of none");
    expect(present || !session.polls.waits(), name, ": departed, and a poll of it waits");
    if (present) inspect_readiness(worker, session);
    expect(!present || worker.term_ms == 0 || session.expires_ms != 0, name, ": its silence would not be noticed");
    const bool holds_some = !volatile_.worker_grants.at(worker.id).empty();
    const bool departed = !present && session.expires_ms == 0 && !holds_some;
    expect((session.departed_ms != 0) == departed, name, ": present and to be forgotten, or neither");
    if (departed) {
      expect(volatile_.departed.contains({session.departed_ms, worker.id}), name, ": would never be forgotten");
    }
    for (const auto& [job, note] : session.notes) {
      const auto found = volatile_.in_hands.find(job);
      const bool holds_some_of_it =
          found != volatile_.in_hands.end() && std::ranges::any_of(found->second.grants, [&](GrantId id) {
            return durable_.grants.at(id).worker == worker.id;
          });
      expect(holds_some_of_it && found->second.noted_by.contains(worker.id), name, ": what it said of job ", job.value,
             " is kept, and it holds nothing of it");
    }
  }
};

}  // namespace

void inspect_workers(const Core& core, Faults& faults) {
  WorkersInspection(core, faults).inspect();
}

}  // namespace drover

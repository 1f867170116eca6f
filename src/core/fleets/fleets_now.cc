#include "core/fleets/fleets_now.h"

#include <algorithm>

#include "core/fleets/fleet_faults.h"

namespace drover {
namespace {

// Of a worker with very many grants, the first say enough.
constexpr std::size_t kMostGrantsRead = 32;
// Bounds the cost of one question: a page ends early when its machines hold many grants or items.
constexpr std::size_t kMostReadForAPage = 256;

class FleetReader {
 public:
  explicit FleetReader(const Core& core)
      : durable_(core.durable()), now_(core.volatile_part()), now_ms_(core.now_ms()) {}

  /// How many grants, messages and items of machines were read so far.
  std::size_t read() const { return read_; }

  MachineView view_of(const MachineRecord& record) {
    const Machine& machine = *record;
    MachineView out{.machine = record, .has = machine.has};
    const auto worker = now_.worker_by_name.find(machine.name);
    if (worker == now_.worker_by_name.end()) return out;
    const Session& session = now_.sessions.at(worker->second);
    const bool is_present = now_.present.contains(worker->second);
    if (is_present) {
      const Worker& known = durable_.workers.at(worker->second);
      out.quarantine = known.quarantine;
      out.labels = session.labels;
      for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
        out.has.accelerators[kind] = std::min(machine.has.accelerators[kind], known.has.accelerators[kind]);
      }
    }
    if (const auto held = now_.held.find(worker->second); held != now_.held.end()) {
      for (const auto& [of, items] : held->second) {
        out.items += items;
        out.used = out.used.plus(now_.schedule.of(of).demand.ask.times(items));
      }
    }
    if (session.readiness == Readiness::apart) out.used = machine.has;  // it is given nothing more
    out.work_ms = work_ms(worker->second, machine.has);
    out.receipts_since_ms = receipts_since_ms(worker->second);
    if (is_present && out.items == 0) out.free_since_ms = std::max<std::int64_t>(session.free_since_ms, 1);
    return out;
  }

  JobDemand demand_of_job(const Job& job) const {
    const Place& place = now_.places.at(job.id);
    JobDemand out{.job = job.id, .ask = job.ask, .require = job.require, .queue = job.place.queue, .spot = job.spot};
    if (const Queue* queue = durable_.find_queue(job.place.queue)) out.fleets = queue->fleets;
    out.in_hands = place.in_hands;
    out.item_ms = place.has_ended_some ? place.planned_ms : 0;
    if (!place.offered) return out;
    // Messages that it has taken are its items.
    const bool has_items = job.stream.empty() || !injected(FleetFault::taken_messages_ignored);
    out.waiting = (has_items ? left_of(job, place) : 0) + (job.stream.empty() ? 0 : ready_on(job.stream));
    if (job.max_running > 0)
      out.waiting = std::min(out.waiting, job.max_running - std::min(job.max_running, place.in_hands));
    if (job.sequential) out.waiting = std::min<std::uint64_t>(out.waiting, 1);
    out.sheltered = job.sequential ? (place.is_sheltered() ? out.waiting : 0)
                                   : std::min<std::uint64_t>(out.waiting, now_.jobs.at(job.id).sheltered.size());
    return out;
  }

 private:
  // Of a job that goes item by item after another, as many as have succeeded there. Not those that wait for their
  // retry's time: a machine would be idle until then.
  std::uint64_t left_of(const Job& job, const Place& place) const {
    std::uint64_t left = job.total - std::min(job.total, job.succeeded + job.failed + job.cancelled + place.in_hands);
    for (const Dependency& it : job.after) {
      if (!it.each) continue;
      const auto other = durable_.jobs.find(it.job);
      if (other == durable_.jobs.end()) continue;
      const std::uint64_t unlocked = other->second.succeeded;
      left = std::min(left, unlocked - std::min(unlocked, job.succeeded + job.failed + place.in_hands));
    }
    return left - std::min(left, now_.jobs.at(job.id).delayed);
  }

  std::uint64_t ready_on(const std::string& stream) const {
    const auto id = now_.stream_by_name.find(stream);
    if (id == now_.stream_by_name.end()) return 0;
    const StreamIndex& index = now_.streams_now.at(id->second);
    return index.untouched + index.ready.size() + index.ready_groups.size();
  }

  /// Of the first message of each attempt, which may be one of many.
  std::int64_t receipts_since_ms(WorkerId worker) {
    if (now_.held_messages.empty()) return 0;
    const auto grants = now_.worker_grants.find(worker);
    if (grants == now_.worker_grants.end()) return 0;
    std::int64_t since_ms = 0;
    std::size_t read = 0;
    for (const GrantId id : grants->second) {
      if (++read > kMostGrantsRead) break;
      ++read_;
      for (auto held = now_.held_messages.lower_bound(Token{id, {}});
           held != now_.held_messages.end() && held->first.grant == id && read <= kMostGrantsRead; ++held) {
        for (const auto& [stream, number] : held->second) {
          if (++read > kMostGrantsRead) break;
          ++read_;
          const OpenMessage* message = find_message(stream, number);
          if (message == nullptr) continue;
          since_ms = since_ms == 0 ? message->received_ms : std::min(since_ms, message->received_ms);
          break;
        }
      }
    }
    return since_ms;
  }

  /// Null for one that was purged, or deleted with its stream, while an attempt held it.
  const OpenMessage* find_message(StreamId stream, MessageNumber number) const {
    const auto of_stream = durable_.messages.find(stream);
    if (of_stream == durable_.messages.end()) return nullptr;
    const auto found = of_stream->second.open.find(number);
    return found == of_stream->second.open.end() ? nullptr : &found->second;
  }

  /// As if they ran side by side.
  std::int64_t work_ms(WorkerId worker, const Resources& has) {
    const auto grants = now_.worker_grants.find(worker);
    if (grants == now_.worker_grants.end()) return 0;
    std::int64_t longest_ms = 0;
    std::size_t read = 0;
    for (const GrantId id : grants->second) {
      if (++read > kMostGrantsRead) break;
      ++read_;
      const Job& job = durable_.jobs.at(durable_.grants.at(id).job);
      const std::uint64_t side_by_side = std::max<std::uint64_t>(has.holds(job.ask), 1);
      const std::uint64_t rounds = (now_.grant_left.at(id) + side_by_side - 1) / side_by_side;
      const std::int64_t whole_ms = static_cast<std::int64_t>(std::min<std::uint64_t>(rounds, 1'000'000)) *
                                    std::min<std::int64_t>(now_.places.at(job.id).planned_ms, 86'400'000);
      longest_ms = std::max(longest_ms, std::max<std::int64_t>(whole_ms - running_for_ms(durable_.grants.at(id)), 1));
    }
    return longest_ms;
  }

  /// The first of its items that runs.
  std::int64_t running_for_ms(const Grant& grant) {
    std::size_t read = 0;
    for (auto it = durable_.open_items.lower_bound({grant.job, grant.first});
         it != durable_.open_items.end() && it->first.first == grant.job && grant.covers(it->first.second) &&
         ++read <= kMostGrantsRead;
         ++it) {
      ++read_;
      const OpenItem& item = it->second;
      if (item.grant == grant.id && item.counted) return std::max<std::int64_t>(now_ms_ - item.started_ms, 0);
    }
    return 0;
  }

  const Durable& durable_;
  const Volatile& now_;
  const std::int64_t now_ms_;
  std::size_t read_ = 0;
};

}  // namespace

FleetsNow fleets_now(const Core& core, const AskFleets& question) {
  FleetReader reader(core);
  FleetsNow out;
  if (question.machines_after.empty() && !question.jobs_after) {
    for (const auto& [name, fleet] : core.durable().fleets) out.fleets.push_back(fleet);
  }
  if (question.want_machines) {
    const auto& machines = core.volatile_part().machine_records;
    auto it = machines.upper_bound(question.machines_after);
    out.machines.reserve(AskFleets::kPage);
    for (; it != machines.end() && out.machines.size() < AskFleets::kPage && reader.read() < kMostReadForAPage; ++it) {
      out.machines.push_back(reader.view_of(it->second));
    }
    out.more_machines = it != machines.end();
  }
  if (question.want_jobs) {
    const auto& jobs = core.volatile_part().runnable;
    auto it = jobs.upper_bound(question.jobs_after);
    out.jobs.reserve(AskFleets::kPage);
    for (; it != jobs.end() && out.jobs.size() < AskFleets::kPage; ++it) {
      out.jobs.push_back(reader.demand_of_job(core.durable().jobs.at(*it)));
    }
    out.more_jobs = it != jobs.end();
  }
  return out;
}

}  // namespace drover

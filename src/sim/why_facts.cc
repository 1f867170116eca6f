#include "sim/why_facts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"

namespace drover::sim {
namespace {

/// The facts about one job, from the records.
class Facts {
 public:
  Facts(const Core& core, const Job& job, std::optional<ItemIndex> item)
      : core_(core), durable_(core.durable()), now_(core.volatile_part()), job_(job), item_(item) {
    for (const auto& [id, grant] : durable_.grants) {
      if (grant.job == job.id) in_hands_ += now_.grant_left.at(id);
    }
    for (const auto& [id, worker] : durable_.workers) {
      if (!is_alive(core, worker)) continue;
      ++alive_;
      if (!may_run(durable_, worker, job)) continue;
      suiting_.push_back(&worker);
      if (worker.quarantine.empty() && !now_.sessions.at(id).drain.is_draining()) open_.push_back(&worker);
    }
    for (const Worker* worker : open_) {
      const bool declines = now_.sessions.at(worker->id).declined.contains(job.id);
      if (!declines && (!is_parked(*worker) || !holds_nothing(*worker))) taking_.push_back(worker);
    }
  }

  bool holds(const Why& why) const { return is_reason(why) && says_what_comes_first(why); }

  const std::vector<const Worker*>& taking() const { return taking_; }

 private:
  bool is_reason(const Why& why) const {
    const bool is_open = item_ && mark() == ItemMark::open;
    const OpenItem* row = item_ ? durable_.find_open(job_.id, *item_) : nullptr;
    switch (why.code) {
      case WhyCode::ended: return job_.ended() || (item_ && !is_open && mark() != ItemMark::pending);
      case WhyCode::running: return item_ ? row != nullptr && row->counted : nothing_is_left();
      case WhyCode::handed_out:
        return item_ ? is_open && (row == nullptr || (row->grant && !row->counted)) : is_noted(why.sentence);
      case WhyCode::stopping: return !job_.ended() && job_.stop != StopCause::none;
      case WhyCode::after_job: return waits_for(why.job, false) && says_how_far(why);
      case WhyCode::after_item: return waits_for(why.job, true) && says_how_far(why);
      case WhyCode::before_it: return job_.sequential && item_ && first_left() < *item_;
      case WhyCode::queue_disabled: return !queue().enabled;
      case WhyCode::no_message: return has_no_message();
      case WhyCode::retry_delay: return why.until_ms > core_.now_ms() && why.until_ms == next_try_ms(row);
      case WhyCode::sheltered: return is_kept_from_spot(row, why);
      case WhyCode::most_running: {
        const std::uint64_t most = job_.sequential ? 1 : job_.max_running;
        return most > 0 && in_hands_ >= most && why.sentence.starts_with(concat(in_hands_, " of its items "));
      }
      case WhyCode::machine_coming: return taking_.empty() && is_coming(why);
      case WhyCode::no_worker: return alive_ == 0 && says_why_no_machine(why);
      case WhyCode::nobody_suits:
        return suiting_.empty() && alive_ > 0 && why.workers == alive_ && names_what(why) && says_why_no_machine(why);
      case WhyCode::set_apart:
        return !suiting_.empty() && taking_.empty() && (!open_.empty() || says_why_no_machine(why));
      case WhyCode::share_held_back: return is_held_back();
      case WhyCode::behind: return !taking_.empty() && (why.places == 0 || why.places == places());
      case WhyCode::busy:
        return !taking_.empty() && std::ranges::none_of(taking_, [&](const Worker* it) { return holds_nothing(*it); });
      case WhyCode::next:
        return std::ranges::any_of(taking_, [&](const Worker* it) {
          return holds_nothing(*it) && !is_parked(*it) && contains(why.sentence, it->name);
        });
    }
    return false;
  }

  bool has_no_message() const {
    const auto& now = core_.volatile_part();
    const auto stream = now.stream_by_name.find(job_.stream);
    if (job_.stream.empty() || stream == now.stream_by_name.end()) return !job_.stream.empty();
    const StreamIndex& index = now.streams_now.at(stream->second);
    return index.untouched == 0 && index.ready.empty() && index.ready_groups.empty();
  }

  /// Whether an item that waits was lost too often to run on spot machines now.
  bool is_sheltered(const OpenItem& item) const {
    const SpotRules& spot = job_.spot;
    return item.waiting() && item.not_before_ms <= core_.now_ms() && spot.use == SpotUse::prefer &&
           spot.on_demand_after_losses > 0 && item.losses >= spot.on_demand_after_losses &&
           item.not_before_ms + spot.on_demand_after_ms > core_.now_ms();
  }

  // Of a job as a whole: nothing else of it could go.
  bool is_kept_from_spot(const OpenItem* row, const Why& why) const {
    const auto fits = [&](const OpenItem& it) {
      return is_sheltered(it) && why.until_ms == it.not_before_ms + job_.spot.on_demand_after_ms &&
             contains(why.sentence, concat("item ", it.item.value, " was lost ", plural(it.losses, "time")));
    };
    if (item_) return row != nullptr && fits(*row);
    bool is_one = false;
    for (auto it = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
         it != durable_.open_items.end() && it->first.first == job_.id; ++it) {
      const bool may_go = it->second.waiting() && it->second.not_before_ms <= core_.now_ms();
      if (may_go && !is_sheltered(it->second) && !job_.sequential) return false;
      is_one = is_one || fits(it->second);
    }
    return is_one;
  }

  bool may_come(const Machine& machine) const {
    const bool is_on_its_way = machine.state == MachineState::requested || machine.state == MachineState::starting;
    if (machine.spot ? job_.spot.use == SpotUse::never : job_.spot.use == SpotUse::only) return false;
    return is_on_its_way && job_.ask.fits(machine.has) && serves(machine.fleet, queue().fleets);
  }
  /// Whether the machine has all that is required, as far as its name, fleet and shape tell.
  bool surely_suits(const Machine& machine) const {
    return may_come(machine) &&
           has_all(
               {{"fleet", machine.fleet}, {"shape", machine.shape}, {"market", machine.spot ? "spot" : "on-demand"}},
               job_.require);
  }

  bool is_coming(const Why& why) const {
    const auto machine = durable_.machines.find(why.machine);
    if (machine == durable_.machines.end() || !surely_suits(machine->second)) return false;
    const Machine& it = machine->second;
    return why.fleet == it.fleet &&
           why.sentence.ends_with(concat("machine ", it.name, " of fleet '", it.fleet, "', shape '", it.shape, "', is ",
                                         to_string(it.state)));
  }

  // None is coming of which it is known that it could run it. What is said of a fleet is so.
  bool says_why_no_machine(const Why& why) const {
    if (std::ranges::any_of(durable_.machines, [&](const auto& it) { return surely_suits(it.second); })) return false;
    if (!why.machine.empty()) {
      const auto machine = durable_.machines.find(why.machine);
      return machine != durable_.machines.end() && may_come(machine->second);
    }
    const auto required = job_.require.find("fleet");
    const auto counts = [&](const Fleet& fleet) {
      return serves(fleet.name, queue().fleets) && (required == job_.require.end() || required->second == fleet.name);
    };
    if (why.fleet.empty()) {
      return std::ranges::none_of(durable_.fleets, [&](const auto& it) { return counts(it.second); });
    }
    const auto fleet = durable_.fleets.find(why.fleet);
    if (fleet == durable_.fleets.end() || !counts(fleet->second)) return false;
    const std::string obstacle = obstacle_of(fleet->second, why);
    if (!obstacle.empty()) {
      // If another could launch one, that one would have been named.
      const bool none_could = std::ranges::all_of(
          durable_.fleets, [&](const auto& it) { return !counts(it.second) || !obstacle_of(it.second, why).empty(); });
      return none_could && why.sentence.ends_with(obstacle);
    }
    return why.sentence.ends_with(concat("'drover fleet explain ", why.fleet, "' says why")) &&
           contains(why.sentence, fleet->second.trouble);
  }

  /// What keeps the fleet from launching anything for it.
  std::string obstacle_of(const Fleet& fleet, const Why& why) const {
    std::uint64_t machines = 0;
    std::uint64_t milli_cpus = 0;
    for (const auto& [name, machine] : durable_.machines) {
      if (machine.fleet != fleet.name || !machine.counts()) continue;
      ++machines;
      milli_cpus += machine.has.milli_cpus;
    }
    if (fleet.deleting) return "is being deleted";
    if (fleet.paused) return "is paused";
    if (fleet.not_before_ms > core_.now_ms()) {
      return fleet.name == why.fleet && why.until_ms != fleet.not_before_ms ? "another time" : fleet.trouble;
    }
    if (fleet.spot_not_before_ms > core_.now_ms() && job_.spot.use != SpotUse::never) {
      return fleet.name == why.fleet && why.until_ms != fleet.spot_not_before_ms ? "another time" : fleet.spot_trouble;
    }
    if (machines >= fleet.most) return concat("is at its maximum of ", plural(fleet.most, "machine"));
    const bool is_full = fleet.most_milli_cpus > 0 &&
                         milli_cpus + std::max<std::uint64_t>(job_.ask.milli_cpus, 1) > fleet.most_milli_cpus;
    return is_full ? concat("is at its maximum of ", plural(fleet.most_milli_cpus / 1000, "CPU")) : "";
  }

  // Before the words about whose turn it is: how many of its job's items are handed out before it.
  bool says_what_comes_first(const Why& why) const {
    if (!item_) return true;
    if (job_.ended()) return !contains(why.sentence, " first; ");
    std::uint64_t count = 0;
    std::uint64_t sheltered = 0;
    const OpenItem* row = durable_.find_open(job_.id, *item_);
    for (auto it = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
         it != durable_.open_items.end() && it->first.first == job_.id; ++it) {
      if (row != nullptr && it->first.second >= *item_) break;
      const bool may_go = it->second.waiting() && it->second.not_before_ms <= core_.now_ms();
      if (may_go) ++(is_sheltered(it->second) ? sheltered : count);
    }
    if (row != nullptr) sheltered = 0;
    for (std::uint64_t at = 0; row == nullptr && at < item_->value; ++at) {
      count += blocks().get(ItemIndex{at}) == ItemMark::pending && may_go(ItemIndex{at}) ? 1 : 0;
    }
    const bool is_about_turns = why.code >= WhyCode::machine_coming && why.code <= WhyCode::busy;
    if (!is_about_turns && why.code != WhyCode::next) return !contains(why.sentence, " first; ");
    const auto come_first = [](std::uint64_t items) {
      return concat(plural(items, "item"), " of its job ", items == 1 ? "comes" : "come", " first");
    };
    const std::string but_on_spot = " except on spot machines; ";
    if (count > 0 && sheltered > 0) {
      return why.sentence.starts_with(concat(come_first(count), ", and ", sheltered, " more", but_on_spot));
    }
    if (count > 0) return why.sentence.starts_with(concat(come_first(count), "; "));
    if (sheltered > 0) return why.sentence.starts_with(concat(come_first(sheltered), but_on_spot));
    return !contains(why.sentence, " of its job come first") && !contains(why.sentence, " of its job comes first");
  }

  // Whatever items it waits for have succeeded.
  bool may_go(ItemIndex item) const {
    return std::ranges::all_of(job_.after,
                               [&](const Dependency& it) { return !it.each || durable_.has_succeeded(it.job, item); });
  }

  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  const ItemBlocks& blocks() const { return durable_.blocks.at(job_.id); }
  /// One that was deleted when no job was left in it, and in which one was taken up again, is like any new one.
  Queue queue() const {
    const Queue* known = durable_.find_queue(job_.place.queue);
    return known == nullptr ? Queue{.name = job_.place.queue} : *known;
  }
  /// A worker that holds something of the job said what it waits for.
  bool is_noted(const std::string& sentence) const {
    return std::ranges::any_of(durable_.grants, [&](const auto& it) {
      if (it.second.job != job_.id) return false;
      const auto& notes = now_.sessions.at(it.second.worker).notes;
      const auto note = notes.find(job_.id);
      return note != notes.end() && contains(sentence, note->second) &&
             contains(sentence, durable_.workers.at(it.second.worker).name);
    });
  }
  ItemMark mark() const {
    DROVER_CHECK(item_, "only an item has a mark");
    if (job_.state == JobState::succeeded) return ItemMark::succeeded;
    const ItemBlocks* known = durable_.find_blocks(job_.id);
    return known == nullptr ? ItemMark::ended : known->get(*item_);  // without blocks: it has ended
  }
  bool is_parked(const Worker& worker) const { return now_.sessions.at(worker.id).polls.waits(); }
  bool holds_nothing(const Worker& worker) const {
    return std::ranges::none_of(durable_.grants, [&](const auto& it) { return it.second.worker == worker.id; });
  }

  bool nothing_is_left() const {
    if (blocks().count(ItemMark::pending) > 0) return false;
    for (auto it = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
         it != durable_.open_items.end() && it->first.first == job_.id; ++it) {
      if (it->second.waiting() && it->second.not_before_ms <= core_.now_ms()) return false;
    }
    return true;
  }

  ItemIndex first_left() const {
    ItemIndex first{job_.total};
    for (const ItemMark mark : {ItemMark::pending, ItemMark::open}) {
      if (const auto found = blocks().find(mark, ItemIndex{0})) first = std::min(first, *found);
    }
    return first;
  }

  // Of a job as a whole: not one of its untouched items may go.
  bool waits_for(JobId other, bool each) const {
    const bool known = durable_.jobs.contains(other);
    const bool named = std::ranges::any_of(
        job_.after, [&](const Dependency& it) { return it.each == each && (it.job == other || (!other && !known)); });
    if (!named || !known) return named;
    if (!each) return durable_.jobs.at(other).state != JobState::succeeded;
    if (item_) return !durable_.has_succeeded(other, *item_);
    for (auto at = blocks().find(ItemMark::pending, ItemIndex{0}); at;
         at = blocks().find(ItemMark::pending, ItemIndex{at->value + 1})) {
      if (may_go(*at)) return false;
      if (job_.sequential) break;
    }
    return true;
  }

  bool says_how_far(const Why& why) const {
    const Job* other = durable_.find_job(why.job);
    if (other == nullptr) return true;
    const std::uint64_t done = other->succeeded + other->failed + other->cancelled;
    const std::uint64_t percent = other->total == 0 ? 100 : done * 100 / other->total;
    return contains(why.sentence, concat("job ", other->name, ", ", percent, "% done"));
  }

  std::int64_t next_try_ms(const OpenItem* row) const {
    if (row != nullptr) return row->waiting() ? row->not_before_ms : 0;
    std::int64_t soonest_ms = 0;
    for (auto it = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
         !item_ && it != durable_.open_items.end() && it->first.first == job_.id; ++it) {
      if (!it->second.waiting()) continue;
      soonest_ms = soonest_ms == 0 ? it->second.not_before_ms : std::min(soonest_ms, it->second.not_before_ms);
      if (job_.sequential) break;
    }
    return soonest_ms;
  }

  // The number that is said to be the largest is.
  bool names_what(const Why& why) const {
    std::uint64_t memory = 0;
    std::uint64_t cpus = 0;
    std::uint64_t serving = 0;
    for (const auto& [id, worker] : durable_.workers) {
      if (!is_alive(core_, worker) || !serves(worker.fleet, queue().fleets)) continue;
      ++serving;
      memory = std::max(memory, worker.has.memory_bytes);
      cpus = std::max(cpus, worker.has.milli_cpus);
    }
    if (serving == 0) return contains(why.sentence, concat("none of ", plural(alive_, "worker"), " belongs to "));
    if (!contains(why.sentence, plural(serving, "worker"))) return false;
    if (contains(why.sentence, "of memory; the largest")) {
      return job_.ask.memory_bytes > memory && contains(why.sentence, concat(" has ", format_size(memory)));
    }
    if (contains(why.sentence, "CPUs; the largest")) return job_.ask.milli_cpus > cpus;
    return true;
  }

  bool is_held_back() const {
    const Queue queue = this->queue();
    std::uint64_t busy = 0;
    std::set<std::string> active;
    for (const auto& [id, grant] : durable_.grants) {
      const Job& job = durable_.jobs.at(grant.job);
      if (job.place.queue != queue.name) continue;
      busy += job.ask.milli_cpus * now_.grant_left.at(id);
      active.insert(job.place.share);
    }
    double capacity = 0;
    for (const auto& [id, worker] : durable_.workers) {
      if (is_alive(core_, worker) && worker.quarantine.empty()) capacity += static_cast<double>(worker.has.milli_cpus);
    }
    const double kept = capacity * std::pow(queue.reserved_percent / 100.0, static_cast<double>(active.size()));
    // To within what fixed-point numbers lose.
    return active.contains(job_.place.share) &&
           static_cast<double>(busy + job_.ask.milli_cpus) > (capacity - kept) * 0.999999 - 1;
  }

  // Jobs of the same share with something to hand out, that come before it and that somebody who could run this one
  // could run.
  std::uint64_t places() const {
    const Schedule::ShareId share = now_.places.at(job_.id).share;
    std::uint64_t count = 0;
    for (const auto& [id, other] : durable_.jobs) {
      const Place& index = now_.places.at(id);
      const bool first = other.place.priority > job_.place.priority ||
                         (other.place.priority == job_.place.priority && other.id < job_.id);
      if (other.ended() || !index.offered || index.share != share || !first) continue;
      if (now_.schedule.is_held_back(now_.schedule.at(share), other.ask)) continue;
      count +=
          std::ranges::any_of(taking_,
                              [&](const Worker* it) {
                                return may_run(durable_, *it, other) && !(index.is_sheltered() && is_spot(it->labels));
                              })
              ? 1
              : 0;
    }
    return count;
  }

  const Core& core_;
  const Durable& durable_;
  const Volatile& now_;
  const Job& job_;
  const std::optional<ItemIndex> item_;
  std::uint64_t in_hands_ = 0;
  std::uint64_t alive_ = 0;
  std::vector<const Worker*> suiting_;
  std::vector<const Worker*> open_;
  std::vector<const Worker*> taking_;
};

}  // namespace

bool is_true_of(const Core& core, const Job& job, std::optional<ItemIndex> item, const Why& why) {
  return Facts(core, job, item).holds(why);
}

std::vector<const Worker*> takers_of(const Core& core, const Job& job, std::optional<ItemIndex> item) {
  return Facts(core, job, item).taking();
}

bool is_alive(const Core& core, const Worker& worker) {
  const Session& session = core.volatile_part().sessions.at(worker.id);
  return worker.registered_ms != 0 && (worker.term_ms == 0 || session.expires_ms > 0);
}

}  // namespace drover::sim

#include "sim/why_probe.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "sim/twin.h"

namespace drover::sim {
namespace {

bool is_alive(const Core& core, const Worker& worker) {
  const Session& session = core.volatile_part().sessions.at(worker.id);
  return worker.registered_ms != 0 && (worker.term_ms == 0 || session.expires_ms > 0);
}

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
      case WhyCode::retry_delay: return why.until_ms > core_.now_ms() && why.until_ms == next_try_ms(row);
      case WhyCode::most_running: {
        const std::uint64_t most = job_.sequential ? 1 : job_.max_running;
        return most > 0 && in_hands_ >= most && why.sentence.starts_with(concat(in_hands_, " of its items "));
      }
      case WhyCode::no_worker: return alive_ == 0;
      case WhyCode::nobody_suits: return suiting_.empty() && alive_ > 0 && why.workers == alive_ && names_what(why);
      case WhyCode::set_apart: return !suiting_.empty() && taking_.empty();
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

  // Before the words about whose turn it is: how many of its job's items are handed out before it.
  bool says_what_comes_first(const Why& why) const {
    if (!item_) return true;
    if (job_.ended()) return !contains(why.sentence, " first; ");
    std::uint64_t count = 0;
    const OpenItem* row = durable_.find_open(job_.id, *item_);
    for (auto it = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
         it != durable_.open_items.end() && it->first.first == job_.id; ++it) {
      if (row != nullptr && it->first.second >= *item_) break;
      count += it->second.waiting() && it->second.not_before_ms <= core_.now_ms() ? 1 : 0;
    }
    for (std::uint64_t at = 0; row == nullptr && at < item_->value; ++at) {
      count += blocks().get(ItemIndex{at}) == ItemMark::pending && may_go(ItemIndex{at}) ? 1 : 0;
    }
    const bool is_about_turns = why.code >= WhyCode::no_worker && why.code <= WhyCode::busy;
    if (count == 0 || !(is_about_turns || why.code == WhyCode::next)) return !contains(why.sentence, " first; ");
    return why.sentence.starts_with(
        concat(plural(count, "item"), " of its job ", count == 1 ? "comes" : "come", " first; "));
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
      count += std::ranges::any_of(taking_, [&](const Worker* it) { return may_run(durable_, *it, other); }) ? 1 : 0;
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

class Lifter {
 public:
  Lifter(const Core& core, JobId job, std::optional<ItemIndex> item, std::map<WhyCode, std::uint64_t>& lifted)
      : twin_(core), job_(job), item_(item), lifted_(lifted) {}

  std::optional<std::string> run() {
    // Each time something is gone from before it.
    const std::uint64_t items = item_ ? item_->value + twin_.core().volatile_part().jobs.at(job_).ready.size() : 0;
    std::uint64_t left = 60 + 2 * durable().jobs.size() + items;
    Why last{.code = WhyCode::next, .sentence = {}};
    for (; left > 0; --left) {
      // What a core has learned of how long items take is not in its records, and so in no copy of a copy.
      twin_ = Twin(twin_.core());
      const Why said = why(twin_.core(), job_, item_);
      if (auto wrong = untruth(twin_.core(), job_, item_, said)) return wrong;
      if (is_over(said)) return std::nullopt;
      if (lasts_not(said.code) && said.code == last.code && said.sentence == last.sentence) {
        return concat("'", said.sentence, "' is said again after it was lifted");
      }
      if (auto wrong = lift(said)) return concat(*wrong, ", after '", said.sentence, "'");
      ++lifted_[said.code];
      if (is_given_) return std::nullopt;
      last = said;
    }
    return concat("is not handed out, whatever is lifted; the last reason was '", last.sentence, "'");
  }

 private:
  const Durable& durable() const { return twin_.core().durable(); }
  const Job& job() const { return durable().jobs.at(job_); }
  /// Those who could run it and take items.
  std::vector<const Worker*> takers() const { return Facts(twin_.core(), job(), item_).taking(); }
  static bool is_over(const Why& said) {
    return said.code == WhyCode::ended || said.code == WhyCode::running || said.code == WhyCode::handed_out;
  }
  // Reasons that are gone for good when they are lifted.
  static bool lasts_not(WhyCode code) {
    return code != WhyCode::most_running && code != WhyCode::busy && code != WhyCode::next && code != WhyCode::behind;
  }

  std::optional<std::string> lift(const Why& said) {
    switch (said.code) {
      case WhyCode::stopping:
      case WhyCode::most_running: twin_.end_all_of(job_); break;
      case WhyCode::after_job: twin_.make_succeed(said.job ? said.job : job_); break;
      case WhyCode::after_item: lift_forerunner(said.job); break;
      case WhyCode::before_it: twin_.make_succeed(job_, ItemIndex{0}, item_.value_or(ItemIndex{0})); break;
      case WhyCode::queue_disabled: change_queue([](Queue& queue) { queue.enabled = true; }); break;
      case WhyCode::retry_delay: twin_.wait_until(said.until_ms); break;
      case WhyCode::no_worker:
      case WhyCode::nobody_suits: twin_.add_worker({at_least_some(job().ask), job().require}); break;
      case WhyCode::set_apart: return lift_apart();
      case WhyCode::share_held_back: change_queue([](Queue& queue) { queue.reserved_percent = 0; }); break;
      case WhyCode::behind: return lift_those_ahead(said);
      case WhyCode::busy: return ask_as_who_is_busy(said);
      case WhyCode::next: return ask_as_who_is_free(said);
      default: break;
    }
    return std::nullopt;
  }

  static Resources at_least_some(Resources ask) { return ask.at_least({.milli_cpus = 1}); }

  // Of a job as a whole: all items that it waits for.
  void lift_forerunner(JobId other) {
    if (!other) return twin_.make_succeed(job_);
    if (!item_) return twin_.make_succeed(other);
    twin_.make_succeed(other, *item_, ItemIndex{item_->value + 1});
  }

  template <class Change>
  void change_queue(Change change) {
    const Queue* known = durable().find_queue(job().place.queue);
    Queue queue = known == nullptr ? Queue{.name = job().place.queue} : *known;
    change(queue);
    twin_.ask(SetQueue{queue});
  }

  std::optional<std::string> lift_apart() {
    std::vector<Worker> suiting;
    for (const auto& [id, worker] : durable().workers) {
      if (is_alive(twin_.core(), worker) && may_run(durable(), worker, job())) suiting.push_back(worker);
    }
    for (const Worker& worker : suiting) {
      if (!worker.quarantine.empty()) twin_.ask(Readmit{worker.name});
      if (twin_.core().volatile_part().sessions.at(worker.id).drain.is_draining()) twin_.begin_anew(worker);
      if (twin_.core().volatile_part().sessions.at(worker.id).polls.waits()) twin_.ask_for_one(worker.id);
    }
    return std::nullopt;
  }

  // Another job came first, whoever it was, where one that could run this one asked.
  std::optional<std::string> lift_those_ahead(const Why& said) {
    const Place& mine = twin_.core().volatile_part().places.at(job_);
    const Schedule::ShareId share = twin_.core().volatile_part().places.at(said.job).share;
    const std::string queue = durable().jobs.at(said.job).place.queue;
    if ((share == mine.share) != (said.places > 0)) return "another share is said to be the same";
    std::vector<JobId> ahead;
    for (const JobId id : twin_.core().volatile_part().runnable) {
      const Job& other = durable().jobs.at(id);
      const Place& index = twin_.core().volatile_part().places.at(id);
      if (id == job_ || !index.offered) continue;
      const bool first =
          other.place.priority > job().place.priority || (other.place.priority == job().place.priority && id < job_);
      const bool same_queue = queue == job().place.queue;
      if (share == mine.share ? index.share == share && first
          : same_queue        ? index.share == share
                              : other.place.queue == queue) {
        ahead.push_back(id);
      }
    }
    if (std::ranges::find(ahead, said.job) == ahead.end()) return "the one that is said to be ahead is not";
    if (!is_overtaken()) return "nobody comes first, wherever it could run";
    for (const JobId id : ahead) twin_.ask(CancelJob{id, "to see what is left"});
    return std::nullopt;
  }

  /// One worker of each kind among those that could run it.
  std::map<Supply, WorkerId> taker_of_each_kind() const {
    std::map<Supply, WorkerId> takers_by_kind;
    for (const Worker* worker : takers()) takers_by_kind.emplace(supply_of(*worker), worker->id);
    return takers_by_kind;
  }

  /// Whether a worker that could run it would be given something else if it became free now.
  bool is_overtaken() const {
    return std::ranges::any_of(taker_of_each_kind(), [&](const auto& it) {
      Twin other(twin_.core());
      const auto leases = other.ask_for_one(it.second);
      return leases.empty() || leases[0].job != job_;
    });
  }

  // It is next: whichever of those who could run it becomes free is given it. The workers that are there ask, as if
  // what they run had left its room. One more worker would also raise the capacity, and a share that was held back by
  // the reserve might then come first, with each worker that is added.
  std::optional<std::string> ask_as_who_is_busy(const Why& said) {
    const std::map<Supply, WorkerId> takers_by_kind = taker_of_each_kind();
    for (const auto& [kind, worker] : takers_by_kind) {
      Twin other(twin_.core());
      const auto leases = other.ask_for_one(worker);
      if (leases.empty() || leases[0].job != job_) return "a worker that became free was not given it";
    }
    return hear(said, twin_.ask_for_one(takers_by_kind.begin()->second));
  }

  std::optional<std::string> ask_as_who_is_free(const Why& said) {
    for (const Worker* worker : takers()) {
      const bool is_free = twin_.core().volatile_part().worker_grants.at(worker->id).empty();
      if (is_free) return hear(said, twin_.ask_for_one(worker->id));
    }
    return "nobody is free";
  }

  std::optional<std::string> hear(const Why& said, const std::vector<Lease>& leases) {
    if (!leases.empty() && leases[0].job == job_) {
      const std::uint64_t offset = item_ ? item_->value - leases[0].first.value : 0;
      is_given_ = !item_ || (*item_ >= leases[0].first && offset < leases[0].count);
      const bool others_first = said.sentence.find(" first; ") != std::string::npos;
      if (!is_given_ && !others_first) return "another item of its job came first";
      return std::nullopt;
    }
    return leases.empty() ? "whoever was free was given nothing" : "whoever was free was given another job";
  }

  Twin twin_;
  const JobId job_;
  const std::optional<ItemIndex> item_;
  std::map<WhyCode, std::uint64_t>& lifted_;
  bool is_given_ = false;
};

std::string named(const Core& core, JobId job, std::optional<ItemIndex> item) {
  return concat(core.durable().jobs.at(job).name, item ? concat(":", item->value) : "");
}

}  // namespace

std::optional<std::string> untruth(const Core& core, JobId job, std::optional<ItemIndex> item, const Why& why) {
  if (Facts(core, core.durable().jobs.at(job), item).holds(why)) return std::nullopt;
  return concat("why ", named(core, job, item), " (", to_string(why.code), ") is not true: ", why.sentence);
}

std::optional<std::string> lift_reasons(const Core& core, JobId job, std::optional<ItemIndex> item,
                                        std::map<WhyCode, std::uint64_t>& lifted) {
  const Why said = why(core, job, item);
  if (auto wrong = untruth(core, job, item, said)) return wrong;
  if (auto wrong = Lifter(core, job, item, lifted).run()) return concat("why ", named(core, job, item), ": ", *wrong);
  return std::nullopt;
}

}  // namespace drover::sim

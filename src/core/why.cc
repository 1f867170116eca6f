// The question is answered in the order in which things keep an item from running: what it is, what its job waits for,
// who could run it at all, who comes first. The first that holds is the reason.
#include "core/why.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "core/core.h"
#include "core/unfit.h"

namespace drover {

std::string_view to_string(WhyCode code) {
  switch (code) {
    case WhyCode::ended: return "ended";
    case WhyCode::running: return "running";
    case WhyCode::stopping: return "stopping";
    case WhyCode::after_job: return "after_job";
    case WhyCode::after_item: return "after_item";
    case WhyCode::before_it: return "before_it";
    case WhyCode::queue_disabled: return "queue_disabled";
    case WhyCode::retry_delay: return "retry_delay";
    case WhyCode::most_running: return "most_running";
    case WhyCode::no_worker: return "no_worker";
    case WhyCode::nobody_suits: return "nobody_suits";
    case WhyCode::set_apart: return "set_apart";
    case WhyCode::share_held_back: return "share_held_back";
    case WhyCode::behind: return "behind";
    case WhyCode::busy: return "busy";
    case WhyCode::handed_out: return "handed_out";
    case WhyCode::next: return "next";
  }
  return "unknown";
}

namespace {

std::uint64_t percent_done(const Job& job) {
  return job.total == 0 ? 100 : (job.succeeded + job.failed + job.cancelled) * 100 / job.total;
}

/// The words for one job, or one item of it.
class Reasons {
 public:
  Reasons(const Durable& durable, const Volatile& now, const Job& job)
      : durable_(durable), now_(now), job_(job), index_(now.jobs.at(job.id)), blocks_(durable.blocks.at(job.id)) {}

  Why of_item(ItemIndex item) const {
    const std::string name = concat("item ", item.value);
    const ItemMark mark = blocks_.get(item);
    if (mark == ItemMark::succeeded) return {WhyCode::ended, concat(name, " has succeeded")};
    if (mark == ItemMark::ended) return {WhyCode::ended, concat(name, " has ended without success")};
    const OpenItem* open = durable_.find_open(job_.id, item);
    if (mark == ItemMark::open && (open == nullptr || !open->waiting())) return in_hands(item, open);
    if (const auto why = of_job(open)) return *why;
    if (const auto why = before_it(item, open)) return *why;
    Why why = of_turn();
    if (const std::uint64_t ahead = items_before(item, open); ahead > 0) {
      why.sentence =
          concat(plural(ahead, "item"), " of its job ", ahead == 1 ? "comes" : "come", " first; ", why.sentence);
    }
    return why;
  }

  Why of_next() const {
    if (job_.ended()) {
      return {WhyCode::ended,
              concat("job ", job_.name,
                     job_.state == JobState::cancelled ? " was cancelled" : concat(" has ", to_string(job_.state)),
                     job_.reason.empty() ? "" : concat(": ", job_.reason))};
    }
    if (const auto why = of_job(nullptr)) return *why;
    for (const GrantId id : index_.grants) {
      if (const auto why = getting_ready(durable_.grants.at(id).worker)) return *why;
    }
    const std::uint64_t open = blocks_.count(ItemMark::open);
    if (blocks_.count(ItemMark::pending) == 0 && index_.ready.empty()) {
      if (index_.in_hands < open && index_.in_hands == 0) return next_retry();
      return {WhyCode::running,
              concat("all that is left of it, ", plural(open, "item"), ", runs or waits for a retry")};
    }
    if (!index_.offered && job_.sequential && open > 0 && index_.in_hands == 0) return next_retry();
    if (!index_.offered && waits_for_items()) {
      for (auto item = blocks_.find(ItemMark::pending, ItemIndex{0}); item;
           item = blocks_.find(ItemMark::pending, ItemIndex{item->value + 1})) {
        if (const auto why = before_it(*item, nullptr)) return *why;
      }
    }
    return of_turn();
  }

 private:
  bool waits_for_items() const {
    return std::ranges::any_of(job_.after, [](const Dependency& it) { return it.each; });
  }

  Why in_hands(ItemIndex item, const OpenItem* open) const {
    GrantId holder;
    if (open != nullptr) {
      holder = open->grant;
    } else {
      for (const GrantId id : index_.grants) {
        if (durable_.grants.at(id).covers(item)) holder = id;
      }
    }
    const std::string& worker = durable_.workers.at(durable_.grants.at(holder).worker).name;
    if (open == nullptr || !open->counted) {
      if (const auto why = getting_ready(durable_.grants.at(holder).worker)) return *why;
      return {WhyCode::handed_out,
              concat("item ", item.value, " is in the hands of worker ", worker, ", which has not said that it runs")};
    }
    return {WhyCode::running,
            concat("item ", item.value, " runs on worker ", worker, " for ",
                   format_duration_us((now_.now_ms - open->started_ms) * 1000), ", as attempt ", open->attempts)};
  }

  /// A worker that has something of it says what it waits for.
  std::optional<Why> getting_ready(WorkerId worker) const {
    const auto& notes = now_.sessions.at(worker).notes;
    const auto note = notes.find(job_.id);
    if (note == notes.end()) return std::nullopt;
    return Why{WhyCode::handed_out, concat("worker ", durable_.workers.at(worker).name, ": ", note->second)};
  }

  /// What keeps the whole job, or this open item of it, whoever there is to run it.
  std::optional<Why> of_job(const OpenItem* open) const {
    if (job_.ended()) {
      return Why{WhyCode::ended, concat("job ", job_.name, " has ended before it came to this item",
                                        job_.reason.empty() ? "" : concat(": ", job_.reason))};
    }
    if (job_.stop != StopCause::none) {
      return Why{WhyCode::stopping, concat("job ", job_.name, " starts nothing more: ",
                                           job_.reason.empty() ? std::string(to_string(job_.stop)) : job_.reason)};
    }
    for (const Dependency& it : job_.after) {
      const Job* other = durable_.find_job(it.job);
      if (other == nullptr && !it.each)
        return Why{WhyCode::after_job, "waits for a job that did not succeed and is no longer known"};
      if (it.each || other->state == JobState::succeeded) continue;
      return Why{.code = WhyCode::after_job,
                 .sentence = concat("waits for job ", other->name, ", ", percent_done(*other), " % done"),
                 .job = other->id};
    }
    const Queue* queue = durable_.find_queue(job_.place.queue);
    if (queue != nullptr && !queue->enabled) {
      return Why{WhyCode::queue_disabled, concat("queue '", queue->name, "' is disabled")};
    }
    if (open != nullptr && open->waiting() && !index_.ready.contains(open->item)) return retry_at(*open);
    if (job_.max_running > 0 && index_.in_hands >= job_.max_running) {
      return Why{WhyCode::most_running, concat(index_.in_hands, " of its items ", index_.in_hands == 1 ? "is" : "are",
                                               " in workers' hands, as many as may be (",
                                               job_.sequential ? "one after the other" : "max_running", ")")};
    }
    return std::nullopt;
  }

  Why retry_at(const OpenItem& open) const {
    return {
        .code = WhyCode::retry_delay,
        .sentence = concat("item ", open.item.value, " failed ", plural(open.tries, "time"),
                           "; its next try is due in ", format_duration_us((open.not_before_ms - now_.now_ms) * 1000)),
        .until_ms = open.not_before_ms};
  }

  /// The first of its items that may run again.
  Why next_retry() const {
    const OpenItem* first = nullptr;
    auto item = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
    for (; item != durable_.open_items.end() && item->first.first == job_.id; ++item) {
      if (item->second.waiting() && (first == nullptr || item->second.not_before_ms < first->not_before_ms))
        first = &item->second;
      if (job_.sequential) break;  // the others come after this one
    }
    return first == nullptr ? Why{WhyCode::running, "all that is left of it runs"} : retry_at(*first);
  }

  /// Items that must succeed before this one. One that was tried waits only for those before it in its own job.
  std::optional<Why> before_it(ItemIndex item, const OpenItem* open) const {
    if (const Dependency* it = open == nullptr ? unmet(item) : nullptr) {
      if (!durable_.blocks.contains(it->job))
        return Why{WhyCode::after_item, "waits for an item of a job that is no longer known"};
      const Job& other = durable_.jobs.at(it->job);
      return Why{.code = WhyCode::after_item,
                 .sentence = concat("waits for item ", item.value, " of job ", other.name, ", ", percent_done(other),
                                    " % done"),
                 .job = it->job};
    }
    if (!job_.sequential) return std::nullopt;
    for (const ItemMark mark : {ItemMark::open, ItemMark::pending}) {
      const auto first = blocks_.find(mark, ItemIndex{0});
      if (first && *first < item) {
        return Why{WhyCode::before_it, concat("items of this job run one after the other, and item ", first->value,
                                              " has not succeeded yet")};
      }
    }
    return std::nullopt;
  }

  /// The item of another job that an untouched one still waits for.
  const Dependency* unmet(ItemIndex item) const {
    for (const Dependency& it : job_.after) {
      if (!it.each) continue;
      const auto blocks = durable_.blocks.find(it.job);
      if (blocks == durable_.blocks.end() || blocks->second.get(item) != ItemMark::succeeded) return &it;
    }
    return nullptr;
  }

  /// Those of its job that are handed out before it: whatever was tried before, and of each kind those of lower number.
  std::uint64_t items_before(ItemIndex item, const OpenItem* open) const {
    if (open != nullptr) {
      return static_cast<std::uint64_t>(std::distance(index_.ready.begin(), index_.ready.lower_bound(item)));
    }
    std::uint64_t count = index_.ready.size();
    for (auto at = blocks_.find(ItemMark::pending, index_.pending_from); at && *at < item;) {
      const std::uint64_t most = waits_for_items() ? 1 : item.value - at->value;
      const std::uint64_t run = blocks_.run_length(ItemMark::pending, *at, most);
      if (unmet(*at) == nullptr) count += run;
      at = blocks_.find(ItemMark::pending, ItemIndex{at->value + run});
    }
    return count;
  }

  /// It could be handed out: who could take it, and who comes first.
  Why of_turn() const {
    std::vector<const Worker*> alive;
    std::vector<const Worker*> suiting;
    for (const auto& [id, worker] : durable_.workers) {
      const Session& session = now_.sessions.at(id);
      if (worker.registered_ms == 0 || (worker.term_ms != 0 && session.expires_ms == 0)) continue;
      alive.push_back(&worker);
      if (suits(worker, job_)) suiting.push_back(&worker);
    }
    if (alive.empty()) {
      return {WhyCode::no_worker, durable_.workers.empty()
                                      ? "no worker has ever joined"
                                      : concat("none of ", plural(durable_.workers.size(), "worker"), " is there")};
    }
    if (suiting.empty()) {
      std::vector<Worker> all;
      all.reserve(alive.size());
      for (const Worker* worker : alive) all.push_back(*worker);
      return {.code = WhyCode::nobody_suits,
              .sentence = concat("needs ", what_nobody_has(job_, all).value_or("what no worker has")),
              .workers = alive.size()};
    }
    std::vector<const Worker*> open;
    std::string apart;
    for (const Worker* worker : suiting) {
      if (!worker->quarantine.empty()) {
        apart = concat("worker ", worker->name, " is in quarantine");
      } else if (now_.sessions.at(worker->id).draining) {
        apart = concat("worker ", worker->name, " drains");
      } else {
        open.push_back(worker);
      }
    }
    if (open.empty()) {
      return {.code = WhyCode::set_apart,
              .sentence = suiting.size() == 1
                              ? concat(apart, ", and no other suits it")
                              : concat("none of the ", suiting.size(), " workers that suit it takes items: ", apart),
              .workers = suiting.size()};
    }
    return of_order(open);
  }

  Why of_order(const std::vector<const Worker*>& open) const {
    const Schedule::Share& share = now_.schedule.at(index_.share);
    if (now_.schedule.is_held_back(share, job_.ask)) {
      return {.code = WhyCode::share_held_back,
              .sentence = concat("share '", share.name,
                                 "' may have no more: the rest of the machines is kept for shares yet to come (",
                                 share.lane->reserved_percent, " % reserved)"),
              .workers = open.size()};
    }
    // Whoever waits for work and holds nothing would have been given it, if it took anything like it.
    std::vector<const Worker*> taking;
    for (const Worker* worker : open) {
      if (now_.sessions.at(worker->id).parked == 0 || !holds_nothing(*worker)) taking.push_back(worker);
    }
    if (taking.empty()) {
      return {.code = WhyCode::set_apart,
              .sentence = concat(open.size() == 1 ? concat("worker ", open.front()->name, ", which could run it, takes")
                                                  : concat("the ", open.size(), " workers that could run it take"),
                                 " nothing right now"),
              .workers = open.size()};
    }
    const auto free = std::ranges::find_if(taking, [&](const Worker* it) { return holds_nothing(*it); });
    const std::string who = free != taking.end() ? does_not_ask(**free)
                            : taking.size() == 1 ? concat("worker ", taking[0]->name, ", which could run it, is busy")
                                                 : concat("the ", taking.size(), " workers that could run it are busy");
    std::set<Schedule::KindId> kinds;
    for (const Worker* worker : taking) kinds.insert(now_.sessions.at(worker->id).kind);
    Why why = of_those_ahead(who, kinds);
    why.workers = taking.size();
    if (why.code == WhyCode::behind) return why;
    why.code = free != taking.end() ? WhyCode::next : WhyCode::busy;
    why.sentence = concat(who, "; it is next");
    return why;
  }

  bool holds_nothing(const Worker& worker) const { return now_.worker_grants.at(worker.id).empty(); }

  /// It is about to ask, or no longer there.
  std::string does_not_ask(const Worker& worker) const {
    const std::int64_t heard_ms = now_.sessions.at(worker.id).expires_ms - worker.term_ms;
    const bool is_silent = worker.term_ms > 0 && now_.now_ms - heard_ms >= 1000;
    return concat(
        "worker ", worker.name, ", which could run it, holds nothing and does not ask for work",
        is_silent ? concat(" (last heard of ", format_duration_us((now_.now_ms - heard_ms) * 1000), " ago)") : "");
  }

  /// Whether the share has something that one of these machines could be given.
  bool is_offered(const Schedule::Share& share, Schedule::ClassId of, const std::set<Schedule::KindId>& kinds) const {
    const Schedule::Class& its = now_.schedule.of(of);
    return std::ranges::any_of(kinds, [&](Schedule::KindId kind) { return its.kinds.contains(kind); }) &&
           !now_.schedule.is_held_back(share, its.demand.ask);
  }

  /// Whether something that the same machines could run comes before it.
  Why of_those_ahead(const std::string& who, const std::set<Schedule::KindId>& kinds) const {
    const Schedule& schedule = now_.schedule;
    const Schedule::Share& mine = schedule.at(index_.share);
    const Schedule::Rank rank{kHighestPriority - job_.place.priority, job_.id};
    std::uint64_t places = 0;
    Schedule::Rank nearest;
    for (const auto& [of, ranks] : mine.offered) {
      if (!is_offered(mine, of, kinds)) continue;
      for (const Schedule::Rank& it : ranks) {
        if (!(it < rank)) break;
        if (places++ == 0 || nearest < it) nearest = it;
      }
    }
    if (places > 0) {
      return {.code = WhyCode::behind,
              .sentence = concat(
                  who, ", and it is ", plural(places, "place"), " behind job ", durable_.jobs.at(nearest.job).name,
                  mine.lane->fair ? concat(" of the same share '", mine.name, "'") : concat(" of the same queue")),
              .job = nearest.job,
              .places = places};
    }
    const auto key = [&](Schedule::ShareId id) {
      return std::pair(Schedule::key_of(schedule.at(id), now_.now_ms), id);
    };
    for (const auto& [name, id] : mine.lane->shares) {
      const Schedule::Share& other = schedule.at(id);
      if (key(id) >= key(index_.share)) continue;
      for (const auto& [of, ranks] : other.offered) {
        if (!is_offered(other, of, kinds)) continue;
        return {.code = WhyCode::behind,
                .sentence = concat(who, ", and share '", other.name, "' has used ",
                                   key(id).first == key(index_.share).first ? "no more" : "less", " than share '",
                                   mine.name, "' lately"),
                .job = ranks.begin()->job};
      }
    }
    for (const auto& [name, lane] : schedule.lanes()) {
      const Schedule::QueueKey theirs = Schedule::turn_of(lane);
      const Schedule::QueueKey ours = Schedule::turn_of(*mine.lane);
      if (theirs >= ours) continue;
      for (const auto& [share, id] : lane.shares) {
        for (const auto& [of, ranks] : schedule.at(id).offered) {
          if (!is_offered(schedule.at(id), of, kinds)) continue;
          return {.code = WhyCode::behind,
                  .sentence =
                      concat(who, ", and queue '", name,
                             theirs.below_highest < ours.below_highest ? "', which comes first, has work"
                             : lane.milli_cpus < mine.lane->milli_cpus ? "' of the same priority has fewer CPUs busy"
                                                                       : "' of the same priority has its turn"),
                  .job = ranks.begin()->job};
        }
      }
    }
    return {};
  }

  const Durable& durable_;
  const Volatile& now_;
  const Job& job_;
  const JobIndex& index_;
  const ItemBlocks& blocks_;
};

}  // namespace

Why why(const Core& core, JobId job, std::optional<ItemIndex> item) {
  const Reasons reasons(core.durable_, core.volatile_, core.durable_.jobs.at(job));
  return item ? reasons.of_item(*item) : reasons.of_next();
}

void Core::on(Ticket ticket, const AskWhy& command) {
  const Job* job = durable_.find_job(command.job);
  if (job == nullptr) return refuse(ticket, ErrorCode::not_found, "there is no such job");
  if (command.item && command.item->value >= job->total) {
    return refuse(ticket, ErrorCode::not_found, concat("job ", job->name, " has no item ", command.item->value));
  }
  Why said = why(*this, command.job, command.item);
  said.in_hands = volatile_.jobs.at(command.job).in_hands;
  say(ticket, std::move(said));
}

}  // namespace drover

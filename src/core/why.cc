// The question is answered in the order in which things keep an item from running: what it is, what its job waits for,
// who could run it at all, who comes first. The first that holds is the reason.
#include "core/why.h"

#include <algorithm>

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
    if (open == nullptr) {
      if (const auto why = before_it(item)) return *why;
    }
    const std::uint64_t ahead = open != nullptr ? 0 : pending_before(item);
    Why why = of_turn();
    if (ahead > 0) why.sentence = concat(plural(ahead, "item"), " of its job come first; ", why.sentence);
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
    const std::uint64_t open = blocks_.count(ItemMark::open);
    if (blocks_.count(ItemMark::pending) == 0 && index_.ready.empty()) {
      if (index_.in_hands < open && index_.in_hands == 0) return next_retry();
      return {WhyCode::running,
              concat("all that is left of it, ", plural(open, "item"), ", runs or waits for a retry")};
    }
    if (!index_.offered && waits_for_items()) {
      for (auto item = blocks_.find(ItemMark::pending, ItemIndex{0}); item;
           item = blocks_.find(ItemMark::pending, ItemIndex{item->value + 1})) {
        if (const auto why = before_it(*item)) return *why;
      }
    }
    if (!index_.offered && job_.sequential && open > 0 && index_.in_hands == 0) return next_retry();
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
      return {WhyCode::handed_out,
              concat("item ", item.value, " is in the hands of worker ", worker, ", which has not said that it runs")};
    }
    return {WhyCode::running,
            concat("item ", item.value, " runs on worker ", worker, " for ",
                   format_duration_us((now_.now_ms - open->started_ms) * 1000), ", as attempt ", open->attempts)};
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
    }
    return first == nullptr ? Why{WhyCode::running, "all that is left of it runs"} : retry_at(*first);
  }

  /// Items that must succeed before this untouched one.
  std::optional<Why> before_it(ItemIndex item) const {
    for (const Dependency& it : job_.after) {
      const auto blocks = durable_.blocks.find(it.job);
      if (it.each && blocks == durable_.blocks.end())
        return Why{WhyCode::after_item, "waits for an item of a job that is no longer known"};
      if (!it.each || blocks->second.get(item) == ItemMark::succeeded) continue;
      const Job& other = durable_.jobs.at(it.job);
      return Why{.code = WhyCode::after_item,
                 .sentence = concat("waits for item ", item.value, " of job ", other.name, ", ", percent_done(other),
                                    " % done"),
                 .job = it.job};
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

  std::uint64_t pending_before(ItemIndex item) const {
    std::uint64_t count = index_.ready.size();
    for (auto at = blocks_.find(ItemMark::pending, index_.pending_from); at && *at < item;) {
      const std::uint64_t run = blocks_.run_length(ItemMark::pending, *at, item.value - at->value);
      count += run;
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
    // Some worker that could run it holds nothing: it is about to ask.
    for (const Worker* worker : open) {
      if (now_.worker_grants.at(worker->id).empty()) {
        return {.code = WhyCode::next,
                .sentence = concat("is about to be handed out: worker ", worker->name, " is free"),
                .workers = open.size()};
      }
    }
    const std::string busy = open.size() == 1 ? concat("worker ", open.front()->name, ", which could run it, is busy")
                                              : concat("the ", open.size(), " workers that could run it are busy");
    if (Why why = of_those_ahead(busy); why.code == WhyCode::behind) {
      why.workers = open.size();
      return why;
    }
    return {.code = WhyCode::busy, .sentence = concat(busy, "; it is next"), .workers = open.size()};
  }

  /// Whether something that the same machines could run comes before it.
  Why of_those_ahead(const std::string& busy) const {
    const Schedule& schedule = now_.schedule;
    const Schedule::Share& mine = schedule.at(index_.share);
    const Schedule::Rank rank{kHighestPriority - job_.place.priority, job_.id};
    const auto competes = [&](Schedule::ClassId of) {
      const auto& theirs = schedule.of(of).kinds;
      return std::ranges::any_of(schedule.of(index_.of).kinds,
                                 [&](Schedule::KindId kind) { return theirs.contains(kind); });
    };
    std::uint64_t places = 0;
    Schedule::Rank nearest;
    for (const auto& [of, ranks] : mine.offered) {
      if (!competes(of)) continue;
      for (const Schedule::Rank& it : ranks) {
        if (!(it < rank)) break;
        if (places++ == 0 || nearest < it) nearest = it;
      }
    }
    if (places > 0) {
      return {.code = WhyCode::behind,
              .sentence = concat(
                  busy, ", and it is ", plural(places, "place"), " behind job ", durable_.jobs.at(nearest.job).name,
                  mine.lane->fair ? concat(" of the same share '", mine.name, "'") : concat(" of the same queue")),
              .job = nearest.job,
              .places = places};
    }
    for (const auto& [name, id] : mine.lane->shares) {
      const Schedule::Share& other = schedule.at(id);
      if (&other == &mine || Schedule::key_of(other, now_.now_ms) >= Schedule::key_of(mine, now_.now_ms)) continue;
      for (const auto& [of, ranks] : other.offered) {
        if (!competes(of)) continue;
        return {.code = WhyCode::behind,
                .sentence =
                    concat(busy, ", and share '", other.name, "' has used less than share '", mine.name, "' lately"),
                .job = ranks.begin()->job};
      }
    }
    for (const auto& [name, lane] : schedule.lanes()) {
      if (&lane == mine.lane || lane.key.below_highest > mine.lane->key.below_highest) continue;
      const bool higher = lane.key.below_highest < mine.lane->key.below_highest;
      if (!higher && lane.milli_cpus >= mine.lane->milli_cpus) continue;
      for (const auto& [of, shares] : lane.offered) {
        if (!competes(of)) continue;
        return {.code = WhyCode::behind,
                .sentence =
                    concat(busy, ", and queue '", name,
                           higher ? "', which comes first, has work" : "' of the same priority has fewer CPUs busy")};
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
  if (job == nullptr || (command.item && command.item->value >= job->total)) {
    return refuse(
        ticket, ErrorCode::not_found,
        job == nullptr ? "there is no such job" : concat("job ", job->name, " has no item ", command.item->value));
  }
  Why said = why(*this, command.job, command.item);
  said.in_hands = volatile_.jobs.at(command.job).in_hands;
  say(ticket, std::move(said));
}

}  // namespace drover

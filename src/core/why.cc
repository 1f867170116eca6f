// The question is answered in the order in which things keep an item from running: what it is, what its job waits for,
// who could run it at all, who comes first. The first that holds is the reason.
#include "core/why.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "core/core.h"
#include "core/schedule/unfit.h"

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

// A question must not keep everybody waiting: beyond these it is answered from a part of what there is.
constexpr std::size_t kMostDecliners = 1000;  // workers that declined it
constexpr std::size_t kMostKinds = 256;       // of machines that are looked at for who comes first
constexpr std::uint64_t kMostPlaces = 1000;   // that are counted
constexpr std::size_t kMostGrants = 256;      // whose workers are asked what they wait for
constexpr std::uint64_t kMostCounted = 4096;  // items that wait, for a retry or for items of other jobs

std::uint64_t percent_done(const Job& job) {
  return job.total == 0 ? 100 : (job.succeeded + job.failed + job.cancelled) * 100 / job.total;
}

/// The words for one job, or one item of it.
class Reasons {
 public:
  Reasons(const Core& core, const Job& job, const ItemBlocks& blocks)
      : core_(core),
        durable_(core.durable()),
        now_(core.volatile_part()),
        job_(job),
        index_(now_.jobs.at(job.id)),
        place_(now_.places.at(job.id)),
        hands_(now_.in_hands.at(job.id)),
        blocks_(blocks) {}

  Why of_item(ItemIndex item) const {
    const std::string name = concat("item ", item.value);
    const ItemMark mark = job_.state == JobState::succeeded ? ItemMark::succeeded : blocks_.get(item);
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
    std::size_t asked = 0;
    for (const GrantId id : hands_.grants) {
      if (++asked > kMostGrants) break;
      if (const auto why = getting_ready(durable_.grants.at(id).worker)) return *why;
    }
    const std::uint64_t open = blocks_.count(ItemMark::open);
    if (blocks_.count(ItemMark::pending) == 0 && index_.ready.empty()) {
      if (place_.in_hands < open && place_.in_hands == 0) return next_retry();
      if (place_.in_hands == open && job_.reopening == nullptr) {
        return {WhyCode::running, concat("all remaining items (", open, ") are assigned to workers")};
      }
      return {WhyCode::running,
              job_.reopening != nullptr
                  ? concat("a retry is reopening the job's items; ", open, " running or waiting so far")
                  : concat("all remaining items (", open, ") are running or waiting for a retry")};
    }
    if (!place_.offered && job_.sequential && open > 0 && place_.in_hands == 0) return next_retry();
    if (!place_.offered && waits_for_items()) {
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
      for (const GrantId id : hands_.grants) {
        if (durable_.grants.at(id).covers(item)) holder = id;
      }
    }
    const std::string& worker = durable_.workers.at(durable_.grants.at(holder).worker).name;
    if (open == nullptr || !open->counted) {
      if (const auto why = getting_ready(durable_.grants.at(holder).worker)) return *why;
      return {WhyCode::handed_out,
              concat("item ", item.value, " is assigned to worker ", worker, ", which has not reported it as running")};
    }
    return {WhyCode::running,
            concat("item ", item.value, " has been running on worker ", worker, " for ",
                   format_duration_us((core_.now_ms() - open->started_ms) * 1000), ", as attempt ", open->attempts)};
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
      return Why{WhyCode::ended, concat("job ", job_.name, " ended before this item was started",
                                        job_.reason.empty() ? "" : concat(": ", job_.reason))};
    }
    if (job_.stop != StopCause::none) {
      return Why{WhyCode::stopping, concat("job ", job_.name, " starts no more items: ",
                                           job_.reason.empty() ? std::string(to_string(job_.stop)) : job_.reason)};
    }
    for (const Dependency& it : job_.after) {
      const Job* other = durable_.find_job(it.job);
      if (other == nullptr && !it.each)
        return Why{WhyCode::after_job, "waits for a job that did not succeed and is no longer known"};
      if (it.each || other->state == JobState::succeeded) continue;
      return Why{.code = WhyCode::after_job,
                 .sentence = concat("waits for job ", other->name, ", ", percent_done(*other), "% done"),
                 .job = other->id};
    }
    const Queue* queue = durable_.find_queue(job_.place.queue);
    if (queue != nullptr && !queue->enabled) {
      return Why{WhyCode::queue_disabled, concat("queue '", queue->name, "' is disabled")};
    }
    if (open != nullptr && open->waiting() && !index_.ready.contains(open->item)) return retry_at(*open);
    if (job_.max_running > 0 && place_.in_hands >= job_.max_running) {
      return Why{WhyCode::most_running, concat(place_.in_hands, " of its items ", place_.in_hands == 1 ? "is" : "are",
                                               " assigned to workers, which is the limit (",
                                               job_.sequential ? "sequential" : "max_running", ")")};
    }
    return std::nullopt;
  }

  Why retry_at(const OpenItem& open) const {
    return {.code = WhyCode::retry_delay,
            .sentence =
                concat("item ", open.item.value, " failed ", plural(open.tries, "time"), "; its next attempt is in ",
                       format_duration_us((open.not_before_ms - core_.now_ms()) * 1000)),
            .until_ms = open.not_before_ms};
  }

  /// The first of its items that may run again; of very many, the first of some.
  Why next_retry() const {
    const OpenItem* first = nullptr;
    auto item = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
    std::uint64_t looked_at = 0;
    for (; item != durable_.open_items.end() && item->first.first == job_.id && looked_at < kMostCounted;
         ++item, ++looked_at) {
      if (item->second.waiting() && (first == nullptr || item->second.not_before_ms < first->not_before_ms))
        first = &item->second;
      if (job_.sequential) break;  // the others come after this one
    }
    return first == nullptr ? Why{WhyCode::running, "all remaining items are running"} : retry_at(*first);
  }

  /// Items that must succeed before this one. One that was tried waits only for those before it in its own job.
  std::optional<Why> before_it(ItemIndex item, const OpenItem* open) const {
    if (const Dependency* it = open == nullptr ? unmet(item) : nullptr) {
      if (!durable_.jobs.contains(it->job))
        return Why{WhyCode::after_item, "waits for an item of a job that is no longer known"};
      const Job& other = durable_.jobs.at(it->job);
      return Why{.code = WhyCode::after_item,
                 .sentence =
                     concat("waits for item ", item.value, " of job ", other.name, ", ", percent_done(other), "% done"),
                 .job = it->job};
    }
    if (!job_.sequential) return std::nullopt;
    for (const ItemMark mark : {ItemMark::open, ItemMark::pending}) {
      const auto first = blocks_.find(mark, ItemIndex{0});
      if (first && *first < item) {
        return Why{WhyCode::before_it,
                   concat("items of this job run one at a time, and item ", first->value, " has not succeeded yet")};
      }
    }
    return std::nullopt;
  }

  /// The item of another job that an untouched one still waits for.
  const Dependency* unmet(ItemIndex item) const {
    for (const Dependency& it : job_.after) {
      if (it.each && !durable_.has_succeeded(it.job, item)) return &it;
    }
    return nullptr;
  }

  /// Those of its job that are handed out before it: whatever was tried before, and of each kind those of lower number.
  std::uint64_t items_before(ItemIndex item, const OpenItem* open) const {
    if (open != nullptr) {
      return static_cast<std::uint64_t>(std::distance(index_.ready.begin(), index_.ready.lower_bound(item)));
    }
    std::uint64_t count = index_.ready.size();
    if (!waits_for_items()) return count + blocks_.count_before(ItemMark::pending, item);
    std::uint64_t looked_at = 0;
    for (auto at = blocks_.find(ItemMark::pending, ItemIndex{0}); at && *at < item && looked_at < kMostCounted;
         at = blocks_.find(ItemMark::pending, ItemIndex{at->value + 1}), ++looked_at) {
      if (unmet(*at) == nullptr) ++count;
    }
    return count;
  }

  /// Machines that could run it.
  struct Suiting {
    std::vector<const Schedule::Site*> sites;
    std::array<std::uint64_t, kReadinesses> workers = {};
    std::vector<Schedule::KindId> kinds;  // some of those that take items
    const Worker* declined_by = nullptr;  // one whose last poll declined it
    std::uint64_t declined_and_busy = 0;  // those that did, by how they stand
    std::uint64_t declined_and_free = 0;

    std::uint64_t count(Readiness readiness) const { return workers[static_cast<std::size_t>(readiness)]; }
    std::uint64_t open() const { return count(Readiness::busy) + count(Readiness::free) + count(Readiness::idle); }
    std::uint64_t alive() const { return open() + count(Readiness::apart); }
    std::uint64_t taking_and_free() const { return count(Readiness::free) - declined_and_free; }
    /// Those that do not wait for work with nothing in their hands, nor have declined it.
    std::uint64_t taking() const { return count(Readiness::busy) - declined_and_busy + taking_and_free(); }
  };

  // Where all machines of a site suit it, or none does, their kinds need not be looked at.
  Suiting suiting() const {
    Suiting out;
    std::map<Schedule::KindId, std::uint64_t> declined;  // by workers that take other items
    std::size_t asked = 0;
    for (const WorkerId id : hands_.declined_by) {
      if (++asked > kMostDecliners) break;
      const Session& session = now_.sessions.at(id);
      const bool is_busy = session.readiness == Readiness::busy;
      const bool is_free = session.readiness == Readiness::free;
      if (!is_busy && !is_free && session.readiness != Readiness::idle) continue;
      // Counted as the machines are below: its queue may be served by other fleets since.
      if (!now_.schedule.suits(session.kind, place_.of)) continue;
      out.declined_by = &worker(id);
      out.declined_and_busy += is_busy ? 1 : 0;
      out.declined_and_free += is_free ? 1 : 0;
      declined[session.kind] += is_busy || is_free ? 1 : 0;
    }
    for (const auto& [name, id] : now_.schedule.sites()) {
      const Schedule::Site& site = now_.schedule.site(id);
      if (!now_.schedule.suits_site(id, place_.of) || !job_.ask.fits(site.most())) continue;
      const bool all_suit = job_.ask.fits(site.least());
      out.sites.push_back(&site);
      for (std::size_t i = 0; all_suit && i < kReadinesses; ++i) out.workers[i] += site.workers[i].size();
      for (const Schedule::KindId kind_id : site.kinds) {
        if (all_suit && out.kinds.size() == kMostKinds) break;
        const Schedule::Kind& kind = now_.schedule.kind(kind_id);
        if (!now_.schedule.suits(kind, place_.of)) continue;
        const auto declining = declined.find(kind_id);
        const std::uint64_t takers = kind.count(Readiness::busy) + kind.count(Readiness::free);
        const bool takes = takers > (declining == declined.end() ? 0 : declining->second);
        if (takes && out.kinds.size() < kMostKinds) out.kinds.push_back(kind_id);
        for (std::size_t i = 0; !all_suit && i < kReadinesses; ++i) out.workers[i] += kind.workers[i];
      }
    }
    return out;
  }

  /// The first of them that stands so, and did not decline it if it takes items at all. There is one.
  const Worker& first(const Suiting& suit, Readiness readiness) const {
    const Worker* found = nullptr;
    for (const Schedule::Site* site : suit.sites) {
      const auto& those = site->those(readiness);
      const bool takes_items = readiness == Readiness::busy || readiness == Readiness::free;
      const auto it = std::ranges::find_if(those, [&](WorkerId id) {
        return suits(worker(id), job_) && !(takes_items && hands_.declined_by.contains(id));
      });
      if (it != those.end() && (found == nullptr || *it < found->id)) found = &worker(*it);
    }
    DROVER_CHECK(found != nullptr, "one that is counted is there");
    return *found;
  }

  const Worker& worker(WorkerId id) const { return durable_.workers.at(id); }

  /// It could be handed out: who could take it, and who comes first.
  Why of_turn() const {
    const std::uint64_t alive = now_.schedule.alive_workers();
    if (alive == 0) {
      return {WhyCode::no_worker, durable_.counters.next_worker == 1 ? "no worker has ever joined"
                                  : durable_.workers.empty()
                                      ? "no worker is connected"
                                      : concat("none of ", plural(durable_.workers.size(), "worker"), " is connected")};
    }
    const Suiting suit = suiting();
    if (suit.alive() == 0) {
      std::vector<WorkersOfSite> all;
      for (const auto& [name, id] : now_.schedule.sites()) {
        const Schedule::Site& site = now_.schedule.site(id);
        std::uint64_t count = 0;
        for (const auto& those : site.workers) count += those.size();
        count -= site.those(Readiness::away).size();
        if (count > 0) all.push_back({site.most(), &site.labels, &site.fleet, count});
      }
      return {.code = WhyCode::nobody_suits,
              .sentence = concat("needs ", what_nobody_has(now_.schedule.of(place_.of).demand, all)),
              .workers = alive};
    }
    if (suit.open() == 0) {
      const Worker& apart = first(suit, Readiness::apart);
      const std::string who =
          concat("worker ", apart.name, apart.quarantine.empty() ? " is draining" : " is quarantined");
      return {.code = WhyCode::set_apart,
              .sentence = suit.alive() == 1
                              ? concat(who, ", and no other worker can run it")
                              : concat("none of the ", suit.alive(), " workers that could run it accepts items: ", who),
              .workers = suit.alive()};
    }
    return of_order(suit);
  }

  Why of_order(const Suiting& suit) const {
    const Schedule::Share& share = now_.schedule.at(place_.share);
    if (now_.schedule.is_held_back(share, job_.ask)) {
      return {.code = WhyCode::share_held_back,
              .sentence = concat("share '", share.name,
                                 "' has reached its limit: the remaining capacity is reserved for inactive shares (",
                                 share.lane->reserved_percent, "% reserved)"),
              .workers = suit.open()};
    }
    // Whoever waits for work and holds nothing would have been given it, if it took anything like it.
    if (suit.taking() == 0 && suit.declined_by != nullptr) {
      return {.code = WhyCode::set_apart,
              .sentence = concat("worker ", suit.declined_by->name, ": ",
                                 now_.sessions.at(suit.declined_by->id).declined.at(job_.id)),
              .workers = suit.open()};
    }
    if (suit.taking() == 0) {
      return {.code = WhyCode::set_apart,
              .sentence = concat(suit.open() == 1 ? concat("worker ", first(suit, Readiness::idle).name,
                                                           ", which could run it, accepts")
                                                  : concat("the ", suit.open(), " workers that could run it accept"),
                                 " no items right now"),
              .workers = suit.open()};
    }
    const bool one_is_free = suit.taking_and_free() > 0;
    const std::string who = one_is_free ? does_not_ask(first(suit, Readiness::free))
                            : suit.taking() == 1
                                ? concat("worker ", first(suit, Readiness::busy).name, ", which could run it, is busy")
                                : concat("the ", suit.taking(), " workers that could run it are busy");
    Why why = of_those_ahead(who, suit.kinds);
    why.workers = suit.taking();
    if (why.code == WhyCode::behind) return why;
    why.code = one_is_free ? WhyCode::next : WhyCode::busy;
    why.sentence = concat(who, "; it is next");
    return why;
  }

  /// It is about to ask, or no longer there.
  std::string does_not_ask(const Worker& worker) const {
    const std::int64_t heard_ms = now_.sessions.at(worker.id).expires_ms - worker.term_ms;
    const std::int64_t silent_ms = core_.lease_clock_ms() - heard_ms;
    const bool is_silent = worker.term_ms > 0 && silent_ms >= 1000;
    return concat("worker ", worker.name, ", which could run it, is idle but is not asking for work",
                  is_silent ? concat(" (last heard from ", format_duration_us(silent_ms * 1000), " ago)") : "");
  }

  /// Whether the share has something that one of these machines could be given.
  bool is_offered(const Schedule::Share& share, Schedule::ClassId of,
                  const std::vector<Schedule::KindId>& kinds) const {
    const Demand& demand = now_.schedule.of(of).demand;
    return !now_.schedule.is_held_back(share, demand.ask) &&
           std::ranges::any_of(kinds, [&](Schedule::KindId kind) { return now_.schedule.suits(kind, of); });
  }

  /// Whether something that the same machines could run comes before it.
  Why of_those_ahead(const std::string& who, const std::vector<Schedule::KindId>& kinds) const {
    const Schedule& schedule = now_.schedule;
    const Schedule::Share& mine = schedule.at(place_.share);
    const Schedule::Rank rank{kHighestPriority - job_.place.priority, job_.id};
    std::uint64_t places = 0;
    Schedule::Rank nearest;
    for (const auto& [of, ranks] : mine.offered) {
      if (!is_offered(mine, of, kinds)) continue;
      const auto behind_it = ranks.lower_bound(rank);
      if (behind_it == ranks.begin()) continue;
      if (const Schedule::Rank last = *std::prev(behind_it); places == 0 || nearest < last) nearest = last;
      for (auto it = ranks.begin(); it != behind_it && places < kMostPlaces; ++it) ++places;
    }
    if (places > 0) {
      return {.code = WhyCode::behind,
              .sentence = concat(
                  who, ", and it is ", places == kMostPlaces ? "at least " : "", plural(places, "place"),
                  " behind job ", durable_.jobs.at(nearest.job).name,
                  mine.lane->fair ? concat(" in the same share '", mine.name, "'") : concat(" in the same queue")),
              .job = nearest.job,
              .places = places};
    }
    const auto key = [&](Schedule::ShareId id) {
      return std::pair(Schedule::key_of(schedule.at(id), core_.now_ms()), id);
    };
    for (const auto& [name, id] : mine.lane->shares) {
      const Schedule::Share& other = schedule.at(id);
      if (key(id) >= key(place_.share)) continue;
      for (const auto& [of, ranks] : other.offered) {
        if (!is_offered(other, of, kinds)) continue;
        return {.code = WhyCode::behind,
                .sentence = concat(who, ", and share '", other.name, "' has used ",
                                   key(id).first == key(place_.share).first ? "no more" : "less", " than share '",
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
                  .sentence = concat(
                      who, ", and queue '", name,
                      theirs.below_highest < ours.below_highest ? "', which has a higher priority, has work"
                      : lane.milli_cpus < mine.lane->milli_cpus ? "', which has the same priority, has fewer CPUs busy"
                                                                : "', which has the same priority, is next in turn"),
                  .job = ranks.begin()->job};
        }
      }
    }
    return {};
  }

  const Core& core_;
  const Durable& durable_;
  const Volatile& now_;
  const Job& job_;
  const JobIndex& index_;
  const Place& place_;
  const JobInHands& hands_;
  const ItemBlocks& blocks_;
};

}  // namespace

Why why(const Core& core, JobId id, std::optional<ItemIndex> item) {
  static const ItemBlocks none;
  const Job& job = core.durable().jobs.at(id);
  const ItemBlocks* blocks = core.durable().find_blocks(id);
  // Of the items of an ended job only the ledger knows; AskWhy has it read first.
  const bool is_unknown = blocks == nullptr && job.state != JobState::succeeded;
  const Reasons reasons(core, job, blocks != nullptr ? *blocks : none);
  return item && !is_unknown ? reasons.of_item(*item) : reasons.of_next();
}

}  // namespace drover

// Why a job that could be handed out is not, in two steps. First who could run it: blocks of similar machines are
// looked at, and single kinds only in those of which some suit it and some do not. Then whether something that the same
// machines could run comes first: at most so many others are looked at, and beyond that it is not said who is next.
#include "core/why_turn.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "core/core.h"
#include "core/schedule/schedule_faults.h"
#include "core/why_machines.h"

namespace drover {
namespace {

constexpr std::size_t kMostDecliners = 128;  // workers that declined it
constexpr std::size_t kMostTakers = 256;     // kinds of machines that are looked at for who comes first
constexpr std::size_t kMostNamed = 16;       // kinds that are looked at for a worker to name
constexpr std::uint64_t kMostPlaces = 500;   // jobs that are counted

/// How much more may be looked at, in steps of some ten nanoseconds.
class Looks {
 public:
  bool take(std::uint64_t steps) {
    is_over_ = is_over_ || steps > left_;
    left_ -= is_over_ ? 0 : steps;
    return !is_over_;
  }
  bool is_over() const { return is_over_; }

 private:
  std::uint64_t left_ = 1500;
  bool is_over_ = false;
};
constexpr std::uint64_t kRecordSteps = 8;  // what it takes to look at a share, or at a class for the first time

class Turn {
 public:
  Turn(const Core& core, const Job& job)
      : core_(core),
        durable_(core.durable()),
        now_(core.volatile_part()),
        schedule_(now_.schedule),
        job_(job),
        place_(now_.places.at(job.id)),
        declined_by_(now_.in_hands.at(job.id).declined_by) {}

  Reason reason() {
    if (schedule_.alive_workers() == 0) {
      return reason::NoWorker{durable_.counters.next_worker == 1, durable_.workers.size(), machines_for(core_, job_)};
    }
    look_at_decliners();
    look_at_kinds();
    if (alive() == 0) {
      return reason::NobodySuits{schedule_.of(place_.offered_as()).demand, unfit(), machines_for(core_, job_)};
    }
    if (open() == 0) {
      const Worker* apart = first(Readiness::apart);
      return reason::SetApart{apart->name, !apart->quarantine.empty(), alive(), machines_for(core_, job_)};
    }
    const Schedule::Share& share = schedule_.at(place_.share);
    if (schedule_.is_held_back(share, job_.ask)) {
      return reason::HeldBack{share.name, share.lane->reserved_percent, open()};
    }
    // Whoever waits for work and holds nothing would have been given it, if it took anything like it.
    if (taking() == 0 && decliner_ != nullptr) {
      return reason::Declined{decliner_->name, now_.sessions.at(decliner_->id).declined.at(job_.id), open()};
    }
    if (taking() == 0) return reason::NoneAccepts{open() == 1 ? first(Readiness::idle)->name : "", open()};
    return turn();
  }

 private:
  /// The last that was added, of the site that is looked at.
  struct TakerOfSite {
    const Schedule::Kind* kind = nullptr;
    std::size_t at = 0;  // in takers_
  };

  std::uint64_t count(Readiness readiness) const { return suiting_.count(readiness); }
  std::uint64_t open() const { return count(Readiness::busy) + count(Readiness::free) + count(Readiness::idle); }
  std::uint64_t alive() const { return open() + count(Readiness::apart); }
  std::uint64_t taking_and_free() const { return count(Readiness::free) - declined_and_free_; }
  /// Those that do not wait for work with nothing in their hands, nor have declined it.
  std::uint64_t taking() const { return count(Readiness::busy) - declined_and_busy_ + taking_and_free(); }

  void look_at_decliners() {
    std::uint64_t asked = 0;
    for (const WorkerId id : declined_by_) {
      if (++asked > kMostDecliners) break;
      const Session& session = now_.sessions.at(id);
      const bool is_busy = session.readiness == Readiness::busy;
      const bool is_free = session.readiness == Readiness::free;
      if (!is_busy && !is_free && session.readiness != Readiness::idle) continue;
      // Counted as the machines are: its queue may be served by other fleets since.
      if (!schedule_.suits(session.kind, place_.offered_as())) continue;
      decliner_ = &durable_.workers.at(id);
      declined_and_busy_ += is_busy ? 1 : 0;
      declined_and_free_ += is_free ? 1 : 0;
      declined_[session.kind] += is_busy || is_free ? 1 : 0;
    }
    if (asked <= kMostDecliners) return;
    // The others are as those that were looked at.
    declined_and_busy_ = declined_and_busy_ * declined_by_.size() / kMostDecliners;
    declined_and_free_ = declined_and_free_ * declined_by_.size() / kMostDecliners;
  }

  // From the largest machines of a site down, so that the first outdo many of the others.
  void look_at_kinds() {
    const Resources& ask = schedule_.of(place_.offered_as()).demand.ask;
    const bool is_injected = injected(ScheduleFault::unfit_worker_served);
    const Schedule::KindBlocks& blocks = schedule_.kind_blocks();
    for (auto at = blocks.rbegin(); at != blocks.rend(); ++at) {
      const Schedule::KindBlock& block = at->second;
      if (block.alive() == 0 || (!ask.fits(block.most) && !is_injected)) continue;
      const bool all_fit = fits_alike(block);
      if (all_fit && !schedule_.suits_site(block.last_site, place_.offered_as())) continue;
      const bool all_suit = (all_fit && ask.fits(block.least)) || is_injected;
      if (all_suit) suiting_.add(block);
      if (all_suit && !takes_more(block) && !names_more(block)) continue;
      for (auto id = block.kinds.rbegin(); id != block.kinds.rend(); ++id) {
        const Schedule::Kind& kind = schedule_.kind(*id);
        if (!all_suit && !schedule_.suits(kind, place_.offered_as())) continue;
        if (!all_suit) suiting_.add(kind);
        add_suiting(*id, kind);
      }
    }
    declined_and_busy_ = std::min(declined_and_busy_, count(Readiness::busy));
    declined_and_free_ = std::min(declined_and_free_, count(Readiness::free));
  }

  /// When none suits it.
  UnfitWorkers unfit() const {
    UnfitWorkers out{.all = schedule_.alive_workers()};
    const auto add = [&](Schedule::SiteId site, const Schedule::WorkerCounts& workers, const Resources& most) {
      const Schedule::SiteFit fit = schedule_.fit(site, place_.offered_as());
      if (workers.alive() == 0 || fit == Schedule::SiteFit::serves_others) return;
      out.serving += workers.alive();
      out.most = out.most.at_least(most);
      out.one_has_labels = out.one_has_labels || fit == Schedule::SiteFit::suits;
    };
    for (const auto& [key, block] : schedule_.kind_blocks()) {
      if (fits_alike(block)) {
        add(block.last_site, block, block.most);
        continue;
      }
      for (const Schedule::KindId id : block.kinds)
        add(schedule_.kind(id).site, schedule_.kind(id), schedule_.kind(id).has);
    }
    return out;
  }

  /// Whether its kinds are of one site, or it does not matter of which.
  bool fits_alike(const Schedule::KindBlock& block) const {
    const Demand& demand = schedule_.of(place_.offered_as()).demand;
    return (demand.require.empty() && demand.fleets.empty() && !demand.no_spot) || block.first_site == block.last_site;
  }

  /// Whether there may be kinds in it that no taker outdoes.
  bool takes_more(const Schedule::KindBlock& block) const {
    if (block.count(Readiness::busy) + block.count(Readiness::free) == 0) return false;
    const Schedule::Kind* known = taker_of_site_.kind;
    const bool is_outdone = known != nullptr && known->site == block.first_site && known->site == block.last_site &&
                            block.most.fits(known->has);
    return !is_outdone && takers_.size() < kMostTakers;
  }

  /// Whether kinds are still looked for that have workers which stand as some of the block do.
  bool names_more(const Schedule::KindBlock& block) const {
    for (std::size_t i = 0; i < kReadinesses; ++i) {
      if (block.workers[i] > 0 && named_[i].size() < kMostNamed) return true;
    }
    return false;
  }

  void add_suiting(Schedule::KindId id, const Schedule::Kind& kind) {
    for (std::size_t i = 0; i < kReadinesses; ++i) {
      if (kind.workers[i] > 0 && named_[i].size() < kMostNamed) named_[i].push_back(id);
    }
    const std::uint64_t declined = declined_.empty() || !declined_.contains(id) ? 0 : declined_.at(id);
    if (kind.count(Readiness::busy) + kind.count(Readiness::free) <= declined) return;
    // What one of a site can run, another with no less of anything can run, too.
    TakerOfSite& known = taker_of_site_;
    if (known.kind != nullptr && known.kind->site != kind.site) known = {};
    if (known.kind != nullptr && kind.has.fits(known.kind->has)) return;
    if (known.kind != nullptr && known.kind->has.fits(kind.has)) {
      takers_[known.at] = id;
    } else if (takers_.size() < kMostTakers) {
      known.at = takers_.size();
      takers_.push_back(id);
    } else {
      return;
    }
    known.kind = &kind;
  }

  /// The first of them that stands so, and did not decline it if it takes items at all. None: nobody of those that were
  /// looked at.
  const Worker* first(Readiness readiness) const {
    const bool takes_items = readiness == Readiness::busy || readiness == Readiness::free;
    std::optional<WorkerId> found;
    std::size_t asked = 0;
    for (const Schedule::KindId kind : named_[static_cast<std::size_t>(readiness)]) {
      for (const WorkerId id : schedule_.workers(kind, readiness)) {
        if ((found && id > *found) || ++asked > kMostDecliners) break;
        if (takes_items && declined_by_.contains(id)) continue;
        found = id;
        break;
      }
    }
    return found ? &durable_.workers.at(*found) : nullptr;
  }

  reason::Turn turn() {
    reason::Turn out{.takers = taking(), .is_free = taking_and_free() > 0, .worker = {}, .silent_ms = 0, .ahead = {}};
    const Worker* who = out.is_free ? first(Readiness::free) : out.takers == 1 ? first(Readiness::busy) : nullptr;
    if (who != nullptr) {
      out.worker = who->name;
      const std::int64_t heard_ms = now_.sessions.at(who->id).expires_ms - who->term_ms;
      if (who->term_ms > 0) out.silent_ms = core_.lease_clock_ms() - heard_ms;
    }
    if (const auto places = places_ahead(); places.places > 0) {
      out.ahead = places;
    } else if (const auto share = share_ahead()) {
      out.ahead = *share;
    } else if (const auto queue = queue_ahead()) {
      out.ahead = *queue;
    } else if (looks_.is_over()) {
      out.ahead = reason::PerhapsSomebodyAhead{};
    }
    return out;
  }

  /// Whether the share has something of the class that one of the takers could be given.
  bool is_offered(const Schedule::Share& share, Schedule::ClassId of) {
    if (!looks_.take(1)) return false;
    const auto [known, is_new] = could_run_.try_emplace(of, of == place_.offered_as());
    if (is_new && of != place_.offered_as()) {
      known->second = looks_.take(kRecordSteps) && std::ranges::any_of(takers_, [&](Schedule::KindId kind) {
                        return looks_.take(1) && schedule_.suits(kind, of);
                      });
    }
    return known->second && !schedule_.is_held_back(share, schedule_.of(of).demand.ask);
  }

  reason::PlacesAhead places_ahead() {
    const Schedule::Share& mine = schedule_.at(place_.share);
    const Schedule::Rank rank{kHighestPriority - job_.place.priority, job_.id};
    reason::PlacesAhead out;
    Schedule::Rank nearest;
    for (const auto& [of, ranks] : mine.offered) {
      if (looks_.is_over()) break;
      if (!is_offered(mine, of)) continue;
      const auto behind_it = ranks.lower_bound(rank);
      if (behind_it == ranks.begin()) continue;
      if (const Schedule::Rank last = *std::prev(behind_it); out.places == 0 || nearest < last) nearest = last;
      for (auto it = ranks.begin(); it != behind_it && out.places < kMostPlaces; ++it) ++out.places;
    }
    if (out.places == 0) return out;
    out.or_more = out.places == kMostPlaces || looks_.is_over();
    out.nearest = nearest.job;
    out.nearest_name = durable_.jobs.at(nearest.job).name;
    if (mine.lane->fair) out.share = mine.name;
    return out;
  }

  std::optional<reason::ShareAhead> share_ahead() {
    const Schedule::Share& mine = schedule_.at(place_.share);
    const auto key = [&](Schedule::ShareId id) {
      return std::pair(Schedule::key_of(schedule_.at(id), core_.now_ms()), id);
    };
    const auto own_key = key(place_.share);
    for (const auto& [name, id] : mine.lane->shares) {
      if (!looks_.take(kRecordSteps)) return std::nullopt;
      const auto other_key = key(id);
      if (other_key >= own_key) continue;
      const Schedule::Share& other = schedule_.at(id);
      if (const auto job = first_job_of(other)) {
        return reason::ShareAhead{*job, other.name, mine.name, other_key.first != own_key.first};
      }
    }
    return std::nullopt;
  }

  std::optional<reason::QueueAhead> queue_ahead() {
    using How = reason::QueueAhead::How;
    const Schedule::Lane& mine = *schedule_.at(place_.share).lane;
    const Schedule::QueueKey ours = Schedule::turn_of(mine);
    for (const auto& [name, lane] : schedule_.lanes()) {
      if (!looks_.take(1)) return std::nullopt;
      const Schedule::QueueKey theirs = Schedule::turn_of(lane);
      if (theirs >= ours) continue;
      for (const auto& [share, id] : lane.shares) {
        if (!looks_.take(1)) return std::nullopt;
        const auto job = first_job_of(schedule_.at(id));
        if (!job) continue;
        return reason::QueueAhead{*job, name,
                                  theirs.below_highest < ours.below_highest ? How::higher_priority
                                  : lane.milli_cpus < mine.milli_cpus       ? How::fewer_cpus_busy
                                                                            : How::next_in_turn};
      }
    }
    return std::nullopt;
  }

  /// Of what the takers could be given of the share.
  std::optional<JobId> first_job_of(const Schedule::Share& share) {
    for (const auto& [of, ranks] : share.offered) {
      if (looks_.is_over()) return std::nullopt;
      if (is_offered(share, of)) return ranks.begin()->job;
    }
    return std::nullopt;
  }

  const Core& core_;
  const Durable& durable_;
  const Volatile& now_;
  const Schedule& schedule_;
  const Job& job_;
  const Place& place_;
  const std::set<WorkerId>& declined_by_;

  // Machines that could run it.
  Schedule::WorkerCounts suiting_;
  std::array<std::vector<Schedule::KindId>, kReadinesses> named_;  // some of their kinds
  const Worker* decliner_ = nullptr;                               // one whose last poll declined it
  std::uint64_t declined_and_busy_ = 0;                            // those that did, by how they stand
  std::uint64_t declined_and_free_ = 0;
  std::map<Schedule::KindId, std::uint64_t> declined_;  // by workers that take other items
  std::vector<Schedule::KindId> takers_;                // kinds that take items, without those that others outdo
  TakerOfSite taker_of_site_;

  Looks looks_;
  std::map<Schedule::ClassId, bool> could_run_;  // whether one of the takers could, as far as it was looked at
};

}  // namespace

Reason why_not_its_turn(const Core& core, const Job& job) {
  return Turn(core, job).reason();
}

}  // namespace drover

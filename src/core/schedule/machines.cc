// The machines that a schedule knows: their kinds and sites, which of them suit a class, and which wait for work.
#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "core/schedule/schedule.h"
#include "core/schedule/schedule_faults.h"

namespace drover {
namespace {

// How many that wait are asked whether they can make room.
constexpr std::size_t kMostAsked = 64;

}  // namespace

Supply supply_of(const Worker& worker) {
  return {worker.has, worker.labels, worker.fleet};
}

bool Supply::suits(const Demand& demand) const {
  return (demand.ask.fits(has) && has_all(labels, demand.require) && serves(fleet, demand.fleets) &&
          !(demand.no_spot && is_spot(labels))) ||
         injected(ScheduleFault::unfit_worker_served);
}

Schedule::KindId Schedule::join(const Supply& supply, WorkerId worker) {
  const auto [known, is_new] = kind_of_.try_emplace(supply, kNone);
  if (is_new) {
    known->second = take_slot(kinds_, free_kinds_);
    kinds_[known->second].has = supply.has;
    kinds_[known->second].site = enter_site(supply);
    if (workers_.size() < kinds_.size()) workers_.emplace_back();
    enter_block(known->second);
  }
  constexpr auto kAway = static_cast<std::size_t>(Readiness::away);
  const KindId id = known->second;
  ++kinds_[id].workers[kAway];
  ++block_of(kinds_[id].site, supply.has)->second.workers[kAway];
  workers_[id][kAway].insert(worker);
  return id;
}

void Schedule::part(KindId id, WorkerId worker) {
  Kind& it = kinds_[id];
  KindBlock& block = block_of(it.site, it.has)->second;
  for (std::size_t readiness = 0; readiness < kReadinesses; ++readiness) {
    if (workers_[id][readiness].erase(worker) == 0) continue;
    --it.workers[readiness];
    --block.workers[readiness];
    if (static_cast<Readiness>(readiness) != Readiness::away) --alive_workers_;
  }
  if (it.alive() + it.count(Readiness::away) > 0) return;
  leave_block(id);
  const Site& site = sites_[it.site];
  kind_of_.erase({it.has, site.labels, site.fleet});
  leave_site(it.site);
  it = Kind{};
  free_kinds_.push_back(id);
}

void Schedule::set_readiness(KindId id, WorkerId worker, Readiness before, Readiness now) {
  if (before == now) return;
  const auto from = static_cast<std::size_t>(before);
  const auto to = static_cast<std::size_t>(now);
  const std::array<WorkerCounts*, 2> counts = {&kinds_[id], &block_of(kinds_[id].site, kinds_[id].has)->second};
  for (WorkerCounts* it : counts) {
    --it->workers[from];
    ++it->workers[to];
  }
  workers_[id][to].insert(workers_[id][from].extract(worker));
  alive_workers_ += now == Readiness::away ? -1 : before == Readiness::away ? 1 : 0;
}

/// Where a kind is, or would have its place. The end: there is no block yet that may hold it.
Schedule::KindBlocks::iterator Schedule::block_of(SiteId site, const Resources& has) {
  const auto behind = blocks_.upper_bound({site, has});
  return behind == blocks_.begin() ? blocks_.end() : std::prev(behind);
}

void Schedule::enter_block(KindId id) {
  auto at = block_of(kinds_[id].site, kinds_[id].has);
  if (at == blocks_.end()) at = blocks_.try_emplace({0, Resources{}}).first;
  std::vector<KindId>& kinds = at->second.kinds;
  const auto key = [this](KindId it) { return std::pair(kinds_[it].site, kinds_[it].has); };
  kinds.insert(std::ranges::upper_bound(kinds, key(id), {}, key), id);
  if (kinds.size() > KindBlock::kMostKinds) {
    const auto middle = kinds.begin() + KindBlock::kMostKinds / 2;
    KindBlock& upper = blocks_[key(*middle)];
    upper.kinds.assign(middle, kinds.end());
    kinds.erase(middle, kinds.end());
    summarize(upper);
  }
  summarize(at->second);
}

void Schedule::leave_block(KindId id) {
  const auto at = block_of(kinds_[id].site, kinds_[id].has);
  std::erase(at->second.kinds, id);
  if (at->second.kinds.empty()) {
    blocks_.erase(at);
  } else {
    summarize(at->second);
  }
}

void Schedule::summarize(KindBlock& block) const {
  static_cast<WorkerCounts&>(block) = {};
  block.first_site = kinds_[block.kinds.front()].site;
  block.last_site = kinds_[block.kinds.back()].site;
  block.least = Resources::endless();
  block.most = {};
  for (const KindId id : block.kinds) {
    block.add(kinds_[id]);
    block.least = block.least.at_most(kinds_[id].has);
    block.most = block.most.at_least(kinds_[id].has);
  }
}

Schedule::SiteId Schedule::enter_site(const Supply& supply) {
  const auto [known, is_new] = site_of_.try_emplace({supply.labels, supply.fleet}, kNone);
  if (is_new) {
    known->second = take_slot(sites_, free_sites_);
    sites_[known->second].labels = supply.labels;
    sites_[known->second].fleet = supply.fleet;
  }
  ++sites_[known->second].kinds;
  return known->second;
}

void Schedule::leave_site(SiteId id) {
  Site& site = sites_[id];
  if (--site.kinds > 0) return;
  site_of_.erase({site.labels, site.fleet});
  site = Site{};
  free_sites_.push_back(id);
  // The next site of this id is another one.
  for (auto& [what, it] : requirements_) {
    if (id < it.sites.size()) it.sites[id] = SiteFit::unknown;
  }
}

Schedule::SiteFit Schedule::fit(SiteId site, ClassId of) const {
  const Demand& demand = classes_[of].demand;
  std::vector<SiteFit>& sites = classes_[of].requirement->sites;
  const bool suits_all = demand.require.empty() && demand.fleets.empty() && !demand.no_spot;
  if (sites.size() <= site) sites.resize(sites_.size(), suits_all ? SiteFit::suits : SiteFit::unknown);
  SiteFit& known = sites[site];
  if (known == SiteFit::unknown) {
    known = !serves(sites_[site].fleet, demand.fleets)       ? SiteFit::serves_others
            : !has_all(sites_[site].labels, demand.require)  ? SiteFit::lacks_labels
            : demand.no_spot && is_spot(sites_[site].labels) ? SiteFit::lacks_labels
                                                             : SiteFit::suits;
  }
  return known;
}

bool Schedule::suits_site(SiteId site, ClassId of) const {
  return fit(site, of) == SiteFit::suits || injected(ScheduleFault::unfit_worker_served);
}

bool Schedule::suits(const Kind& kind, ClassId of) const {
  return suits_site(kind.site, of) &&
         (classes_[of].demand.ask.fits(kind.has) || injected(ScheduleFault::unfit_worker_served));
}

void Schedule::wait(KindId id, const Resources& room, std::uint64_t poll) {
  const SiteId site = kinds_[id].site;
  sites_[site].waiting.insert({room, poll, id});
  waiting_sites_.insert(site);
}

void Schedule::wait_no_more(KindId id, const Resources& room, std::uint64_t poll) {
  const SiteId site = kinds_[id].site;
  if (sites_[site].waiting.erase(room, poll) && sites_[site].waiting.empty()) waiting_sites_.erase(site);
}

std::optional<std::uint64_t> Schedule::who_waits_for(ClassId of,
                                                     const std::function<bool(std::uint64_t)>& makes_room) const {
  const Resources& ask = classes_[of].demand.ask;
  const auto suits_it = [&](const RoomIndex::Entry& it) { return suits(it.kind, of); };
  for (const SiteId site : waiting_sites_) {
    if (!suits_site(site, of)) continue;
    if (const auto found = sites_[site].waiting.first_fit(ask, suits_it)) return found;
  }
  std::size_t asked = 0;
  for (const SiteId site : waiting_sites_) {
    if (!suits_site(site, of)) continue;
    std::optional<std::uint64_t> found;
    const bool goes_on = sites_[site].waiting.each_descending([&](const RoomIndex::Entry& it) {
      if (it.room.milli_cpus == 0) return false;
      if (suits_it(it) && makes_room(it.poll)) found = it.poll;
      return !found && ++asked < kMostAsked;
    });
    if (found) return found;
    if (!goes_on && asked >= kMostAsked) break;
  }
  return std::nullopt;
}

}  // namespace drover

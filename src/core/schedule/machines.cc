// The machines that a schedule knows: their kinds and sites, which of them suit a class, and which wait for work.
#include <numeric>

#include "base/check.h"
#include "core/schedule/schedule_plants.h"
#include "core/schedule/schedule.h"

namespace drover {
namespace {

// How many that wait are asked whether they can make room.
constexpr std::size_t kMostAsked = 64;

std::uint64_t amount_of(const Resources& has, std::size_t i) {
  return i == 0 ? has.milli_cpus : i == 1 ? has.memory_bytes : has.accelerators[i - 2];
}

template <class Amount>
Resources resources_of(Amount&& amount) {
  Resources out{amount(0), amount(1), {}};
  for (std::size_t i = 0; i < kAccelerators; ++i) out.accelerators[i] = amount(2 + i);
  return out;
}

}  // namespace

Supply supply_of(const Worker& worker) {
  return {worker.has, worker.labels, worker.fleet};
}

bool Supply::suits(const Demand& demand) const {
  return (demand.ask.fits(has) && has_all(labels, demand.require) && serves(fleet, demand.fleets)) ||
         planted(SchedulePlant::unfit_worker_served);
}

std::uint64_t Schedule::Kind::all() const {
  return std::accumulate(workers.begin(), workers.end(), std::uint64_t{0});
}

Resources Schedule::Site::least() const {
  return resources_of([&](std::size_t i) { return amounts[i].empty() ? 0 : *amounts[i].begin(); });
}

Resources Schedule::Site::most() const {
  return resources_of([&](std::size_t i) { return amounts[i].empty() ? 0 : *amounts[i].rbegin(); });
}

Schedule::KindId Schedule::join(const Supply& supply, WorkerId worker) {
  const auto [known, is_new] = kind_of_.try_emplace(supply, kNone);
  if (is_new) {
    known->second = take_slot(kinds_, free_kinds_);
    kinds_[known->second].supply = supply;
    kinds_[known->second].site = enter_site(supply, known->second);
  }
  constexpr auto kAway = static_cast<std::size_t>(Readiness::away);
  Kind& it = kinds_[known->second];
  ++it.workers[kAway];
  sites_[it.site].workers[kAway].insert(worker);
  return known->second;
}

void Schedule::part(KindId id, WorkerId worker) {
  Kind& it = kinds_[id];
  for (std::size_t readiness = 0; readiness < kReadinesses; ++readiness) {
    if (sites_[it.site].workers[readiness].erase(worker) == 0) continue;
    --it.workers[readiness];
    if (static_cast<Readiness>(readiness) != Readiness::away) --alive_workers_;
  }
  if (it.all() > 0) return;
  leave_site(it.site, id);
  kind_of_.erase(it.supply);
  it = Kind{};
  free_kinds_.push_back(id);
}

void Schedule::set_readiness(KindId id, WorkerId worker, Readiness before, Readiness now) {
  if (before == now) return;
  const auto from = static_cast<std::size_t>(before);
  const auto to = static_cast<std::size_t>(now);
  Kind& kind = kinds_[id];
  --kind.workers[from];
  ++kind.workers[to];
  auto& workers = sites_[kind.site].workers;
  workers[to].insert(workers[from].extract(worker));
  alive_workers_ += now == Readiness::away ? -1 : before == Readiness::away ? 1 : 0;
}

Schedule::SiteId Schedule::enter_site(const Supply& supply, KindId kind) {
  const auto [known, is_new] = site_of_.try_emplace({supply.labels, supply.fleet}, kNone);
  if (is_new) {
    known->second = take_slot(sites_, free_sites_);
    sites_[known->second].labels = supply.labels;
    sites_[known->second].fleet = supply.fleet;
  }
  Site& site = sites_[known->second];
  site.kinds.insert(kind);
  for (std::size_t i = 0; i < site.amounts.size(); ++i) site.amounts[i].insert(amount_of(supply.has, i));
  return known->second;
}

void Schedule::leave_site(SiteId id, KindId kind) {
  Site& site = sites_[id];
  site.kinds.erase(kind);
  for (std::size_t i = 0; i < site.amounts.size(); ++i) {
    site.amounts[i].erase(site.amounts[i].find(amount_of(kinds_[kind].supply.has, i)));
  }
  if (!site.kinds.empty()) return;
  site_of_.erase({site.labels, site.fleet});
  site = Site{};
  free_sites_.push_back(id);
  // The next site of this id is another one.
  for (const Class& it : classes_) {
    if (id < it.sites.size()) it.sites[id] = Class::Known::nothing;
  }
}

bool Schedule::suits_site(SiteId site, ClassId of) const {
  const Class& it = classes_[of];
  if (it.sites.size() <= site) it.sites.resize(sites_.size(), Class::Known::nothing);
  Class::Known& known = it.sites[site];
  if (known == Class::Known::nothing) {
    const bool suits = has_all(sites_[site].labels, it.demand.require) && serves(sites_[site].fleet, it.demand.fleets);
    known = suits ? Class::Known::suits : Class::Known::suits_not;
  }
  return known == Class::Known::suits || planted(SchedulePlant::unfit_worker_served);
}

bool Schedule::suits(const Kind& kind, ClassId of) const {
  return suits_site(kind.site, of) &&
         (classes_[of].demand.ask.fits(kind.supply.has) || planted(SchedulePlant::unfit_worker_served));
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

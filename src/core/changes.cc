#include "core/changes.h"

namespace drover {

std::vector<Mutation> Changes::take(const Durable& now) {
  std::vector<Mutation> out;
  out.reserve(jobs_.size() + blocks_.size() + open_items_.size() + grants_.size() + workers_.size() + ledger_.size() +
              forgotten_.size() + 1);
  if (counters_) out.emplace_back(PutCounters{now.counters});
  for (const JobId id : jobs_) out.emplace_back(PutJob{now.jobs.at(id)});
  for (const auto& [job, block] : blocks_) {
    out.emplace_back(PutBlock{{job, block, Bytes{now.blocks.at(job).encode(block)}}});
  }
  for (const auto& [job, item] : open_items_) {
    if (const OpenItem* open = now.find_open(job, item)) {
      out.emplace_back(PutOpenItem{*open});
    } else {
      out.emplace_back(DeleteOpenItem{job, item});
    }
  }
  for (const GrantId id : grants_) {
    if (const auto grant = now.grants.find(id); grant != now.grants.end()) {
      out.emplace_back(PutGrant{grant->second});
    } else {
      out.emplace_back(DeleteGrant{id});
    }
  }
  for (const WorkerId id : workers_) out.emplace_back(PutWorker{now.workers.at(id)});
  for (const std::string& name : queues_) {
    if (const auto queue = now.queues.find(name); queue != now.queues.end()) {
      out.emplace_back(PutQueue{queue->second});
    } else {
      out.emplace_back(DeleteQueue{name});
    }
  }
  for (const auto& key : shares_) {
    if (const auto share = now.shares.find(key); share != now.shares.end()) {
      out.emplace_back(PutShare{share->second});
    } else {
      out.emplace_back(DeleteShare{key.first, key.second});
    }
  }
  for (const auto& key : definitions_) out.emplace_back(PutDefinition{now.definitions.at(key)});
  for (const std::string& name : fleets_) {
    if (const auto fleet = now.fleets.find(name); fleet != now.fleets.end()) {
      out.emplace_back(PutFleet{fleet->second});
    } else {
      out.emplace_back(DeleteFleet{name});
    }
  }
  for (const std::string& owner : accounts_) out.emplace_back(PutAccount{now.accounts.at(owner)});
  std::move(ledger_.begin(), ledger_.end(), std::back_inserter(out));
  for (FormerWorker& worker : forgotten_workers_) out.emplace_back(ForgetWorker{std::move(worker)});
  for (const JobId id : forgotten_) out.emplace_back(DeleteJob{id});
  *this = Changes{};
  return out;
}

}  // namespace drover

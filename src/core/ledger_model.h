// For tests: the ledger that a core's mutations make.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/core.h"

namespace drover {

/// The ledger as the core's mutations make it, kept by the test itself: what a store must agree with.
class LedgerModel {
 public:
  using Key = std::pair<std::pair<JobId, ItemIndex>, AttemptNumber>;

  void take(const std::vector<Mutation>& mutations) {
    for (const Mutation& mutation : mutations) {
      if (const auto* add = std::get_if<AddAttempt>(&mutation)) {
        const Attempt& it = add->attempt;
        if (it.cost_microdollars) costs_of_machines_[worker_names_[it.worker]] += *it.cost_microdollars;
        repeated_ = repeated_ || !rows_.emplace(Key{{it.job, it.item}, it.attempt}, it).second;
      }
      if (const auto* add = std::get_if<AddEvent>(&mutation)) events_.push_back(add->event);
      if (const auto* put = std::get_if<PutMachine>(&mutation)) machines_[put->machine.name] = put->machine;
      if (const auto* it = std::get_if<DeleteMachine>(&mutation); it != nullptr && machines_.contains(it->machine)) {
        forgotten_machines_.push_back(machines_.extract(it->machine).mapped());
        costs_of_machines_.erase(it->machine);
      }
      if (const auto* put = std::get_if<PutWorker>(&mutation)) worker_names_[put->worker.id] = put->worker.name;
      if (const auto* it = std::get_if<UnsettleAttempt>(&mutation)) {
        const auto row = rows_.find(Key{{it->job, it->item}, it->attempt});
        if (row != rows_.end()) row->second.settled = false;
      }
      if (const auto* it = std::get_if<PutBlock>(&mutation)) {
        blocks_[{it->block.job, it->block.block}] = it->block.marks.value;
      }
      if (const auto* it = std::get_if<AddMessage>(&mutation)) contents_[it->message] = *it->content;
      if (const auto* it = std::get_if<MoveMessage>(&mutation)) {
        contents_[it->to.message] = contents_.at(it->from);
        dead_letters_[it->to.message] = it->to;
      }
      if (const auto* it = std::get_if<DeleteJob>(&mutation)) {
        std::erase_if(blocks_, [&](const auto& block) { return block.first.first == it->job; });
        std::erase_if(rows_, [&](const auto& row) { return row.second.job == it->job; });
      }
    }
  }

  const std::map<Key, Attempt>& rows() const { return rows_; }
  ItemBlocks marks(JobId job, std::uint64_t total) const {
    ItemBlocks marks(total);
    for (auto it = blocks_.lower_bound({job, 0}); it != blocks_.end() && it->first.first == job; ++it) {
      DROVER_CHECK(marks.decode(it->first.second, it->second), "a block that was written can be read");
    }
    return marks;
  }
  /// What messages say, also those that are gone.
  const std::map<MessageNumber, std::string>& contents() const { return contents_; }
  const std::map<MessageNumber, DeadLetter>& dead_letters() const { return dead_letters_; }
  const std::vector<Event>& events() const { return events_; }
  /// Of every worker there ever was.
  const std::map<WorkerId, std::string>& worker_names() const { return worker_names_; }

  /// The first thing in which ledger and state disagree.
  std::optional<std::string> find_fault(const Durable& durable) const {
    if (repeated_) return "an attempt was written twice";
    std::map<std::pair<JobId, ItemIndex>, std::uint32_t> attempts;
    std::map<JobId, std::map<AttemptState, std::uint64_t>> settled;
    std::set<std::pair<JobId, ItemIndex>> settled_items;
    std::map<JobId, ItemBlocks> blocks;
    for (const auto& [id, job] : durable.jobs) blocks.emplace(id, marks(id, job.total));
    for (const auto& [key, row] : rows_) {
      if (row.attempt.value != ++attempts[key.first]) return "attempts have a gap";
      if (!row.settled) continue;
      if (!settled_items.insert(key.first).second) return "an item is settled twice";
      ++settled[row.job][row.state];
      const ItemMark mark = blocks.at(row.job).get(row.item);
      if ((row.state == AttemptState::succeeded) != (mark == ItemMark::succeeded))
        return "a settled item has another mark";
    }
    if (const auto fault = find_fault_in_costs(durable)) return fault;
    for (const auto& [id, job] : durable.jobs) {
      auto& counts = settled[id];
      if (counts[AttemptState::succeeded] != job.succeeded || counts[AttemptState::failed] != job.failed ||
          counts[AttemptState::cancelled] != job.cancelled || counts[AttemptState::lost] != 0) {
        return "job " + job.name + " counts other than its settled rows";
      }
    }
    return std::nullopt;
  }

 private:
  /// Attempts cost what their jobs and their machines have it, and no more than the machines' bills.
  std::optional<std::string> find_fault_in_costs(const Durable& durable) const {
    std::map<JobId, std::int64_t> of_jobs;
    for (const auto& [key, row] : rows_) of_jobs[row.job] += row.cost_microdollars.value_or(0);
    for (const auto& [id, job] : durable.jobs) {
      if (of_jobs[id] != job.used.cost_microdollars) return "job " + job.name + " cost other than its attempts";
    }
    for (const auto& [name, machine] : machines_) {
      const auto cost = costs_of_machines_.find(name);
      if ((cost == costs_of_machines_.end() ? 0 : cost->second) != machine.attempts.microdollars) {
        return "machine " + name + " cost other than its attempts";
      }
    }
    for (const auto& [name, fleet] : durable.fleets) {
      MachineCosts gone;
      // A fleet of the same name may have been there before.
      const auto add = [&, &fleet = fleet](const Machine& it) {
        const bool is_its_own = it.fleet == fleet.name && it.requested_ms >= fleet.created_ms;
        if (is_its_own && it.state == MachineState::gone) gone += it.costs(0);
      };
      for (const auto& [machine_name, machine] : machines_) add(machine);
      for (const Machine& it : forgotten_machines_) add(it);
      if (fleet.gone != gone) return "fleet " + name + " cost other than its machines";
    }
    return std::nullopt;
  }

  std::map<Key, Attempt> rows_;
  std::map<std::string, Machine> machines_;
  std::vector<Machine> forgotten_machines_;
  std::map<std::string, std::int64_t> costs_of_machines_;
  std::map<std::pair<JobId, std::uint64_t>, std::string> blocks_;
  std::map<MessageNumber, std::string> contents_;
  std::map<MessageNumber, DeadLetter> dead_letters_;
  std::vector<Event> events_;
  std::map<WorkerId, std::string> worker_names_;
  bool repeated_ = false;
};

}  // namespace drover

// What a batch has changed so far. A record that changes ten times in a batch is written once, as it is at the end.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/mutation.h"
#include "core/state.h"

namespace drover {

class Changes {
 public:
  void counters() {
    ++made_;
    counters_ = true;
  }
  void job(JobId id) {
    ++made_;
    jobs_.insert(id);
  }
  void block(JobId job, ItemIndex item) {
    ++made_;
    blocks_.insert({job, ItemBlocks::block_of(item)});
  }
  void open_item(JobId job, ItemIndex item) {
    ++made_;
    open_items_.insert({job, item});
  }
  void grant(GrantId id) {
    ++made_;
    grants_.insert(id);
  }
  void worker(WorkerId id) {
    ++made_;
    workers_.insert(id);
  }
  void add(Attempt attempt) {
    ++made_;
    ledger_.emplace_back(AddAttempt{std::move(attempt)});
  }
  void unsettle(JobId job, ItemIndex item, AttemptNumber attempt) {
    ++made_;
    ledger_.emplace_back(UnsettleAttempt{job, item, attempt});
  }

  void queue(const std::string& name) {
    ++made_;
    queues_.insert(name);
  }
  void share(const std::string& queue, const std::string& share) {
    ++made_;
    shares_.insert({queue, share});
  }
  void definition(const std::string& name, std::uint64_t revision) {
    ++made_;
    definitions_.insert({name, revision});
  }
  void fleet(const std::string& name) {
    ++made_;
    fleets_.insert(name);
  }
  void account(const std::string& owner) {
    ++made_;
    accounts_.insert(owner);
  }
  void add(Event event) {
    ++made_;
    ledger_.emplace_back(AddEvent{std::move(event)});
  }

  void forget(JobId job) {
    ++made_;
    jobs_.erase(job);
    std::erase_if(blocks_, [&](const auto& it) { return it.first == job; });
    std::erase_if(open_items_, [&](const auto& it) { return it.first == job; });
    forgotten_.push_back(job);
  }

  void forget(FormerWorker worker) {
    ++made_;
    workers_.erase(worker.id);
    forgotten_workers_.push_back(std::move(worker));
  }

  /// How many changes there were in this batch so far.
  std::uint64_t made() const { return made_; }
  /// The mutations that take a store from the last batch to `now`, and nothing is left to say.
  std::vector<Mutation> take(const Durable& now);

 private:
  std::uint64_t made_ = 0;
  bool counters_ = false;
  std::set<JobId> jobs_;
  std::set<std::pair<JobId, std::uint64_t>> blocks_;
  std::set<std::pair<JobId, ItemIndex>> open_items_;
  std::set<GrantId> grants_;
  std::set<WorkerId> workers_;
  std::vector<Mutation> ledger_;
  std::vector<JobId> forgotten_;
  std::vector<FormerWorker> forgotten_workers_;
  std::set<std::string> queues_;
  std::set<std::pair<std::string, std::string>> shares_;
  std::set<std::pair<std::string, std::uint64_t>> definitions_;
  std::set<std::string> fleets_;
  std::set<std::string> accounts_;
};

}  // namespace drover

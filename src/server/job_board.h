// All jobs as of the last commit, for whoever looks: lists and states are answered from here, without the ledger and
// without the core. From any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ports/backend.h"

namespace drover {

class JobBoard {
 public:
  /// What the engine lets out after each commit.
  void take(const Effect& effect);
  /// What was in the ledger before the engine began. What take() has brought since is newer.
  void know(const std::vector<Job>& jobs);

  std::vector<JobView> list(const JobFilter& filter) const;
  Result<JobView> find(const std::string& reference) const;
  std::optional<Job> find(JobId id) const;
  /// Not for long: whoever else looks waits.
  void each(const std::function<void(const JobView&)>& take) const;

 private:
  void put(JobView view);

  mutable std::mutex mutex_;  // guards all below
  std::map<JobId, JobView> jobs_;
  std::map<std::string, JobId> by_uuid_;
  std::map<std::string, std::set<JobId>> by_name_;
};

}  // namespace drover

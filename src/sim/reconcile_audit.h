// What the server's reconciler must make of what the cloud answers: each answer to a launch is told to the core; a
// machine is missed only after several lists in a row, and then it is missed; one that is not needed, or that nobody
// knows, is terminated; nothing is gone that is still listed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fleets/fleet_calls.h"
#include "ports/provider.h"
#include "sim/auditor.h"

namespace drover::sim {

class ReconcileAudit {
 public:
  /// `find` knows machines as last made durable; null: nobody does.
  ReconcileAudit(Auditor& auditor, std::function<const Machine*(const std::string& machine)> find)
      : auditor_(auditor), find_(std::move(find)) {}

  // What the lane of a fleet is about to ask.
  void launching(const MachineOrder& order);
  void terminating(const std::string& fleet, const std::string& machine);
  void listing(const std::string& fleet);
  void telling(const std::string& fleet, const MachineNews& news);
  // What it has been answered.
  void launched(const MachineOrder& order);
  void listed(const std::string& fleet, const std::vector<ListedMachine>& machines,
              const std::vector<const Machine*>& known);
  /// Whoever comes next knows nothing of this.
  void server_stopped();

 private:
  /// In how many lists in a row a machine was so, and nothing was done.
  struct Streak {
    std::uint64_t omitted = 0;
    std::uint64_t ended = 0;
    std::uint64_t unwanted = 0;
  };

  void expect_told(const std::string& fleet);
  void fail(const std::string& machine, std::string_view what);

  Auditor& auditor_;
  std::function<const Machine*(const std::string&)> find_;
  std::map<std::string, std::string> untold_;  // of each fleet, the machine whose launch was answered
  std::map<std::string, Streak> streaks_;      // by machine
  std::map<std::string, std::map<std::string, bool>> last_list_;  // of each fleet, and which of its machines have ended
};

}  // namespace drover::sim

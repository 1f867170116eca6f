// What the server's reconciler must make of what the cloud answers: each answer to a launch is told to the core; a
// machine is missed only after several lists in a row over a minute, or one exact list, and then it is missed, whether
// or not it was to end; one that is not needed is terminated, and so is one that nobody knows and that has the fleet's
// name; nothing is gone that is still listed.
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
  ReconcileAudit(Auditor& auditor, std::function<std::int64_t()> now_ms,
                 std::function<const Machine*(const std::string& machine)> find)
      : auditor_(auditor), now_ms_(std::move(now_ms)), find_(std::move(find)) {}

  // What the lane of a fleet is about to ask.
  void launching(const MachineOrder& order);
  void terminating(const std::string& fleet, const std::string& machine);
  void listing(const std::string& fleet);
  void telling_empty(const std::string& fleet);
  void telling(const std::string& fleet, const MachineNews& news);
  // What it has been answered.
  void launched(const MachineOrder& order);
  void listed(const std::string& fleet, const MachineList& list, const std::vector<const Machine*>& known);
  /// Whoever comes next knows nothing of this.
  void server_stopped();

 private:
  /// In how many lists in a row a machine was so, and nothing was done.
  struct Streak {
    std::uint64_t omitted = 0;
    std::int64_t omitted_since_ms = 0;
    std::int64_t omitted_for_ms = 0;
    std::uint64_t overdue = 0;         // lists since it could have been missed
    std::int64_t counts_since_ms = 0;  // when these had become some
    bool is_omitted_exactly = false;
    std::uint64_t ended = 0;
    std::uint64_t unwanted = 0;
    std::int64_t unwanted_since_ms = 0;
  };

  static bool is_missing(const Streak& streak);
  void expect_told(const std::string& fleet);
  void fail(const std::string& machine, std::string_view what);

  Auditor& auditor_;
  std::function<std::int64_t()> now_ms_;
  std::function<const Machine*(const std::string&)> find_;
  std::map<std::string, std::int64_t> asked_ms_;  // of each fleet, when it was last asked for a list
  std::map<std::string, std::string> untold_;     // of each fleet, the machine whose launch was answered
  std::map<std::string, Streak> streaks_;         // by machine
  std::map<std::string, std::map<std::string, bool>> last_list_;  // of each fleet, and which of its machines have ended
};

}  // namespace drover::sim

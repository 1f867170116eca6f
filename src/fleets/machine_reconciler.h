// Compares what the core says of a fleet's machines with what their provider lists, and does something about the
// difference: intents are launched, machines that are not needed are terminated, and the core hears what became of
// each. A machine that the core does not know is terminated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/fleets/fleet_calls.h"
#include "ports/provider.h"

namespace drover {

class MachineReconciler {
 public:
  struct Outside {
    std::function<Result<std::string>(const Machine& machine)> join_token;
    std::function<Result<void>(const MachineNews& news)> tell;  // returns when the core's answer is durable
    std::function<void(const std::string& text)> notice;
  };
  /// A provider may list a new machine late: it is missed when it was not in so many lists in a row.
  static constexpr std::uint64_t kMissedLists = 3;

  MachineReconciler(Provider& provider, Outside outside) : provider_(provider), outside_(std::move(outside)) {}

  /// All machines of the fleet, as of one moment, and the labels that their workers have.
  void turn(const std::vector<Machine>& machines, const std::function<Labels(const Machine&)>& labels);

 private:
  void launch_all(const std::vector<Machine>& machines, const std::function<Labels(const Machine&)>& labels);
  void launch(const Machine& machine, const Labels& labels);
  std::optional<std::vector<ListedMachine>> list();
  void compare(const std::vector<Machine>& machines, const std::vector<ListedMachine>& listed);
  void terminate(const std::string& machine);
  void tell(const MachineNews& news);
  void say_once(const std::string& about, const std::string& text);

  Provider& provider_;
  const Outside outside_;
  std::map<std::string, std::uint64_t> missed_;  // in so many lists
  std::set<std::string> answered_;               // intents; what it is given may be older than the answer
  std::map<std::string, std::string> said_;
};

}  // namespace drover

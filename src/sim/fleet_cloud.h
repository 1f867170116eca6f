// What gives machines to the simulated server's fleets: it launches them late or never, loses them, and sometimes
// fails, forgets what it did, or lists something else than it has. A machine that boots becomes a simulated worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/planner/snapshot.h"
#include "ports/provider.h"
#include "sim/happenings/fleets.h"

namespace drover::sim {

class SimWorker;
struct Stage;

class FleetCloud {
 public:
  explicit FleetCloud(Stage& stage);

  // As in ports/provider.h; each call is about one fleet.
  Result<std::string> launch(const MachineOrder& order);
  Result<void> terminate(const std::string& name);
  Result<MachineList> list(const std::string& fleet);
  /// How long a call is on its way, there or back.
  std::int64_t call_ms();

  void begin(const CloudTrouble& trouble);
  void strike(const MachineTrouble& trouble);

  /// The shapes of machines that it has, the smallest first, for what they cost now.
  std::vector<Shape> shapes(bool is_spot) const;
  /// The machines of a fleet that have not ended.
  std::set<std::string> machines_of(const std::string& fleet) const;
  /// Of these, what its lists do not hide for longer than anybody has to wait.
  std::set<std::string> machines_to_appear(const std::string& fleet) const;
  bool is_empty() const { return machines_.empty(); }
  /// Called before it ends a machine because it was told to, with its worker's name.
  std::function<void(const std::string& machine)> on_terminate = [](const std::string&) {};

 private:
  struct CloudMachine {
    MachineOrder order;
    std::string id;
    SimWorker* worker = nullptr;  // null: it has not booted, or has ended
    SimWorker* copy = nullptr;    // it was launched twice
    bool is_hidden = false;       // lists omit it
    bool was_listed = false;      // by the last list
    std::int64_t omitted_until_ms = 0;
    bool is_ending = false;
    bool has_ended = false;
    std::string note = {};
  };
  /// A machine that is gone, and that lists still name.
  struct Shadow {
    std::string fleet;
    ListedMachine listed;
    std::int64_t until_ms = 0;
  };
  /// A machine that the cloud has and nobody here has launched.
  struct Stranger {
    std::string fleet;  // in whose list it is
    ListedMachine listed;
    bool is_foreign = false;  // it is somebody else's
  };

  bool has(CloudTroubleKind kind) const { return troubles_.contains(kind) && troubles_.at(kind) > 0; }
  bool is_listed(const std::string& name, CloudMachine& machine);
  void add_stranger(const std::string& fleet);
  void boot(const std::string& machine);
  HourlyPrice price_of(std::uint64_t cpus, bool is_spot) const;
  SimWorker* begin_worker(const MachineOrder& order);
  void end_workers(CloudMachine& machine);
  void remove(const std::string& machine);
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }

  Stage& stage_;
  Random random_;
  Random clocks_;                                 // of its machines
  std::map<std::string, CloudMachine> machines_;  // by name
  const bool is_exact_;                           // its lists neither omit anything nor lag
  std::map<std::string, Shadow> shadows_;         // by name, as the next
  std::map<std::string, Stranger> strangers_;
  std::map<CloudTroubleKind, int> troubles_;  // how many of a kind there are now
  std::uint64_t launched_ = 0;
};

}  // namespace drover::sim

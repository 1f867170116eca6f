// Keeps fleets at the size that they need: asks the core what there is, plans, tells the core what to launch and drain,
// and gives each fleet's machines to the lane that speaks with its provider. What a provider is called for is durable
// before: a lane sees machines only as the core has let them out.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/command.h"
#include "core/planner/plan.h"
#include "fleets/fleet_survey.h"
#include "ports/provider.h"
#include "server/fleet_lane.h"
#include "server/offered_shape.h"

namespace drover {

class FleetKeeper {
 public:
  /// What a kind of provider offers on this server.
  struct Kind {
    /// As far as they are known now; of those that are named, if some are.
    std::function<Result<std::vector<OfferedShape>>(const std::vector<std::string>& named)> shapes;
    std::function<std::unique_ptr<Provider>(const std::string& fleet, const std::stop_token& stop)> make;
    std::function<Result<std::string>(const Machine& machine)> join_token;
  };
  struct Outside {
    std::function<Result<Effect>(Command)> ask;  // answered when it is durable
    std::function<std::int64_t()> now_ms;
    std::map<std::string, Kind> kinds;  // by the provider's name
    PriceList prices;
    MachineReconciler::Outside machines;  // but for what a lane or a kind of provider has
    std::function<void(const std::string& machine)> forget;  // one that is gone: its key, and its join token
  };
  explicit FleetKeeper(Outside outside);
  /// Machines go on as they are; calls to providers that are under way are broken off.
  ~FleetKeeper();
  FleetKeeper(const FleetKeeper&) = delete;
  FleetKeeper& operator=(const FleetKeeper&) = delete;

  /// Something has happened that a plan may depend on: from any thread, and soon looked at.
  void wake();
  /// The same of fleets themselves.
  void fleets_changed();

  /// What would be done about the fleet now, a line for each reason. Waits for the core.
  Result<std::vector<std::string>> explain(const std::string& fleet);

  /// What is wrong with the shapes that the rules name, or with the fleet's provider, as far as is known now.
  std::vector<std::string> troubles(const std::string& fleet, const FleetRules& rules) const;

  /// No machine of provider `local` is launched any more, and those that are there are drained.
  void drain_local();
  /// What runs on them is lost and will run again.
  void fence_local();
  /// After drain_local(): none is left.
  bool is_drained() const { return is_drained_; }

 private:
  struct Lane {
    std::string kind;  // of provider
    std::unique_ptr<FleetLane> lane;
  };

  void run();
  Result<void> round();
  Result<FleetSurvey> look();
  std::optional<Result<std::vector<Shape>>> shapes_for(const FleetRules& rules) const;
  static bool is_local(const FleetSurvey& seen, const Machine& machine);
  static bool has_local_machines(const FleetSurvey& seen);
  Result<bool> carry_out(const FleetPlan& plan, const FleetSurvey& seen);
  static FleetPlan plan_to_drain(const FleetSurvey& seen);
  void fence(const FleetSurvey& seen);
  void give_to_lanes(const FleetSurvey& seen);
  std::unique_ptr<FleetLane> make_lane(const std::string& fleet, const Kind& kind);
  void end_lane(const std::string& fleet);
  void reap_lanes();
  void end_all_lanes();
  void forget_gone(const FleetSurvey& seen);

  const Outside outside_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  bool woken_ = true;
  bool stopping_ = false;
  std::atomic<bool> has_work_ = true;  // there are fleets that this server has a provider for
  std::atomic<bool> draining_ = false;
  std::atomic<bool> fencing_ = false;
  std::atomic<bool> is_drained_ = false;
  mutable std::mutex troubles_mutex_;                              // guards what follows
  std::map<std::string, std::vector<std::string>> troubles_;       // of each fleet that has some
  std::map<std::string, Lane> lanes_;                              // the thread's alone
  std::multimap<std::string, std::unique_ptr<FleetLane>> ending_;  // likewise, by fleet: what they called is not over
  std::set<std::string> forgotten_;                                // likewise: machines that are gone
  std::string last_trouble_;                                       // likewise
  std::thread thread_;
};

}  // namespace drover

// What the server's threads for fleets do (server/fleet_keeper.h, server/fleet_lane.h), as events of simulated time:
// the real survey, planner and reconciler, asked and answered with delays, and gone when the server is.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "core/planner/plan.h"
#include "fleets/fleet_survey.h"
#include "sim/fleet_audit.h"
#include "sim/fleet_cloud.h"
#include "sim/fleet_turns.h"
#include "sim/reconcile_audit.h"

namespace drover::sim {

struct Stage;

class FleetDesk {
 public:
  FleetDesk(Stage& stage, FleetCloud& cloud, FleetAudit& audit);

  /// From now on fleets are kept, whenever the server is up.
  void begin();
  /// Something has happened that a plan may depend on.
  void wake();
  void server_stopped();
  void crash_at_launch(const CrashAtLaunch& how);
  /// Called when it will be a while before what was planned for a fleet is carried out.
  std::function<void(const std::string& fleet)> on_slow_plan = [](const std::string&) {};
  /// Called when the cloud is called for a machine of a fleet.
  std::function<void(const std::string& fleet)> on_launch = [](const std::string&) {};

 private:
  void look_at(std::int64_t at_ms);
  void begin_round();
  void survey(std::function<void()> then);
  void survey_next(const std::function<void()>& then);
  void plan();
  void scale(std::deque<ScaleFleet> commands);
  void repeat_later(ScaleFleet command);
  void take_a_name(ScaleFleet& command);
  void end_round();
  void give_to_lanes();
  void perform(const std::string& fleet, const ReconcilerCall& call);
  /// What the reconciler has to say to the core.
  void tell(const Command& news, std::function<void(ReconcilerAnswer)> answered);
  void heard(const std::string& fleet, const ReconcilerCall& call, const ReconcilerAnswer& answer);
  ReconcilerAnswer answer_of(const std::string& fleet, const ReconcilerCall& call);
  void ask(const Command& command, std::function<void(Result<Effect>)> then);
  /// Unless the server stops before.
  void later(std::int64_t delay_ms, std::function<void()> what);

  Stage& stage_;
  FleetCloud& cloud_;
  FleetAudit& audit_;
  ReconcileAudit calls_;
  Random random_;
  bool has_begun_ = false;
  bool is_busy_ = false;   // with a round
  bool is_woken_ = false;  // while it is busy
  std::optional<std::int64_t> next_look_ms_;
  std::optional<FleetSurvey> survey_;
  std::map<std::string, std::shared_ptr<FleetTurns>> lanes_;
  std::optional<CrashAtLaunch> crash_;
};

}  // namespace drover::sim

// Those who keep fleets, the cloud that gives them machines, and what is held against both.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/cost_audit.h"
#include "sim/fleet_audit.h"
#include "sim/fleet_cloud.h"
#include "sim/fleet_desk.h"
#include "sim/world_part.h"

namespace drover::sim {

class FleetPeople : public WorldPart {
 public:
  explicit FleetPeople(Stage& stage);

  void change(const std::string& fleet, const FleetRules& rules);
  void remove(const std::string& fleet);
  void remove_at_launch();
  void pause(const std::string& fleet, std::int64_t for_ms);
  FleetCloud& cloud() { return cloud_; }
  FleetDesk& desk() { return desk_; }

  // Of WorldPart.
  void tend() override;
  void committed(const Batch& batch, std::int64_t applied_ms) override;
  void said(const Effect& effect) override;
  void server_stopped() override;
  bool idle() const override;
  void at_end() override;

 private:
  void tell(const std::string& fleet);
  void tell_paused(const std::string& fleet);
  void inspect_costs();
  void watch_rest();
  void inspect_reasons();
  void change_mind(const std::string& fleet);

  Stage& stage_;
  FleetAudit audit_;
  CostAudit costs_;
  FleetCloud cloud_;
  FleetDesk desk_;
  Random random_;
  std::map<std::string, FleetRules> rules_;  // of fleets as they shall be
  std::map<std::string, int> paused_;        // how often
  bool removes_at_launch_ = false;
  std::int64_t work_ms_ = 0;                 // when there was last something to do
};

}  // namespace drover::sim

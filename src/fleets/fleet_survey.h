// Gathers what a plan is made from, one question at a time, so that each caller decides how to wait for the core: the
// server's thread blocks, the simulator does not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/planner/snapshot.h"

namespace drover {

/// The shapes that the provider of a fleet with these rules has, as far as they are known now, with their prices;
/// nothing: there is no such provider here.
using ShapesOf = std::function<std::optional<Result<std::vector<Shape>>>(const FleetRules& rules)>;

class FleetSurvey {
 public:
  FleetSurvey(std::int64_t now_ms, ShapesOf shapes);

  /// What to ask the core next; nothing: all is known.
  std::optional<Command> next() const;
  /// What it has answered.
  Result<void> take(Result<Effect> answer);

  /// Complete when nothing is left to ask.
  const FleetSnapshot& snapshot() const { return snapshot_; }
  auto machines() const { return machines_of(machines_); }
  const std::vector<MachineRecord>& records() const { return machines_; }
  const FleetState* find(const std::string& fleet) const;
  /// A provider that is here has a fleet, or there are machines.
  bool has_work() const { return is_of_use_ || !machines_.empty(); }

 private:
  /// Jobs whose items a planner cannot tell apart count together. How long they take does not tell them apart, or no
  /// two jobs would: a planner gets their mean. Whether it is known does.
  using ItemKind = std::tuple<Resources, Labels, std::string, std::vector<std::string>, SpotUse, std::int64_t, bool>;
  struct ItemCount {
    std::uint64_t waiting = 0;
    std::uint64_t in_hands = 0;
    double work_ms = 0;  // of all

    void add(std::uint64_t more_waiting, std::uint64_t more_in_hands, std::int64_t item_ms);
    std::int64_t mean_ms() const;
  };

  FleetState state_of(const Fleet& fleet) const;
  void take_page(const FleetsNow& page);
  void add(const JobDemand& job);
  void end_pages();

  ShapesOf shapes_;
  FleetSnapshot snapshot_;
  std::vector<MachineRecord> machines_;
  std::map<ItemKind, ItemCount> items_;
  AskFleets page_;
  bool is_first_page_ = true;
  bool is_of_use_ = false;
  std::set<std::string> streams_;  // that are still to be asked for
};

}  // namespace drover

// A plan while it is made: what each fleet has, what it may still launch, and which of its machines can be spared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/planner/plan.h"

namespace drover {

/// Which machines of a fleet serve some items: spot machines are launched before others.
struct Markets {
  bool spot = false;
  bool on_demand = false;
};

/// One fleet while it is planned. Bounds are held here, whatever a policy asks for.
class FleetDraft {
 public:
  FleetDraft(const FleetState& state, std::int64_t now_ms) : state_(state), now_ms_(now_ms) {}

  void add(const PlannedMachine& machine);

  const FleetState& state() const { return state_; }
  const FleetRules& rules() const { return state_.rules; }
  std::int64_t now_ms() const { return now_ms_; }
  /// Machines that are there or coming, and not on their way out; those of this plan included.
  std::uint64_t machines() const { return machines_; }
  /// Of them, those that have joined and are warm.
  std::uint64_t in_service() const { return in_service_at(now_ms_); }
  /// Of these, as many as were warm at an earlier time.
  std::uint64_t in_service_at(std::int64_t at_ms) const;
  bool is_warming() const { return is_warming_; }
  /// Of `machines()`.
  std::uint64_t milli_cpus() const { return live_milli_cpus_; }
  /// The minimum at this moment.
  std::uint64_t least_milli_cpus() const;
  /// When it last launched or drained something.
  std::int64_t scaled_ms() const { return scaled_ms_; }
  const std::vector<const PlannedMachine*>& live() const { return live_; }

  /// Whether machines that the fleet launches have what is required, by label.
  bool has_labels(std::string_view shape, bool spot, const Labels& require) const;
  /// Whether a machine of this shape could run them.
  bool suits(const Shape& shape, const WaitingItems& items) const;
  /// What may be launched for them now.
  Markets markets_for(const WaitingItems& items) const;
  /// For what machines are launched where the policy only counts them: shapes are chosen that hold these.
  void serve(std::vector<const WaitingItems*> items);
  /// What one hour of it costs.
  std::int64_t hourly_microdollars(const Shape& shape, bool spot) const;

  /// Why nothing more of the shape can be launched; nothing: it can.
  std::optional<std::string> obstacle(const Shape& shape, bool spot) const;
  bool launch(const Shape& shape, bool spot, const std::string& reason, FleetPlan& plan);
  void drain(const PlannedMachine& machine, const std::string& reason, FleetPlan& plan);
  /// Drains until its machines have no more CPUs than this.
  void lower_to_cpus(std::uint64_t milli_cpus, const std::string& reason, FleetPlan& plan);
  /// Drains those that hold nothing and are given nothing, because items failed there.
  void drain_quarantined(FleetPlan& plan);
  /// Whether it has as many machines, or CPUs, as it may have, and none of them is about to go.
  bool is_full_for(const Shape& shape) const;
  /// Launches or drains until there are so many, within the bounds.
  void scale_to(std::uint64_t target, const std::string& reason, FleetPlan& plan);
  /// Launches until they have so many CPUs, within the bounds.
  void raise_to_cpus(std::uint64_t milli_cpus, const std::string& reason, FleetPlan& plan);
  /// Those that do the least when they are drained come first: machines that are coming, the youngest first; idle ones;
  /// then those whose work ends soonest.
  std::vector<const PlannedMachine*> by_loss() const;

 private:
  bool is_warm_at(const PlannedMachine& machine, std::int64_t at_ms) const;
  /// Whether items that have so much patience are served by machines that are not spot machines.
  bool lacks_spot(std::int64_t patience_ms) const;
  /// Whether the next machine is a spot machine, where the policy only counts them.
  bool launches_spot() const;
  /// Of those to be served, those that no machine holds.
  std::vector<const WaitingItems*> unserved() const;
  const Shape* first_shape(bool spot, const std::vector<const WaitingItems*>& unserved) const;
  const FleetState& state_;
  const std::int64_t now_ms_;
  std::vector<const PlannedMachine*> live_;
  std::uint64_t machines_ = 0;
  std::uint64_t live_milli_cpus_ = 0;
  std::uint64_t milli_cpus_ = 0;  // of all that its provider may still bill
  std::uint64_t billed_ = 0;      // machines, likewise
  bool is_warming_ = false;
  std::int64_t scaled_ms_ = 0;
  std::uint64_t launched_lately_ = 0;
  std::uint64_t unanswered_ = 0;  // launches that its provider has not answered
  std::size_t launches_ = 0;
  std::size_t drains_ = 0;
  std::vector<const WaitingItems*> served_;
};

/// For so long a machine is not drained because something on it holds messages.
inline constexpr std::int64_t kReceiptsMs = 600'000;

/// The labels that machines of a fleet have.
Labels machine_labels(const std::string& fleet, const FleetRules& rules, const std::string& shape, bool spot);

}  // namespace drover

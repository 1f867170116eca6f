// What a plan is made from: fleets with their rules, machines, and what waits for machines. Copied from the core, so
// that planning takes as long as it takes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cost.h"
#include "base/resources.h"
#include "core/records.h"

namespace drover {

/// A type of machine.
struct Shape {
  std::string name;
  Resources has;
  HourlyPrice price = {};  // as the fleet would pay it: of a fleet of spot machines, that of a spot machine
};

enum class ScalingPolicy : std::uint8_t {
  demand,   // as many machines as the waiting items need
  step,     // steps over a metric, as in EC2 Auto Scaling
  backlog,  // so many items, or seconds of work, per machine
  fixed,    // a number that is set from outside
};

/// When an alarm is in force: the metric is so to the threshold.
enum class Comparison : std::uint8_t { at_least, above, at_most, below };

enum class Adjustment : std::uint8_t {
  exact,    // to this many machines
  change,   // by this many
  percent,  // by this part of those there are
};

/// One step: the interval of the metric's distance from the threshold, and what is done in it.
struct ScalingStep {
  std::optional<std::int64_t> lower;  // nothing: no bound
  std::optional<std::int64_t> upper;
  std::int64_t value = 0;

  bool operator==(const ScalingStep&) const = default;
};

struct StepAlarm {
  Comparison comparison = Comparison::at_least;
  std::int64_t threshold = 0;
  Adjustment adjustment = Adjustment::exact;
  std::int64_t min_magnitude = 0;  // of `percent`: by so many machines at least
  std::vector<ScalingStep> steps;

  bool operator==(const StepAlarm&) const = default;
};

/// How a fleet scales, as an administrator has set it.
struct FleetRules {
  std::string provider = "local";
  std::string command;  // of provider `command`: which of the server's programs
  std::uint64_t least = 0;
  std::uint64_t most = 1;
  std::uint64_t most_milli_cpus = 0;  // 0: no limit
  std::uint64_t least_milli_cpus = 0;
  std::uint64_t start_milli_cpus = 0;  // kept until then as well, though nothing may wait for them
  std::int64_t start_until_ms = 0;
  std::vector<std::string> shapes;
  Labels labels;
  ScalingPolicy policy = ScalingPolicy::demand;
  std::string stream;                   // whose depth is the metric of `step` and `backlog`
  std::string queue;                    // or whose items; neither: all items that the fleet serves
  std::vector<StepAlarm> alarms;        // of `step`
  std::uint64_t items_per_machine = 0;  // of `backlog`; 0: seconds count
  std::uint64_t seconds_per_machine = 0;
  std::uint64_t desired = 0;              // of `fixed`
  std::int64_t warm_up_ms = 0;            // after a machine has joined
  std::int64_t idle_ms = 60'000;          // before a machine that has nothing to do is drained
  std::int64_t period_ms = 60'000;        // of `step`: how often a change is repeated while an alarm lasts
  std::uint64_t launches_per_minute = 0;  // 0: no limit
  std::int64_t join_ms = 600'000;         // a machine that has not joined after so long has failed
  bool spot = false;                      // spot machines first
  bool on_demand = true;                  // with `spot`: others for items that spot machines do not serve
  std::uint32_t bid_percent = 100;        // of the on-demand price, that a spot machine may cost

  bool operator==(const FleetRules&) const = default;
};

/// A fleet, and how it stands.
struct FleetState {
  std::string name;
  FleetRules rules;
  std::vector<Shape> shapes;  // those of the rules that its provider has here
  std::string provider = {};  // that has its machines, with the command's name
  bool paused = false;
  bool deleting = false;
  bool may_have_machines = false;  // its provider, that nobody has heard of
  bool is_unreadable = false;  // its settings are of another version: nothing is launched or drained
  std::int64_t not_before_ms = 0;       // nothing is launched before
  std::string trouble;                  // why the last launch failed
  std::int64_t spot_not_before_ms = 0;  // the same of its spot machines
  std::string spot_trouble;
  std::int64_t spot_failing_since_ms = 0;  // 0: they do not
  std::string unavailable;                 // why nothing can be launched at all; empty: it can
  bool has_known_shapes = true;            // its provider has said which it has, or is not there to be asked
  std::optional<std::uint64_t> scaled_to;  // of `step`: how many machines the last change was for
};

enum class MachinePhase : std::uint8_t { coming, joined, draining, ending, gone };

struct PlannedMachine {
  std::string name;
  std::string fleet;
  std::string shape;
  Resources has;
  bool spot = false;
  MachinePhase phase = MachinePhase::coming;
  bool is_unanswered = false;  // coming: its provider has not answered the launch
  std::int64_t requested_ms = 0;
  std::int64_t joined_ms = 0;
  std::int64_t since_ms = 0;  // since when it is in this phase
  Resources used;             // by the items in its hands
  std::uint64_t items = 0;
  std::int64_t work_ms = 0;        // until these have ended
  std::int64_t free_since_ms = 0;  // since when it has held nothing; 0: it holds something
  // Since when something on it has held a message that it received; 0: nothing does.
  std::int64_t receipts_since_ms = 0;
  std::string quarantine = {};        // why it is given nothing; empty: it is
  std::optional<Labels> labels = {};  // of its worker, once it has joined: the fleet's may have changed since
};

/// Items that ask for the same, in one queue.
struct WaitingItems {
  Resources ask;
  Labels require;
  std::string queue;
  std::vector<std::string> fleets;  // that serve it, in this order; none: all
  SpotUse spot = SpotUse::prefer;   // never: as well those of others that were lost too often
  std::int64_t on_demand_after_ms = SpotRules{}.on_demand_after_ms;
  std::uint64_t waiting = 0;
  std::uint64_t in_hands = 0;
  std::int64_t item_ms = 0;  // how long one takes, in the mean; 0: not known yet
};

struct StreamDepth {
  std::uint64_t visible = 0;
  std::uint64_t in_flight = 0;
};

struct FleetSnapshot {
  std::int64_t now_ms = 0;
  std::vector<FleetState> fleets;  // by name
  std::vector<PlannedMachine> machines;
  std::vector<WaitingItems> items;
  std::map<std::string, StreamDepth> streams;
};

}  // namespace drover

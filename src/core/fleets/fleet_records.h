// What lasts of fleets: what the core obeys of each, how its launches fare, and its machines. How a fleet scales is
// text that the planner reads, outside of the core.
#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "base/cost.h"
#include "base/resources.h"

namespace drover {

/// An elastic set of machines: what an administrator asked for.
struct FleetSpec {
  std::string name;
  std::string text;                   // JSON: provider, shapes, policy
  std::string provider;               // that has its machines; empty: not known
  std::uint64_t most = 1;             // machines
  std::uint64_t most_milli_cpus = 0;  // of all its machines; 0: no limit
  std::int64_t join_ms = 600'000;     // a machine that has not joined after so long has failed

  bool operator==(const FleetSpec&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("text", self.text);
    visit("provider", self.provider);
    visit("most", self.most);
    visit("most_milli_cpus", self.most_milli_cpus);
    visit("join_ms", self.join_ms);
  }
};

/// What machines have cost, in micro-dollars.
struct MachineCosts {
  std::int64_t billed_microdollars = 0;            // for all the time that they were there
  std::int64_t billed_on_demand_microdollars = 0;  // what that would have been on demand
  std::int64_t attempts_microdollars = 0;          // of it, what attempts that have ended cost

  /// What nobody used.
  std::int64_t idle_microdollars() const { return billed_microdollars - attempts_microdollars; }
  MachineCosts& operator+=(const MachineCosts& more);
  bool operator==(const MachineCosts&) const = default;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("billed_microdollars", self.billed_microdollars);
    visit("billed_on_demand_microdollars", self.billed_on_demand_microdollars);
    visit("attempts_microdollars", self.attempts_microdollars);
  }
};

struct Fleet : FleetSpec {
  std::int64_t created_ms = 0;
  bool paused = false;             // nothing is launched or drained
  bool deleting = false;           // deleted when its provider is known to have none of its machines
  bool has_launched = false;       // its provider may have machines of it, whatever it has answered
  std::uint64_t failures = 0;      // launches that failed since one joined, and machines that ended early
  std::string trouble;             // why the last one failed; empty: it did not
  std::int64_t not_before_ms = 0;  // nothing is launched before
  bool ends_early = false;         // machines that join end soon: the wait is over when one is of use
  // The same of its spot machines, which do not keep it from launching others.
  std::uint64_t spot_failures = 0;
  std::string spot_trouble;
  std::int64_t spot_not_before_ms = 0;
  bool spot_ends_early = false;
  std::int64_t spot_failing_since_ms = 0;  // 0: the last spot machine was of use, or none was tried
  std::int64_t scaled_to = -1;             // with steps: how many machines the last change was for; -1: none was made
  MachineCosts gone;                       // of its machines that are gone

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    FleetSpec::fields(self, visit);
    visit("created_ms", self.created_ms);
    visit("paused", self.paused);
    visit("deleting", self.deleting);
    visit("has_launched", self.has_launched);
    visit("failures", self.failures);
    visit("trouble", self.trouble);
    visit("not_before_ms", self.not_before_ms);
    visit("ends_early", self.ends_early);
    visit("spot_failures", self.spot_failures);
    visit("spot_trouble", self.spot_trouble);
    visit("spot_not_before_ms", self.spot_not_before_ms);
    visit("spot_ends_early", self.spot_ends_early);
    visit("spot_failing_since_ms", self.spot_failing_since_ms);
    visit("scaled_to", self.scaled_to);
    MachineCosts::fields(self.gone, visit);
  }
};

/// A machine only ever moves down this list.
enum class MachineState : std::uint8_t {
  requested,  // the intent is durable; its provider may have been called, and has not answered
  starting,   // its provider has accepted
  joined,     // its worker has registered
  draining,   // its worker takes no more items, and leaves when those it has have ended
  leaving,    // nothing of it is needed: its provider is to terminate it
  gone,       // its provider no longer lists it
};
std::string_view to_string(MachineState state);

/// A machine of a fleet. Its name is also its worker's name, and the token by which its provider launches it once.
struct Machine {
  std::string name;
  std::string fleet;
  std::string shape;
  Resources has;
  bool spot = false;  // its provider may take it away
  MachineState state = MachineState::requested;
  std::string provider_id;  // as its provider calls it; empty: not known
  std::string reason;       // why it was launched
  std::string ending;       // why it is drained or terminated; empty: it is not
  std::int64_t requested_ms = 0;
  std::int64_t join_by_ms = 0;  // one that has not joined by then has failed
  std::int64_t joined_ms = 0;   // 0: it has not
  std::int64_t since_ms = 0;    // since when it is in this state
  bool is_of_use = false;       // an item has ended on it, or it was there for a while
  HourlyPrice price;
  std::int64_t billed_from_ms = 0;  // when it was first known to be there; 0: it was not yet
  CostSum attempts;                 // that have ended
  CostSum attempts_on_demand;

  bool counts() const { return state != MachineState::gone; }
  /// Until now, or until it was gone.
  std::int64_t billed_ms(std::int64_t now_ms) const;
  MachineCosts costs(std::int64_t now_ms) const;
  bool has_price() const { return price.on_demand_microdollars > 0; }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("fleet", self.fleet);
    visit("shape", self.shape);
    visit("milli_cpus", self.has.milli_cpus);
    visit("memory_bytes", self.has.memory_bytes);
    visit("nvidia", self.has.accelerators[0]);
    visit("amd", self.has.accelerators[1]);
    visit("neuron", self.has.accelerators[2]);
    visit("spot", self.spot);
    visit("state", self.state);
    visit("provider_id", self.provider_id);
    visit("reason", self.reason);
    visit("ending", self.ending);
    visit("requested_ms", self.requested_ms);
    visit("join_by_ms", self.join_by_ms);
    visit("joined_ms", self.joined_ms);
    visit("since_ms", self.since_ms);
    visit("is_of_use", self.is_of_use);
    visit("hourly_microdollars", self.price.microdollars);
    visit("hourly_on_demand_microdollars", self.price.on_demand_microdollars);
    visit("billed_from_ms", self.billed_from_ms);
    visit("attempts_microdollars", self.attempts.microdollars);
    visit("attempts_rest", self.attempts.rest);
    visit("attempts_on_demand_microdollars", self.attempts_on_demand.microdollars);
    visit("attempts_on_demand_rest", self.attempts_on_demand.rest);
  }
};

/// A machine as it last changed, but for what attempts cost.
using MachineRecord = std::shared_ptr<const Machine>;
inline auto machines_of(const std::vector<MachineRecord>& records) {
  return std::views::transform(records, [](const MachineRecord& it) -> const Machine& { return *it; });
}

/// Of all the machines that it ever had; `machines` are those that are known, of any fleet.
MachineCosts costs_of(const Fleet& fleet, const std::vector<Machine>& machines, std::int64_t now_ms);

}  // namespace drover

// Which fleets a script has, what is to run on their machines, and what happens to these.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/fleet_cloud.h"
#include "sim/fleet_people.h"
#include "sim/happenings/fleets.h"
#include "sim/happenings/groups.h"
#include "sim/happenings/jobs.h"
#include "sim/happenings/queues.h"
#include "sim/happenings/server_faults.h"
#include "sim/happenings/streams.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

constexpr std::uint64_t kFirstJob = 2'000'000;  // other jobs have lower numbers
constexpr const char* kOnDemand = "demand";
constexpr const char* kSpare = "spare";  // likewise on demand, for what the first has no more machines for

class FleetWriter : public ScriptWriter {
 public:
  explicit FleetWriter(ScriptDraft& draft)
      : ScriptWriter(draft),
        own_(draft.script.seed ^ 0x666c656574),
        costs_(draft.script.seed ^ 0x636f737473),
        tiers_(draft.script.seed ^ 0x7469657273) {}

  void write_beginning() override {
    if (!own_.one_in(2)) return;
    change(0, kOnDemand, on_demand());
    if (!own_.one_in(4)) change(0, kSpare, with_bid(on_demand()));
    if (own_.one_in(2)) change(0, "steps", in_steps());
    if (own_.one_in(2)) change(0, "backlog", by_backlog());
    if (own_.one_in(3)) change(0, "fixed", of_fixed_size());
    write_queue("elastic", rules_.contains(kSpare) ? std::vector<std::string>{kOnDemand, kSpare}
                                                   : std::vector<std::string>{kOnDemand});
    for (const std::string fleet : {"steps", "backlog"}) {
      if (rules_.contains(fleet)) write_queue(queue_of(fleet), {fleet});
    }
  }

  void write_hour(std::int64_t from_ms) override {
    if (rules_.empty()) return;
    const std::uint64_t jobs = 1 + own_.below(4);
    for (std::uint64_t i = 0; i < jobs; ++i) write_job(from_ms + between(0, kHour - 1));
    const std::uint64_t faults = 1 + own_.below(4);
    for (std::uint64_t i = 0; i < faults; ++i) write_trouble(from_ms + between(0, kHour - 1));
    if (own_.one_in(3)) write_change(from_ms + between(0, kHour - 1));
    if (tiers_.one_in(3)) write_tier(from_ms + static_cast<std::int64_t>(tiers_.below(kHour)));
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(own_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  static std::string queue_of(const std::string& fleet) { return concat("of-", fleet); }
  const std::string& any_fleet() {
    return std::next(rules_.begin(), static_cast<std::ptrdiff_t>(own_.below(rules_.size())))->first;
  }

  void change(std::int64_t at_ms, const std::string& fleet, const FleetRules& rules) {
    rules_[fleet] = rules;
    draft_.add(at_ms, ChangeFleet{fleet, rules});
  }

  void write_queue(const std::string& name, std::vector<std::string> fleets) {
    Queue queue{.name = name};
    queue.fleets = std::move(fleets);
    draft_.add(0, ChangeQueue{queue});
  }

  FleetRules rules() {
    FleetRules rules{.provider = "command", .command = "cloud"};
    rules.least = own_.one_in(3) ? 1 : 0;
    rules.most = rules.least + 1 + own_.below(5);
    rules.idle_ms = between(10 * kSecond, 5 * kMinute);
    rules.join_ms = between(2 * kMinute, 5 * kMinute);
    if (own_.one_in(3)) rules.warm_up_ms = between(kSecond, 2 * kMinute);
    if (own_.one_in(4)) rules.launches_per_minute = 1 + own_.below(3);
    rules.spot = costs_.one_in(2);
    return rules;
  }

  FleetRules on_demand() {
    FleetRules out = rules();
    if (own_.one_in(3)) out.shapes = {"c8", "c4"};
    if (own_.one_in(3)) out.most_milli_cpus = 8000 * (1 + own_.below(2));
    if (own_.one_in(2)) out.labels["zone"] = own_.one_in(2) ? "a" : "b";
    out.spot = own_.one_in(2);
    out.on_demand = !own_.one_in(4);
    return out;
  }

  // What it has no machines for, while those are too dear, the other fleet has.
  FleetRules with_bid(FleetRules rules) {
    if (!rules.spot || own_.one_in(2)) return rules;
    rules.least = 0;
    rules.bid_percent = static_cast<std::uint32_t>(between(10, 100));
    return rules;
  }

  FleetRules in_steps() {
    FleetRules out = rules();
    out.policy = ScalingPolicy::step;
    out.shapes = {"c2"};
    if (own_.one_in(3)) {
      out.stream = "work";
    } else {
      out.queue = queue_of("steps");
    }
    StepAlarm up{.comparison = Comparison::at_least, .threshold = 1, .steps = {}};
    const std::int64_t step = between(2, 20);
    up.adjustment = own_.one_in(3) ? Adjustment::change : Adjustment::exact;
    up.steps = {{.lower = 0, .upper = step, .value = 1}, {.lower = step, .upper = {}, .value = between(2, 4)}};
    StepAlarm down{.comparison = Comparison::below, .threshold = 1, .steps = {}};
    down.steps = {{.lower = {}, .upper = 0, .value = 0}};
    out.alarms = {up, down};
    out.period_ms = between(10 * kSecond, kMinute);
    return out;
  }

  FleetRules by_backlog() {
    FleetRules out = rules();
    out.policy = ScalingPolicy::backlog;
    out.shapes = {"c2"};
    out.queue = queue_of("backlog");
    if (own_.one_in(2)) {
      out.items_per_machine = 1 + own_.below(20);
    } else {
      out.seconds_per_machine = 10 + own_.below(600);
    }
    return out;
  }

  FleetRules of_fixed_size() {
    FleetRules out = rules();
    out.policy = ScalingPolicy::fixed;
    out.shapes = {"c1"};
    out.least = 0;
    out.desired = own_.below(std::min<std::uint64_t>(3, out.most + 1));
    return out;
  }

  // What was launched for one size must not be in the way of another: shapes and what bounds them stay.
  void write_change(std::int64_t at_ms) {
    const std::string& fleet = any_fleet();
    switch (own_.below(4)) {
      case 0: return draft_.add(at_ms, RemoveFleet{fleet});
      case 1: return draft_.add(at_ms, PauseFleetFor{fleet, between(kMinute, 20 * kMinute)});
      default: break;
    }
    FleetRules changed = rules_.at(fleet);
    changed.most = std::max<std::uint64_t>(changed.least + 1,
                                           changed.most + own_.below(4) - std::min<std::uint64_t>(changed.most, 2));
    changed.idle_ms = between(10 * kSecond, 5 * kMinute);
    if (changed.policy == ScalingPolicy::fixed)
      changed.desired = own_.below(std::min<std::uint64_t>(3, changed.most + 1));
    change(at_ms, fleet, changed);
  }

  // Machines keep the labels that they were launched with.
  void write_tier(std::int64_t at_ms) {
    FleetRules changed = rules_.at(kOnDemand);
    changed.labels["tier"] = tiers_.one_in(2) ? "high" : "low";
    change(at_ms, kOnDemand, changed);
  }

  void write_job(std::int64_t at_ms) {
    Submit submit;
    submit.job = kFirstJob + ++jobs_;
    submit.total = 1 + own_.below(own_.one_in(3) ? 60 : 10);
    submit.nature = {.seed = own_.next(), .typical_ms = between(200, own_.one_in(3) ? 2 * kMinute : 20 * kSecond)};
    submit.nature.fail_percent = own_.one_in(3) ? static_cast<std::uint32_t>(own_.below(30)) : 0;
    submit.policy.max_tries = static_cast<std::uint32_t>(1 + own_.below(3));
    submit.ask = {1000, 0};
    const std::string fleet = any_fleet();
    if (rules_.at(fleet).policy == ScalingPolicy::step || rules_.at(fleet).policy == ScalingPolicy::backlog) {
      if (rules_.at(fleet).stream.empty()) submit.place.queue = queue_of(fleet);
      // As many as where a step begins.
      if (fleet == "steps" && own_.one_in(2)) {
        submit.total = own_.one_in(2) ? 1 : 1 + static_cast<std::uint64_t>(*rules_.at(fleet).alarms[0].steps[1].lower);
      }
      if (tiers_.one_in(2)) write_holders(at_ms);
    } else {
      submit.place.queue = own_.one_in(3) ? std::string(kDefaultQueue) : "elastic";
      submit.ask.milli_cpus = 500 * (1 + own_.below(8));
      if (!own_.one_in(3)) submit.require["fleet"] = kOnDemand;
      // The machines of the cloud have as much memory per CPU: such items can fill them.
      const bool fills_machines = submit.require.contains("fleet") && costs_.one_in(2);
      if (fills_machines) submit.ask.memory_bytes = (submit.ask.milli_cpus << 32) / 1000;
      if (own_.one_in(6)) submit.require["zone"] = "c";                                  // no machine has that
      if (tiers_.one_in(5)) submit.require["tier"] = tiers_.one_in(2) ? "high" : "low";  // some machines, now or then
      submit.fits_nobody = submit.require.contains("zone") || submit.require.contains("tier");
      if (tiers_.one_in(6)) write_messages(at_ms, submit);
      write_spot(submit);
    }
    if (own_.one_in(10)) {
      submit.ask.milli_cpus = 64'000;
      submit.fits_nobody = true;
    }
    draft_.add(at_ms, submit);
    // Plans that were made for it may be out of date when they are carried out.
    const std::int64_t soon_ms = std::max<std::int64_t>(0, at_ms + between(-kMinute, 30 * kSecond));
    if (own_.one_in(8)) draft_.add(soon_ms, PauseFleetFor{fleet, between(10 * kSecond, 5 * kMinute)});
    if (own_.one_in(16)) draft_.add(soon_ms, RemoveFleet{fleet});
    // One ends before it has booted.
    if (tiers_.one_in(16)) {
      draft_.add(at_ms, CloudTrouble{CloudTroubleKind::boots_never, kMinute});
      for (std::uint64_t i = 0; i < 3; ++i) {
        draft_.add(at_ms + 40 * kSecond, MachineTrouble{MachineTroubleKind::stops, tiers_.below(100)});
      }
    }
    // Nobody hears of its last machine.
    if (tiers_.one_in(16)) {
      draft_.add(at_ms, CloudTrouble{CloudTroubleKind::answers_lost, RemoveAtLaunch::kWaitsMs});
      draft_.add(at_ms, RemoveAtLaunch{});
    }
    if (submit.fits_nobody || own_.one_in(8)) draft_.add(at_ms + between(0, kHour), Cancel{submit.job});
  }

  // Its items are messages: those that come back are no longer in the stream.
  void write_messages(std::int64_t at_ms, Submit& submit) {
    submit.stream = "work";
    submit.until_empty = true;
    submit.total = 0;
    submit.nature.typical_ms = kMinute;
    draft_.add(at_ms + 2 * kMinute, MachineTrouble{MachineTroubleKind::vanishes, tiers_.below(100)});
    draft_.add(at_ms, SendToStream{.stream = submit.stream, .messages = 5, .groups = 1});
  }

  // Attempts hold messages while their machines are to be drained.
  void write_holders(std::int64_t at_ms) {
    ReceiveFromStream receive{.stream = "work", .receivers = 4, .for_ms = 10 * kMinute};
    receive.visibility_ms = 5 * kMinute;
    receive.wait_ms = kSecond;
    receive.work_ms = 5 * kMinute;
    receive.are_attempts = true;
    if (rules_.contains("fixed")) {
      receive.fleet = "fixed";
      write_shrinking(at_ms, receive.fleet);
      at_ms += 2 * kMinute;  // its machines have joined
    }
    draft_.add(at_ms, SendToStream{.stream = "work", .messages = 20, .groups = 1});
    draft_.add(at_ms, receive);
  }

  // A fleet whose machines have long items goes down to none, and comes back.
  void write_shrinking(std::int64_t at_ms, const std::string& fleet) {
    FleetRules rules = rules_.at(fleet);
    rules.desired = std::max<std::uint64_t>(rules.desired, 1);
    change(at_ms, fleet, rules);
    Submit submit;
    submit.job = kFirstJob + ++jobs_;
    submit.total = 4;
    submit.nature = {.seed = tiers_.next(), .typical_ms = 4 * kMinute};
    submit.ask = {1000, 0};
    submit.require["fleet"] = fleet;
    submit.fits_nobody = true;  // when nobody wants its machines
    draft_.add(at_ms, submit);
    draft_.add(at_ms + 40 * kMinute, Cancel{submit.job});
    FleetRules none = rules;
    none.desired = 0;
    change(at_ms + 3 * kMinute + static_cast<std::int64_t>(tiers_.below(5 * kMinute)), fleet, none);
    change(at_ms + 20 * kMinute, fleet, rules);
  }

  void write_spot(Submit& submit) {
    const FleetRules& rules = rules_.at(kOnDemand);
    submit.spot.on_demand_after_losses = static_cast<std::uint32_t>(own_.below(3));
    submit.spot.on_demand_after_ms = own_.one_in(4) ? 0 : between(10 * kSecond, 10 * kMinute);
    if (own_.one_in(5)) submit.spot.use = own_.one_in(2) ? SpotUse::only : SpotUse::never;
    const bool is_served = submit.spot.use == SpotUse::only    ? rules.spot
                           : submit.spot.use == SpotUse::never ? !rules.spot || rules.on_demand
                                                               : true;
    submit.fits_nobody = submit.fits_nobody || !is_served;
  }

  void write_trouble(std::int64_t at_ms) {
    const std::uint64_t roll = own_.below(23);
    if (roll >= 21) return draft_.add(at_ms, CloudTrouble{CloudTroubleKind::no_spot, between(kMinute, 20 * kMinute)});
    if (roll < 10) {
      const auto kind = static_cast<CloudTroubleKind>(roll);
      const std::int64_t for_ms = short_or_long();
      draft_.add(at_ms, CloudTrouble{kind, for_ms});
      // Machines may appear of which nobody knows.
      const bool is_deleted = kind == CloudTroubleKind::answers_lost && own_.one_in(2);
      if (is_deleted) draft_.add(at_ms + between(0, for_ms), RemoveFleet{any_fleet()});
      return;
    }
    if (roll < 17) {
      const auto kind = static_cast<MachineTroubleKind>(own_.below(5));
      return draft_.add(at_ms, MachineTrouble{kind, own_.below(100), between(kSecond, 3 * kMinute)});
    }
    if (roll < 19) return draft_.add(at_ms, CrashAtLaunch{own_.one_in(2), between(kSecond, kMinute)});
    draft_.add(at_ms, CloudTrouble{CloudTroubleKind::no_capacity, between(5 * kMinute, 20 * kMinute)});
  }
  std::int64_t short_or_long() { return own_.one_in(2) ? between(kSecond, kMinute) : between(kMinute, 20 * kMinute); }

  Random own_;
  Random costs_;  // what decides of these
  Random tiers_;  // likewise
  std::map<std::string, FleetRules> rules_;
  std::uint64_t jobs_ = 0;
};

}  // namespace

HappeningGroup fleet_happenings() {
  return group_of<FleetWriter, FleetPeople>();
}

}  // namespace drover::sim

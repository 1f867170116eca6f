// Faults of fleets that the simulator has found or that it must never find, as the scripts that show them.
#include <gtest/gtest.h>

#include "sim/happenings/fleets.h"
#include "sim/happenings/jobs.h"
#include "sim/happenings/server_faults.h"
#include "sim/times.h"
#include "sim/world.h"

namespace drover::sim {
namespace {

FleetRules on_demand() {
  FleetRules rules{.provider = "command", .command = "cloud", .most = 4};
  rules.join_ms = 2 * kMinute;
  return rules;
}

/// Items that only machines of the fleet run.
Submit fleet_job(std::uint64_t number, std::uint64_t total) {
  Submit submit;
  submit.job = number;
  submit.total = total;
  submit.nature = {.seed = number, .typical_ms = 10 * kSecond};
  submit.ask = {1000, 0};
  submit.require = {{"fleet", "f"}};
  return submit;
}

void expect_all_done(Script script) {
  script.workers = {{.slots = 1}};
  for (const ScriptEvent& event : script.events) script.length_ms = std::max(script.length_ms, event.at_ms);
  for (script.seed = 1; script.seed <= 20; ++script.seed) {
    const RunResult result = act_out(script);
    ASSERT_FALSE(result.failure) << result.failure.value_or("") << "\n" << describe(script);
    ASSERT_GT(result.settled, 0U) << describe(script);
  }
}

// What the reconciler was given next had been read before the refusal was told: the machine was launched after its end.
TEST(FleetScenario, AMachineThatWasRefusedIsNotLaunchedLater) {
  Script script;
  script.events = {{0, ChangeFleet{"f", on_demand()}},
                   {kMinute, CloudTrouble{CloudTroubleKind::slow, 10 * kMinute}},
                   {kMinute, CloudTrouble{CloudTroubleKind::no_capacity, 5 * kMinute}},
                   {2 * kMinute, fleet_job(1, 40)},
                   {3 * kMinute, fleet_job(2, 10)}};
  expect_all_done(script);
}

TEST(FleetScenario, AServerThatIsKilledAtALaunchLaunchesNothingTwice) {
  Script script;
  script.events = {{0, ChangeFleet{"f", on_demand()}},
                   {kMinute, CrashAtLaunch{true, 10 * kSecond}},
                   {kMinute, fleet_job(1, 40)},
                   {20 * kMinute, CrashAtLaunch{false, 10 * kSecond}},
                   {20 * kMinute, fleet_job(2, 40)}};
  expect_all_done(script);
}

TEST(FleetScenario, ALaunchWhoseAnswerIsLostLeaksNoMachine) {
  Script script;
  script.events = {{0, ChangeFleet{"f", on_demand()}},
                   {kMinute, CloudTrouble{CloudTroubleKind::answers_lost, 5 * kMinute}},
                   {kMinute, fleet_job(1, 40)}};
  expect_all_done(script);
}

TEST(FleetScenario, MachinesThatACloudHidesForAWhileAreReplaced) {
  Script script;
  script.events = {{0, ChangeFleet{"f", on_demand()}},
                   {kMinute, fleet_job(1, 200)},
                   {2 * kMinute, CloudTrouble{CloudTroubleKind::omits, 10 * kMinute}}};
  expect_all_done(script);
}

}  // namespace
}  // namespace drover::sim

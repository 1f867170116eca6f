// Each fault that the simulator has found, by name, as the script that shows it.
#include <gtest/gtest.h>

#include "sim/happenings/jobs.h"
#include "sim/happenings/network_faults.h"
#include "sim/happenings/queues.h"
#include "sim/happenings/server_faults.h"
#include "sim/happenings/streams.h"
#include "sim/happenings/worker_faults.h"
#include "sim/times.h"
#include "sim/world.h"

namespace drover::sim {
namespace {

Submit job(std::uint64_t number, std::uint64_t total, std::int64_t typical_ms) {
  Submit submit;
  submit.job = number;
  submit.total = total;
  submit.nature = {.seed = number, .typical_ms = typical_ms};
  return submit;
}

/// Acts the script out under many seeds of weather, since a scenario is about what happens and not about when exactly.
void expect_good_end(Script script, std::uint64_t seeds = 30) {
  for (const ScriptEvent& event : script.events) script.length_ms = std::max(script.length_ms, event.at_ms);
  for (script.seed = 1; script.seed <= seeds; ++script.seed) {
    const RunResult result = act_out(script);
    ASSERT_FALSE(result.failure) << result.failure.value_or("") << "\n" << describe(script);
  }
}

/// And whatever happens, each item is started once and has one attempt.
void expect_one_run_each(Script script, std::uint64_t seeds = 10) {
  std::uint64_t items = 0;
  for (const ScriptEvent& event : script.events) {
    script.length_ms = std::max(script.length_ms, event.at_ms);
    if (const auto* it = event.what.as<Submit>()) items += it->total;
  }
  for (script.seed = 1; script.seed <= seeds; ++script.seed) {
    const RunResult result = act_out(script);
    ASSERT_FALSE(result.failure) << result.failure.value_or("") << "\n" << describe(script);
    ASSERT_EQ(result.attempts, items) << describe(script);
    ASSERT_EQ(result.runs, items) << describe(script);
  }
}

// The empty answer to a poll's second copy reached the worker before the first's, which carried leases.
TEST(Scenario, APollThatIsDoubledOnItsWayLosesNoLeases) {
  Script script;
  script.workers = {{.slots = 1}, {.slots = 2}};
  script.events = {{0, BadWeather{0, 500, 4 * kSecond, 5 * kMinute}}, {kSecond, job(1, 60, 5 * kSecond)}};
  expect_good_end(script);
}

// Cut off for longer than its lease lasts, a worker went on with what had been handed to others. What hung there was
// never stopped, not even by a cancel, since by the server's books the worker had nothing of that job.
TEST(Scenario, AWorkerThatComesBackLateStopsWhatIsNoLongerItsOwn) {
  Script script;
  script.workers = {{.slots = 2}, {.slots = 2}};
  Submit hanging = job(1, 4, 2 * kSecond);
  hanging.nature.hang_percent = 100;
  script.events = {{0, hanging},
                   {10 * kSecond, Partition{0, Cut::both, 3 * kMinute}},
                   {2 * kMinute, Cancel{1}},
                   {5 * kMinute, job(2, 40, kSecond)}};
  expect_good_end(script);
}

// The order to stop overtook the lease that it was about.
TEST(Scenario, AStopOrderHoldsForALeaseThatItOvertook) {
  Script script;
  script.workers = {{.slots = 3}};
  Submit hanging = job(1, 30, 200);
  hanging.nature.hang_percent = 20;
  script.events = {{0, BadWeather{0, 0, 2 * kSecond, 10 * kMinute}}};
  for (std::uint64_t i = 1; i <= 20; ++i) {
    hanging.job = i;
    hanging.nature.seed = i;
    const auto at_ms = static_cast<std::int64_t>(i) * 20 * kSecond;
    script.events.push_back({at_ms, hanging});
    script.events.push_back({at_ms + 3 * kSecond, Cancel{i}});
  }
  expect_good_end(script);
}

// Not a fault that was found, but one that is easily made: small jobs keep coming, and one worker has all the room that
// the large one asks for, when nothing else runs there.
TEST(Scenario, ALargeItemRunsAmongSmallOnesThatKeepComing) {
  Script script;
  script.workers = {{.slots = 8, .has = {4000, 8}}, {.slots = 8, .has = {1000, 4}}};
  for (std::uint64_t i = 1; i <= 40; ++i) {
    Submit submit = job(i, 12, 3 * kSecond);
    submit.ask = {1000, 1};
    if (i == 5) submit.ask = {4000, 8};
    script.events.push_back({static_cast<std::int64_t>(i) * 5 * kSecond, submit});
  }
  expect_good_end(script, 10);
}

// The core looked at its clock before it had applied what workers had sent meanwhile, and declared all of them lost.
TEST(Scenario, AServerThatCannotStepForLongerThanTheTermLosesNoLease) {
  for (const bool whole_process : {false, true}) {
    Script script;
    script.workers = {{.slots = 2}, {.slots = 3}};
    script.events = {{0, job(1, 10, 4 * kMinute)},
                     {kMinute, StallServer{100 * kSecond, whole_process}},
                     {kMinute + 1, job(2, 3, kSecond)},
                     {kMinute + 500, job(3, 3, kSecond)}};
    expect_one_run_each(script);
  }
}

// A server that was started anew knew nothing of the polls that the one before had answered: one that came again was
// granted a second time, and the first grant stayed open for ever.
TEST(Scenario, APollThatTheNextServerHearsAgainIsNotGrantedTwice) {
  Script script;
  script.workers = {{.slots = 1}, {.slots = 2}};
  script.events = {{0, job(1, 300, 500)}};
  for (std::int64_t at_ms = 5 * kSecond; at_ms < 3 * kMinute; at_ms += 11 * kSecond) {
    script.events.push_back({at_ms, CrashServer{CrashPoint::after_commit, 300}});
  }
  expect_good_end(script);
}

// A worker that was fenced and registered again counted as another process: a poll of it that the network had doubled
// was granted although the worker had been answered before, and nobody ever gave that grant back.
TEST(Scenario, APollThatComesAgainAfterItsWorkerWasFencedIsNotGranted) {
  Script script;
  script.workers = {{.slots = 2}};
  script.events = {{0, BadWeather{0, 500, 4 * kSecond, 5 * kMinute}}, {0, job(1, 300, 500)}};
  for (std::int64_t at_ms = 5 * kSecond; at_ms < 4 * kMinute; at_ms += 9 * kSecond) {
    script.events.push_back({at_ms, FenceWorker{0}});
  }
  expect_good_end(script);
}

// Lost workers stayed in the ledger for ever, and came to life again for a term at each restart.
TEST(Scenario, AWorkerThatIsAwayForMoreThanADayIsForgottenAndComesBack) {
  Script script;
  script.workers = {{.slots = 2}, {.slots = 1}, {.slots = 1}, {.slots = 1}};
  script.events = {{0, job(1, 60, 10 * kSecond)},
                   {5 * kSecond, Partition{1, Cut::both, 26 * kHour}},
                   {6 * kSecond, CrashWorker{2, 27 * kHour}},
                   {7 * kSecond, LoseMachine{3, kMinute}},
                   {10 * kMinute, CrashServer{CrashPoint::at_once, 5 * kSecond}},
                   {27 * kHour, job(2, 60, 10 * kSecond)}};
  expect_good_end(script, 3);
}

// After four failed fetches, half a minute, its items counted as lost, and soon as failed.
TEST(Scenario, ARegistryThatDoesNotAnswerCostsAnItemNothing) {
  Script script;
  script.workers = {{.slots = 2}, {.slots = 1}};
  Submit in_image = job(1, 20, kSecond);
  in_image.image = 1;
  script.events = {{0, RegistryOutage{30 * kMinute}}, {kSecond, in_image}, {2 * kSecond, job(2, 30, kSecond)}};
  expect_one_run_each(script);
}

TEST(Scenario, WhatEndsWhileTheServerIsAwayForHoursIsToldOnce) {
  Script script;
  script.workers = {{.slots = 4}, {.slots = 8}};
  script.events = {{0, job(1, 40, 30 * kSecond)}, {20 * kSecond, CrashServer{CrashPoint::at_once, 120 * kMinute}}};
  expect_one_run_each(script);
}

// A worker wiped its spool when it started: whatever had ended while the server was away was run again.
TEST(Scenario, WhatEndedWhileTheServerWasAwaySurvivesARestartOfItsWorker) {
  Script script;
  script.workers = {{.slots = 4}};
  script.events = {{0, job(1, 4, 10 * kSecond)},
                   {4 * kSecond, CrashServer{CrashPoint::at_once, 5 * kMinute}},
                   {2 * kMinute, CrashWorker{0, kSecond}}};
  expect_one_run_each(script);
}

// Not faults that were found, but what is asked of streams: whatever happens, those who check miss nothing at the end.
TEST(Scenario, WhatReceiversHeldThatWereKilledComesAgain) {
  Script script;
  script.workers = {{.slots = 1}};
  script.events = {{0, ChangeStream{{.name = "s", .max_receives = 3, .dead_letters = "dead"}}},
                   {0, ChangeStream{{.name = "dead"}}},
                   {kSecond, SendToStream{.stream = "s", .messages = 100, .at_once = 10}}};
  ReceiveFromStream receive{.stream = "s", .receivers = 3, .for_ms = 20 * kSecond, .at_once = 4};
  receive.wait_ms = 5 * kSecond;
  receive.work_ms = 40 * kSecond;
  receive.fail_percent = 20;
  for (std::int64_t at_ms = 5 * kSecond; at_ms < 5 * kMinute; at_ms += 25 * kSecond) {
    script.events.push_back({at_ms, receive});
    script.events.push_back({at_ms + 9 * kSecond, CrashServer{CrashPoint::after_commit, 3 * kSecond}});
  }
  expect_good_end(script, 10);
}

TEST(Scenario, WhatIsSentAgainToAFifoStreamIsThereOnceAndInOrder) {
  Script script;
  script.workers = {{.slots = 1}};
  script.events = {
      {0, ChangeStream{{.name = "s.fifo", .fifo = true, .visibility_ms = 5 * kSecond}}},
      {0, BadWeather{300, 300, 4 * kSecond, 10 * kMinute}},
      {kSecond, SendToStream{.stream = "s.fifo", .messages = 60, .at_once = 5, .groups = 3, .doubts = true}},
      {20 * kSecond, CrashServer{CrashPoint::after_commit, kSecond}},
      {50 * kSecond, CrashServer{CrashPoint::between_two, 6 * kMinute}}};
  ReceiveFromStream receive{.stream = "s.fifo", .receivers = 3, .for_ms = 20 * kMinute, .at_once = 3};
  receive.wait_ms = 10 * kSecond;
  receive.work_ms = 6 * kSecond;
  receive.fail_percent = 10;
  script.events.push_back({2 * kSecond, receive});
  expect_good_end(script, 10);
}

TEST(Scenario, WhatAnAttemptReceivedIsVisibleWhenItEndsOrItsWorkerIsLost) {
  Script script;
  script.workers = {{.slots = 2}, {.slots = 2}};
  script.events = {{0, ChangeStream{{.name = "s"}}}, {0, job(1, 30, 20 * kSecond)}};
  for (std::int64_t at_ms = 2 * kSecond; at_ms < 5 * kMinute; at_ms += 10 * kSecond) {
    script.events.push_back({at_ms, SendToStream{.stream = "s", .messages = 5, .at_once = 5}});
    ReceiveFromStream receive{.stream = "s", .receivers = 2, .for_ms = kMinute, .at_once = 2};
    receive.visibility_ms = 30 * kMinute;
    receive.wait_ms = 5 * kSecond;
    receive.work_ms = 5 * kMinute;
    receive.are_attempts = true;
    script.events.push_back({at_ms + kSecond, receive});
  }
  script.events.push_back({kMinute, LoseMachine{0, kMinute}});
  script.events.push_back({2 * kMinute, CrashServer{CrashPoint::at_once, 20 * kSecond}});
  script.events.push_back({2 * kMinute + kSecond, CrashWorker{1, kSecond}});
  expect_good_end(script, 10);
}

/// A queue with shares of weights 1, 1 and 2, and three workers with room for sixteen items together.
Script three_shares(std::int64_t length_ms, std::int64_t item_ms) {
  Script script;
  script.is_saturated = true;
  script.length_ms = length_ms;
  for (const std::uint64_t cpus : {8, 4, 4}) script.workers.push_back({.slots = cpus, .has = {1000 * cpus, 0}});
  Queue queue{.name = "fair", .order = QueueOrder::fair};
  queue.weights = {{"half", 20'000}};
  script.events.push_back({0, ChangeQueue{queue}});
  for (std::uint64_t i = 1; i <= 3; ++i) {
    Submit submit = job(i, 100'000, item_ms);
    submit.ask = {1000, 0};
    submit.place = {"fair", i == 1 ? "one" : i == 2 ? "two" : "half", 0, ""};
    script.events.push_back({0, submit});
  }
  return script;
}

TEST(Scenario, SharesOfASaturatedQueueGetTheirDueToWithinThreePercent) {
  for (const std::int64_t item_ms : {kSecond, 20 * kSecond, 2 * kMinute}) {
    Script script = three_shares(item_ms == kSecond ? 30 * kMinute : 6 * 60 * kMinute, item_ms);
    for (std::uint64_t i = 1; i <= 3; ++i) script.events.push_back({script.length_ms, Cancel{i}});
    const RunResult result = act_out(script);
    EXPECT_FALSE(result.failure) << result.failure.value_or("");
    const double all = static_cast<double>(result.cpu_ms.at(1) + result.cpu_ms.at(2) + result.cpu_ms.at(3));
    std::printf("  items of %lld ms: %.2f %.2f %.2f %%\n", static_cast<long long>(item_ms),
                100 * static_cast<double>(result.cpu_ms.at(1)) / all,
                100 * static_cast<double>(result.cpu_ms.at(2)) / all,
                100 * static_cast<double>(result.cpu_ms.at(3)) / all);
  }
}

TEST(Scenario, ANewcomerToASaturatedQueueStartsWithinOneItemsDuration) {
  Script script = three_shares(60 * kMinute, kMinute);
  script.is_saturated = false;
  Submit late = job(4, 100, kMinute);
  late.ask = {1000, 0};
  late.place = {"fair", "late", 0, ""};
  script.events.push_back({30 * kMinute, late});
  for (std::uint64_t i = 1; i <= 4; ++i) script.events.push_back({60 * kMinute, Cancel{i}});
  const RunResult result = act_out(script);
  ASSERT_FALSE(result.failure) << result.failure.value_or("");
  EXPECT_LE(result.begun_ms.at(4) - 30 * kMinute, kMinute);
}

}  // namespace
}  // namespace drover::sim

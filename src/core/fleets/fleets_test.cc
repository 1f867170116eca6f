#include "core/fleets/fleets.h"

#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

class FleetTest : public testing::Test {
 protected:
  static constexpr Resources kSmall{1000, TestWorld::kGiB, {}};

  void set_fleet(std::uint64_t most, std::uint64_t most_milli_cpus = 0) {
    const FleetSpec spec{
        .name = "f", .text = "{}", .most = most, .most_milli_cpus = most_milli_cpus, .join_ms = 60'000};
    ASSERT_TRUE(std::holds_alternative<FleetSet>(world_.ask(SetFleet{spec})));
  }
  FleetScaled scale(std::vector<ScaleFleet::Launch> launches, std::vector<ScaleFleet::Drain> drains = {}) {
    return std::get<FleetScaled>(world_.ask(ScaleFleet{"f", std::move(launches), std::move(drains)}));
  }
  std::uint64_t launch(const std::string& name) { return scale({{name, "small", kSmall, "work waits"}}).launched; }
  std::uint64_t drain(const std::string& name) { return scale({}, {{name, "it is idle"}}).drained; }
  void say(const std::string& machine, MachineNews::What what, const std::string& text = "") {
    ASSERT_TRUE(std::holds_alternative<MachineNoted>(world_.ask(MachineNews{machine, what, text})));
  }
  void empty() { ASSERT_TRUE(std::holds_alternative<FleetNoted>(world_.ask(FleetEmptied{"f"}))); }
  WorkerId join(const std::string& name, const std::string& fleet = "f") {
    RegisterWorker hello{name, 1, 60'000, kSmall, {}};
    hello.fleet = fleet;
    return std::get<WorkerRegistered>(world_.ask(hello)).worker;
  }
  void leave(WorkerId worker) {
    Report last{.worker = worker, .incarnation = 1};
    last.leaving = Leaving::gone;
    world_.ask(last);
  }
  std::string state(const std::string& name) {
    const auto& machines = world_.core.durable().machines;
    const auto found = machines.find(name);
    return found == machines.end() ? "forgotten" : std::string(to_string(found->second.state));
  }
  const Machine& machine(const std::string& name) { return world_.core.durable().machines.at(name); }
  const Fleet& fleet() { return world_.core.durable().fleets.at("f"); }
  FleetsNow now() { return std::get<FleetsNow>(world_.ask(AskFleets{})); }

  TestWorld world_;
};

TEST_F(FleetTest, AMachineGoesFromRequestedToGone) {
  set_fleet(2);
  EXPECT_EQ(launch("m1"), 1U);
  EXPECT_EQ(state("m1"), "requested");
  say("m1", MachineNews::What::accepted, "pid 7");
  EXPECT_EQ(state("m1"), "starting");
  EXPECT_EQ(machine("m1").provider_id, "pid 7");
  const WorkerId worker = join("m1");
  EXPECT_EQ(state("m1"), "joined");
  EXPECT_EQ(drain("m1"), 1U);
  EXPECT_EQ(state("m1"), "draining");
  leave(worker);
  EXPECT_EQ(state("m1"), "leaving");
  say("m1", MachineNews::What::terminated);
  EXPECT_EQ(state("m1"), "gone");
  EXPECT_EQ(machine("m1").ending, "it is idle");
  world_.pass(kGoneMachineKeptMs);
  EXPECT_EQ(state("m1"), "forgotten");
}

TEST_F(FleetTest, AnIntentIsPartOfTheBatchThatAnswersIt) {
  set_fleet(1);
  world_.mutations.clear();
  launch("m1");
  const bool is_written =
      std::ranges::any_of(world_.mutations, [](const Mutation& it) { return std::holds_alternative<PutMachine>(it); });
  EXPECT_TRUE(is_written);
  world_.restart();
  EXPECT_EQ(state("m1"), "requested");
}

TEST_F(FleetTest, APlanThatAsksForTooMuchIsCutShort) {
  set_fleet(2);
  EXPECT_EQ(scale({{"m1", "s", kSmall, ""}, {"m2", "s", kSmall, ""}, {"m3", "s", kSmall, ""}}).launched, 2U);
  EXPECT_EQ(state("m3"), "forgotten");
  EXPECT_EQ(launch("m1"), 0U) << "a name launches one machine";
  set_fleet(5, 3000);
  EXPECT_EQ(scale({{"big", "b", {2000, 0, {}}, ""}, {"m4", "s", kSmall, ""}}).launched, 1U) << "of 3 CPUs 1 is left";
  EXPECT_EQ(state("big"), "forgotten");
}

TEST_F(FleetTest, ALeasedItemIsNotKilledByScaleIn) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  const JobId job = world_.submit(1);
  ASSERT_EQ(world_.next(worker), job);
  EXPECT_EQ(drain("m1"), 1U);
  EXPECT_EQ(world_.job(job).used.lost_attempts, 0);
  world_.end(worker, world_.last);
  EXPECT_EQ(world_.job(job).succeeded, 1U);
  EXPECT_EQ(state("m1"), "draining");
}

TEST_F(FleetTest, ADrainSurvivesARestart) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  drain("m1");
  world_.restart();
  world_.submit(1);
  EXPECT_EQ(world_.next(worker), JobId{});
}

TEST_F(FleetTest, AWorkerThatIsLostTakesItsMachineAlong) {
  set_fleet(1);
  launch("m1");
  join("m1");
  world_.pass(61'000);
  EXPECT_EQ(state("m1"), "leaving");
  EXPECT_EQ(machine("m1").ending, "its worker was lost");
}

TEST_F(FleetTest, AMachineThatNeverJoinsFailsAndIsReplacedLater) {
  set_fleet(3);
  launch("m1");
  say("m1", MachineNews::What::accepted);
  world_.pass(60'000);
  EXPECT_EQ(state("m1"), "leaving");
  EXPECT_EQ(fleet().trouble, "it did not join within 60 s");
  EXPECT_EQ(launch("m2"), 0U);
  world_.pass(kFirstBackOffMs);
  EXPECT_EQ(launch("m2"), 1U);
}

TEST_F(FleetTest, EachFailureDoublesTheWaitAndAMachineThatJoinsEndsIt) {
  set_fleet(9);
  std::int64_t waited_ms = kFirstBackOffMs;
  for (int i = 1; i <= 12; ++i) {
    const std::string name = concat("m", i);
    ASSERT_EQ(launch(name), 1U) << name;
    say(name, MachineNews::What::refused, "no capacity");
    EXPECT_EQ(state(name), "gone");
    EXPECT_EQ(fleet().not_before_ms, world_.now_ms + waited_ms);
    world_.pass(waited_ms - 1);
    EXPECT_EQ(launch("too soon"), 0U);
    world_.pass(1);
    waited_ms = std::min(2 * waited_ms, kLongestBackOffMs);
  }
  EXPECT_EQ(fleet().failures, 12U);
  EXPECT_EQ(fleet().trouble, "no capacity");
  launch("good");
  join("good");
  EXPECT_EQ(fleet().failures, 0U);
  EXPECT_EQ(fleet().trouble, "");
}

TEST_F(FleetTest, MachinesThatFailTogetherAreOneFailure) {
  set_fleet(9);
  scale({{"a", "s", kSmall, ""}, {"b", "s", kSmall, ""}});
  say("a", MachineNews::What::refused, "no capacity");
  say("b", MachineNews::What::refused, "no capacity");
  EXPECT_EQ(fleet().failures, 1U);
}

TEST_F(FleetTest, WhatAVanishedMachineHeldRunsElsewhere) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  const JobId job = world_.submit(1);
  ASSERT_EQ(world_.next(worker), job);
  say("m1", MachineNews::What::vanished, "its provider no longer lists it");
  EXPECT_EQ(state("m1"), "gone");
  EXPECT_EQ(world_.next(world_.worker("other")), job);
}

TEST_F(FleetTest, AWorkerOfAnotherFleetIsNotItsMachine) {
  set_fleet(1);
  launch("m1");
  join("m1", "another");
  EXPECT_EQ(state("m1"), "requested");
}

TEST_F(FleetTest, AMachineThatJoinsTooLateIsSentAway) {
  set_fleet(1);
  launch("m1");
  world_.pass(60'000);
  ASSERT_EQ(state("m1"), "leaving");
  const WorkerId worker = join("m1");
  world_.submit(1);
  EXPECT_EQ(world_.next(worker), JobId{});
}

TEST_F(FleetTest, AFleetIsDeletedWhenItsProviderHasNoneOfItsMachines) {
  set_fleet(1);
  launch("m1");
  const auto dropped = std::get<FleetDropped>(world_.ask(DropFleet{"f"}));
  EXPECT_EQ(dropped.machines, 1U);
  EXPECT_FALSE(dropped.is_gone);
  EXPECT_EQ(launch("m2"), 0U);
  EXPECT_EQ(drain("m1"), 1U);
  EXPECT_TRUE(fleet().deleting);
  empty();
  EXPECT_TRUE(fleet().deleting) << "it still has one";
  say("m1", MachineNews::What::terminated);
  EXPECT_TRUE(fleet().deleting) << "what was said to have failed may still appear";
  world_.restart();
  EXPECT_EQ(std::get<FleetDropped>(world_.ask(DropFleet{"f"})).is_gone, false);
  empty();
  EXPECT_FALSE(world_.core.durable().fleets.contains("f"));
}

TEST_F(FleetTest, AFleetThatHasNeverLaunchedAMachineIsDeletedAtOnce) {
  set_fleet(1);
  EXPECT_TRUE(std::get<FleetDropped>(world_.ask(DropFleet{"f"})).is_gone);
  EXPECT_FALSE(world_.core.durable().fleets.contains("f"));
}

TEST_F(FleetTest, AFleetThatIsSetAgainIsNotDeleted) {
  set_fleet(1);
  launch("m1");
  say("m1", MachineNews::What::refused, "no answer");
  world_.ask(DropFleet{"f"});
  set_fleet(1);
  empty();
  EXPECT_TRUE(world_.core.durable().fleets.contains("f"));
}

TEST_F(FleetTest, TheProviderOfAFleetWithMachinesCannotBeReplaced) {
  const auto set = [this](const std::string& provider) {
    return world_.ask(SetFleet{{.name = "f", .text = "{}", .provider = provider, .most = 2, .join_ms = 60'000}});
  };
  set("local");
  launch("m1");
  const Effect answer = set("command vms");
  ASSERT_TRUE(std::holds_alternative<Refused>(answer));
  const Error& error = std::get<Refused>(answer).error;
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_EQ(error.message, "fleet 'f' still has 1 machine of its current provider, which cannot be changed until they are gone");
  EXPECT_EQ(fleet().provider, "local");
  EXPECT_TRUE(std::holds_alternative<FleetSet>(set("local")));
  drain("m1");
  say("m1", MachineNews::What::terminated);
  world_.ask(DropFleet{"f"});
  ASSERT_TRUE(std::holds_alternative<Refused>(set("command vms"))) << "it may still have some";
  EXPECT_TRUE(std::holds_alternative<FleetSet>(set("local")));
  ASSERT_TRUE(std::holds_alternative<Refused>(set("command vms"))) << "a launch may have succeeded unheard";
  empty();
  EXPECT_TRUE(std::holds_alternative<FleetSet>(set("command vms")));
  EXPECT_EQ(fleet().provider, "command vms");
  ScaleFleet old{"f", {{"m2", "small", kSmall, "work waits"}}, {}, "local"};
  EXPECT_EQ(std::get<FleetScaled>(world_.ask(old)).launched, 0U) << "planned for the provider that it had";
  old.provider = "command vms";
  EXPECT_EQ(std::get<FleetScaled>(world_.ask(old)).launched, 1U);
}

TEST_F(FleetTest, MachinesThatEndSoonAfterTheyHaveJoinedAreFailures) {
  set_fleet(9);
  std::int64_t waited_ms = kFirstBackOffMs;
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const std::string name = concat("m", i);
    ASSERT_EQ(launch(name), 1U);
    const WorkerId worker = join(name);
    EXPECT_EQ(fleet().failures, i - 1) << "it may end as soon as the others";
    world_.now_ms += 7000;
    if (i % 2 == 0) {
      leave(worker);
    } else {
      say(name, MachineNews::What::vanished, "out of memory");
      EXPECT_EQ(machine(name).ending, "out of memory");
    }
    EXPECT_EQ(fleet().failures, i);
    EXPECT_EQ(fleet().trouble,
              concat("it ended 7 s after joining: ", i % 2 == 0 ? "its worker has left" : "out of memory"));
    EXPECT_EQ(fleet().not_before_ms, world_.now_ms + waited_ms);
    waited_ms *= 2;
    world_.restart();
    EXPECT_EQ(launch("too soon"), 0U);
    world_.pass(waited_ms);
  }
  launch("good");
  const WorkerId worker = join("good");
  world_.submit(1);
  world_.next(worker);
  EXPECT_EQ(fleet().failures, 5U);
  world_.end(worker, world_.last);
  EXPECT_EQ(fleet().failures, 0U);
  EXPECT_EQ(fleet().trouble, "");
  leave(worker);
  EXPECT_EQ(fleet().failures, 0U) << "an item has ended on it";
}

TEST_F(FleetTest, AMachineThatIsOfUseSaysNothingOfLaterOnes) {
  set_fleet(9);
  launch("old");
  const WorkerId old = join("old");
  world_.submit(2);
  world_.next(old);
  world_.end(old, world_.last);
  launch("m1");
  leave(join("m1"));
  EXPECT_EQ(fleet().failures, 1U);
  world_.next(old);
  world_.end(old, world_.last);
  EXPECT_EQ(fleet().failures, 1U);
}

TEST_F(FleetTest, WhatIsAskedForOrLateIsNotAnEarlyEnd) {
  set_fleet(9);
  launch("drained");
  const WorkerId drained = join("drained");
  drain("drained");
  leave(drained);
  launch("fenced");
  join("fenced");
  world_.ask(Fence{"fenced"});
  launch("late");
  const WorkerId late = join("late");
  world_.now_ms += kEarlyEndMs;
  leave(late);
  EXPECT_EQ(state("late"), "leaving");
  EXPECT_EQ(fleet().failures, 0U);
}

TEST_F(FleetTest, APausedFleetLaunchesNothing) {
  set_fleet(1);
  world_.ask(PauseFleet{"f", true});
  EXPECT_EQ(launch("m1"), 0U);
  world_.restart();
  EXPECT_TRUE(fleet().paused);
  world_.ask(PauseFleet{"f", false});
  EXPECT_EQ(launch("m1"), 1U);
}

TEST_F(FleetTest, DemandIsWhatCouldRunNow) {
  const JobId job = world_.submit({{.ask = {2000, 0, {}}, .max_running = 3}, 10});
  ASSERT_EQ(now().jobs.size(), 1U);
  EXPECT_EQ(now().jobs[0].waiting, 3U);
  EXPECT_EQ(now().jobs[0].item_ms, 0);
  const WorkerId worker = world_.worker("w", 4);
  ASSERT_EQ(world_.poll(worker, 2, {4000, 0, {}}).size(), 1U);
  EXPECT_EQ(now().jobs[0].job, job);
  EXPECT_EQ(now().jobs[0].in_hands, 2U);
  EXPECT_EQ(now().jobs[0].waiting, 1U);
}

TEST_F(FleetTest, ItemsThatWaitForThoseOfAnotherJobAreNoDemand) {
  const JobId first = world_.submit({{.ask = {1000, 0, {}}}, 10});
  world_.submit({{.ask = {1000, 0, {}}, .after = {{first, true}}}, 10});
  const WorkerId worker = world_.worker("w", 4);
  world_.end(worker, world_.poll(worker, 2).at(0));
  ASSERT_EQ(now().jobs.size(), 2U);
  EXPECT_EQ(now().jobs[0].waiting, 8U);
  EXPECT_EQ(now().jobs[1].waiting, 2U) << "as many as have succeeded before them";
}

TEST_F(FleetTest, WhatRunsEndsSoonerThanWhatHasJustBegun) {
  set_fleet(2);
  const auto work_ms = [&](const std::string& name) {
    for (const MachineView& it : now().machines) {
      if (it.machine->name == name) return it.work_ms;
    }
    return std::int64_t{-1};
  };
  launch("m1");
  launch("m2");
  const WorkerId one = join("m1");
  const WorkerId two = join("m2");
  world_.submit({{.ask = {1000, 0, {}}}, 3});
  world_.next(one);
  world_.end(one, Token{world_.last.grant, world_.last.first}, TestWorld::kSuccess, 600'000);
  world_.next(one);
  world_.run(one, Token{world_.last.grant, world_.last.first});
  world_.now_ms += 5000;
  world_.next(two);
  world_.run(two, Token{world_.last.grant, world_.last.first});
  EXPECT_EQ(work_ms("m2") - work_ms("m1"), 5000);
}

TEST_F(FleetTest, WhatAStepHasScaledToIsKept) {
  set_fleet(5);
  EXPECT_EQ(fleet().scaled_to, -1);
  world_.ask(ScaleFleet{.fleet = "f", .scale_to = 3});
  EXPECT_EQ(fleet().scaled_to, 3);
  world_.restart();
  EXPECT_EQ(fleet().scaled_to, 3);
  set_fleet(4);
  EXPECT_EQ(fleet().scaled_to, -1) << "its settings may be others";
}

TEST_F(FleetTest, AMachineIsFreeSinceItsLastItemEnded) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  const std::int64_t joined_ms = world_.now_ms;
  world_.now_ms += 1000;
  EXPECT_EQ(now().machines[0].free_since_ms, joined_ms);
  world_.submit(1);
  world_.next(worker);
  EXPECT_EQ(now().machines[0].free_since_ms, 0);
  EXPECT_EQ(now().machines[0].items, 1U);
  EXPECT_EQ(now().machines[0].used.milli_cpus, 1000U);
  world_.now_ms += 1000;
  world_.end(worker, world_.last);
  EXPECT_EQ(now().machines[0].free_since_ms, world_.now_ms);
}

TEST_F(FleetTest, MessagesThatAnAttemptHoldsAreSeenUntilTheyArePurged) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  world_.submit(1);
  world_.next(worker);
  const Token attempt{world_.last.grant, world_.last.first};
  world_.run(worker, attempt);
  world_.ask(SetStream{StreamSpec{.name = "s"}, std::nullopt});
  world_.ask(SendMessages{"s", {NewMessage{.content = std::make_shared<const std::string>("x"), .bytes = 1}}});
  EXPECT_EQ(now().machines[0].receipts_since_ms, 0);
  world_.ask(ReceiveMessages{.stream = "s", .visibility_ms = 600'000, .holder = attempt});
  EXPECT_EQ(now().machines[0].receipts_since_ms, world_.now_ms);
  world_.ask(PurgeStream{"s"});
  EXPECT_EQ(now().machines[0].receipts_since_ms, 0);
  world_.ask(DropStream{"s"});
  EXPECT_EQ(now().machines[0].receipts_since_ms, 0);
}

TEST_F(FleetTest, ManyMachinesComeInPages) {
  set_fleet(1000);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(launch(concat("m", 1000 + i)), 1U);
  AskFleets question{.want_jobs = false};
  std::size_t seen = 0;
  for (bool more = true; more;) {
    const auto page = std::get<FleetsNow>(world_.ask(question));
    seen += page.machines.size();
    EXPECT_LE(page.machines.size(), AskFleets::kPage);
    question.machines_after = page.machines.back().machine->name;
    more = page.more_machines;
  }
  EXPECT_EQ(seen, 200U);
}

TEST_F(FleetTest, TimeToJoinCountsFromTheProvidersAnswer) {
  set_fleet(2);
  launch("m1");
  launch("m2");
  world_.pass(50'000);
  say("m2", MachineNews::What::accepted);
  world_.pass(20'000);
  EXPECT_EQ(machine("m1").ending, "it did not join within 60 s") << "its provider has not answered at all";
  EXPECT_EQ(state("m2"), "starting");
  world_.pass(45'000);
  EXPECT_EQ(machine("m2").ending, "it did not join within 60 s");
}

TEST_F(FleetTest, MachinesThatCouldNotJoinWhileTheServerWasAwayHaveTimeToDoIt) {
  set_fleet(2);
  launch("m1");
  launch("m2");
  say("m1", MachineNews::What::accepted);
  say("m2", MachineNews::What::accepted);
  world_.now_ms += 600'000;
  world_.restart();
  world_.pass(kJoinAfterRestartMs / 2);
  join("m1");
  EXPECT_EQ(state("m1"), "joined");
  EXPECT_EQ(state("m2"), "starting");
  world_.pass(kJoinAfterRestartMs);
  EXPECT_EQ(state("m2"), "leaving");
}

TEST_F(FleetTest, MessagesThatAJobHasTakenAndGivenBackAreDemand) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  world_.ask(SetStream{StreamSpec{.name = "s"}, std::nullopt});
  const NewMessage message{.content = std::make_shared<const std::string>("x"), .bytes = 1};
  world_.ask(SendMessages{"s", {message, message}});
  SubmitJob job{{.ask = {1000, 0, {}}}, 0};
  job.stream = "s";
  world_.submit(job);
  EXPECT_EQ(now().jobs.at(0).waiting, 2U);
  ASSERT_TRUE(world_.next(worker));
  ASSERT_TRUE(world_.next(worker));
  EXPECT_EQ(now().jobs.at(0).waiting, 0U);
  say("m1", MachineNews::What::vanished);
  EXPECT_EQ(now().jobs.at(0).waiting, 2U) << "they are no longer in the stream";
}

TEST_F(FleetTest, AnItemIsNoDemandWhileItWaitsForItsRetry) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  world_.submit({{.policy = {.max_tries = 2, .retry_delay_ms = 60'000}, .ask = {1000, 0, {}}}, 3});
  ASSERT_TRUE(world_.next(worker));
  EXPECT_EQ(now().jobs.at(0).waiting, 2U);
  world_.end(worker, token(world_.last), TestWorld::failure());
  EXPECT_EQ(now().jobs.at(0).waiting, 2U) << "the third may not run yet";
  EXPECT_EQ(now().jobs.at(0).in_hands, 0U);
  world_.restart();
  EXPECT_EQ(now().jobs.at(0).waiting, 2U);
  world_.pass(60'000);
  EXPECT_EQ(now().jobs.at(0).waiting, 3U);
}

// A copy would cost the core's thread an allocation for each name of each machine and question.
TEST_F(FleetTest, QuestionsShareTheRecordOfAMachineUntilItChanges) {
  set_fleet(1);
  launch("m1");
  const WorkerId worker = join("m1");
  world_.submit(2);
  const MachineView before = now().machines.at(0);
  ASSERT_TRUE(world_.next(worker));
  EXPECT_EQ(now().machines.at(0).machine, before.machine);
  EXPECT_EQ(now().machines.at(0).labels, before.labels);
  world_.end(worker, world_.last);
  const MachineView proven = now().machines.at(0);
  EXPECT_TRUE(proven.machine->is_of_use);
  EXPECT_FALSE(before.machine->is_of_use) << "an answer stays as it was given";
  ASSERT_TRUE(world_.next(worker));
  world_.end(worker, world_.last);
  EXPECT_EQ(now().machines.at(0).machine, proven.machine);
  world_.restart();
  EXPECT_TRUE(now().machines.at(0).machine->is_of_use);
}

TEST_F(FleetTest, APageEndsEarlyWhereMachinesHoldManyGrants) {
  constexpr int kMachines = 20;
  set_fleet(kMachines);
  world_.submit({{.ask = {10, 0, {}}}, 1000});
  for (int i = 0; i < kMachines; ++i) {
    const std::string name = concat("m", 1000 + i);
    launch(name);
    const WorkerId worker = join(name);
    for (int grant = 0; grant < 20; ++grant) ASSERT_TRUE(world_.next(worker));
  }
  const FleetsNow first = now();
  EXPECT_LT(first.machines.size(), 20U) << "400 grants are too many for one question";
  EXPECT_TRUE(first.more_machines);
  AskFleets question{.want_jobs = false};
  question.machines_after = first.machines.back().machine->name;
  const auto rest = std::get<FleetsNow>(world_.ask(question));
  EXPECT_EQ(first.machines.size() + rest.machines.size(), 20U);
}

}  // namespace
}  // namespace drover

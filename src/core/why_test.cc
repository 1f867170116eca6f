// Each reason by itself: what is said, and that lifting it helps.
#include "core/why.h"

#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

TEST(Why, NobodySuitsUntilOneJoinsThatDoes) {
  TestWorld world;
  const JobId job = world.submit({{.ask = {1000, 128 * TestWorld::kGiB, {}}}, 1});
  EXPECT_EQ(world.why(job).code, WhyCode::no_worker);
  EXPECT_EQ(world.why(job).sentence, "no worker has ever joined");
  const WorkerId small = world.worker("small");
  EXPECT_EQ(world.why(job).code, WhyCode::nobody_suits);
  EXPECT_EQ(world.why(job).sentence, "needs 128.0 GiB of memory; the largest of 1 worker has 64.0 GiB");
  EXPECT_EQ(world.next(small), JobId{});
  const Resources large{8000, 128 * TestWorld::kGiB, {}};
  const WorkerId right = std::get<WorkerRegistered>(world.ask(RegisterWorker{"large", 1, 0, large})).worker;
  EXPECT_EQ(world.why(job).code, WhyCode::next);
  ASSERT_EQ(world.poll(right, 1, large).size(), 1U);
  EXPECT_EQ(world.why(job, 0).code, WhyCode::handed_out);
}

TEST(Why, WaitsForAnotherJobUntilThatHasSucceeded) {
  TestWorld world;
  const JobId first = world.submit(2);
  const JobId second = world.submit({{.ask = {1000, 0, {}}, .after = {{first, false}}}, 1});
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), first);
  world.end(worker, world.last);
  EXPECT_EQ(world.why(second).code, WhyCode::after_job);
  EXPECT_EQ(world.why(second).sentence, "waits for job job1, 50% done");
  EXPECT_EQ(world.why(second).job, first);
  ASSERT_EQ(world.next(worker), first);
  world.end(worker, world.last);
  EXPECT_EQ(world.why(second).code, WhyCode::next);
}

TEST(Why, AQueueIsDisabledUntilItIsNot) {
  TestWorld world;
  world.set({.name = "q"});
  const JobId job = world.submit(1, {.queue = "q"});
  const WorkerId worker = world.worker("w");
  world.set({.name = "q", .enabled = false});
  EXPECT_EQ(world.why(job).code, WhyCode::queue_disabled);
  world.set({.name = "q"});
  EXPECT_EQ(world.why(job).code, WhyCode::next);
  EXPECT_EQ(world.next(worker), job);
}

TEST(Why, ARetryIsDueAtItsTime) {
  TestWorld world;
  const JobId job = world.submit({{.policy = {.max_tries = 2, .retry_delay_ms = 90'000}, .ask = {1000, 0, {}}}, 1});
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), job);
  world.end(worker, world.last, TestWorld::failure());
  EXPECT_EQ(world.why(job, 0).code, WhyCode::retry_delay);
  EXPECT_EQ(world.why(job).until_ms, world.now_ms + 90'000);
  world.pass(90'000);
  EXPECT_EQ(world.why(job, 0).code, WhyCode::next);
  EXPECT_EQ(world.next(worker), job);
}

TEST(Why, AsManyRunAsMay) {
  TestWorld world;
  const JobId job = world.submit({{.ask = {1000, 0, {}}, .max_running = 1}, 2});
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), job);
  EXPECT_EQ(world.why(job, 1).code, WhyCode::most_running);
  world.end(worker, world.last);
  EXPECT_EQ(world.why(job, 1).code, WhyCode::next);
}

TEST(Why, BehindAnotherUntilThatIsCancelled) {
  TestWorld world;
  const JobId runs = world.submit(1);
  const WorkerId worker = world.worker("w", 1);
  ASSERT_EQ(world.next(worker), runs);
  const JobId ahead = world.submit(1);
  const JobId job = world.submit(1);
  EXPECT_EQ(world.why(job).code, WhyCode::behind);
  EXPECT_EQ(world.why(job).job, ahead);
  EXPECT_EQ(world.why(job).sentence,
            "worker w, which could run it, is busy, and it is 1 place behind job job2 in the same queue");
  world.ask(CancelJob{ahead, "because"});
  EXPECT_EQ(world.why(job).code, WhyCode::busy);
  world.end(worker, world.last);
  EXPECT_EQ(world.why(job).code, WhyCode::next);
}

TEST(Why, AWorkerThatDrainsTakesNothing) {
  TestWorld world;
  const JobId job = world.submit(1);
  world.worker("w");
  world.ask(AskToDrain{"w"});
  EXPECT_EQ(world.why(job).code, WhyCode::set_apart);
  EXPECT_EQ(world.why(job).sentence, "worker w is draining, and no other worker can run it");
  EXPECT_EQ(world.next(world.worker("another")), job);
}

TEST(Why, AWorkerThatIsFreeAndSilentIsNotSaidToBeBusy) {
  TestWorld world;
  world.ask(RegisterWorker{"w", 1, 60'000, {8000, 64 * TestWorld::kGiB, {}}});
  const JobId job = world.submit(2);
  EXPECT_EQ(world.why(job).sentence, "worker w, which could run it, is idle but is not asking for work; it is next");
  EXPECT_EQ(world.why(job, 1).sentence,
            "1 item of its job comes first; worker w, which could run it, is idle but is not asking for work; it is "
            "next");
  world.pass(35'000);
  EXPECT_EQ(world.why(job).code, WhyCode::next);
  EXPECT_EQ(
      world.why(job).sentence,
      "worker w, which could run it, is idle but is not asking for work (last heard from 35.0 s ago); it is next");
  world.pass(25'000);
  EXPECT_EQ(world.why(job).code, WhyCode::no_worker);
}

TEST(Why, ThoseWhoWaitOnlyForDeadMachinesAreNotAhead) {
  TestWorld world;
  world.ask(RegisterWorker{"gone", 1, 0, {64'000, 0, {}}});
  const WorkerId worker = world.worker("w", 1);
  const JobId runs = world.submit(1);
  ASSERT_EQ(world.next(worker), runs);
  world.submit({{.ask = {32'000, 0, {}}}, 1});
  world.ask(Fence{"gone"});
  const JobId job = world.submit(1);
  EXPECT_EQ(world.why(job).sentence, "worker w, which could run it, is busy; it is next");
}

TEST(Why, QueuesAndSharesThatHaveUsedAsMuchTakeTurns) {
  TestWorld world;
  world.set({.name = "a"});
  world.set({.name = "b"});
  const WorkerId worker = world.worker("w", 1);
  ASSERT_EQ(world.next(worker), JobId{});
  const JobId runs = world.submit(1);
  ASSERT_EQ(world.next(worker), runs);
  const JobId first = world.submit(1, {.queue = "a"});
  const JobId second = world.submit(1, {.queue = "b"});
  EXPECT_EQ(world.why(second).sentence,
            "worker w, which could run it, is busy, and queue 'a', which has the same priority, is next in turn");
  EXPECT_EQ(world.why(first).code, WhyCode::busy);
  world.end(worker, world.last);
  EXPECT_EQ(world.next(worker), first);
}

TEST(Why, OnlyItemsThatMayGoComeFirst) {
  TestWorld world;
  const JobId before = world.submit(4);
  const JobId job = world.submit({{.ask = {1000, 0, {}}, .after = {{before, true}}}, 4});
  const WorkerId worker = world.worker("w", 4);
  const auto leases = world.poll(worker, 4);
  for (const std::uint64_t item : {1, 2, 3}) world.end(worker, token(leases[0], item));
  EXPECT_TRUE(world.why(job, 3).sentence.starts_with("2 items of its job come first; ")) << world.why(job, 3).sentence;
  EXPECT_EQ(world.why(job, 0).code, WhyCode::after_item);
}

TEST(Why, AWorkerThatIsNotReadyForAJobSaysSo) {
  TestWorld world;
  const WorkerId worker = world.worker("w", 1);
  const JobId job = world.submit(2);
  ASSERT_EQ(world.next(worker), job);
  const auto say = [&](const std::string& text) {
    Report report{.worker = worker, .incarnation = 1};
    report.notes.push_back({job, text, false});
    world.ask(report);
  };
  say("image busybox: fetching, 12 of 80 MB");
  EXPECT_EQ(world.why(job, 0).code, WhyCode::handed_out);
  EXPECT_EQ(world.why(job, 0).sentence, "worker w: image busybox: fetching, 12 of 80 MB");
  EXPECT_EQ(world.why(job).sentence, "worker w: image busybox: fetching, 12 of 80 MB");
  EXPECT_EQ(world.why(job, 1).code, WhyCode::busy);
  say("");
  EXPECT_EQ(world.why(job).code, WhyCode::busy);
  say("image busybox: unpacking");
  // Whoever comes next by its name has said nothing.
  world.ask(RegisterWorker{"w", 2, 0, {1000, 64 * TestWorld::kGiB, {}}});
  ASSERT_EQ(world.next(worker), job);
  EXPECT_EQ(world.why(job).code, WhyCode::busy);
}

TEST(Why, AWorkerThatDeclinesAJobForNowSaysWhy) {
  TestWorld world;
  const WorkerId worker = world.worker("w", 1);
  const JobId job = world.submit(2);
  ASSERT_EQ(world.next(worker), job);
  std::uint64_t number = 1;
  const auto poll = [&](const std::vector<JobNote>& declined) {
    Poll command{.report = {.worker = worker, .incarnation = 1, .returned = {token(world.last)}, .notes = declined},
                 .number = PollNumber{++number},
                 .want = 1};
    for (const JobNote& it : declined) command.not_now.push_back(it.job);
    world.ask(command);
  };
  poll({{job, "image x: its registry cannot be reached"}});
  EXPECT_EQ(world.why(job).code, WhyCode::set_apart);
  EXPECT_EQ(world.why(job).sentence, "worker w: image x: its registry cannot be reached");
  EXPECT_EQ(world.why(job).workers, 1);
  // Of another that would take it there is nothing to say.
  world.worker("other", 1);
  EXPECT_EQ(world.why(job).code, WhyCode::next);
  world.ask(Fence{"other"});
  EXPECT_EQ(world.why(job).code, WhyCode::set_apart);
  // It holds until the next poll, and for the incarnation that said it.
  poll({});
  EXPECT_NE(world.why(job).code, WhyCode::set_apart);
  std::vector<JobNote> many;
  many.reserve(2000);
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back({job, std::string(1 << 16, 'x')});
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back({JobId{7 + i}, "a job that is not there"});
  poll(many);
  const auto& declined = world.core.volatile_part().sessions.at(worker).declined;
  ASSERT_EQ(declined.size(), 1);
  EXPECT_LE(declined.at(job).size(), 2000);
  world.ask(RegisterWorker{"w", 2, 0, {1000, 64 * TestWorld::kGiB, {}}});
  EXPECT_EQ(world.why(job).code, WhyCode::next);
}

TEST(Why, AWorkerThatDeclinedAJobMayDrainOrNoLongerServeItsQueue) {
  for (const bool drains : {true, false}) {
    TestWorld world;
    RegisterWorker hello{"w", 1, 0, {1000, 64 * TestWorld::kGiB, {}}};
    hello.fleet = "a";
    const WorkerId worker = std::get<WorkerRegistered>(world.ask(hello)).worker;
    world.ask(RegisterWorker{"other", 1, 0, {1, 1, {}}});
    const JobId job = world.submit(2);
    world.ask(Poll{.report = {.worker = worker, .incarnation = 1, .notes = {{job, "no image"}}},
                   .number = PollNumber{1},
                   .want = 1,
                   .not_now = {job}});
    ASSERT_EQ(world.why(job).sentence, "worker w: no image");
    if (drains) {
      world.ask(AskToDrain{"w"});
      EXPECT_EQ(world.why(job).sentence, "worker w is draining, and no other worker can run it");
    } else {
      world.ask(SetQueue{{.name = std::string(kDefaultQueue), .fleets = {"b"}}});
      EXPECT_EQ(world.why(job).code, WhyCode::nobody_suits);
    }
  }
}

TEST(Why, ThoseThatSuitAreCountedAmongManyKindsOfMachines) {
  constexpr std::uint64_t kKinds = 300;
  TestWorld world;
  const auto memory_gib = [](std::uint64_t i) { return 1 + i * 7 % kKinds; };
  const auto zone = [](std::uint64_t i) { return std::to_string(i % 3); };
  const auto name = [](std::uint64_t i) { return "w" + std::to_string(i); };
  for (std::uint64_t i = 0; i < kKinds; ++i) {
    RegisterWorker hello{name(i), 1, 0, {1000, memory_gib(i) * TestWorld::kGiB, {}}};
    hello.labels["zone"] = zone(i);
    world.ask(hello);
  }
  const auto expect_counted = [&](std::uint64_t first) {
    for (const std::uint64_t gib : {1, 17, 150, 299, 300}) {
      for (const std::string required : {"", "1"}) {
        SubmitJob job{{.ask = {1000, gib * TestWorld::kGiB, {}}}, 1};
        if (!required.empty()) job.require["zone"] = required;
        std::uint64_t suiting = 0;
        for (std::uint64_t i = first; i < kKinds; ++i) {
          suiting += memory_gib(i) >= gib && (required.empty() || zone(i) == required) ? 1 : 0;
        }
        const Why said = world.why(world.submit(job));
        EXPECT_EQ(said.workers, suiting > 0 ? suiting : kKinds - first) << gib << " GiB, zone " << required;
        EXPECT_EQ(said.code == WhyCode::nobody_suits, suiting == 0) << said.sentence;
      }
    }
  };
  expect_counted(0);
  for (std::uint64_t i = 0; i < 200; ++i) world.ask(Fence{name(i)});
  expect_counted(200);
}

TEST(Why, ItemsThatAreKeptFromSpotMachinesComeFirstElsewhere) {
  TestWorld world;
  SubmitJob submit{{.ask = {1000, 0, {}}}, 3};
  submit.spot.on_demand_after_losses = 1;
  const JobId job = world.submit(submit);
  const WorkerId lost = world.worker("lost", 1);
  ASSERT_EQ(world.next(lost), job);
  world.run(lost, {world.last.grant, world.last.first});
  world.ask(Fence{"lost"});
  world.worker("w", 1);
  const auto begins_with = [&](std::uint64_t item, const std::string& text) {
    const std::string said = world.why(job, item).sentence;
    EXPECT_TRUE(said.starts_with(text)) << said;
  };
  begins_with(1, "1 item of its job comes first except on spot machines; ");
  begins_with(2, "1 item of its job comes first, and 1 more except on spot machines; ");
}

TEST(Why, WhatWasNotLookedAtIsNotSaid) {
  const reason::Turn turn{.takers = 3, .ahead = reason::PerhapsSomebodyAhead{}};
  EXPECT_EQ(in_words({turn}).code, WhyCode::busy);
  EXPECT_EQ(in_words({turn}).sentence, "the 3 workers that could run it are busy, and others may come first");
  EXPECT_EQ(in_words({.reason = turn, .items_first = 500, .or_more = true}).sentence,
            "at least 500 items of its job come first; the 3 workers that could run it are busy, and others may come "
            "first");
  EXPECT_EQ(in_words({reason::ItemAssigned{ItemIndex{7}, ""}}).sentence,
            "item 7 is assigned to a worker, which has not reported it as running");
}

/// A fleet, and a job that asks for two CPUs.
struct FleetStory : TestWorld {
  JobId job = submit({{.ask = {2000, 0, {}}}, 1});

  void set_fleet(std::uint64_t most = 2) {
    ask(SetFleet{{.name = "f", .text = "{}", .most = most, .join_ms = 60'000}});
  }
  void launch(const std::string& machine, std::uint64_t milli_cpus) {
    ask(ScaleFleet{.fleet = "f", .launches = {{machine, "some", {milli_cpus, 1 << 30, {}}, "work waits"}}});
  }
};

TEST(Why, NamesTheMachineThatIsComing) {
  FleetStory world;
  world.set_fleet();
  EXPECT_EQ(world.why(world.job).sentence,
            "no worker has ever joined; fleet 'f' has launched no machine for it; 'drover fleet explain f' says why");
  EXPECT_EQ(world.why(world.job).fleet, "f");
  world.launch("small", 1000);
  EXPECT_EQ(world.why(world.job).code, WhyCode::no_worker);
  world.launch("large", 2000);
  EXPECT_EQ(world.why(world.job).code, WhyCode::machine_coming);
  EXPECT_EQ(world.why(world.job).machine, "large");
  EXPECT_EQ(world.why(world.job).sentence,
            "no worker has ever joined; machine large of fleet 'f', shape 'some', is requested");
  world.ask(MachineNews{"large", MachineNews::What::accepted, "id"});
  EXPECT_TRUE(world.why(world.job).sentence.ends_with("is starting"));
  world.ask(RegisterWorker{.name = "large", .incarnation = 1, .has = {2000, 1 << 30, {}}, .fleet = "f"});
  EXPECT_EQ(world.why(world.job).code, WhyCode::next);
}

TEST(Why, SaysWhatKeepsAFleetFromLaunching) {
  FleetStory world;
  world.worker("w", 1);
  const auto said = [&] {
    const Why why = world.why(world.job);
    EXPECT_EQ(why.code, WhyCode::nobody_suits);
    return why.sentence.substr(why.sentence.find("; fleet") + 2);
  };
  world.set_fleet(1);
  world.ask(PauseFleet{"f", true});
  EXPECT_EQ(said(), "fleet 'f' is paused");
  world.ask(PauseFleet{"f", false});
  world.launch("small", 1000);
  EXPECT_EQ(said(), "fleet 'f' is at its maximum of 1 machine");
  world.ask(MachineNews{"small", MachineNews::What::refused, "no capacity"});
  EXPECT_EQ(said(), "fleet 'f' launches no machines for another 1 s: no capacity");
  EXPECT_EQ(world.why(world.job).until_ms, world.now_ms + 1000);
  world.now_ms += 1000;
  world.ask(Tick{});
  EXPECT_EQ(said(),
            "fleet 'f' has launched no machine for it (its last launch failed: no capacity); 'drover fleet explain f' "
            "says why");
}

TEST(Why, AFleetWhoseCpusAreAllInUseIsAtItsMaximumForAnyJob) {
  FleetStory world;
  world.ask(SetFleet{{.name = "f", .text = "{}", .most = 9, .most_milli_cpus = 1000}});
  world.launch("small", 1000);
  const JobId job = world.submit({{.require = {{"zone", "a"}, {"fleet", "f"}, {"shape", "other"}}}, 1});
  EXPECT_TRUE(world.why(job).sentence.ends_with("fleet 'f' is at its maximum of 1 CPU")) << world.why(job).sentence;
}

TEST(Why, AMachineWhoseLabelsAreNotKnownMayBeTheOne) {
  FleetStory world;
  world.set_fleet();
  const JobId job = world.submit({{.ask = {1000, 0, {}}, .require = {{"fleet", "f"}, {"zone", "a"}}}, 1});
  world.launch("m", 1000);
  EXPECT_EQ(world.why(job).code, WhyCode::no_worker);
  EXPECT_TRUE(world.why(job).sentence.ends_with("is requested, and could run it if it has the required labels"));
  const JobId other = world.submit({{.ask = {1000, 0, {}}, .require = {{"fleet", "other"}}}, 1});
  EXPECT_EQ(world.why(other).sentence, "no worker has ever joined");
}

}  // namespace
}  // namespace drover

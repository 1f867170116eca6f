// Workers that are lost, leave or are fenced, and how long they are remembered.
#include <gtest/gtest.h>

#include "core/test_story.h"

namespace drover {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kDayMs = 24 * 60 * kMinuteMs;

std::size_t events_of(const StoryWorld& world, EventKind kind) {
  return static_cast<std::size_t>(std::ranges::count_if(world.mutations, [&](const Mutation& it) {
    const auto* add = std::get_if<AddEvent>(&it);
    return add != nullptr && add->event.kind == kind;
  }));
}

void expect_nobody(const StoryWorld& world) {
  const Volatile& now = world.core.volatile_part();
  EXPECT_TRUE(world.core.durable().workers.empty());
  EXPECT_TRUE(now.sessions.empty());
  EXPECT_TRUE(now.worker_by_name.empty());
  EXPECT_TRUE(now.worker_grants.empty());
  EXPECT_EQ(world.core.next_deadline(), std::nullopt);
}

TEST(Departure, ALostWorkerIsForgottenAfterADay) {
  StoryWorld world;
  world.submit(1);
  const WorkerId worker = world.worker("w");
  world.poll(worker, 1);
  world.pass(kMinuteMs);
  EXPECT_EQ(events_of(world, EventKind::worker_lost), 1U);
  world.pass(kDayMs - 1);
  EXPECT_TRUE(world.core.durable().workers.contains(worker));
  world.pass(1);
  expect_nobody(world);
  EXPECT_EQ(std::get<Refused>(world.ask(Report{.worker = worker, .incarnation = 1})).error.code, ErrorCode::not_found);
  EXPECT_EQ(std::get<Refused>(world.ask(Fence{"w"})).error.code, ErrorCode::not_found);
  const WorkerId anew = world.worker("w");
  EXPECT_GT(anew, worker) << "its number is never used again";
  EXPECT_EQ(std::get<PollAnswer>(world.ask(Poll{{anew, 1}, PollNumber{1}, {}, 1, 0})).leases.size(), 1U);
}

TEST(Departure, WhoLeftOrWasFencedIsForgottenAfterADay) {
  StoryWorld world;
  world.worker("leaves");
  world.worker("is fenced");
  world.worker("stays", 1, 0);
  world.ask(Report{.worker = WorkerId{1}, .incarnation = 1, .leaving = Leaving::gone});
  world.ask(Fence{"is fenced"});
  world.pass(kDayMs);
  EXPECT_EQ(world.core.durable().workers.size(), 1U);
  world.pass(30 * kDayMs);
  EXPECT_TRUE(world.core.volatile_part().worker_by_name.contains("stays")) << "it has no term";
}

TEST(Departure, AfterARestartALostWorkerIsStillLost) {
  StoryWorld world;
  world.worker("w");
  world.pass(kMinuteMs);
  EXPECT_EQ(events_of(world, EventKind::worker_lost), 1U);
  world.restart();
  EXPECT_EQ(world.core.volatile_part().schedule.capacity_milli_cpus, 0U);
  EXPECT_EQ(world.why(world.submit(1)).code, WhyCode::no_worker);
  world.pass(10 * kMinuteMs);
  EXPECT_EQ(events_of(world, EventKind::worker_lost), 1U) << "once";
  world.restart();
  world.pass(kDayMs);
  expect_nobody(world);
}

TEST(Departure, ALostWorkerThatIsHeardAgainIsThereAgainAlsoAfterARestart) {
  StoryWorld world;
  world.submit(2);
  const WorkerId worker = world.worker("w");
  const std::uint64_t capacity = world.core.volatile_part().schedule.capacity_milli_cpus;
  world.pass(kMinuteMs);
  EXPECT_EQ(world.core.volatile_part().schedule.capacity_milli_cpus, 0U);
  EXPECT_EQ(world.poll(worker, 1).leases.size(), 1U);
  EXPECT_EQ(world.core.volatile_part().schedule.capacity_milli_cpus, capacity);
  world.restart();
  EXPECT_EQ(world.core.volatile_part().schedule.capacity_milli_cpus, capacity);
  world.pass(kMinuteMs - 1);
  EXPECT_EQ(world.core.durable().grants.size(), 1U);
  EXPECT_EQ(world.poll(worker, 1).leases.size(), 1U);
  world.pass(kDayMs);
  EXPECT_TRUE(world.core.durable().workers.contains(worker)) << "its day begins when it is lost";
}

TEST(Departure, AWorkerThatIsLostHasItsPollAnsweredAndIsGivenNothing) {
  StoryWorld world;
  const WorkerId worker = world.worker("w", 1, 10'000);
  world.ask(Poll{{worker, 1}, PollNumber{1}, {}, 1, 20'000});
  world.now_ms += 10'000;
  world.ask(Tick{});
  ASSERT_EQ(world.answers.size(), 1U);
  EXPECT_TRUE(std::get<PollAnswer>(world.answers[0].effect).leases.empty());
  world.submit(1);
  EXPECT_TRUE(world.core.durable().grants.empty());
}

// A tick does a bounded part of it, and is due again at once.
TEST(Departure, ManyAreLostAndForgottenInSteps) {
  StoryWorld world;
  world.inspects = false;
  for (int i = 0; i < 1000; ++i) world.worker("w" + std::to_string(i));
  const auto ticks_until = [&](auto&& done) {
    int ticks = 0;
    for (; ticks < 1000 && !done(); ++ticks) {
      const std::size_t before = world.mutations.size();
      EXPECT_LE(world.core.next_deadline().value_or(world.now_ms + 1), world.now_ms);
      world.ask(Tick{});
      EXPECT_LE(world.mutations.size() - before, 700U);
    }
    return ticks;
  };
  world.now_ms += kMinuteMs;
  EXPECT_GE(ticks_until([&] { return world.core.volatile_part().expiries.empty(); }), 4);
  world.now_ms += kDayMs;
  EXPECT_GE(ticks_until([&] { return world.core.durable().workers.empty(); }), 4);
  expect_nobody(world);
}

}  // namespace
}  // namespace drover

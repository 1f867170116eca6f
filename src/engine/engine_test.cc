#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "engine/system_clock.h"

namespace drover {
namespace {

/// A store that keeps nothing, counts what it is asked, and can be held up or made to fail.
class FakeStore : public Store {
 public:
  Result<void> load(const std::function<Result<void>(const Mutation&)>& take) override {
    for (const Mutation& put : stored) {
      if (auto taken = take(put); !taken) return taken;
    }
    return {};
  }
  Result<void> commit(const Batch&) override {
    std::unique_lock lock(mutex);
    ++committing;
    changed.notify_all();
    changed.wait(lock, [&] { return !held; });
    if (failing) return fail(ErrorCode::no_space, "the disk is full");
    ++commits;
    return {};
  }
  Result<DefinitionId> add_definition(std::string_view) override { return DefinitionId{1}; }
  Result<ManifestId> begin_manifest() override { return ManifestId{1}; }
  Result<void> add_chunks(ManifestId, const std::vector<ManifestChunk>&) override { return {}; }
  Result<void> end_manifest(ManifestId, const ManifestInfo&, Lasting) override { return {}; }
  void drop_manifest(ManifestId) override {}
  Result<ManifestInfo> claim_manifest(ManifestId) override { return ManifestInfo{}; }
  Result<void> drop_unused(std::int64_t, std::int64_t) override { return {}; }
  Result<bool> drop_old_attempts(std::int64_t, std::uint64_t) override { return false; }
  Result<bool> sweep_deleted(std::uint64_t) override { return false; }

  void hold(bool now) {
    const std::scoped_lock lock(mutex);
    held = now;
    changed.notify_all();
  }
  void wait_until_committing(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return committing >= count; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Mutation> stored;
  bool held = false;
  bool failing = false;
  int committing = 0;
  int commits = 0;
};

/// Passes only when it is told to.
class ManualClock : public SteadyClock {
 public:
  std::int64_t elapsed_ns() override { return now_ns_; }
  void pass(std::int64_t ms) { now_ns_ += ms * 1'000'000; }

 private:
  std::atomic<std::int64_t> now_ns_ = 0;
};

struct Fixture {
  FakeStore store;
  SystemWallClock wall;
  SystemSteadyClock steady;

  std::unique_ptr<Engine> start(Engine::Listener listener = [](const Effect&) {}) {
    auto engine = Engine::start(store, wall, steady, std::move(listener));
    EXPECT_TRUE(engine);
    return std::move(*engine);
  }
};

SubmitJob job(std::uint8_t number, std::uint64_t total = 1) {
  SubmitJob command;
  command.uuid.bytes[0] = number;
  command.total = total;
  return command;
}

TEST(Engine, AnswersOnlyWhatIsDurable) {
  Fixture it;
  auto engine = it.start();
  it.store.hold(true);
  std::atomic<bool> answered = false;
  std::promise<void> done;
  engine->post(job(1), [&](const Result<Effect>& effect) {
    EXPECT_TRUE(effect);
    answered = true;
    done.set_value();
  });
  it.store.wait_until_committing(1);
  EXPECT_FALSE(answered);
  it.store.hold(false);
  done.get_future().wait();
  EXPECT_TRUE(answered);
}

TEST(Engine, ManyCommandsShareOneCommit) {
  Fixture it;
  auto engine = it.start();
  it.store.hold(true);
  std::atomic<int> answers = 0;
  for (int i = 0; i < 100; ++i) {
    engine->post(job(static_cast<std::uint8_t>(i)), [&](const Result<Effect>&) { ++answers; });
  }
  it.store.wait_until_committing(1);
  it.store.hold(false);
  engine.reset();
  EXPECT_EQ(answers, 100);
  EXPECT_LE(it.store.commits, 50);
}

TEST(Engine, WhatIsPostedDuringACommitSharesTheNext) {
  Fixture it;
  auto engine = it.start();
  it.store.hold(true);
  engine->post(job(1), [](const Result<Effect>&) {});
  it.store.wait_until_committing(1);
  for (std::uint8_t i = 2; i < 20; ++i) engine->post(job(i), [](const Result<Effect>&) {});
  it.store.hold(false);
  engine.reset();
  EXPECT_EQ(it.store.commits, 2);
}

TEST(Engine, WhatIsPostedDuringAHoldIsCommittedTogether) {
  Fixture it;
  auto engine = it.start();
  engine->hold();
  std::promise<void> last;
  engine->post(job(1), [](const Result<Effect>&) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  engine->post(job(2), [&](const Result<Effect>&) { last.set_value(); });
  engine->release();
  last.get_future().wait();
  EXPECT_EQ(it.store.commits, 1);
}

TEST(Engine, OneReleaseIsEnoughWhereOthersHold) {
  Fixture it;
  auto engine = it.start();
  engine->hold();
  engine->hold();
  std::promise<void> answered;
  engine->post(job(1), [&](const Result<Effect>&) { answered.set_value(); });
  engine->release();
  answered.get_future().wait();
  engine->release();
  EXPECT_TRUE(engine->ask(job(2)));
}

TEST(Engine, ManyCommandsWaitForNoRelease) {
  Fixture it;
  auto engine = it.start();
  engine->hold();
  std::promise<void> last;
  for (std::uint8_t i = 0; i < 200; ++i) {
    engine->post(job(i), [&, i](const Result<Effect>&) {
      if (i == 50) last.set_value();
    });
  }
  last.get_future().wait();
  engine->release();
}

TEST(Engine, WhatWasPostedBeforeTheEndIsCommittedAndAnswered) {
  Fixture it;
  int answers = 0;
  {
    auto engine = it.start();
    for (int i = 0; i < 10; ++i) {
      engine->post(job(static_cast<std::uint8_t>(i)), [&](const Result<Effect>& effect) { answers += effect ? 1 : 0; });
    }
  }
  EXPECT_EQ(answers, 10);
}

TEST(Engine, AFailedCommitStopsItAndEverybodyIsTold) {
  Fixture it;
  auto engine = it.start();
  ASSERT_TRUE(engine->ask(job(1)));
  it.store.failing = true;
  const auto refused = engine->ask(job(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::no_space);
  it.store.failing = false;
  EXPECT_FALSE(engine->ask(job(3))) << "it comes back from the store, never from hope";
}

TEST(Engine, TicksWhenTheCoreHasADeadline) {
  Fixture it;
  auto engine = it.start();
  auto registered = engine->ask(RegisterWorker{"w", 1, 60'000});
  ASSERT_TRUE(registered);
  const WorkerId worker = std::get<WorkerRegistered>(*registered).worker;
  const auto answer = engine->ask(Poll{{worker, 1, {}, {}, {}}, PollNumber{1}, {}, 1, 30});
  ASSERT_TRUE(answer) << "answered empty, after its 30 ms";
  EXPECT_TRUE(std::get<PollAnswer>(*answer).leases.empty());
}

TEST(Engine, AStoreThatIsBlockedForLongerThanTheTermCostsNoLease) {
  Fixture it;
  ManualClock steady;
  auto started = Engine::start(it.store, it.wall, steady, [](const Effect&) {});
  ASSERT_TRUE(started);
  Engine& engine = **started;
  ASSERT_TRUE(engine.ask(job(1)));
  const auto registered = engine.ask(RegisterWorker{"w", 1, 60'000});
  ASSERT_TRUE(registered);
  const WorkerId worker = std::get<WorkerRegistered>(*registered).worker;
  const auto answer = engine.ask(Poll{{worker, 1, {}, {}, {}}, PollNumber{1}, {}, 1, 0});
  ASSERT_TRUE(answer && std::get<PollAnswer>(*answer).leases.size() == 1);
  it.store.hold(true);
  engine.post(job(2), [](const Result<Effect>&) {});
  it.store.wait_until_committing(4);
  engine.post(job(3), [](const Result<Effect>&) {});
  steady.pass(70'000);
  it.store.hold(false);
  const auto asked = engine.ask(AskToDrain{"w"});
  ASSERT_TRUE(asked);
  EXPECT_EQ(std::get<WorkerToBeGone>(*asked).grants, 1U);
}

TEST(Engine, TellsTheListenerOfJobsThatChanged) {
  Fixture it;
  std::atomic<int> changes = 0;
  auto engine = it.start([&](const Effect& effect) { changes += std::holds_alternative<JobChanged>(effect) ? 1 : 0; });
  ASSERT_TRUE(engine->ask(job(1, 0)));
  engine.reset();
  EXPECT_EQ(changes, 1);
}

TEST(Engine, StartsFromNoEarlierThanTheLargestTimeStored) {
  Fixture it;
  const std::int64_t future_ms = it.wall.epoch_ms() + 3'600'000;
  it.store.stored.emplace_back(PutCounters{Counters{.now_ms = future_ms}});
  auto engine = it.start();
  EXPECT_GE(engine->now_ms(), future_ms);
}

TEST(Engine, RefusesAStateThatContradictsItself) {
  Fixture it;
  it.store.stored.emplace_back(PutGrant{Grant{.id = GrantId{1}, .job = JobId{9}}});
  const auto engine = Engine::start(it.store, it.wall, it.steady, [](const Effect&) {});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, ErrorCode::damaged);
}

}  // namespace
}  // namespace drover

// A queue with a list of fleets hands items to the workers of those fleets, and to workers without a fleet.
#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

class QueueFleets : public testing::Test {
 protected:
  WorkerId worker(const std::string& name, const std::string& fleet) {
    RegisterWorker hello{name, 1, 0, {8000, 64 * TestWorld::kGiB, {}}, {}};
    hello.fleet = fleet;
    return std::get<WorkerRegistered>(world_.ask(hello)).worker;
  }
  void serve(std::vector<std::string> fleets) {
    Queue queue{.name = "q"};
    queue.fleets = std::move(fleets);
    world_.set(queue);
  }

  TestWorld world_;
};

TEST_F(QueueFleets, AQueueIsServedByItsFleetsAndByWorkersWithoutOne) {
  serve({"spot", "cluster"});
  const JobId job = world_.submit(9, {.queue = "q"});
  EXPECT_EQ(world_.next(worker("other", "desktop")), JobId{});
  EXPECT_EQ(world_.next(worker("one", "spot")), job);
  EXPECT_EQ(world_.next(worker("two", "cluster")), job);
  EXPECT_EQ(world_.next(worker("nobodys", "")), job);
}

TEST_F(QueueFleets, AQueueWithoutFleetsIsServedByAll) {
  serve({});
  const JobId job = world_.submit(1, {.queue = "q"});
  EXPECT_EQ(world_.next(worker("w", "spot")), job);
}

TEST_F(QueueFleets, AWorkerThatWaitsIsGivenWorkWhenItsFleetComesToServeTheQueue) {
  serve({"spot"});
  const JobId job = world_.submit(1, {.queue = "q"});
  world_.poll(worker("w", "desktop"), 1, 20'000);
  serve({"spot", "desktop"});
  ASSERT_EQ(world_.given_meanwhile().size(), 1U);
  EXPECT_EQ(world_.given_meanwhile()[0].job, job);
}

TEST_F(QueueFleets, WhatAWorkerHoldsStaysItsOwnWhenItsFleetServesTheQueueNoMore) {
  serve({"spot"});
  const JobId job = world_.submit(2, {.queue = "q"});
  const WorkerId spot = worker("w", "spot");
  ASSERT_EQ(world_.next(spot), job);
  serve({"desktop"});
  EXPECT_EQ(world_.next(spot), JobId{});
  world_.end(spot, world_.last = Lease{.grant = GrantId{1}, .job = job, .first = {}, .count = 1});
  EXPECT_EQ(world_.job(job).succeeded, 1U);
}

TEST_F(QueueFleets, WhySaysWhichFleetIsMissing) {
  serve({"spot"});
  const JobId job = world_.submit(1, {.queue = "q"});
  worker("w", "desktop");
  EXPECT_EQ(world_.why(job).code, WhyCode::nobody_suits);
  EXPECT_EQ(world_.why(job).sentence, "needs a worker of fleet 'spot'; none of 1 worker belongs to it");
  serve({"spot", "cluster"});
  EXPECT_EQ(world_.why(job).sentence, "needs a worker of fleet 'spot' or 'cluster'; none of 1 worker belongs to them");
  const JobId large = world_.submit({{.ask = {64'000, 0, {}}, .place = {.queue = "q"}}, 1});
  worker("small", "spot");
  EXPECT_EQ(world_.why(large).sentence, "needs 64 CPUs; the largest of 1 worker of fleet 'spot' or 'cluster' has 8");
}

TEST_F(QueueFleets, AFleetSurvivesARestart) {
  serve({"spot"});
  const JobId job = world_.submit(1, {.queue = "q"});
  const WorkerId desktop = worker("w", "desktop");
  world_.restart();
  EXPECT_EQ(world_.next(desktop), JobId{});
  EXPECT_EQ(world_.why(job).code, WhyCode::nobody_suits);
}

}  // namespace
}  // namespace drover

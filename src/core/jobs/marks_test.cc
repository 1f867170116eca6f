// The marks of an ended job's items are in the ledger alone: who needs them waits until they have been read.
#include <gtest/gtest.h>

#include "core/test_world.h"

namespace drover {
namespace {

bool waits(const Effect& effect) {
  const auto* refused = std::get_if<Refused>(&effect);
  return refused != nullptr && refused->error.message == "no answer yet";
}

struct Marks : testing::Test {
  TestWorld world;
  WorkerId worker = world.worker("w");

  /// Two items, of which the first succeeded and the second failed.
  JobId half_failed() {
    const JobId job = world.submit(2);
    const auto leases = world.poll(worker, 2);
    world.end(worker, token(leases.at(0), 0));
    world.end(worker, token(leases.at(0), 1), TestWorld::failure());
    EXPECT_EQ(world.state(job), JobState::failed);
    return job;
  }
  JobId succeeded(std::uint64_t items) {
    const JobId job = world.submit(items);
    for (const Lease& lease : world.poll(worker, items)) world.end(worker, lease);
    EXPECT_EQ(world.state(job), JobState::succeeded);
    return job;
  }
  static ReopenJob retry(JobId job) {
    return {.job = job, .epoch = 0, .policy = {}, .again = {{ItemIndex{1}, AttemptNumber{1}, AttemptState::failed}}};
  }
};

TEST_F(Marks, AnEndedJobHasNoneInMemory) {
  const JobId job = world.submit(2);
  EXPECT_NE(world.core.durable().find_blocks(job), nullptr);
  for (const Lease& lease : world.poll(worker, 2)) world.end(worker, lease);
  EXPECT_EQ(world.core.durable().find_blocks(job), nullptr);
  EXPECT_EQ(world.core.durable().find_blocks(half_failed()), nullptr);
}

TEST_F(Marks, ARetryIsAnsweredWhenTheyHaveBeenRead) {
  const JobId job = half_failed();
  world.gives_marks = false;
  EXPECT_TRUE(waits(world.ask(retry(job))));
  EXPECT_TRUE(waits(world.ask(retry(job))));  // said again; it is read once
  EXPECT_EQ(world.state(job), JobState::failed);
  ASSERT_TRUE(world.core.durable().jobs.at(job).ended());
  world.ask(world.read_marks({job, 2}));
  EXPECT_EQ(world.state(job), JobState::running);
  std::size_t reopened = 0;
  std::size_t refused = 0;
  for (const Answer& answer : world.answers) {
    if (const auto* it = std::get_if<JobReopened>(&answer.effect)) reopened += it->items;
    refused += std::holds_alternative<Refused>(answer.effect) ? 1 : 0;
  }
  EXPECT_EQ(reopened, 1);
  EXPECT_EQ(refused, 1);  // the second one read the job before the first
  EXPECT_EQ(world.next(worker), job);
  world.end(worker, world.last);
  EXPECT_EQ(world.state(job), JobState::succeeded);
}

TEST_F(Marks, WhoWaitsForThoseThatCannotBeReadIsToldWhy) {
  const JobId job = half_failed();
  world.gives_marks = false;
  EXPECT_TRUE(waits(world.ask(retry(job))));
  world.ask(MarksRead{job, nullptr, {ErrorCode::damaged, "torn", ""}});
  EXPECT_TRUE(std::ranges::any_of(world.answers, [](const Answer& answer) {
    const auto* refused = std::get_if<Refused>(&answer.effect);
    return refused != nullptr && refused->error.message == "torn";
  }));
  EXPECT_EQ(world.state(job), JobState::failed);
  world.gives_marks = true;
  EXPECT_TRUE(std::holds_alternative<JobReopened>(world.ask(retry(job))));
}

TEST_F(Marks, ThoseThatNobodyWaitsForChangeNothing) {
  const JobId job = half_failed();
  world.ask(world.read_marks({job, 2}));
  EXPECT_EQ(world.core.durable().find_blocks(job), nullptr);
  world.ask(world.read_marks({JobId{77}, 2}));
}

TEST_F(Marks, AJobThatIsForgottenMeanwhileIsNotFound) {
  const JobId job = half_failed();
  world.gives_marks = false;
  EXPECT_TRUE(waits(world.ask(retry(job))));
  world.now_ms += 10;
  EXPECT_TRUE(std::holds_alternative<JobForgotten>(world.ask(ForgetJob{job, world.now_ms})));
  world.ask(world.read_marks({job, 2}));
  EXPECT_TRUE(std::ranges::any_of(world.answers, [](const Answer& answer) {
    const auto* refused = std::get_if<Refused>(&answer.effect);
    return refused != nullptr && refused->error.code == ErrorCode::not_found;
  }));
}

TEST_F(Marks, AJobThatGoesItemByItemAfterOneThatHasFailedRunsWhatItMay) {
  const JobId before = half_failed();
  const JobId after = world.submit({{.after = {{before, true}}}, 2});
  EXPECT_NE(world.core.durable().find_blocks(before), nullptr);
  world.restart();
  EXPECT_NE(world.core.durable().find_blocks(before), nullptr);
  const auto leases = world.poll(worker, 2);
  ASSERT_EQ(leases.size(), 1);
  EXPECT_EQ(leases[0].first, ItemIndex{0});
  EXPECT_EQ(leases[0].count, 1);
  world.end(worker, leases[0]);
  world.tick_while_due();
  EXPECT_EQ(world.state(after), JobState::failed);
  EXPECT_EQ(world.core.durable().find_blocks(before), nullptr);  // nobody needs them any more
}

TEST_F(Marks, ACommandMayNeedThoseOfSeveralJobs) {
  const JobId first = half_failed();
  const JobId second = half_failed();
  const JobId after = world.submit({{.after = {{first, true}, {second, true}}}, 2});
  for (const Lease& lease : world.poll(worker, 2)) world.end(worker, lease);
  world.tick_while_due();
  ASSERT_EQ(world.state(after), JobState::failed);
  for (const JobId it : {first, second, after}) EXPECT_EQ(world.core.durable().find_blocks(it), nullptr);
  // Its own, and those of both that it goes after.
  EXPECT_TRUE(std::holds_alternative<JobReopened>(world.ask(ReopenJob{.job = after, .epoch = 0})));
  world.tick_while_due();
  for (const JobId it : {first, second, after}) EXPECT_EQ(world.core.durable().find_blocks(it), nullptr);
}

TEST_F(Marks, AJobThatGoesItemByItemAfterOneThatHasSucceededNeedsNone) {
  const JobId before = succeeded(3);
  world.gives_marks = false;
  const JobId after = world.submit({{.after = {{before, true}}}, 3});
  EXPECT_EQ(world.core.durable().find_blocks(before), nullptr);
  for (const Lease& lease : world.poll(worker, 3)) world.end(worker, lease);
  EXPECT_EQ(world.state(after), JobState::succeeded);
}

TEST_F(Marks, ItsFollowersGoOnWhenItSucceedsAndLosesItsBlocks) {
  const JobId before = world.submit(3);
  const JobId after = world.submit({{.after = {{before, true}}}, 3});
  for (const Lease& lease : world.poll(worker, 3)) world.end(worker, lease);
  EXPECT_EQ(world.state(before), JobState::succeeded);
  EXPECT_EQ(world.core.durable().find_blocks(before), nullptr);
  EXPECT_EQ(world.why(after, 1).code, WhyCode::next);
  for (const Lease& lease : world.poll(worker, 3)) world.end(worker, lease);
  EXPECT_EQ(world.state(after), JobState::succeeded);
}

TEST_F(Marks, WhyAnItemOfAnEndedJobDoesNotRunIsSaidWhenTheyHaveBeenRead) {
  const JobId job = half_failed();
  const Effect good = world.ask(AskWhy{job, ItemIndex{0}});
  EXPECT_EQ(in_words(std::get<WhyFacts>(good)).sentence, "item 0 has succeeded");
  const Effect bad = world.ask(AskWhy{job, ItemIndex{1}});
  EXPECT_EQ(in_words(std::get<WhyFacts>(bad)).sentence, "item 1 has ended without success");
  EXPECT_EQ(world.core.durable().find_blocks(job), nullptr);
}

TEST(FreedBlocks, OfManyItemsAreFreedPartByPart) {
  ItemBlocks blocks(10'000 * ItemBlocks::kBlockItems);
  for (std::uint64_t block = 0; block < blocks.block_count(); ++block) {
    blocks.set(ItemIndex{block * ItemBlocks::kBlockItems + 5}, ItemMark::ended);
  }
  int parts = 1;
  while (!blocks.free_some()) ++parts;
  EXPECT_GT(parts, 5);
  EXPECT_LT(parts, 50);
}

}  // namespace
}  // namespace drover

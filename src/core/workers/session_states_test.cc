#include "core/workers/session_states.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(PollState, NoPollIsHeardTwice) {
  PollState polls;
  EXPECT_TRUE(polls.hear(PollNumber{3}));
  EXPECT_FALSE(polls.hear(PollNumber{3}));
  EXPECT_FALSE(polls.hear(PollNumber{2})) << "overtaken";
  polls.recall(PollNumber{7});
  EXPECT_FALSE(polls.hear(PollNumber{7})) << "it was answered before";
  polls.begin_anew();
  EXPECT_TRUE(polls.hear(PollNumber{1}));
}

TEST(PollState, OnePollWaitsAtATime) {
  PollState polls;
  EXPECT_FALSE(polls.waits());
  polls.park(5);
  EXPECT_TRUE(polls.waits());
  EXPECT_EQ(polls.parked(), 5U);
  polls.unpark();
  EXPECT_FALSE(polls.waits());
}

TEST(DrainState, WhoIsAskedIsToldUntilItHasHeardIt) {
  DrainState drain;
  drain.ask();
  EXPECT_TRUE(drain.is_draining());
  EXPECT_TRUE(drain.is_to_be_told());
  drain.on_told();
  EXPECT_FALSE(drain.is_to_be_told());
  drain.on_answer_lost();
  EXPECT_TRUE(drain.is_to_be_told());
}

TEST(DrainState, WhoDrainsOfItselfNeedNotBeTold) {
  DrainState drain;
  drain.begin_of_itself();
  EXPECT_TRUE(drain.is_draining());
  EXPECT_FALSE(drain.is_to_be_told());
  drain.on_answer_lost();
  EXPECT_FALSE(drain.is_to_be_told());
  drain.on_new_process(true, false);
  EXPECT_FALSE(drain.is_draining()) << "the next process has not said so";
}

TEST(DrainState, TheNextProcessIsAskedAgainUnlessTheOneBeforeHadDrained) {
  for (const bool was_told : {false, true}) {
    for (const bool held_some : {false, true}) {
      for (const bool was_lost : {false, true}) {
        DrainState drain;
        drain.ask();
        if (was_told) drain.on_told();
        drain.on_new_process(held_some, was_lost);
        EXPECT_EQ(drain.is_draining(), !was_lost && (!was_told || held_some)) << was_told << held_some << was_lost;
      }
    }
  }
}

}  // namespace
}  // namespace drover

#include "worker/job_images.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

namespace drover {
namespace {

const JobId kJob{1};
const JobId kOther{2};

/// An agent that was lent two items of a job, and images that come when they are told to.
class JobImagesTest : public testing::Test {
 protected:
  JobImagesTest()
      : images_(
            agent_, 7,
            [this](const ContainerOptions& options, Images::Got got) {
              fetches_.emplace_back(options.image, std::move(got));
              return std::shared_ptr<ImageWish>(wish_, nullptr);
            },
            [this](JobId job, const std::shared_ptr<const ContainerPlan>& plan) {
              ready_.emplace_back(job, plan->name);
            },
            [this](const std::string& text) { notices_.push_back(text); }, [this] { return now_ms_; }) {
    ask();
  }
  ~JobImagesTest() override {
    EXPECT_TRUE(fetches_.empty());
    EXPECT_TRUE(notices_.empty());
    EXPECT_TRUE(ready_.empty());
  }

  /// What the server is told of it by the next poll.
  AgentPoll lend(JobId job) {
    Lease lease{.grant = GrantId{job.value}, .job = job, .first = ItemIndex{0}, .count = 2};
    agent_.on_answer(poll_, {lease}, {}, now_ms_);
    return ask();
  }
  /// What the server is told by the next poll.
  AgentPoll ask() {
    AgentPoll poll = agent_.make_poll(now_ms_);
    poll_ = poll.number;
    return poll;
  }
  void arrive(ImageResult<std::shared_ptr<const ContainerPlan>> got) {
    auto fetch = std::move(fetches_.front());
    fetches_.pop_front();
    fetch.second(std::move(got));
  }
  static std::shared_ptr<const ContainerPlan> plan(const std::string& name) {
    auto out = std::make_shared<ContainerPlan>();
    out->name = name;
    return out;
  }
  std::vector<std::string> wanted() const {
    std::vector<std::string> out;
    out.reserve(fetches_.size());
    for (const auto& [image, got] : fetches_) out.push_back(image);
    return out;
  }
  std::size_t started() {
    std::size_t count = 0;
    for (const AgentAction& action : agent_.take_actions()) count += std::holds_alternative<StartItem>(action) ? 1 : 0;
    return count;
  }

  std::int64_t now_ms_ = 1'000'000;
  Agent agent_{2};
  PollNumber poll_;
  std::deque<std::pair<std::string, Images::Got>> fetches_;
  std::vector<std::pair<JobId, std::string>> ready_;
  std::vector<std::string> notices_;
  std::shared_ptr<int> wish_ = std::make_shared<int>();  // how many wait is how many others know it
  JobImages images_;
};

TEST_F(JobImagesTest, ItemsWaitForTheirImageAndOthersDoNot) {
  images_.want(kJob, {.image = "slow"});
  lend(kJob);
  EXPECT_EQ(started(), 0);
  lend(kOther);
  EXPECT_EQ(started(), 2);
  arrive(plan("slow"));
  EXPECT_EQ(std::exchange(ready_, {}), (std::vector{std::pair(kJob, std::string("slow"))}));
  EXPECT_FALSE(agent_.is_set_aside(kJob));
}

TEST_F(JobImagesTest, AnImageIsAskedForOnceHoweverOftenItsJobComes) {
  images_.want(kJob, {.image = "one"});
  images_.want(kJob, {.image = "one"});
  EXPECT_EQ(wanted(), std::vector<std::string>{"one"});
  arrive(plan("one"));
  ready_.clear();
}

TEST_F(JobImagesTest, WhatIsTheUsersStopsTheJobAtOnce) {
  images_.want(kJob, {.image = "typo"});
  lend(kJob);
  arrive(image_fail(ImageFault::missing, "image typo: there is none", "check its name"));
  EXPECT_EQ(std::exchange(notices_, {}), std::vector<std::string>{"image typo: there is none: check its name"});
  const AgentPoll told = ask();
  ASSERT_EQ(told.notes.size(), 1);
  EXPECT_EQ(told.notes[0], (JobNote{kJob, "image typo: there is none: check its name", true}));
  EXPECT_EQ(told.returned.size(), 2);
}

TEST_F(JobImagesTest, WhatIsNobodysFaultIsTriedAgainWithoutEndAndItsItemsGoBackMeanwhile) {
  for (int time = 0; time < 30; ++time) {
    images_.want(kJob, {.image = "far"});
    lend(kJob);
    EXPECT_EQ(wanted(), std::vector<std::string>{"far"});
    arrive(image_fail(ImageFault::unreachable, "image far: no answer"));
    EXPECT_EQ(std::exchange(notices_, {}), std::vector<std::string>{"image far: no answer; trying again later"});
    const AgentPoll told = ask();
    EXPECT_TRUE(told.ended.empty());
    EXPECT_EQ(told.returned.size(), 2);
    EXPECT_EQ(told.not_now, std::vector<JobId>{kJob});
    ASSERT_EQ(told.notes.size(), 1);
    EXPECT_TRUE(told.notes[0].text.starts_with("image far: no answer; trying again in "));
    // A lease that was under way goes back too, and nothing is fetched for it.
    images_.want(kJob, {.image = "far"});
    EXPECT_TRUE(fetches_.empty());
    EXPECT_EQ(lend(kJob).returned.size(), 2);
    now_ms_ += ImageGate::kLongestPauseMs;
    images_.on_tick();
    EXPECT_TRUE(ask().not_now.empty());
  }
  images_.want(kJob, {.image = "far"});
  lend(kJob);
  arrive(plan("far"));
  ready_.clear();
  EXPECT_EQ(started(), 2);
}

TEST_F(JobImagesTest, ARegistryThatAsksToBeLeftAloneIs) {
  images_.want(kJob, {.image = "busy"});
  lend(kJob);
  ImageError error{ImageFault::unreachable, Blame::nobody, "image busy: too many requests", ""};
  error.retry_after_ms = 60'000;
  arrive(std::unexpected(error));
  notices_.clear();
  now_ms_ += 59'999;
  images_.on_tick();
  EXPECT_EQ(ask().not_now, std::vector<JobId>{kJob});
  now_ms_ += ImageGate::kFirstPauseMs;
  images_.on_tick();
  EXPECT_TRUE(ask().not_now.empty());
}

TEST_F(JobImagesTest, NobodyHearsOfAnImageWhoseJobIsForgotten) {
  images_.want(kJob, {.image = "late"});
  images_.forget(kJob);
  arrive(plan("late"));
  images_.want(kJob, {.image = "late"});
  arrive(image_fail(ImageFault::unreachable, "image late: no answer"));
  notices_.clear();
  images_.forget(kJob);
  now_ms_ += 60'000;
  images_.on_tick();
}

TEST_F(JobImagesTest, ACancelledJobsImageIsNotWantedAnyMore) {
  images_.want(kJob, {.image = "slow"});
  lend(kJob);
  images_.on_tick();
  EXPECT_EQ(wish_.use_count(), 2);
  agent_.on_answer(poll_, {}, {{kJob, StopMode::kill_running}}, now_ms_);
  images_.on_tick();
  EXPECT_EQ(wish_.use_count(), 1);
  EXPECT_EQ(ask().returned.size(), 2);
  arrive(image_fail(ImageFault::unreachable, "image slow: no answer"));  // too late to be heard
  now_ms_ += 60'000;
  images_.on_tick();
  EXPECT_TRUE(fetches_.empty());
}

TEST_F(JobImagesTest, HowItGetsOnIsToldToTheJobsThatWaitForIt) {
  images_.want(kJob, {.image = "large"});
  images_.want(kOther, {.image = "small"});
  lend(kJob);
  lend(kOther);
  images_.on_progress("large", "fetching, 12 of 80 MB");
  const AgentPoll told = ask();
  ASSERT_EQ(told.notes.size(), 1);
  EXPECT_EQ(told.notes[0], (JobNote{kJob, "image large: fetching, 12 of 80 MB", false}));
  // Not at every byte, and yet the last word is told.
  images_.on_progress("large", "fetching, 13 of 80 MB");
  images_.on_progress("large", "fetching, 14 of 80 MB");
  images_.on_progress("small", "unpacking");
  EXPECT_EQ(ask().notes, (std::vector<JobNote>{{kOther, "image small: unpacking", false}}));
  now_ms_ += 1'000;
  images_.on_tick();
  EXPECT_EQ(ask().notes, (std::vector<JobNote>{{kJob, "image large: fetching, 14 of 80 MB", false}}));
  now_ms_ += 1'000;
  images_.on_tick();
  EXPECT_TRUE(ask().notes.empty());
  arrive(plan("large"));
  arrive(plan("small"));
  ready_.clear();
}

}  // namespace
}  // namespace drover

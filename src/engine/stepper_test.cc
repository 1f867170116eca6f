#include "engine/stepper.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/sanity.h"

namespace drover {
namespace {

constexpr std::int64_t kTermMs = 60'000;

/// A worker that holds one item, and a stepper that is turned by hand.
class Turned {
 public:
  Turned() {
    SubmitJob job{{.name = "job"}, 1};
    job.uuid.bytes[0] = 1;
    say(job);
    say(RegisterWorker{"w", 1, kTermMs});
    say(Poll{{WorkerId{1}, 1, {}, {}, {}}, PollNumber{++polls_}, {}, 1, 0});
    EXPECT_TRUE(holds());
  }

  void post(Command command) { stepper.post({Ticket{++tickets_}, std::move(command)}); }
  void step() {
    (void)stepper.step(now_ms);
    const auto fault = find_fault(stepper.core());
    EXPECT_FALSE(fault) << fault.value_or("");
  }
  void say(Command command) {
    post(std::move(command));
    step();
  }
  /// Asks for nothing more: if it held nothing, it would be given the item again.
  void poll() { say(Poll{{WorkerId{1}, 1, {}, {}, {}}, PollNumber{++polls_}, {}, 0, 0}); }

  /// Steps whenever it is due, for so long.
  void serve(std::int64_t ms) {
    const std::int64_t until_ms = now_ms + ms;
    for (auto due = stepper.next_deadline(); due && *due <= until_ms; due = stepper.next_deadline()) {
      now_ms = std::max(now_ms, *due);
      step();
    }
    now_ms = until_ms;
    step();
  }
  /// Nothing is stepped for so long: the disk is stuck, or the process is stopped.
  void stall(std::int64_t ms) { now_ms += ms; }

  bool holds() const { return !stepper.core().durable().grants.empty(); }

  Stepper stepper{Core{}};
  std::int64_t now_ms = 1'700'000'000'000;

 private:
  std::uint64_t tickets_ = 0;
  std::uint64_t polls_ = 0;
};

TEST(Stepper, AStepThatIsAppendedComesAfterTheOneBefore) {
  Stepper stepper{Core{}};
  std::optional<Step> all;
  for (std::uint8_t number = 1; number <= 3; ++number) {
    SubmitJob job{{.name = "job"}, 1};
    job.uuid.bytes[0] = number;
    stepper.post({Ticket{number}, job});
    auto step = stepper.step(1'700'000'000'000 + number);
    ASSERT_TRUE(step);
    if (all) {
      all->append(std::move(*step));
    } else {
      all = std::move(step);
    }
  }
  std::vector<std::uint64_t> tickets;
  for (const Answer& it : all->answers) {
    if (it.to) tickets.push_back(it.to.value);
  }
  EXPECT_EQ(tickets, (std::vector<std::uint64_t>{1, 2, 3}));
  std::vector<std::uint8_t> jobs;
  for (const Mutation& it : all->batch.mutations) {
    if (const auto* put = std::get_if<PutJob>(&it)) jobs.push_back(put->job.uuid.bytes[0]);
  }
  EXPECT_EQ(jobs, (std::vector<std::uint8_t>{1, 2, 3}));
}

TEST(Stepper, ASilentWorkerIsLostWhenItsTermIsOver) {
  Turned it;
  it.serve(kTermMs - 1);
  EXPECT_TRUE(it.holds());
  it.serve(1);
  EXPECT_FALSE(it.holds());
}

TEST(Stepper, APollThatWaitsInTheInboxRenewsTheLeaseBeforeItExpires) {
  Turned it;
  it.serve(kTermMs - 100);
  it.stall(200);
  it.poll();
  EXPECT_TRUE(it.holds());
  it.serve(kTermMs - 1);
  EXPECT_TRUE(it.holds()) << "a whole term from the poll on";
  it.serve(1);
  EXPECT_FALSE(it.holds());
}

TEST(Stepper, TimeInWhichItCouldNotStepDoesNotCountAgainstALease) {
  Turned it;
  it.serve(20'000);
  // After a stop of the whole process the polls are still in the sockets' buffers: the first step hears of nobody.
  it.stall(90'000);
  it.step();
  EXPECT_TRUE(it.holds());
  it.serve(30'000);
  EXPECT_TRUE(it.holds());
  it.serve(12'000);
  EXPECT_FALSE(it.holds()) << "it is silent while it could have been heard";
}

TEST(Stepper, AfterALongStallNobodyIsLostBeforeWhatWasSentMeanwhileCouldBeRead) {
  Turned it;
  it.serve(kTermMs - 100);
  it.stall(90'000);
  it.step();
  it.serve(4'000);
  EXPECT_TRUE(it.holds()) << "its poll may still be in a socket's buffer";
  it.poll();
  it.serve(kTermMs - 1);
  EXPECT_TRUE(it.holds());
  it.serve(1);
  EXPECT_FALSE(it.holds());

  Turned silent;
  silent.serve(kTermMs - 100);
  silent.stall(90'000);
  silent.step();
  silent.serve(5'001);
  EXPECT_FALSE(silent.holds());
}

TEST(Stepper, StallsOneAfterAnotherDoNotAddUpToALostLease) {
  Turned it;
  for (int i = 0; i < 10; ++i) {
    it.serve(2'000);
    it.stall(90'000);
  }
  it.step();
  EXPECT_TRUE(it.holds());
}

TEST(Stepper, APollAfterAStallRenewsForOneTermOnly) {
  Turned it;
  it.serve(20'000);
  it.stall(90'000);
  it.poll();
  it.serve(kTermMs - 1);
  EXPECT_TRUE(it.holds());
  it.serve(1);
  EXPECT_FALSE(it.holds());
}

}  // namespace
}  // namespace drover

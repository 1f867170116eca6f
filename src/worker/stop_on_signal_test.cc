#include "worker/stop_on_signal.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace drover {
namespace {

/// As a program begins: a shell that starts something beside it lets it ignore interrupts, and other tests block them.
class StopOnSignalTest : public testing::Test {
 protected:
  StopOnSignalTest() {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&ours, number);
      ::signal(number, SIG_DFL);
    }
    ::pthread_sigmask(SIG_UNBLOCK, &ours, &before_);
  }
  ~StopOnSignalTest() override { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

TEST_F(StopOnSignalTest, ASignalAsksForAStopAndTheProgramGoesOn) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const StopOnSignal signals;
    EXPECT_EQ(signals.signal(), 0);
    ::raise(number);
    std::mutex mutex;
    std::condition_variable_any wakes;
    std::unique_lock lock(mutex);
    // Ends when the stop is asked for.
    EXPECT_FALSE(wakes.wait_for(lock, signals.token(), std::chrono::seconds(30), [] { return false; }));
    EXPECT_TRUE(signals.token().stop_requested());
    EXPECT_EQ(signals.signal(), number);
  }
}

TEST_F(StopOnSignalTest, AfterwardsEverythingIsAsBefore) {
  struct sigaction before{};
  struct sigaction after{};
  ::sigaction(SIGINT, nullptr, &before);
  std::stop_token token;
  {
    const StopOnSignal signals;
    token = signals.token();
  }
  EXPECT_FALSE(token.stop_requested());
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST_F(StopOnSignalTest, TheSecondOneEndsTheProgram) {
  EXPECT_EXIT(
      {
        const StopOnSignal signals;
        ::raise(SIGTERM);
        ::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST_F(StopOnSignalTest, WhatIsIgnoredStaysSo) {
  struct sigaction before{};
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGHUP, &ignored, &before);
  {
    const StopOnSignal signals;
    ::raise(SIGHUP);
    EXPECT_EQ(signals.signal(), 0);
  }
  ::sigaction(SIGHUP, &before, nullptr);
}

}  // namespace
}  // namespace drover

#include "run/stop_signal.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace drover {
namespace {

TEST(StopSignal, IsTheImagesOwnHoweverItIsWritten) {
  const auto of = [](const char* word) { return stop_signal_of({.stop_signal = word}); };
  EXPECT_EQ(of("SIGUSR1"), SIGUSR1);
  EXPECT_EQ(of("usr1"), SIGUSR1);
  EXPECT_EQ(of("10"), 10);
  EXPECT_EQ(of("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(of("RTMIN"), SIGRTMIN);
  EXPECT_EQ(of("SIGKILL"), SIGKILL);
}

TEST(StopSignal, IsTermWhereNoneIsKnown) {
  for (const char* word : {"", "0", "65", "999999999999999999999", "-1", "SIG", "SIGNOTHING", "10 ", "SIGRTMIN+99"}) {
    EXPECT_EQ(stop_signal_of({.stop_signal = word}), SIGTERM) << word;
  }
}

}  // namespace
}  // namespace drover

#include "host/owner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace drover {
namespace {

std::string start_time(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string field;
  for (int i = 0; i < 22; ++i) file >> field;
  return field;
}

TEST(Owner, WhoHasEndedIsDeadBeforeAnybodyAsks) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char word = 0;
    ::close(ends[1]);
    ::_exit(static_cast<int>(::read(ends[0], &word, 1)));
  }
  const Owner owner{std::to_string(child), start_time(child), this_process().pid_namespace};
  EXPECT_TRUE(owner.is_alive());
  ::close(ends[1]);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(owner.is_alive());
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
}

TEST(Owner, ANameLeadsBack) {
  const auto again = Owner::from_name(this_process().name());
  EXPECT_TRUE(again && again->is_alive());
  EXPECT_FALSE(Owner::from_name("volumes").has_value());
}

}  // namespace
}  // namespace drover

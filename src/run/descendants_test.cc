#include "run/descendants.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "run/process_fixture.h"

namespace drover {
namespace {

pid_t spawn_shell(std::string script) {
  char shell[] = "sh";
  char flag[] = "-c";
  char* const arguments[] = {shell, flag, script.data(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, arguments, environ), 0);
  return pid;
}

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

TEST(Descendants, ChildrenOfAllThreadsAreFoundByListAndByScan) {
  const pid_t first = spawn_shell("exec sleep 1000");
  pid_t second = -1;
  std::thread other([&] { second = spawn_shell("exec sleep 1000"); });
  other.join();
  for (const auto& find : {children_of, children_by_scan}) {
    EXPECT_TRUE(contains(find(::getpid()), first));
    EXPECT_TRUE(contains(find(::getpid()), second));
    EXPECT_FALSE(contains(find(first), second));
  }
  for (const pid_t pid : {first, second}) {
    EXPECT_EQ(kill_tree(pid), KillResult::sent);
    EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
    EXPECT_FALSE(contains(children_of(::getpid()), pid));
  }
}

TEST(Descendants, AChildThatEndedIsStillListedUntilItIsWaitedFor) {
  const pid_t child = spawn_shell("exit 0");
  EXPECT_TRUE(eventually([&] { return !is_alive(child); }));
  EXPECT_TRUE(contains(children_of(::getpid()), child));
  EXPECT_EQ(kill_tree(child), KillResult::sent);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(Descendants, ANameWithParenthesesDoesNotHideAChild) {
  const pid_t child = spawn_shell("printf 'a) S 1 (' >/proc/$$/comm; read x </dev/zero");
  EXPECT_TRUE(eventually([&] { return read_file("/proc/" + std::to_string(child) + "/comm").starts_with("a)"); }));
  EXPECT_TRUE(contains(children_by_scan(::getpid()), child));
  kill_tree(child);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(Descendants, NobodyHasChildrenAfterHisEnd) {
  const pid_t child = spawn_shell("exit 0");
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(children_of(child).empty());
}

}  // namespace
}  // namespace drover

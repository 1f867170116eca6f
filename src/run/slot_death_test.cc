#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "run/process_fixture.h"

namespace drover {
namespace {

/// An item that runs for ever, of several processes, one of them a daemon. It puts into "pids": its helper, itself,
/// and the others.
constexpr const char* kEndless =
    "sleep 1000 & a=$!; setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & echo $! >inner; wait' & b=$!; "
    "while [ ! -s inner ]; do sleep 0.01; done; echo $PPID $$ $a $b $(cat inner) >tmp; mv tmp pids; yes";

class SlotDeath : public ProcessTest {
 protected:
  std::vector<pid_t> wait_for_pids() {
    std::vector<pid_t> pids = numbers_of(wait_for_file("pids"));
    EXPECT_EQ(pids.size(), 5U);
    pids.resize(5);
    return pids;
  }

  /// Runs `host` in a process of its own, which the test may kill; it must not return.
  template <class Host>
  pid_t in_other_process(Host host) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      host();
      ::_exit(1);
    }
    return pid;
  }

  void host_endless_item() {
    slot().start(shell(kEndless));
    for (int i = 0; i < 10; ++i) slot().start(shell("touch started"));
    slot().send_more();
    for (;;) ::pause();
  }

  static void kill_hard(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }

  static bool all_gone(const std::vector<pid_t>& pids) {
    return std::none_of(pids.begin(), pids.end(), [](pid_t pid) { return is_alive(pid); });
  }
};

TEST_F(SlotDeath, AKilledHelperIsReportedAndLeavesNothingBehind) {
  std::unique_ptr<Slot> bystander = runner_.open_slot(setup_).value();
  bystander->start(shell("while [ ! -e go ]; do sleep 0.01; done; echo undisturbed"));
  bystander->send_more();

  start(shell(kEndless));
  slot().start(task({"/bin/true"}));
  slot().send_more();
  const std::vector<pid_t> pids = wait_for_pids();
  ::kill(pids[0], SIGKILL);
  const auto died = std::get<SlotDied>(next_event());
  EXPECT_NE(died.reason.find("SIGKILL"), std::string::npos) << died.reason;
  EXPECT_TRUE(all_gone(pids));
  for (const pid_t pid : pids) EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1) << "nobody is left to wait for";

  // The dead slot says nothing more and takes everything in silence.
  start(task({"/bin/true"}));
  slot().recall();
  EXPECT_TRUE(slot().events().empty());
  EXPECT_FALSE(slot().has_unsent());

  std::ofstream(folder_ / "go") << "";
  slot_ = std::move(bystander);
  EXPECT_EQ(next_end().out, "undisturbed\n");
}

TEST_F(SlotDeath, ChildrenOfOurOwnAreNotTakenForOrphans) {
  const pid_t own = in_other_process([] {
    for (;;) ::pause();
  });
  start(shell("kill -KILL $PPID; sleep 1000"));
  std::get<SlotDied>(next_event());
  EXPECT_TRUE(is_alive(own));
  kill_hard(own);
}

TEST_F(SlotDeath, WhatEndedBeforeTheHelperDiedIsStillReported) {
  start(shell("exit 5"));
  start(shell("sleep 1; kill -KILL $PPID"));
  EXPECT_EQ(next_end().outcome.exit_code, 5);
  std::get<SlotDied>(next_event());
}

TEST_F(SlotDeath, NothingIsLeftWhenDroverIsKilled) {
  const pid_t host = in_other_process([&] { host_endless_item(); });
  const std::vector<pid_t> pids = wait_for_pids();
  kill_hard(host);
  EXPECT_TRUE(eventually([&] { return all_gone(pids); }));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "started"));
  for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);  // the helper came to us: we are a subreaper too
}

TEST_F(SlotDeath, TheLockIsHeldUntilEveryProcessIsGone) {
  const std::string path = folder_ / "lock";
  const pid_t host = in_other_process([&] {
    setup_.hold_descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (::flock(setup_.hold_descriptor, LOCK_EX | LOCK_NB) != 0) ::_exit(1);
    host_endless_item();
  });
  const std::vector<pid_t> pids = wait_for_pids();
  const Descriptor lock(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_NE(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);

  // With its helper stopped nothing dies, so the lock has to outlive drover.
  ::kill(pids[0], SIGSTOP);
  kill_hard(host);
  EXPECT_NE(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  ::kill(pids[0], SIGCONT);
  EXPECT_TRUE(eventually([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0; }));
  EXPECT_TRUE(all_gone({pids.begin() + 1, pids.end()}));
  ::waitpid(pids[0], nullptr, 0);
}

}  // namespace
}  // namespace drover

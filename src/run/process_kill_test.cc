#include <sys/stat.h>

#include "run/process_fixture.h"

namespace drover {
namespace {

class ProcessKill : public ProcessTest {
 protected:
  /// The processes a script put into the file "pids", one after another.
  std::vector<pid_t> wait_for_pids() { return numbers_of(wait_for_file("pids")); }

  /// Each process said its pid and must be gone at this very moment.
  static void expect_gone(const std::vector<pid_t>& pids, std::size_t count) {
    EXPECT_EQ(pids.size(), count);
    for (const pid_t pid : pids) EXPECT_FALSE(is_alive(pid)) << pid;
  }
};

TEST_F(ProcessKill, TerminateReachesTheGroupAndTheItemMayEndInItsOwnWay) {
  const Task polite = shell("trap 'echo bye; exit 7' TERM; touch ready; while :; do sleep 0.01; done");
  start(polite);
  wait_for_file("ready");
  stop(polite, StopHow::terminate);
  const Ended ended = next_end();
  EXPECT_TRUE(ended.was_stopped);
  EXPECT_EQ(ended.outcome, (Outcome{.exit_code = 7}));
  EXPECT_EQ(ended.out, "bye\n");
}

TEST_F(ProcessKill, KillEndsWhatIgnoresTerminate) {
  const Task stubborn = shell(
      "trap 'echo no >>refused' TERM; sh -c \"trap '' TERM; sleep 1000\" & echo $$ $! >tmp; mv tmp pids; "
      "while :; do sleep 0.01; done");
  start(stubborn);
  const std::vector<pid_t> pids = wait_for_pids();
  stop(stubborn, StopHow::terminate);
  wait_for_file("refused");
  stop(stubborn, StopHow::kill);
  const Ended ended = next_end();
  EXPECT_TRUE(ended.was_stopped);
  EXPECT_EQ(ended.outcome, (Outcome{.ending = Ending::signalled, .signal = SIGKILL}));
  expect_gone(pids, 2);
}

TEST_F(ProcessKill, AStopWaitsUntilTheItemHasRunForSoLong) {
  const Task late = shell("sleep 1000");
  start(late);
  slot().stop(late.token, StopHow::terminate, 300);
  slot().send_more();
  const Ended ended = next_end();
  EXPECT_TRUE(ended.was_stopped);
  EXPECT_EQ(ended.outcome.signal, SIGTERM);
  EXPECT_GE(ended.usage.wall_us, 300'000);

  const Task quick = shell("sleep 0.05");
  start(quick);
  slot().stop(quick.token, StopHow::kill, 60'000);
  slot().send_more();
  const Ended by_itself = next_end();
  EXPECT_FALSE(by_itself.was_stopped);
  EXPECT_TRUE(by_itself.outcome.success());
}

TEST_F(ProcessKill, OneThatWaitsDoesNotHoldUpOneThatDoesNot) {
  const Task task = shell("trap '' TERM; sleep 1000");
  start(task);
  slot().stop(task.token, StopHow::terminate, 60'000);
  stop(task, StopHow::kill);
  EXPECT_EQ(next_end().outcome.signal, SIGKILL);
}

TEST_F(ProcessKill, StoppingAnotherTokenDoesNothing) {
  const Task running = shell("touch ready; while [ ! -e go ]; do sleep 0.01; done");
  const Task next = shell("exit 0");
  slot().start(running);
  slot().start(next);
  slot().send_more();
  wait_for_file("ready");
  stop(next, StopHow::kill);
  Task unknown = running;
  unknown.token.grant = GrantId(99);
  stop(unknown, StopHow::kill);
  std::ofstream(folder_ / "go") << "";
  for (int i = 0; i < 2; ++i) {
    const Ended ended = next_end();
    EXPECT_TRUE(ended.outcome.success());
    EXPECT_FALSE(ended.was_stopped);
  }
}

TEST_F(ProcessKill, AStoppedItemCanBeTerminatedAndKilled) {
  for (const StopHow how : {StopHow::terminate, StopHow::kill}) {
    std::filesystem::remove(folder_ / "pids");
    const Task frozen = shell("echo $$ >tmp; mv tmp pids; kill -STOP $$; exit 0");
    start(frozen);
    const std::vector<pid_t> pids = wait_for_pids();
    ASSERT_EQ(pids.size(), 1U);
    EXPECT_TRUE(eventually(
        [&] { return read_file("/proc/" + std::to_string(pids[0]) + "/stat").find(") T ") != std::string::npos; }));
    stop(frozen, how);
    EXPECT_EQ(next_end().outcome.ending, Ending::signalled);
    expect_gone(pids, 1);
  }
}

TEST_F(ProcessKill, ADaemonIsKilledWhenItsItemEnds) {
  const Ended ended =
      run(shell("setsid sh -c 'trap \"\" TERM HUP; echo $$ >tmp; mv tmp pids; sleep 1000' "
                "</dev/null >/dev/null 2>&1 & while [ ! -e pids ]; do sleep 0.01; done"));
  EXPECT_TRUE(ended.outcome.success());
  EXPECT_FALSE(ended.was_stopped);
  expect_gone(wait_for_pids(), 1);
}

TEST_F(ProcessKill, AGrandchildThatHoldsThePipeIsKilledAndItsOutputKept) {
  const Ended ended =
      run(shell("(echo from below; touch ready; sleep 1000) & echo $! >pids; "
                "while [ ! -e ready ]; do sleep 0.01; done; exit 4"));
  EXPECT_EQ(ended.outcome.exit_code, 4);
  EXPECT_EQ(ended.out, "from below\n");
  expect_gone(wait_for_pids(), 1);
}

TEST_F(ProcessKill, ATreeThatChangesGroupsAndSessionsAtEachLevelIsKilled) {
  const std::filesystem::path script = folder_ / "deeper";
  std::ofstream(script) << "#!/bin/sh\n"
                           "echo $$ >>list\n"
                           "if [ $1 -gt 0 ]; then setsid ./deeper $(($1-1)) & setsid ./deeper $(($1-1)) & fi\n"
                           "[ $(wc -l <list) -lt 31 ] || mv list pids\n"
                           "exec sleep 1000\n";
  ::chmod(script.c_str(), 0755);
  const Task tree = task({"./deeper", "4"});
  start(tree);
  const std::vector<pid_t> pids = wait_for_pids();
  stop(tree, StopHow::kill);
  EXPECT_EQ(next_end().outcome.signal, SIGKILL);
  expect_gone(pids, 31);
}

TEST_F(ProcessKill, AChainThatForksAsFastAsItCanIsCaught) {
  const std::filesystem::path script = folder_ / "runaway";
  std::ofstream(script) << "#!/bin/sh\n"
                           "echo $$ >>list\n"
                           "setsid \"$0\" &\n"
                           "exit 0\n";
  ::chmod(script.c_str(), 0755);
  const Ended ended = run(task({script}));
  EXPECT_TRUE(ended.outcome.success());
  const std::vector<pid_t> pids = numbers_of(read_file(folder_ / "list"));
  expect_gone(pids, pids.size());
  // Nobody is left to add to it.
  run(shell("sleep 0.05"));
  EXPECT_EQ(numbers_of(read_file(folder_ / "list")), pids);
}

TEST_F(ProcessKill, OrphansThatEndWhileTheItemRunsDoNotPileUp) {
  // While the item itself still runs, its helper is left with no other child, dead or alive.
  const Ended ended =
      run(shell("i=0; while [ $i -lt 50 ]; do (true &); i=$((i+1)); done; "
                "while [ $(wc -w </proc/$PPID/task/$PPID/children) -gt 1 ]; do sleep 0.01; done"));
  EXPECT_TRUE(ended.outcome.success());
}

TEST_F(ProcessKill, TheProcessorTimeOfOrphansIsTheItems) {
  const Usage usage = run(shell("(setsid sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; touch done' &) "
                                "; while [ ! -e done ]; do sleep 0.01; done"))
                          .usage;
  EXPECT_GT(usage.user_us, 10'000);
}

TEST_F(ProcessKill, AFloodOfOutputDoesNotDelayAKill) {
  const Task flood = shell("touch ready; yes | tee /dev/stderr");
  start(flood);
  wait_for_file("ready");
  stop(flood, StopHow::kill);
  const Ended ended = next_end();
  EXPECT_EQ(ended.outcome.ending, Ending::signalled);
  EXPECT_EQ(ended.out.substr(0, 100).find_first_not_of("y\n"), std::string::npos);
}

TEST_F(ProcessKill, ClosingASlotKillsWhatRunsAndStartsNothingMore) {
  slot().start(shell("setsid sleep 1000 & echo $$ $! >tmp; mv tmp pids; yes"));
  for (int i = 0; i < 10; ++i) slot().start(shell("touch started"));
  slot().send_more();
  const std::vector<pid_t> pids = wait_for_pids();
  slot_.reset();
  expect_gone(pids, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "started"));
}

}  // namespace
}  // namespace drover

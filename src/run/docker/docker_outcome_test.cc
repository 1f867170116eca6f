#include <sys/stat.h>

#include "run/docker/docker_fixture.h"

namespace drover {
namespace {

using DockerOutcome = DockerTest;

TEST_F(DockerOutcome, AnExitCodeIsReported) {
  const Ended fine = run(task({"true"}));
  EXPECT_EQ(fine.outcome, Outcome{});
  EXPECT_FALSE(fine.was_stopped);
  EXPECT_EQ(run(shell("exit 3")).outcome, (Outcome{.exit_code = 3}));
  EXPECT_EQ(run(shell("exit 127")).outcome, (Outcome{.exit_code = 127}));
}

TEST_F(DockerOutcome, ASignalReadsAsDockerTellsIt) {
  EXPECT_EQ(run(shell("kill -SEGV $$")).outcome, (Outcome{.exit_code = 128 + SIGSEGV}));
  EXPECT_EQ(run(shell("kill -KILL $$")).outcome, (Outcome{.exit_code = 128 + SIGKILL}));
}

TEST_F(DockerOutcome, AMissingProgramIsNotStarted) {
  const Ended ended = run(task({"nosuch"}));
  EXPECT_EQ(ended.outcome.ending, Ending::not_started);
  EXPECT_EQ(ended.outcome.reason, "could not start nosuch: not found in the container's PATH");
  EXPECT_EQ(ended.out + ended.err, "");
  EXPECT_EQ(ended.stdout_bytes + ended.stderr_bytes, 0U);
  EXPECT_TRUE(run(task({"true"})).outcome.success());
}

TEST_F(DockerOutcome, WithoutAnInitTheDaemonSaysThatAProgramIsMissing) {
  options().init = false;
  const Outcome outcome = run(task({"nosuch"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not start nosuch: not found in the container's PATH");
  EXPECT_EQ(run(shell("exit 5")).outcome, (Outcome{.exit_code = 5}));
}

TEST_F(DockerOutcome, AFileThatIsNotExecutableIsNotStarted) {
  const Outcome outcome = run(task({"/bin/plain"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason, "could not start /bin/plain: Permission denied");
}

TEST_F(DockerOutcome, WhatJsonCannotCarryIsRefused) {
  const Outcome outcome = run(task({"echo", "\xff\xfe"})).outcome;
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.reason,
            "could not start echo: its command or environment contains bytes that are not UTF-8, which Docker does not "
            "accept");
  EXPECT_EQ(run(task({"echo", std::string("a\0b", 3)})).outcome.reason,
            "could not start echo: its command or environment contains a NUL byte");
  EXPECT_EQ(run(task({"echo", "grüße \"\\\n"})).out, "grüße \"\\\n\n");
}

TEST_F(DockerOutcome, OutOfMemoryIsNamedAsSuch) {
  setup_.limits.memory_bytes = std::uint64_t{32} << 20;
  const Ended ended = run(shell("x=$(head -c 90000000 /dev/zero | tr '\\0' x)"));
  EXPECT_EQ(ended.outcome.ending, Ending::out_of_memory) << ended.outcome.reason;
  EXPECT_EQ(ended.outcome.reason, "out of memory: exited with code 137; the kernel killed it at its limit of 32 MiB");
  EXPECT_EQ(run(shell("kill -KILL $$")).outcome, (Outcome{.exit_code = 137}));
}

TEST_F(DockerOutcome, UsageIsMeasured) {
  const Ended quick = run(task({"true"}));
  EXPECT_GT(quick.usage.peak_memory_kib, 100);
  EXPECT_LT(quick.usage.peak_memory_kib, 40 << 10);
  EXPECT_GT(quick.usage.user_us + quick.usage.system_us, 0);
  const Usage usage = run(shell("sleep 0.2; x=$(head -c 50000000 /dev/zero | tr '\\0' x); :")).usage;
  EXPECT_GE(usage.wall_us, 200'000);
  EXPECT_LT(usage.wall_us, 60'000'000);
  EXPECT_GT(usage.peak_memory_kib, 45 << 10);
  EXPECT_GT(usage.user_us + usage.system_us, 10'000);
  EXPECT_GT(usage.started_ms, std::int64_t{1'700'000'000'000});
  EXPECT_LT(run(task({"true"})).usage.peak_memory_kib, 40 << 10);
}

TEST_F(DockerOutcome, SigtermReachesTheItem) {
  const Task stopped = shell("trap 'echo ended; exit 7' TERM; echo ready; while :; do sleep 0.05; done");
  slot().start(stopped);
  wait_for_output("ready");
  slot().stop(stopped.token, StopHow::terminate, 0);
  const Ended ended = next_end();
  EXPECT_EQ(ended.outcome, (Outcome{.exit_code = 7}));
  EXPECT_TRUE(ended.was_stopped);
  EXPECT_EQ(ended.out, "ready\nended\n");
}

TEST_F(DockerOutcome, SigtermEndsWhatDoesNotHandleIt) {
  const Task stopped = shell("echo ready; exec sleep 1000");
  slot().start(stopped);
  wait_for_output("ready");
  slot().stop(stopped.token, StopHow::terminate, 0);
  EXPECT_EQ(next_end().outcome, (Outcome{.exit_code = 128 + SIGTERM}));
}

TEST_F(DockerOutcome, SigkillEndsAnything) {
  const Task stopped = shell("trap '' TERM; sleep 1000 & echo ready; while :; do sleep 1000; done");
  slot().start(stopped);
  wait_for_output("ready");
  slot().stop(stopped.token, StopHow::terminate, 0);
  slot().stop(stopped.token, StopHow::kill, 0);
  const Ended ended = next_end();
  EXPECT_EQ(ended.outcome, (Outcome{.exit_code = 128 + SIGKILL}));
  EXPECT_TRUE(ended.was_stopped);
}

TEST_F(DockerOutcome, AStopThatComesBeforeTheStartIsNotLost) {
  const Task stopped = shell("sleep 1000");
  slot().start(stopped);
  slot().stop(stopped.token, StopHow::kill, 0);
  EXPECT_EQ(next_end().outcome, (Outcome{.exit_code = 128 + SIGKILL}));
}

TEST_F(DockerOutcome, AStopOfAnotherChangesNothing) {
  const Task sleeping = shell("sleep 0.3");
  slot().start(sleeping);
  slot().stop({GrantId(9), ItemIndex(9)}, StopHow::kill, 0);
  const Ended ended = next_end();
  EXPECT_TRUE(ended.outcome.success());
  EXPECT_FALSE(ended.was_stopped);
}

TEST_F(DockerOutcome, WhatHasNotStartedComesBack) {
  const Task first = shell("echo ready; sleep 1000");
  const Task second = task({"true"});
  const Task third = task({"true"});
  for (const Task* one : {&first, &second, &third}) slot().start(*one);
  wait_for_output("ready");
  slot().recall();
  EXPECT_EQ(std::get<TaskReturned>(next_event()).token, third.token);
  EXPECT_EQ(std::get<TaskReturned>(next_event()).token, second.token);
  slot().stop(first.token, StopHow::kill, 0);
  EXPECT_EQ(next_end().token, first.token);
}

TEST_F(DockerOutcome, AStopWaitsUntilTheItemHasRunForSoLong) {
  const Task late = shell("date +%s%3N; exec sleep 1000");
  slot().start(late);
  slot().stop(late.token, StopHow::kill, 500);
  const Ended ended = next_end();
  EXPECT_TRUE(ended.was_stopped);
  EXPECT_GE(ended.usage.wall_us, 500'000);
  EXPECT_FALSE(ended.out.empty()) << "its container took time to be made, which is not its own";
}

TEST_F(DockerOutcome, ASlotThatGoesTakesItsContainerAlong) {
  slot().start(shell("echo ready; sleep 1000"));
  wait_for_output("ready");
  EXPECT_EQ(TestDaemon::shared().containers().size(), 1U);
  close_slot();
  EXPECT_EQ(TestDaemon::shared().containers().size(), 0U);
  slot().start(shell("sleep 1000"));
  close_slot();  // while the container is being made
  EXPECT_EQ(TestDaemon::shared().containers().size(), 0U);
}

TEST_F(DockerOutcome, TwoHundredShortItemsLeaveNothing) {
  constexpr int kItems = 200;
  int ended = 0;
  for (int i = 0; i < kItems; ++i) {
    const Ended one = run(task({"echo", std::to_string(i)}));
    EXPECT_EQ(one.out, std::to_string(i) + "\n");
    if (one.outcome.success()) ++ended;
  }
  EXPECT_EQ(ended, kItems);
  close_slot();
  EXPECT_EQ(TestDaemon::shared().containers().size(), 0U);
  EXPECT_EQ(TestDaemon::shared().volumes(), 0U);
}

}  // namespace
}  // namespace drover

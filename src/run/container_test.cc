#include "run/container_fixture.h"

namespace drover {
namespace {

TEST_P(ContainerTest, RunsACommandInTheImage) {
  const Ended ended = sh("echo out; echo err >&2; ls /; exit 3");
  EXPECT_EQ(ended.outcome.ending, Ending::exited) << ended.outcome.reason;
  EXPECT_EQ(ended.outcome.exit_code, 3);
  EXPECT_TRUE(ended.out.starts_with("out\nbin\ndev\netc\n")) << ended.out;
  EXPECT_EQ(ended.err, "err\n");
}

TEST_P(ContainerTest, EachItemHasAFreshRoot) {
  EXPECT_EQ(sh("echo mine > /note; ls /note").out, "/note\n");
  EXPECT_EQ(sh("ls /note").outcome.exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(layer_ / "note"));
}

TEST_P(ContainerTest, ASignalReadsAsAnExitCode) {
  const Ended ended = sh("kill -9 $$");
  EXPECT_EQ(ended.outcome.ending, Ending::exited);
  EXPECT_EQ(ended.outcome.exit_code, 137);
}

TEST_P(ContainerTest, ACommandThatIsNotThereIsNamed) {
  use_plan();
  const Ended ended = run(task({"no-such-program", "x"}));
  EXPECT_EQ(ended.outcome.ending, Ending::not_started);
  EXPECT_EQ(ended.outcome.reason, "could not start no-such-program: not found in PATH of the container");
}

TEST_P(ContainerTest, AnyByteGetsThrough) {
  use_plan();
  Task odd = task({"sh", "-c", "printf '%s|' \"$@\" \"$ODD\"", "sh", "a b", "\xff\xfe", "", "tab\there"});
  odd.environment = {"ODD=\x80\x81"};
  EXPECT_EQ(run(odd).out, "a b|\xff\xfe||tab\there|\x80\x81|");
}

TEST_P(ContainerTest, TermReachesTheItem) {
  use_plan();
  const Task task = this->task({"sh", "-c", "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"});
  start(task);
  ASSERT_TRUE(std::holds_alternative<AttemptPrinted>(next_event_of_any_kind()));
  stop(task, StopHow::terminate);
  const Ended ended = next_end();
  EXPECT_EQ(ended.outcome.exit_code, 7);
  EXPECT_TRUE(ended.out.ends_with("bye\n")) << ended.out;
  EXPECT_TRUE(ended.was_stopped);
}

TEST_P(ContainerTest, KillEndsEverythingInside) {
  use_plan();
  const Task task = this->task({"sh", "-c", "trap '' TERM; setsid sleep 1000 & echo ready; sleep 1000"});
  start(task);
  ASSERT_TRUE(std::holds_alternative<AttemptPrinted>(next_event_of_any_kind()));
  stop(task, StopHow::kill);
  EXPECT_EQ(next_end().outcome.exit_code, 137);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, ContainerTest, ::testing::Values(ContainerRuntime::crun, ContainerRuntime::runc),
                         [](const auto& it) { return it.param == ContainerRuntime::crun ? "crun" : "runc"; });

}  // namespace
}  // namespace drover

#include <signal.h>

#include "run/docker/docker_fixture.h"

namespace drover {
namespace {

class DockerWarm : public DockerTest {
 protected:
  DockerWarm() {
    options().reuse = true;
    options().reset = ContainerReset::none;
  }

  std::size_t containers() { return TestDaemon::shared().containers().size(); }
};

TEST_F(DockerWarm, ItemsShareOneContainer) {
  EXPECT_TRUE(run(shell("echo left > /file")).outcome.success());
  const std::vector<std::string> first = TestDaemon::shared().containers();
  const Ended ended = run(shell("cat /file; echo err >&2; echo $FROM_IMAGE $BASE; pwd"));
  EXPECT_EQ(ended.out, "left\nyes base\n/work\n");
  EXPECT_EQ(ended.err, "err\n");
  EXPECT_GT(ended.usage.wall_us, 0);
  EXPECT_GT(ended.usage.user_us + ended.usage.system_us, 0);
  EXPECT_GT(ended.usage.peak_memory_kib, 100);
  EXPECT_EQ(TestDaemon::shared().containers(), first);
  close_slot();
  EXPECT_EQ(containers(), 0U);
  EXPECT_EQ(TestDaemon::shared().volumes(), 0U);
}

TEST_F(DockerWarm, AFailureTakesItsContainerAlong) {
  EXPECT_TRUE(run(shell("touch /file")).outcome.success());
  EXPECT_EQ(run(shell("exit 4")).outcome, (Outcome{.exit_code = 4}));
  EXPECT_EQ(run(shell("ls /file")).outcome.exit_code, 1);
  EXPECT_EQ(run(shell("kill -KILL $$")).outcome, (Outcome{.exit_code = 137}));
}

TEST_F(DockerWarm, AContainerIsReplacedAfterSoManyItems) {
  options().reuse_limit = 2;
  run(shell("touch /file"));
  EXPECT_TRUE(run(shell("ls /file")).outcome.success());
  EXPECT_EQ(run(shell("ls /file")).outcome.exit_code, 1);
}

TEST_F(DockerWarm, WhatAnItemLeftRunningGoesWithItsContainer) {
  EXPECT_TRUE(run(shell("touch /file; sleep 1000 >/dev/null 2>&1 &")).outcome.success());
  EXPECT_EQ(run(shell("ls /file")).outcome.exit_code, 1);
}

TEST_F(DockerWarm, AMissingProgramIsNotStarted) {
  const Ended ended = run(task({"nosuch"}));
  EXPECT_EQ(ended.outcome.ending, Ending::not_started);
  EXPECT_EQ(ended.outcome.reason, "could not start nosuch: not found in the container's PATH");
  EXPECT_EQ(ended.out + ended.err, "");
  EXPECT_TRUE(run(task({"true"})).outcome.success());
}

TEST_F(DockerWarm, SignalsReachTheItem) {
  const Task stopped = shell("trap 'echo ended; exit 7' TERM; echo ready; while :; do sleep 0.05; done");
  slot().start(stopped);
  wait_for_output("ready");
  slot().stop(stopped.token, StopHow::terminate, 0);
  const Ended ended = next_end();
  EXPECT_EQ(ended.outcome, (Outcome{.exit_code = 7}));
  EXPECT_EQ(ended.out, "ready\nended\n");
  EXPECT_TRUE(ended.was_stopped);

  const Task killed = shell("trap '' TERM; echo ready; while :; do sleep 1000; done");
  slot().start(killed);
  wait_for_output("ready");
  slot().stop(killed.token, StopHow::kill, 0);
  EXPECT_EQ(next_end().outcome, (Outcome{.exit_code = 137}));
}

TEST_F(DockerWarm, OutOfMemoryIsNamedAsSuch) {
  setup_.limits.memory_bytes = std::uint64_t{32} << 20;
  EXPECT_TRUE(run(task({"true"})).outcome.success());
  const Outcome outcome = run(shell("x=$(head -c 90000000 /dev/zero | tr '\\0' x)")).outcome;
  EXPECT_EQ(outcome.ending, Ending::out_of_memory) << outcome.exit_code;
  EXPECT_EQ(outcome.reason, "out of memory: exited with code 137; the kernel killed it at its limit of 32 MiB");
  EXPECT_TRUE(run(task({"true"})).outcome.success());
}

TEST_F(DockerWarm, AReadOnlyRootAndAnotherUserAreNoHindrance) {
  options().read_only = true;
  options().user = "worker";
  EXPECT_EQ(run(shell("id -u; touch /file")).out, "1234\n");
}

TEST_F(DockerWarm, TheEntryPointIsTheImages) {
  plan_.name = kGreeter;
  EXPECT_EQ(run(task({})).out, "hello from the image\n");
  EXPECT_EQ(run(task({"you"})).out, "hello you\n");
}

TEST_F(DockerWarm, AContainerThatSomebodyRemovedIsReplaced) {
  EXPECT_TRUE(run(task({"true"})).outcome.success());
  const std::string id = TestDaemon::shared().containers().at(0);
  ASSERT_TRUE(daemon().ask_now(daemon().request("DELETE", "/containers/" + id + "?force=1&v=1"), "remove").has_value());
  EXPECT_TRUE(run(task({"true"})).outcome.success());
}

TEST_F(DockerWarm, AResetIsAFreshContainerEachAndANote) {
  options().reset = ContainerReset::overlay;
  const Ended first = run(shell("touch /file"));
  EXPECT_EQ(first.notes, "[drover: Docker cannot reset a container's file system: each item gets a new container]\n");
  const Ended second = run(shell("ls /file"));
  EXPECT_EQ(second.outcome.exit_code, 1);
  EXPECT_EQ(second.notes, "");
}

}  // namespace
}  // namespace drover

#include "run/container_fixture.h"

namespace drover {
namespace {

/// A container that several items are run in. What it is has to be the same as for a fresh one.
class WarmContainerTest : public ContainerTest {
 protected:
  void reuse(ContainerReset reset, std::uint32_t most_items = 1000) {
    plan_.options.reuse = true;
    plan_.options.reset = reset;
    plan_.options.reuse_limit = most_items;
    use_plan();
  }
};

TEST_P(WarmContainerTest, WithoutAResetItIsAsTheItemBeforeLeftIt) {
  reuse(ContainerReset::none);
  const Ended first = sh("echo mine > /note; readlink /proc/self/ns/mnt");
  EXPECT_TRUE(first.outcome.success()) << first.outcome.reason << first.err;
  const Ended second = sh("cat /note; readlink /proc/self/ns/mnt");
  EXPECT_EQ(second.out, "mine\n" + first.out);
}

TEST_P(WarmContainerTest, WithAResetItIsAsTheImageHasIt) {
  reuse(ContainerReset::overlay);
  const Ended first = sh("echo mine > /note; echo shared > /dev/shm/note; readlink /proc/self/ns/pid");
  EXPECT_TRUE(first.outcome.success()) << first.outcome.reason << first.err;
  const Ended second = sh("ls /note /dev/shm/note; readlink /proc/self/ns/pid");
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(second.err.find("/note: No such file"), std::string::npos) << second.err;
  EXPECT_NE(second.err.find("/dev/shm/note: No such file"), std::string::npos) << second.err;
}

TEST_P(WarmContainerTest, WhatLiesInAMountIsSeen) {
  for (const ContainerReset reset : {ContainerReset::overlay, ContainerReset::none}) {
    reuse(reset);
    check_mounts_in_mounts();
    slot_.reset();
  }
}

TEST_P(WarmContainerTest, WhateverTheUmaskOfTheWorkerIs) {
  const mode_t before = ::umask(077);
  plan_.options.user = "ann";
  reuse(ContainerReset::overlay);
  const Ended ended = sh("umask; echo $HOME; cat /etc/hostname > /dev/null && echo seen");
  ::umask(before);
  EXPECT_EQ(ended.out, "0022\n/home/ann\nseen\n") << ended.outcome.reason << ended.err;
}

TEST_P(WarmContainerTest, ItIsRecycledAfterSoManyItems) {
  reuse(ContainerReset::none, 2);
  EXPECT_TRUE(sh("echo 1 > /n").outcome.success());
  EXPECT_EQ(sh("cat /n").out, "1\n");
  EXPECT_NE(sh("cat /n").outcome.exit_code, 0);
}

TEST_P(WarmContainerTest, ItIsRecycledAfterAFailure) {
  reuse(ContainerReset::none);
  EXPECT_EQ(sh("echo 1 > /n; exit 5").outcome.exit_code, 5);
  EXPECT_NE(sh("cat /n").outcome.exit_code, 0);
}

TEST_P(WarmContainerTest, TheItemIsAsItWouldBeInAFreshOne) {
  const std::string script =
      "id -u; id -g; id -G; pwd; hostname; ulimit -n; env; mount | grep -v -e cgroup -e init | sort; ls /etc; "
      "grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status; readlink /proc/self/ns/net; cat /etc/hostname; touch /x; "
      "set -- /proc/[0-9]*; echo $#";
  const auto shared = folder_ / "shared";
  std::filesystem::create_directories(shared);
  plan_.options.user = "ann";
  plan_.options.hostname = "inside";
  plan_.options.ulimits = {{"nofile", 100, 200}};
  plan_.options.mounts = {{shared, "/data", true}};
  plan_.options.tmpfs = {{"/scratch", 1 << 20}};
  plan_.options.read_only = true;
  setup_.workdir = "/home/ann";
  use_plan();
  const Ended fresh = sh(script);
  slot_.reset();
  for (const ContainerReset reset : {ContainerReset::none, ContainerReset::overlay}) {
    reuse(reset);
    EXPECT_TRUE(sh("true").outcome.success());
    const Ended warm = sh(script);
    // The options of the root's own mount name other folders.
    const auto without_root = [](std::string out) {
      const std::size_t at = out.find("overlay on / ");
      return at == std::string::npos ? out : out.erase(at, out.find('\n', at) + 1 - at);
    };
    EXPECT_EQ(without_root(warm.out), without_root(fresh.out));
    EXPECT_EQ(warm.err, fresh.err);
    slot_.reset();
  }
}

TEST_P(WarmContainerTest, WhatAnItemLeavesRunningIsKilled) {
  for (const ContainerReset reset : {ContainerReset::none, ContainerReset::overlay}) {
    reuse(reset);
    EXPECT_TRUE(
        sh("setsid sleep 1000 & setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & true").outcome.success());
    const Ended second = sh("ps -o comm | grep -c sleep");
    EXPECT_EQ(second.out, "0\n");
    slot_.reset();
  }
}

TEST_P(WarmContainerTest, LimitsHoldEachItem) {
  setup_.limits.memory_bytes = 48 << 20;
  setup_.limits.processes = 20;
  for (const ContainerReset reset : {ContainerReset::none, ContainerReset::overlay}) {
    reuse(reset);
    EXPECT_TRUE(sh("true").outcome.success());
    const Ended ended = sh("tail /dev/zero");
    EXPECT_EQ(ended.outcome.ending, Ending::out_of_memory) << ended.outcome.reason;
    EXPECT_TRUE(sh("true").outcome.success());
    EXPECT_NE(
        sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do sleep 20 & done").err.find("fork"),
        std::string::npos);
    slot_.reset();
  }
}

TEST_P(WarmContainerTest, StopsReachTheItem) {
  reuse(ContainerReset::overlay);
  EXPECT_TRUE(sh("true").outcome.success());
  Task task = this->task({"sh", "-c", "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"});
  start(task);
  ASSERT_TRUE(std::holds_alternative<AttemptPrinted>(next_event_of_any_kind()));
  stop(task, StopHow::terminate);
  EXPECT_EQ(next_end().outcome.exit_code, 7);

  task = this->task({"sh", "-c", "echo ready; sleep 1000"});
  start(task);
  ASSERT_TRUE(std::holds_alternative<AttemptPrinted>(next_event_of_any_kind()));
  stop(task, StopHow::kill);
  EXPECT_EQ(next_end().outcome.exit_code, 137);
  EXPECT_TRUE(sh("true").outcome.success());
}

TEST_P(WarmContainerTest, ACommandThatIsNotThereIsNamed) {
  reuse(ContainerReset::overlay);
  const Ended ended = run(task({"no-such-program"}));
  EXPECT_EQ(ended.outcome.ending, Ending::not_started);
  EXPECT_EQ(ended.outcome.reason, "could not start no-such-program: not found in the container's PATH");
}

TEST_P(WarmContainerTest, AnItemThatKillsTheFirstProcessHarmsOnlyItself) {
  reuse(ContainerReset::none);
  EXPECT_TRUE(sh("true").outcome.success());
  sh("kill -9 1; kill -15 1; exit 0");
  EXPECT_TRUE(sh("true").outcome.success());
}

TEST_P(WarmContainerTest, ManyItemsLeaveNothing) {
  reuse(ContainerReset::overlay);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(sh("echo x > /y").outcome.success());
  slot_.reset();
  EXPECT_EQ(read_file("/proc/self/mounts").find(folder_.string()), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, WarmContainerTest, ::testing::Values(ContainerRuntime::crun, ContainerRuntime::runc),
                         [](const auto& it) { return it.param == ContainerRuntime::crun ? "crun" : "runc"; });

}  // namespace
}  // namespace drover

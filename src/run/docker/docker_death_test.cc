#include <sys/wait.h>

#include "run/docker/docker_fixture.h"

namespace drover {
namespace {

using DockerDeath = DockerTest;

std::size_t usage_cgroups() {
  std::size_t found = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/sys/fs/cgroup", none)) {
    if (entry.path().filename().string().starts_with("drover-docker-") && entry.is_directory()) {
      ++found;
    }
  }
  return found;
}

/// A process of its own that runs an item, and is killed while it does.
void run_and_die(const std::string& socket) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ready[1], STDOUT_FILENO);
    ::execl(DROVER_DOCKER_ITEM, DROVER_DOCKER_ITEM, socket.c_str(), kBox, nullptr);
    ::_exit(127);
  }
  ::close(ready[1]);
  char one = 0;
  ASSERT_EQ(::read(ready[0], &one, 1), 1);
  ::close(ready[0]);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST_F(DockerDeath, WhatAKilledProcessLeftGoesWhenTheNextOneStarts) {
  // What others have left would go meanwhile, and be counted.
  ASSERT_TRUE(DockerRunner::connect(TestDaemon::shared().socket()).has_value());
  const std::size_t cgroups_before = usage_cgroups();
  run_and_die(TestDaemon::shared().socket());
  ASSERT_EQ(TestDaemon::shared().containers().size(), 1U);
  EXPECT_GT(usage_cgroups(), cgroups_before);

  slot().start(shell("echo ready; sleep 1000"));
  wait_for_output("ready");
  const Result<std::unique_ptr<DockerRunner>> next = DockerRunner::connect(TestDaemon::shared().socket());
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(TestDaemon::shared().containers().size(), 1U) << "that of the living one";
  close_slot();
  EXPECT_EQ(TestDaemon::shared().containers().size(), 0U);
  EXPECT_EQ(usage_cgroups(), cgroups_before);
}

TEST(DockerDaemonDeath, ASlotSaysThatTheDaemonIsGone) {
  auto own = std::make_unique<TestDaemon>();
  SlotSetup setup;
  ContainerPlan plan;
  plan.name = kBox;
  setup.container = std::make_shared<const ContainerPlan>(plan);
  // A connection of its own: the daemon's folder goes before it.
  Result<std::unique_ptr<DockerRunner>> runner = DockerRunner::connect(own->socket());
  ASSERT_TRUE(runner.has_value());
  Result<std::unique_ptr<Slot>> slot = (*runner)->open_slot(setup);
  ASSERT_TRUE(slot.has_value());
  own.reset();
  (*slot)->start({.token = {GrantId(1), ItemIndex(1)}, .program = "true", .arguments = {"true"}});
  std::vector<SlotEvent> events;
  EXPECT_TRUE(eventually([&] {
    events = (*slot)->events();
    return !events.empty();
  }));
  ASSERT_EQ(events.size(), 1U);
  const std::string reason = std::get<SlotDied>(events[0]).reason;
  EXPECT_NE(reason.find("docker.sock"), std::string::npos) << reason;
}

TEST(DockerHost, NobodyThereIsSaidSo) {
  const Result<std::unique_ptr<DockerRunner>> runner = DockerRunner::connect("/no/such/docker.sock");
  ASSERT_FALSE(runner.has_value());
  EXPECT_EQ(runner.error().code, ErrorCode::unreachable);
  EXPECT_NE(runner.error().message.find("/no/such/docker.sock"), std::string::npos) << runner.error().message;
  EXPECT_NE(runner.error().next, "");
  EXPECT_EQ(DockerRunner::connect("tcp://127.0.0.1:2375").error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace drover

#include "run/docker/container_body.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace drover {
namespace {

namespace json = boost::json;

const DaemonPlace kPlace{"sha256:abc", "1-2-ns3", "4", "/parent"};

SlotSetup setup_of(const ContainerPlan& plan) {
  SlotSetup setup;
  setup.container = std::make_shared<const ContainerPlan>(plan);
  return setup;
}

Task task_of(std::vector<std::string> arguments) {
  Task task;
  if (!arguments.empty()) task.program = arguments.front();
  task.arguments = std::move(arguments);
  return task;
}

TEST(ContainerBody, SaysLittleWhereTheDefinitionSaysNothing) {
  const json::object made = container_for(setup_of({}), kPlace, task_of({}));
  EXPECT_EQ(
      json::serialize(made),
      R"({"Image":"sha256:abc","AttachStdout":true,"AttachStderr":true,)"
      R"("Labels":{"drover.owner":"1-2-ns3","drover.slot":"4"},"Env":[],"HostConfig":{"NetworkMode":"host",)"
      R"("Init":true,"ReadonlyRootfs":false,"Privileged":false,"CapAdd":[],"CapDrop":["NET_RAW"],"Mounts":[],"Tmpfs":{},)"
      R"("Devices":[],"DeviceRequests":[],"Ulimits":[],"LogConfig":{"Type":"none"},"RestartPolicy":{"Name":"no"},)"
      R"("SecurityOpt":["no-new-privileges"],"CgroupParent":"/parent","PidsLimit":4097,"ShmSize":67108864}})");
}

TEST(ContainerBody, RawSocketsAreForThoseWhoAskForThem) {
  const auto dropped = [](std::vector<std::string> added) {
    ContainerPlan plan;
    plan.options.add_capabilities = std::move(added);
    plan.options.drop_capabilities = {"KILL"};
    return container_for(setup_of(plan), kPlace, task_of({})).at("HostConfig").at("CapDrop");
  };
  EXPECT_EQ(dropped({}), (json::array{"KILL", "NET_RAW"}));
  EXPECT_EQ(dropped({"SYS_PTRACE"}), (json::array{"KILL", "NET_RAW"}));
  EXPECT_EQ(dropped({"cap_net_raw"}), (json::array{"KILL"}));
  EXPECT_EQ(dropped({"ALL"}), (json::array{"KILL"}));
}

TEST(ContainerBody, SaysAllThatTheDefinitionDoes) {
  ContainerPlan plan;
  ContainerOptions& options = plan.options;
  options.user = "7:8";
  options.hostname = "box";
  options.mounts = {{"/data", "/in", true}, {"cache", "/cache"}};
  options.tmpfs = {{"/scratch", 1024}, {"/more"}};
  options.devices = {{"/dev/x", "/dev/y", "r"}, {"/dev/z", ""}};
  options.ulimits = {{"nofile", 1, 2}};
  options.add_capabilities = {"SYS_PTRACE"};
  options.drop_capabilities = {"ALL"};
  options.shm_bytes = 5;
  options.disk_bytes = 6;
  options.network = ContainerNetwork::none;
  options.read_only = options.privileged = true;
  options.init = false;
  plan.edits.mounts = {{"/driver", "/driver", true}};
  plan.edits.devices = {{"/dev/gpu", "/dev/gpu"}};
  SlotSetup setup = setup_of(plan);
  setup.workdir = "/work";
  setup.limits = {.memory_bytes = 4096, .milli_cpus = 1500, .processes = 9, .nice = 5};
  const json::object made = container_for(setup, kPlace, task_of({"a", "b c"}));
  EXPECT_EQ(made.at("User"), "7:8");
  EXPECT_EQ(made.at("Hostname"), "box");
  EXPECT_EQ(made.at("WorkingDir"), "/work");
  EXPECT_EQ(made.at("Cmd"), (json::array{"a", "b c"}));
  const json::object& host = made.at("HostConfig").as_object();
  EXPECT_EQ(json::serialize(host.at("Mounts")),
            R"([{"Type":"bind","Source":"/data","Target":"/in","ReadOnly":true},)"
            R"({"Type":"volume","Source":"cache","Target":"/cache","ReadOnly":false},)"
            R"({"Type":"bind","Source":"/driver","Target":"/driver","ReadOnly":true}])");
  EXPECT_EQ(json::serialize(host.at("Tmpfs")), R"({"/scratch":"rw,exec,nosuid,nodev,mode=1777,size=1024",)"
                                               R"("/more":"rw,exec,nosuid,nodev,mode=1777,size=4096"})");
  EXPECT_EQ(json::serialize(host.at("Devices")),
            R"([{"PathOnHost":"/dev/x","PathInContainer":"/dev/y","CgroupPermissions":"r"},)"
            R"({"PathOnHost":"/dev/z","PathInContainer":"/dev/z","CgroupPermissions":"rwm"},)"
            R"({"PathOnHost":"/dev/gpu","PathInContainer":"/dev/gpu","CgroupPermissions":"rwm"}])");
  EXPECT_EQ(json::serialize(host.at("Ulimits")), R"([{"Name":"nofile","Soft":1,"Hard":2}])");
  EXPECT_EQ(host.at("CapAdd"), (json::array{"SYS_PTRACE"}));
  EXPECT_EQ(host.at("CapDrop"), (json::array{"ALL"}));
  EXPECT_EQ(host.at("ShmSize"), 5U);
  EXPECT_EQ(json::serialize(host.at("StorageOpt")), R"({"size":"6"})");
  EXPECT_EQ(host.at("NetworkMode"), "none");
  EXPECT_EQ(host.at("ReadonlyRootfs"), true);
  EXPECT_EQ(host.at("Privileged"), true);
  EXPECT_FALSE(host.contains("SecurityOpt"));
  EXPECT_EQ(host.at("Init"), false);
  EXPECT_EQ(host.at("Memory"), 4096U);
  EXPECT_EQ(host.at("MemorySwap"), 4096U) << "no swap";
  EXPECT_EQ(host.at("CpuPeriod"), 100'000);
  EXPECT_EQ(host.at("CpuQuota"), 150'000);
  EXPECT_EQ(host.at("CpuShares"), 335);
  EXPECT_EQ(host.at("PidsLimit"), 9);
}

TEST(ContainerBody, AnEntryPointOfTheDefinitionsTakesTheImagesAway) {
  ContainerPlan plan;
  plan.options.entrypoint.emplace();
  EXPECT_EQ(container_for(setup_of(plan), kPlace, task_of({"a"})).at("Entrypoint"), (json::array{""}));
  plan.options.entrypoint = {"x", "y"};
  EXPECT_EQ(container_for(setup_of(plan), kPlace, task_of({"a"})).at("Entrypoint"), (json::array{"x", "y"}));
}

TEST(ContainerBody, ACommandInAWarmOneIsPutTogetherAsDockerWould) {
  const ImageDefaults image{.entrypoint = {"e"}, .command = {"c"}};
  ContainerPlan plan;
  EXPECT_EQ(command_for(setup_of(plan), image, task_of({})).at("Cmd"), (json::array{"e", "c"}));
  EXPECT_EQ(command_for(setup_of(plan), image, task_of({"t"})).at("Cmd"), (json::array{"e", "t"}));
  plan.options.entrypoint = {"o"};
  EXPECT_EQ(command_for(setup_of(plan), image, task_of({})).at("Cmd"), (json::array{"o"}));
  EXPECT_EQ(command_for(setup_of(plan), image, task_of({"t"})).at("Cmd"), (json::array{"o", "t"}));
}

TEST(ContainerBody, AWarmOneHasRoomForItsOwnProcesses) {
  ContainerPlan plan;
  SlotSetup setup = setup_of(plan);
  setup.limits.processes = 10;
  EXPECT_EQ(warm_container(setup, kPlace, "/f", "p").at("HostConfig").at("PidsLimit"), 12);
  plan.options.init = false;
  setup.container = std::make_shared<const ContainerPlan>(plan);
  const json::object made = warm_container(setup, kPlace, "/f", "p");
  EXPECT_EQ(made.at("HostConfig").at("PidsLimit"), 12);
  EXPECT_EQ(made.at("HostConfig").at("Init"), true);
  EXPECT_EQ(made.at("Entrypoint"), (json::array{"/f/p"}));
}

TEST(ContainerBody, TheProgramIsWhatRunsWhateverItsFirstArgumentSays) {
  Task named = task_of({"a name", "-c"});
  named.program = "/bin/sh";
  EXPECT_EQ(container_for(setup_of({}), kPlace, named).at("Cmd"), (json::array{"/bin/sh", "-c"}));
}

}  // namespace
}  // namespace drover

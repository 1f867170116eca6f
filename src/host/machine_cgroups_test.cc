#include "host/machine_cgroups.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "host/cgroup_tree.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "drover.machine.m1";

/// Folders that look like cgroups to whoever reads and writes them. Their files are there beforehand: the kernel would
/// make them with the folder.
class FakeTree {
 public:
  FakeTree() {
    char pattern[] = "/tmp/drover-cgroups-XXXXXX";
    root_ = ::mkdtemp(pattern);
    fs::create_directories(root_ + "/self");
  }
  ~FakeTree() { fs::remove_all(root_); }

  std::string process() const { return root_ + "/self"; }
  std::string at(const std::string& path) const { return root_ + "/" + path; }

  void mount_v1(const std::string& controllers, const std::string& own) {
    fs::create_directories(at(controllers) + own);
    std::ofstream(process() + "/mountinfo", std::ios::app)
        << concat("1 0 0:1 / ", at(controllers), " rw,relatime - cgroup cgroup rw,", controllers, "\n");
    std::ofstream(process() + "/cgroup", std::ios::app)
        << concat("4:", controllers, ":", own.empty() ? "/" : own, "\n");
  }
  void mount_v2(const std::string& own) {
    fs::create_directories(at("v2") + own);
    std::ofstream(process() + "/mountinfo", std::ios::app)
        << concat("2 0 0:2 / ", at("v2"), " rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n");
    std::ofstream(process() + "/cgroup", std::ios::app) << concat("0::", own.empty() ? "/" : own, "\n");
  }
  void put(const std::string& file, const std::string& text = "") {
    fs::create_directories(fs::path(at(file)).parent_path());
    std::ofstream(at(file)) << text;
  }
  std::string text_of(const std::string& file) const {
    std::ifstream in(at(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string root_;
};

constexpr MachineSize kSmall{1500, std::uint64_t{1} << 30};
const std::string kSmallMemory = std::to_string((std::uint64_t{1} << 30) + kWorkerMemoryBytes);

TEST(MachineCgroups, Version1LimitsEachHierarchyBelowOurOwn) {
  FakeTree tree;
  tree.mount_v1("memory", "/srv");
  tree.mount_v1("cpu", "");
  tree.mount_v1("pids", "");
  tree.mount_v1("devices", "");
  const std::string in_memory = concat("memory/srv/", kName);
  const std::string in_cpu = concat("cpu/", kName);
  for (const char* file : {"/memory.limit_in_bytes", "/memory.memsw.limit_in_bytes"}) tree.put(in_memory + file);
  for (const char* file : {"/cpu.cfs_quota_us", "/cpu.cfs_period_us"}) tree.put(in_cpu + file);
  const auto found = MachineCgroups::find(tree.process());
  ASSERT_TRUE(found) << found.error().message;
  const MachineCgroup cgroup = found->place("m1");
  EXPECT_EQ(cgroup.join, (std::vector{tree.at(in_memory), tree.at(in_cpu), tree.at(concat("pids/", kName))}));
  const auto made = found->make(cgroup, kSmall);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(tree.text_of(in_memory + "/memory.limit_in_bytes"), kSmallMemory);
  EXPECT_EQ(tree.text_of(in_memory + "/memory.memsw.limit_in_bytes"), kSmallMemory);
  EXPECT_EQ(tree.text_of(in_cpu + "/cpu.cfs_period_us"), "100000");
  EXPECT_EQ(tree.text_of(in_cpu + "/cpu.cfs_quota_us"), "150000");
  EXPECT_TRUE(fs::is_directory(tree.at(concat("pids/", kName))));
  // A runtime puts a container at the place of its memory in every hierarchy.
  const std::string of_container = tree.at(concat("devices/srv/", kName));
  EXPECT_NE(std::ranges::find(cgroup.folders, of_container), cgroup.folders.end());
}

TEST(MachineCgroups, Version1ControllersThatAreMountedTogetherShareAFolder) {
  FakeTree tree;
  tree.mount_v1("memory", "");
  tree.mount_v1("cpu,cpuacct", "");
  const std::string in_cpu = concat("cpu,cpuacct/", kName);
  for (const char* file : {"/cpu.cfs_quota_us", "/cpu.cfs_period_us"}) tree.put(in_cpu + file);
  const auto found = MachineCgroups::find(tree.process());
  ASSERT_TRUE(found) << found.error().message;
  const MachineCgroup cgroup = found->place("m1");
  EXPECT_EQ(cgroup.join.size(), 2U);
  EXPECT_TRUE(found->make(cgroup, {.milli_cpus = 1})) << "no limit of memory is asked for, so none is written";
  EXPECT_EQ(tree.text_of(in_cpu + "/cpu.cfs_quota_us"), "1000") << "the kernel takes no less";
}

TEST(MachineCgroups, Version2LimitsAFolderAndPutsTheWorkerBelowIt) {
  FakeTree tree;
  tree.mount_v2("/srv");
  tree.put("v2/srv/cgroup.subtree_control", "cpu memory pids\n");
  const std::string folder = concat("v2/srv/", kName);
  for (const char* file : {"/cpu.max", "/memory.max", "/memory.swap.max", "/cgroup.subtree_control"}) {
    tree.put(folder + file);
  }
  const auto found = MachineCgroups::find(tree.process());
  ASSERT_TRUE(found) << found.error().message;
  const MachineCgroup cgroup = found->place("m1");
  EXPECT_EQ(cgroup.folders, std::vector{tree.at(folder)});
  EXPECT_EQ(cgroup.join, std::vector{tree.at(folder) + "/worker"});
  const auto made = found->make(cgroup, kSmall);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(tree.text_of(folder + "/cpu.max"), "150000 100000");
  EXPECT_EQ(tree.text_of(folder + "/memory.max"), kSmallMemory);
  EXPECT_EQ(tree.text_of(folder + "/memory.swap.max"), "0");
  EXPECT_EQ(tree.text_of(folder + "/cgroup.subtree_control"), "+memory +pids +cpu");
  EXPECT_TRUE(fs::is_directory(tree.at(folder) + "/worker"));
}

TEST(MachineCgroups, Version2UsesTheNearestFolderThatCanHandControllersOn) {
  FakeTree tree;
  tree.mount_v2("/slice/service");
  tree.put("v2/slice/service/cgroup.procs", concat(::getpid(), "\n1\n"));
  tree.put("v2/slice/cgroup.subtree_control", "cpu memory pids\n");
  const auto found = MachineCgroups::find(tree.process());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->place("m1").folders, std::vector{tree.at(concat("v2/slice/", kName))});
}

TEST(MachineCgroups, Version2TheOnlyProcessOfItsCgroupStepsAsideAndComesBackWhereThatDoesNotHelp) {
  FakeTree tree;
  tree.mount_v2("/service");
  tree.put("v2/service/cgroup.procs", concat(::getpid(), "\n"));
  tree.put("v2/service/cgroup.controllers", "cpu memory pids\n");
  tree.put("v2/service/drover-server/cgroup.procs");
  EXPECT_FALSE(MachineCgroups::find(tree.process()));
  EXPECT_EQ(tree.text_of("v2/service/drover-server/cgroup.procs"), "0");
  EXPECT_EQ(tree.text_of("v2/service/cgroup.procs"), concat("0", concat(::getpid(), "\n").substr(1)));
}

TEST(MachineCgroups, WhatIsMissingIsNamed) {
  FakeTree tree;
  tree.put("self/mountinfo");
  tree.put("self/cgroup");
  const auto none = MachineCgroups::find(tree.process());
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().message.contains("'memory'")) << none.error().message;
  tree.mount_v2("");
  const auto only_v2 = MachineCgroups::find(tree.process());
  ASSERT_FALSE(only_v2);
  EXPECT_TRUE(only_v2.error().message.contains("memory, cpu and pids")) << only_v2.error().message;
  EXPECT_TRUE(only_v2.error().next.contains("Delegate=yes")) << only_v2.error().next;
}

TEST(MachineCgroups, ALimitThatCannotBeSetLeavesNothing) {
  FakeTree tree;
  tree.mount_v1("memory", "");
  tree.mount_v1("cpu", "");
  const auto found = MachineCgroups::find(tree.process());
  ASSERT_TRUE(found) << found.error().message;
  const auto made = found->make(found->place("m1"), kSmall);
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().message.contains("memory.limit_in_bytes")) << made.error().message;
  EXPECT_FALSE(fs::exists(tree.at(concat("memory/", kName))));
  EXPECT_FALSE(fs::exists(tree.at(concat("cpu/", kName))));
}

TEST(MachineCgroups, WhatMachinesLeftLongAgoIsRemovedUnlessSomethingRunsInIt) {
  FakeTree tree;
  tree.mount_v1("memory", "");
  tree.mount_v1("cpu", "");
  const auto age = [&](const std::string& folder) {
    fs::last_write_time(tree.at(folder), fs::file_time_type::clock::now() - std::chrono::minutes(2));
  };
  for (const char* name : {"old", "new", "busy"}) {
    fs::create_directories(tree.at(concat("memory/drover.machine.", name, "/below")));
  }
  tree.put("memory/drover.machine.busy/below/cgroup.procs", "7\n");
  fs::create_directories(tree.at("memory/other"));
  for (const char* name : {"old", "busy"}) age(concat("memory/drover.machine.", name));
  age("memory/other");
  ASSERT_TRUE(MachineCgroups::find(tree.process()));
  EXPECT_FALSE(fs::exists(tree.at("memory/drover.machine.old")));
  EXPECT_TRUE(fs::exists(tree.at("memory/drover.machine.new/below")));
  EXPECT_TRUE(fs::exists(tree.at("memory/drover.machine.busy/below")));
  EXPECT_TRUE(fs::exists(tree.at("memory/other")));
}

TEST(CgroupTree, AWholeCgroupOfVersion2IsKilledAtOnce) {
  FakeTree tree;
  tree.put("v2/it/cgroup.procs", "999999999\n");
  tree.put("v2/it/cgroup.kill");
  EXPECT_TRUE(has_processes(tree.at("v2")));
  EXPECT_FALSE(remove_cgroup_tree(tree.at("v2/it"))) << "this one's files stay";
  EXPECT_EQ(tree.text_of("v2/it/cgroup.kill").front(), '1');
  fs::remove_all(tree.at("v2/it"));
  EXPECT_FALSE(has_processes(tree.at("v2")));
  EXPECT_TRUE(remove_cgroup_tree(tree.at("v2/it")));
}

}  // namespace
}  // namespace drover

#include "provide/local_provider.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/text.h"
#include "provide/provider_contract.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class RealClock : public SteadyClock {
 public:
  std::int64_t elapsed_ns() override { return std::chrono::steady_clock::now().time_since_epoch().count(); }
};

/// Machines whose worker is a script that writes down that it runs, and ends when it is told to.
class LocalMachines {
 public:
  explicit LocalMachines(const std::string& script =
                             "trap 'exit 0' TERM\nmkdir -p \"$3/pids\"\necho $DROVER_JOIN $* > \"$3/pids/$$\"\n"
                             "while :; do sleep 0.02; done\n") {
    char pattern[] = "/tmp/drover-local-XXXXXX";
    root_ = mkdtemp(pattern);
    std::ofstream(root_ + "/worker.sh") << "#!/bin/sh\n" << script;
    ::chmod((root_ + "/worker.sh").c_str(), 0755);
    restart();
  }
  ~LocalMachines() {
    auto left = provider_->list();
    for (const ListedMachine& it : left->machines) EXPECT_TRUE(ends(*provider_, it.name));
    fs::remove_all(root_);
  }

  Provider& provider() { return *provider_; }
  void restart(const std::string& process = kThisProcess) {
    provider_ = std::make_unique<LocalProvider>(
        LocalProvider::Options{.folder = root_ + "/machines",
                               .data = root_ + "/data",
                               .program = root_ + "/worker.sh",
                               .notice = [this](const std::string& text) { notices_.push_back(text); },
                               .process = process},
        clock_);
  }
  const std::vector<std::string>& notices() const { return notices_; }
  /// The folders of the machine's cgroup that are there.
  std::vector<std::string> cgroups_of(const std::string& name) const {
    std::vector<std::string> out;
    std::ifstream file(concat(root_, "/machines/", name, "/cgroup"));
    for (std::string folder; std::getline(file, folder);) {
      if (fs::exists(folder)) out.push_back(folder);
    }
    return out;
  }
  std::vector<int> running() const {
    std::vector<int> out;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root_ + "/data/pids", none)) {
      const int pid = std::stoi(entry.path().filename().string());
      (void)::waitpid(pid, nullptr, WNOHANG);  // a child of the provider that was there before
      if (::kill(pid, 0) == 0) out.push_back(pid);
    }
    return out;
  }
  int count_running() {
    (void)provider_->list();  // what has ended is reaped
    return static_cast<int>(running().size());
  }
  void break_machine(const std::string& /*the only one*/) {
    for (const int pid : running()) ::kill(pid, SIGKILL);
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
  RealClock clock_;
  std::vector<std::string> notices_;
  std::unique_ptr<LocalProvider> provider_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Local, ProviderContract, LocalMachines);

TEST(LocalProvider, AWorkerIsToldWhatItIs) {
  LocalMachines machines;
  ASSERT_TRUE(machines.provider().launch(order_of("m1")));
  ASSERT_TRUE(comes_true([&] { return machines.count_running() == 1; }));
  std::ifstream file(concat(machines.root(), "/data/pids/", machines.running().front()));
  std::string said;
  ASSERT_TRUE(comes_true([&] { return static_cast<bool>(std::getline(file, said)) || (file.clear(), false); }));
  EXPECT_EQ(said, concat("token-of-m1 worker --data ", machines.root(),
                         "/data --name m1 --cpus 1.000 --memory 1073741824 --gpus 0 --label zone=a"));
}

TEST(LocalProvider, AWorkerThatCannotStartIsAnError) {
  LocalMachines machines;
  fs::remove(machines.root() + "/worker.sh");
  const auto launched = machines.provider().launch(order_of("m1"));
  ASSERT_FALSE(launched);
  EXPECT_TRUE(launched.error().message.contains("worker.sh")) << launched.error().message;
  EXPECT_EQ(names_of(machines.provider()), "") << "nothing of it is left";
}

TEST(LocalProvider, TheLastLineOfAMachineThatEndedIsToldAndItsFoldersAreRemoved) {
  LocalMachines machines("mkdir -p \"$3/workers/$5\"\necho no such key; echo\nexit 1\n");
  ASSERT_TRUE(machines.provider().launch(order_of("m1")));
  ASSERT_TRUE(comes_true([&] { return names_of(machines.provider()) == "m1(ended)"; }));
  EXPECT_EQ(machines.provider().list()->machines.front().note, "its worker has exited: no such key");
  EXPECT_TRUE(ends(machines.provider(), "m1"));
  EXPECT_FALSE(fs::exists(machines.root() + "/data/workers/m1"));
  EXPECT_TRUE(fs::is_empty(machines.root() + "/machines"));
}

TEST(LocalProvider, ANameCannotLeadOutOfTheFolder) {
  LocalMachines machines;
  EXPECT_FALSE(machines.provider().launch(order_of("../m1")));
  EXPECT_FALSE(machines.provider().terminate(".."));
}

/// Either machines have cgroups here, or the provider has said why they have none.
bool have_cgroups(const LocalMachines& machines) {
  if (MachineCgroups::find()) return true;
  EXPECT_EQ(machines.notices().size(), 1U);
  return false;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LocalProvider, AMachineHasACgroupOfItsSizeForAsLongAsItIsThere) {
  LocalMachines machines;
  ASSERT_TRUE(machines.provider().launch(order_of("m1")));
  ASSERT_TRUE(comes_true([&] { return machines.count_running() == 1; }));
  const std::vector<std::string> folders = machines.cgroups_of("m1");
  if (!have_cgroups(machines)) return;
  EXPECT_EQ(machines.notices(), std::vector<std::string>());
  ASSERT_FALSE(folders.empty());
  EXPECT_TRUE(text_of(concat("/proc/", machines.running().front(), "/cgroup")).contains(".m1"));
  std::string cpus;
  std::string memory;
  for (const std::string& folder : folders) {
    cpus += text_of(folder + "/cpu.max") + text_of(folder + "/cpu.cfs_quota_us");
    memory += text_of(folder + "/memory.max") + text_of(folder + "/memory.limit_in_bytes");
  }
  EXPECT_TRUE(cpus == "100000\n" || cpus == "100000 100000\n") << cpus;
  EXPECT_EQ(memory, concat((std::uint64_t{1} << 30) + kWorkerMemoryBytes, "\n"));
  EXPECT_TRUE(ends(machines.provider(), "m1"));
  for (const std::string& folder : folders) EXPECT_FALSE(fs::exists(folder)) << folder;
}

TEST(LocalProvider, WhatAKilledWorkerLeavesInItsCgroupEndsWithTheMachine) {
  // The survivor has closed the lock, too.
  LocalMachines machines(
      "mkdir -p \"$3/pids\"\nexec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-\n"
      "setsid sh -c 'touch \"$0/pids/$$\"; exec sleep 1000' \"$3\" &\nwait\n");
  ASSERT_TRUE(machines.provider().launch(order_of("m1")));
  ASSERT_TRUE(comes_true([&] { return machines.count_running() == 1; }));
  const int survivor = machines.running().front();
  const std::vector<std::string> folders = machines.cgroups_of("m1");
  const auto listed = machines.provider().list();
  ASSERT_TRUE(listed);
  ::kill(std::stoi(listed->machines.front().id.substr(4)), SIGKILL);  // "pid N"
  ASSERT_TRUE(comes_true([&] { return names_of(machines.provider()) == "m1(ended)"; }));
  EXPECT_EQ(machines.count_running(), 1) << "nobody has told it to end";
  machines.restart();
  EXPECT_TRUE(ends(machines.provider(), "m1"));
  if (folders.empty()) {  // nothing tells whose it is
    EXPECT_FALSE(MachineCgroups::find());
    ::kill(survivor, SIGKILL);
    return;
  }
  EXPECT_TRUE(comes_true([&] { return machines.count_running() == 0; }));
  for (const std::string& folder : folders) EXPECT_FALSE(fs::exists(folder)) << folder;
}

TEST(LocalProvider, WithoutCgroupsMachinesStartAllTheSameAndItSaysWhy) {
  LocalMachines machines;
  machines.restart(machines.root());  // describes no mounts
  ASSERT_TRUE(machines.provider().launch(order_of("m1")));
  EXPECT_TRUE(comes_true([&] { return machines.count_running() == 1; }));
  ASSERT_EQ(machines.notices().size(), 1U);
  EXPECT_TRUE(machines.notices().front().contains("no hierarchy with the controller 'memory' is mounted; next: "))
      << machines.notices().front();
  EXPECT_TRUE(ends(machines.provider(), "m1"));
}

TEST(LocalProvider, OnlyCgroupsOfTheMachineItselfAreRemovedWithIt) {
  LocalMachines machines("exit 0\n");
  ASSERT_TRUE(machines.provider().launch(order_of("m1")));
  const std::string other = machines.root() + "/drover.machine.other";
  fs::create_directories(other);
  std::ofstream(machines.root() + "/machines/m1/cgroup", std::ios::app) << other << "\n";
  EXPECT_TRUE(ends(machines.provider(), "m1"));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace drover

#include "provide/local_provider.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
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
  void restart() {
    provider_ = std::make_unique<LocalProvider>(
        LocalProvider::Options{.folder = root_ + "/machines", .data = root_ + "/data", .program = root_ + "/worker.sh"},
        clock_);
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

}  // namespace
}  // namespace drover

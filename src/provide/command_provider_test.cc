#include "provide/command_provider.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "provide/provider_contract.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

/// A folder with a program in it, which is removed at the end.
class ProgramFolder {
 public:
  explicit ProgramFolder(const std::string& text) {
    ::signal(SIGPIPE, SIG_IGN);  // as drover does
    char pattern[] = "/tmp/drover-command-XXXXXX";
    root_ = mkdtemp(pattern);
    std::ofstream(program()) << text;
    ::chmod(program().c_str(), 0755);
  }
  ~ProgramFolder() { fs::remove_all(root_); }
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;

  std::string program() const { return root_ + "/cloud"; }
  const std::string& path() const { return root_; }

 private:
  std::string root_;
};

/// A cloud of sleeping processes, each with a file that has its number. A machine that was terminated is gone at once.
constexpr const char* kCloud = R"(#!/usr/bin/python3
import json, os, pathlib, signal, subprocess, sys
asked = json.load(sys.stdin)
folder = pathlib.Path(__file__).parent / "machines"
folder.mkdir(exist_ok=True)
alive = lambda file: pathlib.Path("/proc", file.read_text(), "cmdline").exists() and "sleep" in pathlib.Path("/proc", file.read_text(), "cmdline").read_text()
if sys.argv[1] == "launch":
    file = folder / asked["name"]
    if not file.exists():
        (folder.parent / "asked").write_text(json.dumps(asked, sort_keys=True))
        running = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file.write_text(str(running.pid))
    print(json.dumps({"id": "i-" + file.read_text()}))
elif sys.argv[1] == "terminate":
    file = folder / asked["name"]
    if file.exists():
        if alive(file):
            os.kill(int(file.read_text()), signal.SIGKILL)
        file.unlink()
elif sys.argv[1] == "list":
    print(json.dumps({"machines": [{"name": file.name, "id": "i-" + file.read_text(), "ended": not alive(file)} for file in folder.iterdir()]}))
)";

class CommandMachines {
 public:
  CommandMachines() : folder_(kCloud) { restart(); }
  ~CommandMachines() {
    const auto left = provider_->list();
    for (const ListedMachine& it : left->machines) EXPECT_TRUE(ends(*provider_, it.name));
  }

  Provider& provider() { return *provider_; }
  void restart() {
    provider_ = std::make_unique<CommandProvider>(
        CommandProvider::Options{.program = folder_.program(), .fleet = "f", .server = "s7"});
  }
  int count_running() const {
    int count = 0;
    for (const int pid : pids()) count += is_running(pid);
    return count;
  }
  void break_machine(const std::string& /*the only one*/) {
    for (const int pid : pids()) ::kill(pid, SIGKILL);
  }
  const std::string& path() const { return folder_.path(); }

 private:
  std::vector<int> pids() const {
    std::vector<int> out;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(path() + "/machines", none)) {
      int pid = 0;
      std::ifstream(entry.path()) >> pid;
      if (pid > 0) out.push_back(pid);
    }
    return out;
  }
  static bool is_running(int pid) {
    std::ifstream file(concat("/proc/", pid, "/cmdline"));
    std::string words;
    return static_cast<bool>(std::getline(file, words)) && words.contains("sleep");
  }

  ProgramFolder folder_;
  std::unique_ptr<CommandProvider> provider_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Command, ProviderContract, CommandMachines);

Result<MachineList> listed(const std::string& script, std::int64_t time_ms = 20'000) {
  const ProgramFolder folder(script);
  return CommandProvider({.program = folder.program(), .fleet = "f", .limits = {.time_ms = time_ms}}).list();
}

std::string problem_with(const std::string& script, std::int64_t time_ms = 20'000) {
  const auto answer = listed(script, time_ms);
  return answer ? "none" : answer.error().message;
}

TEST(CommandProvider, AProgramIsToldWhatToLaunch) {
  CommandMachines machines;
  const auto id = machines.provider().launch(order_of("m1"));
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_TRUE(id->starts_with("i-"));
  std::string asked;
  std::ifstream file(machines.path() + "/asked");
  std::getline(file, asked);
  EXPECT_EQ(asked,
            R"({"accelerators": {}, "cpus": 1.0, "fleet": "f", "join_token": "token-of-m1", "labels": {"zone": "a"}, )"
            R"("memory_bytes": 1073741824, "name": "m1", "server": "s7", "shape": "small", "spot": false, )"
            R"("worker": ["drover", "worker", "--name", "m1", "--cpus", "1.000", "--memory", "1073741824", )"
            R"("--gpus", "0", "--label", "zone=a"]})");
}

TEST(CommandProvider, AFailureIsWhatTheProgramSaidLast) {
  EXPECT_TRUE(problem_with("#!/bin/sh\necho asking >&2; echo no quota left >&2; echo >&2; exit 3\n")
                  .ends_with("/cloud list exited with status 3: no quota left"));
  EXPECT_TRUE(problem_with("#!/bin/sh\nkill -9 $$\n").ends_with("was killed by signal 9"));
  EXPECT_TRUE(problem_with("#!/no/such/shell\n").contains("cannot start"));
}

TEST(CommandProvider, AProgramThatDoesNotEndIsKilledWithAllThatItStarted) {
  const ProgramFolder folder("#!/bin/sh\nsleep 600 & echo $! > $0.pid\necho still asking >&2\nwait\n");
  CommandProvider provider({.program = folder.program(), .fleet = "f", .limits = {.time_ms = 1000}});
  const auto answer = provider.list();
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().message.ends_with("did not end within 1 s and was killed; it said: still asking"))
      << answer.error().message;
  int pid = 0;
  std::ifstream(folder.program() + ".pid") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(comes_true([&] {
    std::ifstream file(concat("/proc/", pid, "/cmdline"));
    std::string words;
    return !std::getline(file, words);  // a zombie has none
  }));
}

TEST(CommandProvider, AListIsExactIfTheProgramSaysSo) {
  const auto list = [](const std::string& text) { return listed("#!/bin/sh\necho '" + text + "'\n").value(); };
  EXPECT_FALSE(list("{\"machines\": []}").is_exact);
  EXPECT_TRUE(list("{\"machines\": [], \"exact\": true}").is_exact);
  EXPECT_EQ(list("{\"machines\": [{\"name\": \"a\", \"fleet\": \"g\"}]}").machines[0].fleet, "g");
  EXPECT_EQ(list("{\"machines\": [{\"name\": \"a\"}]}").machines[0].fleet, "");
  EXPECT_EQ(list("{\"machines\": [{\"name\": \"a\", \"server\": \"s\"}]}").machines[0].server, "s");
}

TEST(CommandProvider, AServerThatStopsWaitsForNoProgram) {
  const ProgramFolder folder("#!/bin/sh\nsleep 600\n");
  std::stop_source stop;
  CommandProvider provider({.program = folder.program(), .fleet = "f", .stop = stop.get_token()});
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const auto answer = provider.list();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::stopped);
}

TEST(CommandProvider, WhatAProgramLeavesInTheBackgroundIsNotWaitedFor) {
  EXPECT_EQ(problem_with("#!/bin/sh\nsleep 5 &\necho '{\"machines\": []}'\n", 3000), "none");
}

TEST(CommandProvider, AnAnswerThatIsWrongIsNamed) {
  const auto says = [](const std::string& text) { return problem_with("#!/bin/sh\necho '" + text + "'\n"); };
  EXPECT_TRUE(says("[]").ends_with("/cloud list printed something that is not a JSON object"));
  EXPECT_TRUE(says("{").ends_with("is not a JSON object"));
  EXPECT_TRUE(says("{\"machines\": [], \"exact\": 1}").ends_with("'exact' is neither true nor false"));
  EXPECT_TRUE(says("{}").ends_with("/cloud list: 'machines' is missing"));
  EXPECT_TRUE(says("{\"machines\": 1}").ends_with("'machines' is not a list"));
  EXPECT_TRUE(says("{\"machines\": [1]}").ends_with("'machines' has an element that is not an object"));
  EXPECT_TRUE(says("{\"machines\": [{}]}").ends_with("'name' is missing"));
  EXPECT_TRUE(says("{\"machines\": [{\"name\": 1}]}").ends_with("'name' is not a string"));
  EXPECT_TRUE(says("{\"machines\": [{\"name\": \"a\", \"ended\": 1}]}").ends_with("'ended' is neither true nor false"));
  EXPECT_EQ(says("{\"machines\": [{\"name\": \"a\", \"zone\": \"b\"}]}"), "none");
  EXPECT_TRUE(problem_with("#!/bin/sh\ncat /dev/zero\n").contains("printed more than 16"));
}

TEST(CommandProvider, ShapesAreWhatTheProgramSays) {
  const auto shapes = [](const std::string& text) {
    const ProgramFolder folder("#!/bin/sh\ntest \"$1\" = shapes && echo '" + text + "'\n");
    return command_shapes(folder.program(), {}, {});
  };
  const auto two = shapes(R"({"shapes": [{"name": "a", "cpus": 0.5, "memory": "2GiB"},
                                         {"name": "b", "cpus": 8, "memory": 1024, "accelerators": {"nvidia": 2}}]})");
  ASSERT_TRUE(two) << two.error().message;
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ((*two)[0].has, (Resources{500, std::uint64_t{2} << 30, {}}));
  EXPECT_EQ((*two)[1].has, (Resources{8000, 1024, {2, 0, 0}}));
  EXPECT_EQ((*two)[0].microdollars, std::nullopt);
  const auto priced = shapes(R"({"shapes": [{"name": "a", "cpus": 1, "price": 0.0416, "spot_price": 0.000001}]})");
  ASSERT_TRUE(priced) << priced.error().message;
  EXPECT_EQ((*priced)[0].microdollars, 41'600);
  EXPECT_EQ((*priced)[0].spot_microdollars, 1);
  for (const char* price : {"-1", "1000001", "\"1\"", "[1]", "true"}) {
    const auto answer = shapes(concat("{\"shapes\": [{\"name\": \"a\", \"cpus\": 1, \"price\": ", price, "}]}"));
    EXPECT_TRUE(answer.error().message.contains("'price' is not a valid price")) << price;
  }
  EXPECT_TRUE(shapes("{}").error().message.ends_with("'shapes' is missing"));
  EXPECT_TRUE(shapes("{\"shapes\": []}").error().message.ends_with("names no shape"));
  EXPECT_TRUE(shapes("{\"shapes\": [{\"name\": \"a b\", \"cpus\": 1}]}").error().message.contains("is not a name"));
  EXPECT_TRUE(shapes("{\"shapes\": [{\"name\": \"a\"}]}").error().message.ends_with("'cpus' is missing"));
  EXPECT_TRUE(shapes("{\"shapes\": [{\"name\": \"a\", \"cpus\": \"1\"}]}").error().message.contains("is not a number"));
  EXPECT_TRUE(
      shapes("{\"shapes\": [{\"name\": \"a\", \"cpus\": 1, \"memory\": \"x\"}]}").error().message.contains("such as"));
}

}  // namespace
}  // namespace drover

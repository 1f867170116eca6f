// What the tests of this module share: slots, tasks, and waiting with a bound.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "run/process_runner.h"

namespace drover {

inline constexpr std::chrono::seconds kTestPatience{20};

/// Whether `condition` comes true within the bound.
template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether the process runs: a dead one that nobody has waited for does not.
inline bool is_alive(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

inline std::vector<pid_t> numbers_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<pid_t>(in), {}};
}

/// How an attempt ended, and what it had printed.
struct Ended : AttemptEnded {
  std::string out;
  std::string err;
  std::string notes;
};

/// A folder to work in, a runner, and one slot.
class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest() {
    setup_.workdir = folder_;
    setup_.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "BASE=base"};
  }
  ~ProcessTest() override {
    slot_.reset();
    std::filesystem::remove_all(folder_);
  }

  Slot& slot() {
    if (!slot_) {
      Result<std::unique_ptr<Slot>> opened = runner_.open_slot(setup_);
      EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message);
      slot_ = std::move(opened).value();
    }
    return *slot_;
  }

  Task task(std::vector<std::string> arguments) {
    Task task;
    task.token = {GrantId(1), ItemIndex(next_item_++)};
    task.program = arguments.front();
    task.arguments = std::move(arguments);
    return task;
  }
  Task shell(const std::string& script) { return task({"/bin/sh", "-c", script}); }

  void start(const Task& task) {
    slot().start(task);
    slot().send_more();
  }
  void stop(const Task& task, StopHow how) {
    slot().stop(task.token, how, 0);
    slot().send_more();
  }

  /// The next event that is no output; that is kept for the end of its attempt.
  SlotEvent next_event() {
    while (true) {
      SlotEvent event = next_event_of_any_kind();
      const auto* printed = std::get_if<AttemptPrinted>(&event);
      if (std::holds_alternative<SlotDied>(event)) printed_ = {};
      if (printed == nullptr) return event;
      std::string* to = &printed_.notes;
      if (printed->stream == LogStream::out) to = &printed_.out;
      if (printed->stream == LogStream::err) to = &printed_.err;
      *to += printed->bytes;
    }
  }
  SlotEvent next_event_of_any_kind() {
    const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
    while (seen_.empty()) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no event within the bound");
      pollfd wait{slot().descriptor(), static_cast<short>(slot().has_unsent() ? POLLIN | POLLOUT : POLLIN), 0};
      ::poll(&wait, 1, 100);
      if ((wait.revents & POLLOUT) != 0) slot().send_more();
      seen_ = slot().events();
    }
    SlotEvent event = std::move(seen_.front());
    seen_.erase(seen_.begin());
    return event;
  }
  Ended next_end() {
    static_cast<AttemptEnded&>(printed_) = std::get<AttemptEnded>(next_event());
    return std::exchange(printed_, {});
  }

  Ended run(const Task& task) {
    start(task);
    Ended ended = next_end();
    EXPECT_EQ(ended.token, task.token);
    return ended;
  }

  /// Waits for a file of the working folder that a script puts in place when it is complete.
  std::string wait_for_file(const std::string& name) {
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(folder_ / name); })) << name;
    return read_file(folder_ / name);
  }

  static std::filesystem::path new_folder() {
    std::string name = ::testing::TempDir() + "drover-run.XXXXXX";
    return ::mkdtemp(name.data());
  }

  std::filesystem::path folder_ = new_folder();
  SlotSetup setup_;
  ProcessRunner runner_{folder_ / "containers"};
  std::unique_ptr<Slot> slot_;
  std::vector<SlotEvent> seen_;
  Ended printed_;  // so far, by the attempt that runs
  std::uint64_t next_item_ = 0;
};

}  // namespace drover

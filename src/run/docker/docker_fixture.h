// What the tests with a real daemon share: one dockerd with its own containerd, folders and socket, an image made of
// busybox, a slot, and waiting with a bound.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "run/docker/docker_runner.h"
#include "run/process_fixture.h"

namespace drover {

/// Debian's dockerd, without a network, started when the first test asks for it and stopped by its pid when the tests
/// are over.
class TestDaemon {
 public:
  static TestDaemon& shared();

  TestDaemon();
  ~TestDaemon();
  TestDaemon(const TestDaemon&) = delete;
  TestDaemon& operator=(const TestDaemon&) = delete;

  std::string socket() const { return folder_ / "docker.sock"; }
  const std::filesystem::path& folder() const { return folder_; }
  /// The runner of all tests.
  DockerRunner& runner() { return *runner_; }
  DockerDaemon& daemon() { return runner_->daemon(); }

  /// All that the daemon has, running or not.
  std::vector<std::string> containers();
  /// Of our own volumes there are none, and these are what warm containers leave.
  std::size_t volumes();
  /// Makes an image of a root folder as it is.
  void import(const std::filesystem::path& archive, const std::string& name, const std::vector<std::string>& changes);

 private:
  std::filesystem::path folder_;
  pid_t containerd_ = -1;
  pid_t dockerd_ = -1;
  std::unique_ptr<DockerRunner> runner_;
};

inline constexpr const char* kBox = "box:1";          // busybox, PATH, FROM_IMAGE=yes, workdir /work
inline constexpr const char* kGreeter = "greeter:1";  // the same with an entry point and a command
inline constexpr std::chrono::seconds kDockerPatience{120};

class DockerTest : public ::testing::Test {
 protected:
  DockerTest();
  ~DockerTest() override;

  DockerRunner& runner() { return TestDaemon::shared().runner(); }
  DockerDaemon& daemon() { return TestDaemon::shared().daemon(); }

  /// Before the slot is opened.
  ContainerOptions& options() { return plan_.options; }
  Slot& slot();
  /// The next run() opens another.
  void close_slot() { slot_.reset(); }

  Task task(std::vector<std::string> arguments);
  Task shell(const std::string& script) { return task({"/bin/sh", "-c", script}); }

  SlotEvent next_event_of_any_kind();
  /// Output is kept for the end of its attempt.
  SlotEvent next_event();
  Ended next_end();
  Ended run(const Task& task);
  /// Waits until the running attempt has printed it.
  void wait_for_output(const std::string& text);

  std::filesystem::path folder_;
  SlotSetup setup_;
  ContainerPlan plan_;
  std::unique_ptr<Slot> slot_;
  std::vector<SlotEvent> seen_;
  Ended printed_;
  std::uint64_t next_item_ = 0;
};

}  // namespace drover

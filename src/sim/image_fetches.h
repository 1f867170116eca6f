// The images that the jobs of one worker process wait for: the gate that ships decides what is fetched and what is
// declined, and here the fetches are acted out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/image_gate.h"
#include "sim/registry.h"
#include "sim/seam_fault.h"

namespace drover::sim {

class ImageFetches {
 public:
  /// The process around it, and its machine.
  struct Process {
    Agent& agent;
    std::set<std::string>& images;  // that are on this machine
    Registry& registry;
    std::function<std::int64_t()> clock_ms;
    std::function<void(std::int64_t delay_ms, std::function<void()>)> later;
    std::function<void()> wake;
    SeamFault fault = SeamFault::none;
  };

  ImageFetches(Process process, std::uint64_t seed) : process_(std::move(process)), gate_(process_.agent, seed) {}

  /// Something of the job has come with a lease.
  void want(JobId job, const std::string& image);
  void on_tick();
  std::optional<std::int64_t> next_deadline() const;
  /// It is given again and again what it declines.
  bool is_pressed() const { return is_pressed_; }

 private:
  void fetch(JobId job, const std::string& image);
  void on_fetched(JobId job, const std::string& image);
  void note_declined(JobId job);

  const Process process_;
  ImageGate gate_;
  std::set<JobId> ready_;                   // whose image is here
  std::map<JobId, std::uint64_t> fetches_;  // by job, their numbers
  std::uint64_t last_fetch_ = 0;
  std::map<JobId, std::deque<std::int64_t>> declined_at_ms_;  // when it was given something of the job nevertheless
  bool is_pressed_ = false;
};

}  // namespace drover::sim

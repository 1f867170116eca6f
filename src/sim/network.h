// The network between everybody and the server: packets are late, lost, doubled, overtake each other, and do not pass
// where it is cut.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "sim/event_queue.h"
#include "sim/happenings/network_faults.h"

namespace drover::sim {

class Network {
 public:
  Network(EventQueue& events, std::uint64_t seed, std::size_t workers)
      : events_(events), random_(seed ^ 0x6e6574), cut_to_server_(workers), cut_to_worker_(workers) {}

  void bring_to_server(std::size_t worker, std::function<void()> arrive) {
    if (cut_to_server_[worker] == 0) bring(std::move(arrive));
  }
  void bring_to_worker(std::size_t worker, std::function<void()> arrive) {
    if (cut_to_worker_[worker] == 0) bring(std::move(arrive));
  }
  /// For those who are never cut off.
  void bring(std::function<void()> arrive);

  /// One more that can be cut off, by this number.
  std::size_t add_worker() {
    cut_to_server_.push_back(0);
    cut_to_worker_.push_back(0);
    return cut_to_server_.size() - 1;
  }

  void cut(const Partition& partition);
  bool is_cut(std::size_t worker) const { return cut_to_server_[worker] > 0 || cut_to_worker_[worker] > 0; }
  void change_weather(const BadWeather& weather);

 private:
  std::int64_t delay_ms();

  EventQueue& events_;
  Random random_;
  std::vector<int> cut_to_server_;  // how many cuts are open
  std::vector<int> cut_to_worker_;
  BadWeather weather_;
  std::uint64_t weather_number_ = 0;
};

}  // namespace drover::sim

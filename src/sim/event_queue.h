// Simulated time: what is to happen, in the order of (time, when it was said).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace drover::sim {

class EventQueue {
 public:
  std::int64_t now_ms() const { return now_ms_; }

  void at(std::int64_t at_ms, std::function<void()> what) {
    events_.push_back({std::max(at_ms, now_ms_), ++sequence_, std::move(what)});
    std::ranges::push_heap(events_, later);
  }
  void after(std::int64_t delay_ms, std::function<void()> what) { at(now_ms_ + delay_ms, std::move(what)); }

  bool empty() const { return events_.empty(); }

  void run_next() {
    std::ranges::pop_heap(events_, later);
    const Event event = std::move(events_.back());
    events_.pop_back();
    now_ms_ = event.at_ms;
    event.what();
  }

 private:
  struct Event {
    std::int64_t at_ms;
    std::uint64_t sequence;
    std::function<void()> what;
  };
  static bool later(const Event& a, const Event& b) {
    return std::pair(a.at_ms, a.sequence) > std::pair(b.at_ms, b.sequence);
  }

  std::vector<Event> events_;  // a heap
  std::int64_t now_ms_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace drover::sim

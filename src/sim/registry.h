// Where workers get images from. Now and then nobody gets one.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/event_queue.h"
#include "sim/happenings/network_faults.h"

namespace drover::sim {

class Registry {
 public:
  Registry(EventQueue& events, std::uint64_t seed) : events_(events), random_(seed ^ 0x72656769) {}

  void go_out(const RegistryOutage& how) {
    ++outages_;
    events_.after(how.for_ms, [this] { --outages_; });
  }
  bool answers() const { return outages_ == 0; }
  /// How long an image takes to come.
  std::int64_t fetch_ms() {
    return static_cast<std::int64_t>(random_.one_in(4) ? random_.below(90'000) : random_.below(5'000));
  }

 private:
  EventQueue& events_;
  Random random_;
  int outages_ = 0;
};

}  // namespace drover::sim

// What people do with queues.
#pragma once

#include <cstdint>
#include <string>

#include "core/queue.h"
#include "sim/happening.h"

namespace drover::sim {

struct HappeningGroup;

/// A queue as it shall be from now on.
struct ChangeQueue {
  Queue queue;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Disabled, and enabled again.
struct CloseQueue {
  std::string queue;
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = false;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Deleted, if no job in it is left. It is created again when queues are tended.
struct RemoveQueue {
  std::string queue;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

HappeningGroup queue_happenings();

}  // namespace drover::sim

// Queues, and the shares among which a queue divides machines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/wide.h"

namespace drover {

/// How much of its usage counts against a share, in ten-thousandths: 20'000 gets half of what 10'000 gets. A name may
/// end in `*`: all that begin so, each for itself.
struct ShareWeight {
  static constexpr std::uint32_t kOne = 10'000;
  static constexpr std::uint32_t kMost = 9'999'999;

  std::string share;
  std::uint32_t weight = kOne;

  bool operator==(const ShareWeight&) const = default;
};

enum class QueueOrder : std::uint8_t {
  first_come,  // by priority, then as they came
  fair,        // whose share has used least lately
};
std::string_view to_string(QueueOrder order);

/// Where jobs wait. Of two queues the one of higher priority is served first.
struct Queue {
  static constexpr std::uint32_t kHighestPriority = 1'000'000;
  static constexpr std::int64_t kUsualDecayS = 600;
  static constexpr std::int64_t kMostDecayS = 604'800;

  std::string name;
  std::uint32_t priority = 1;
  bool enabled = true;  // one that is not takes no jobs, and starts none of those it has
  bool closed = false;  // takes no jobs, and runs those it has
  QueueOrder order = QueueOrder::first_come;
  std::int64_t decay_s = kUsualDecayS;  // what was used so long ago counts half
  std::uint32_t reserved_percent = 0;   // r: the (r/100)^(active shares) of all CPUs is kept for shares yet to come
  std::vector<ShareWeight> weights;     // the first that matches
  std::vector<std::string> fleets;      // whose machines serve it, in this order; none: all
  std::int64_t created_ms = 0;
  std::int64_t usage_from_ms = 0;  // usage is counted in units that double every decay_s from here on

  std::uint32_t weight_of(std::string_view share) const;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("priority", self.priority);
    visit("enabled", self.enabled);
    visit("closed", self.closed);
    visit("share_order", self.order);
    visit("decay_s", self.decay_s);
    visit("reserved_percent", self.reserved_percent);
    visit("weights", self.weights);
    visit("fleets", self.fleets);
    visit("created_ms", self.created_ms);
    visit("usage_from_ms", self.usage_from_ms);
  }
};

/// Usage that has been paid for: milli-CPUs times milliseconds times weight, in a queue's growing units. Wide enough
/// never to run over.
struct Charge {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  static Charge of(Wide value) { return {static_cast<std::uint64_t>(value >> 64), static_cast<std::uint64_t>(value)}; }
  Wide value() const { return static_cast<Wide>(high) << 64 | low; }
};

/// What a share of a fair queue has used.
struct ShareRecord {
  std::string queue;
  std::string share;
  Charge used;
  std::int64_t since_ms = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("queue", self.queue);
    visit("share", self.share);
    visit("used_high", self.used.high);
    visit("used_low", self.used.low);
    visit("since_ms", self.since_ms);
  }
};

/// What one unit of usage counts at this time, in 65,536ths, for usage that halves every `decay_ms`: doubles in as much
/// time, in a straight line from one doubling to the next. Stays what it is when kMostDoublings are over; the caller
/// sees to it that they never are for long.
std::uint64_t usage_factor(std::int64_t elapsed_ms, std::int64_t decay_ms);
/// What one that never paused has used by then, each moment by its factor, since ever. The difference of two is what
/// was used in between.
std::uint64_t usage_sum(std::int64_t elapsed_ms, std::int64_t decay_ms);
inline constexpr int kMostDoublings = 16;

}  // namespace drover

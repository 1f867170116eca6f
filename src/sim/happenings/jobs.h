// What people do with jobs. A job is known by the number that its Submit gave it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/resources.h"
#include "core/policy.h"
#include "core/records.h"
#include "sim/fate.h"
#include "sim/happening.h"

namespace drover::sim {

struct HappeningGroup;

inline constexpr std::uint32_t kMissingImage = 99;  // no registry has it
std::string image_name(std::uint32_t image);

/// A job that another one comes after, as a whole or item by item.
struct Forerunner {
  std::uint64_t job = 0;
  bool each = false;

  bool operator==(const Forerunner&) const = default;
};

struct Submit {
  std::uint64_t job = 0;
  std::uint64_t total = 0;
  JobNature nature;
  Policy policy;
  Resources ask = {};
  Labels require = {};
  SpotRules spot = {};
  JobPlace place = {};
  std::vector<Forerunner> after = {};
  bool sequential = false;
  std::uint64_t max_running = 0;
  std::int64_t job_timeout_ms = 0;
  bool fits_nobody = false;  // only a cancel ends it
  std::uint32_t image = 0;   // its number; 0: its items run without a container
  std::string stream = {};   // whose messages are its items; empty: it has `total` items
  bool until_empty = false;

  /// How many of its items may be in workers' hands; 0: no limit.
  std::uint64_t most_running() const { return sequential ? 1 : max_running; }
  std::uint64_t max_failures() const { return sequential ? 0 : policy.max_failures; }
  /// Whether some of its items may run until somebody cancels it.
  bool may_hang_for_ever() const { return nature.hang_percent > 0 && policy.timeout_ms == 0; }
  /// Whether it waits for items until somebody cancels it.
  bool is_open_ended() const { return !stream.empty() && !until_empty; }

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
  std::vector<Happening> smaller() const;
  std::vector<Happening> plainer() const;
};

struct Cancel {
  std::uint64_t job = 0;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Takes up again what has failed or was cancelled.
struct Retry {
  std::uint64_t job = 0;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Somebody follows what an item prints.
struct WatchItem {
  std::uint64_t job = 0;
  ItemIndex item;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

HappeningGroup job_happenings();

}  // namespace drover::sim

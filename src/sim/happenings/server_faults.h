// What happens to the server, its disk and its clock.
#pragma once

#include <cstdint>
#include <string>

#include "sim/happening.h"

namespace drover::sim {

struct HappeningGroup;

enum class CrashPoint : std::uint8_t {
  at_once,
  before_commit,  // the next batch is applied and never becomes durable
  after_commit,   // it becomes durable and nobody hears of it
  between_two,    // of two batches under way the first is durable and answered
};
struct CrashServer {
  CrashPoint point = CrashPoint::at_once;
  std::int64_t down_ms = 0;

  static constexpr bool kIsFault = true;
  static constexpr bool kStopsServer = true;
  std::int64_t lasts_ms() const { return 60'000 + down_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// The disk is full: a commit fails, the server stops, and comes back when there is room.
struct FillDisk {
  std::int64_t down_ms = 0;

  static constexpr bool kIsFault = true;
  static constexpr bool kStopsServer = true;
  std::int64_t lasts_ms() const { return 60'000 + down_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// What is left of the disk is the ledger's: logs, and the ends of attempts that bring them, are refused.
struct RefuseLogs {
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

struct SlowDisk {
  std::int64_t commit_ms = 0;
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// The core cannot step: its store does not return from a commit, or the whole process is stopped. In the first case
/// what workers send reaches the inbox; in the second it waits in sockets and arrives when the process goes on.
struct StallServer {
  std::int64_t for_ms = 0;
  bool whole_process = false;

  static constexpr bool kIsFault = true;
  static constexpr bool kStopsServer = true;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

struct JumpClock {
  std::int64_t by_ms = 0;

  static constexpr bool kIsFault = true;
  std::string describe() const;
  void happen(Stage& stage) const;
};

HappeningGroup server_faults();

}  // namespace drover::sim

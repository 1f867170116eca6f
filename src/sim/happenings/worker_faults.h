// What happens to workers and their machines, and those who look after workers.
#pragma once

#include <cstdint>
#include <string>

#include "sim/happening.h"

namespace drover::sim {

struct HappeningGroup;

// `worker` is its place in Script::workers.
struct CrashWorker {
  std::size_t worker = 0;
  std::int64_t down_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return down_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// With its disk. A machine of another name takes its place.
struct LoseMachine {
  std::size_t worker = 0;
  std::int64_t down_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return down_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// The machine goes after `notice_ms`, and knows it.
struct SpotNotice {
  std::size_t worker = 0;
  std::int64_t notice_ms = 0;
  std::int64_t down_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return notice_ms + down_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

struct KillSlot {
  std::size_t worker = 0;
  std::size_t slot = 0;
  std::int64_t down_ms = 0;

  static constexpr bool kIsFault = true;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// The server asks it to take nothing more; it leaves when it is done, and comes back.
struct DrainWorker {
  std::size_t worker = 0;
  std::int64_t down_ms = 0;

  static constexpr bool kIsFault = true;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Somebody takes it for dead: others get what it holds.
struct FenceWorker {
  std::size_t worker = 0;

  static constexpr bool kIsFault = true;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Whatever runs on this machine fails at once.
struct Spoil {
  std::size_t worker = 0;
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

HappeningGroup worker_faults();

}  // namespace drover::sim

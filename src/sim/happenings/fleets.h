// What people do with fleets, and what clouds do to them.
#pragma once

#include <cstdint>
#include <string>

#include "core/planner/snapshot.h"
#include "sim/happening.h"

namespace drover::sim {

struct HappeningGroup;

/// A fleet as it shall be from now on.
struct ChangeFleet {
  std::string fleet;
  FleetRules rules;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Deleted, and set again when fleets are tended.
struct RemoveFleet {
  std::string fleet;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// The next fleet for which the cloud is called for a machine is deleted while nobody knows the answer.
struct RemoveAtLaunch {
  static constexpr std::int64_t kWaitsMs = 5 * 60'000;
  static constexpr bool kIsFault = false;
  std::int64_t lasts_ms() const { return kWaitsMs; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

struct PauseFleetFor {
  std::string fleet;
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = false;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

enum class CloudTroubleKind : std::uint8_t {
  throttles,     // every call fails
  no_capacity,   // nothing is launched
  answers_lost,  // launches succeed, and are answered with an error
  omits,         // lists omit some machines that are there
  strangers,     // lists name machines that nobody has launched
  slow,          // calls take very long
  boots_late,    // later than a machine has to join
  boots_never,
  boots_twice,  // two machines of one name, for a while
  lags,         // lists omit new machines, and sometimes others, for half a minute, and name some that are gone
  no_spot,      // no spot machine is launched
};

struct CloudTrouble {
  CloudTroubleKind kind = CloudTroubleKind::throttles;
  std::int64_t for_ms = 0;

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const;
  std::string describe() const;
  void happen(Stage& stage) const;
};

enum class MachineTroubleKind : std::uint8_t {
  vanishes,       // and is no longer listed
  stops,          // and is listed as one that has ended
  restarts,       // the process of its worker is restarted
  taken_away,     // with a notice that says when
  to_be_removed,  // with a notice that does not, and later without
};

struct MachineTrouble {
  MachineTroubleKind kind = MachineTroubleKind::vanishes;
  std::uint64_t which = 0;  // of those that it can happen to
  std::int64_t in_ms = 0;   // after the notice, or until it is back

  static constexpr bool kIsFault = true;
  std::int64_t lasts_ms() const { return in_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// The server crashes when it next calls for a machine: the intent is durable, and the answer is never heard. Or when
/// it next drains one, if that comes first and the call is not to reach the cloud.
struct CrashAtLaunch {
  bool is_launched = false;  // else the call does not reach the cloud
  std::int64_t down_ms = 0;

  static constexpr std::int64_t kWaitsMs = 20 * 60'000;
  static constexpr bool kIsFault = true;
  static constexpr bool kStopsServer = true;
  std::int64_t lasts_ms() const { return kWaitsMs + down_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
};

HappeningGroup fleet_happenings();

}  // namespace drover::sim

// What is asked of the part of the core that keeps fleets, and what it answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cost.h"
#include "base/ids.h"
#include "base/resources.h"
#include "core/fleets/fleet_records.h"
#include "core/records.h"

namespace drover {

/// A fleet as it shall be from now on: a new one, or one that is there.
struct SetFleet {
  FleetSpec spec;
};
/// Its machines are drained; it is deleted when its provider has none of them any more.
struct DropFleet {
  std::string fleet;
};
struct PauseFleet {
  std::string fleet;
  bool paused = true;
};

/// What a plan wants of a fleet. Each launch and drain is carried out if it still may be; the others are left out.
struct ScaleFleet {
  struct Launch {
    std::string machine;  // a name that no other machine ever had
    std::string shape;
    Resources has;
    std::string reason;
    HourlyPrice price = {};
    bool spot = false;
  };
  struct Drain {
    std::string machine;
    std::string reason;
  };
  static constexpr std::size_t kMost = 32;  // launches, and as many drains

  std::string fleet;
  std::vector<Launch> launches;
  std::vector<Drain> drains;
  std::string provider = {};                   // that the launches are planned for; empty: whichever the fleet has
  std::optional<std::uint64_t> scale_to = {};  // of a fleet with steps: how many machines it is to have from now on
};

/// What a provider has said of a machine.
struct MachineNews {
  enum class What : std::uint8_t {
    accepted,    // it is being launched
    refused,     // it will not be launched
    vanished,    // it is no longer listed, and nobody asked for that
    terminated,  // it is no longer listed, as was asked
  };
  std::string machine;
  What what = What::accepted;
  std::string text = {};  // accepted: the provider's name for it; refused, vanished: why
};

/// The provider of a fleet has none of its machines, and none can appear any more: for one that is deleted, or that has
/// no machines and may get another provider.
struct FleetEmptied {
  std::string fleet;
};

/// What a planner needs to know, a page at a time: so many machines after this name, and jobs after this one.
struct AskFleets {
  static constexpr std::size_t kPage = 32;

  std::string machines_after = {};
  JobId jobs_after = {};
  bool want_machines = true;
  bool want_jobs = true;
};

struct FleetSet {};
struct FleetDropped {
  std::uint64_t machines = 0;  // that are drained first
  bool is_gone = false;        // else it is deleted later
};
struct FleetPaused {};
struct FleetScaled {
  std::uint64_t launched = 0;
  std::uint64_t drained = 0;
};
struct MachineNoted {};
struct FleetNoted {};
/// To nobody in particular: there is a fleet more or less, or one has changed.
struct FleetsChanged {};

/// A machine, and how its worker does. What both are is shared with the core, so that a question copies no text: memory
/// that one thread allocates and another frees costs both.
struct MachineView {
  MachineRecord machine;
  Resources has;                   // less than the machine has, where a device of it has failed
  std::uint64_t items = 0;         // in its hands
  Resources used;                  // by these
  std::int64_t work_ms = 0;        // until they have ended, about
  std::int64_t free_since_ms = 0;  // since when it holds nothing; 0: it holds something, or is not present
  // Since when an attempt on it has held a message that it received; 0: none does.
  std::int64_t receipts_since_ms = 0;
  std::string quarantine = {};  // why its worker is given nothing; empty: it is
  std::shared_ptr<const Labels> labels = {};  // of its worker; null: it has not registered, or is lost
};
/// A job that has not ended, as far as machines are concerned.
struct JobDemand {
  JobId job;
  Resources ask;
  Labels require;
  std::string queue;
  std::vector<std::string> fleets;  // of its queue, in this order; none: all
  SpotRules spot;
  std::uint64_t waiting = 0;    // items that could run now
  std::uint64_t sheltered = 0;  // of them, those that must not run on spot machines
  std::uint64_t in_hands = 0;   // items that workers have
  std::int64_t item_ms = 0;     // how long one takes; 0: not known yet
};
struct FleetsNow {
  std::vector<Fleet> fleets;
  std::vector<MachineView> machines;
  std::vector<JobDemand> jobs;
  bool more_machines = false;
  bool more_jobs = false;
};

}  // namespace drover

// What people and misfortune do to the world, as data: made from a seed, then acted out. Any of it can be left out, so
// that a script that shows a fault can be cut down to what is needed for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/resources.h"
#include "sim/happening.h"

namespace drover::sim {

struct ScriptEvent {
  std::int64_t at_ms = 0;
  Happening what;

  bool is_fault() const { return what.is_fault(); }
  /// When it is over, and everybody back.
  std::int64_t over_ms() const { return at_ms + what.lasts_ms(); }
};

struct WorkerPlan {
  std::size_t slots = 1;
  bool strict_lease = false;
  std::int64_t clock_ahead_ms = 0;     // of the true time
  bool names_what_it_returns = false;  // as running, in the same report: it began, and nobody hears how it ended
  Resources has = Resources::endless();
  Labels labels = {};
  std::int64_t joins_ms = 0;
  std::int64_t fast_clock = 1;  // its attempts take so many times as long, as it says
  std::string machine = {};     // its name, if it is a fleet's: no other takes its place
  std::string fleet = {};
};

struct Script {
  std::uint64_t seed = 0;
  std::int64_t length_ms = 0;
  bool is_saturated = false;  // each share has more work than all machines can do, and gets its due of them
  std::vector<WorkerPlan> workers;
  std::vector<ScriptEvent> events;  // in order of time
};

/// Every other seed is a crowd: many users with queues, shares, priorities and dependencies, on machines of many sizes;
/// and one in sixty-four of all is saturated.
Script make_script(std::uint64_t seed, std::int64_t hours);

/// One line, for people.
std::string describe(const ScriptEvent& event);
std::string describe(const Script& script);
/// What a job asks for, or a worker has, as the end of a line.
std::string describe(const Resources& resources, const Labels& labels);

}  // namespace drover::sim

// A script that is being written. Each group of happenings has a writer, which says what of it happens and when.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"
#include "sim/crowd.h"
#include "sim/script.h"

namespace drover::sim {

/// The script so far, and what all writers draw from.
struct ScriptDraft {
  /// With its workers, and nothing that happens.
  ScriptDraft(std::uint64_t seed, std::int64_t hours);

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::int64_t short_or_long(std::int64_t short_ms, std::int64_t long_ms) {
    return random.one_in(3) ? between(0, long_ms) : between(0, short_ms);
  }
  std::size_t any_worker() { return random.below(script.workers.size()); }
  void add(std::int64_t at_ms, Happening what) { script.events.push_back({at_ms, std::move(what)}); }

  Script script;
  Random random;
  std::optional<Crowd> crowd;
  bool sized = false;  // workers have an end, and jobs ask for some of it

 private:
  void write_workers();
};

class ScriptWriter {
 public:
  explicit ScriptWriter(ScriptDraft& draft) : draft_(draft), random_(draft.random) {}
  virtual ~ScriptWriter() = default;
  ScriptWriter(const ScriptWriter&) = delete;
  ScriptWriter& operator=(const ScriptWriter&) = delete;

  virtual void write_beginning() {}
  virtual void write_hour(std::int64_t /*from_ms*/) {}
  virtual void write_end() {}

  /// An hour has some faults, for each of which a die is cast.
  static constexpr std::uint64_t kRolls = 22;
  /// Writes the fault that this roll stands for, if it is one of the group. A roll keeps its meaning, so that a seed
  /// keeps its script.
  virtual bool write_fault(std::uint64_t /*roll*/, std::int64_t /*at_ms*/, std::size_t /*worker*/) { return false; }

 protected:
  ScriptDraft& draft_;
  /// The draft's. A group that comes later draws from one of its own, so that the others' part of a script stays as it
  /// is.
  Random& random_;
};

}  // namespace drover::sim

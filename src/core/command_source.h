// For tests: one kind of people or machines that talk to a core. A part of the core brings its own, which
// random_commands.h lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/ledger_model.h"

namespace drover {

/// What all of them know.
struct RandomWorld {
  Random random;
  bool large_jobs = false;
  std::int64_t now_ms = 1'700'000'000'000;

  bool one_in(std::uint64_t count) { return random.one_in(count); }
  std::uint64_t below(std::uint64_t end) { return random.below(end); }
  template <class T>
  T& pick(std::vector<T>& from) {
    return from[below(from.size())];
  }
  /// One that is there, or was, or comes next.
  JobId any_job(const Core& core) { return JobId{below(core.durable().counters.next_job + 1)}; }
  std::string any_stream() { return any_stream(one_in(3)); }
  std::string any_stream(bool fifo) { return "stream" + std::to_string(below(2)) + (fifo ? ".fifo" : ""); }
  std::string any_queue() { return one_in(3) ? "default" : "queue" + std::to_string(below(3)); }
};

class CommandSource {
 public:
  explicit CommandSource(RandomWorld& world) : world_(world), random_(world.random) {}
  virtual ~CommandSource() = default;
  CommandSource(const CommandSource&) = delete;
  CommandSource& operator=(const CommandSource&) = delete;

  /// How often it speaks, beside the others.
  virtual std::uint64_t weight() const = 0;
  /// The next thing somebody does. `ledger` is what a reader of the store would see.
  virtual Command next(const Core& core, const LedgerModel& ledger) = 0;
  /// What the core has asked for.
  virtual std::optional<Command> answer(const Core& /*core*/, const LedgerModel& /*ledger*/) { return std::nullopt; }
  /// An answer that was let out.
  virtual void hear(const Answer& /*answer*/, const Command* /*command*/) {}
  /// The core went down and came back: whatever was in the air is gone.
  virtual void crashed() {}

 protected:
  RandomWorld& world_;
  Random& random_;
};

}  // namespace drover

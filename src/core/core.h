// The machine. Commands go in; effects and mutations come out; nothing else is touched: no clock, no file, no socket,
// no thread. The same commands at the same times, in the same batches, give the same state, byte for byte.
//
// It is composed of parts: jobs/ (jobs and their items), workers/ (workers and what they hold), schedule/ (whose turn
// it is), catalog/ (queues, definitions), streams/ (messages), fleets/ (machines). Each owns its records, carries out
// its commands, and tells others through a narrow interface what happened. What they share is journal.h. Here a command
// finds its part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/command.h"
#include "core/state.h"

namespace drover {

class Core {
 public:
  Core() : Core(Durable{}, 0) {}
  /// Goes on from what a store has loaded. Every worker that holds something gets a full term from `now_ms`.
  Core(Durable durable, std::int64_t now_ms);
  ~Core();
  Core(Core&& other) noexcept;
  Core& operator=(Core&& other) noexcept;

  /// Does one thing. `now_ms` never goes back.
  void apply(Ticket ticket, const Command& command, std::int64_t now_ms);

  /// What was said since the last call; to be let out only when the mutations are durable.
  std::vector<Answer> take_answers();
  /// What must become durable since the last call, as one batch.
  std::vector<Mutation> take_mutations();

  /// The jobs that changed since the last call, in the eyes of people.
  std::vector<JobId> take_touched();
  ItemCounts counts(JobId job) const;
  std::uint64_t in_hands(JobId job) const;

  std::int64_t now_ms() const;
  /// Leases are measured on a clock that stands still while the core cannot step.
  std::int64_t lease_clock_ms() const;
  /// When a Tick is due, if nothing happens before.
  std::optional<std::int64_t> next_deadline() const;
  /// Whether a worker's silence would be noticed at some time: then it matters for how long the core could not step.
  bool has_leases() const;

  const Durable& durable() const;
  const Volatile& volatile_part() const;

 private:
  struct Parts;

  void carry_out(Ticket ticket, const Command& command);
  void on(Ticket ticket, const AskWhy& command);
  void on(Ticket ticket, const AskFleets& command);
  void on(Ticket ticket, const Tick& command);

  std::unique_ptr<Parts> parts_;  // they refer to each other, and stay where they are
};

}  // namespace drover

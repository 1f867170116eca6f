// How attempts are run. A slot runs one attempt at a time and takes a few ahead, so that it is never idle between two.
// run/ has the adapters; a test has a fake.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/words.h"
#include "ports/container.h"

namespace drover {

/// One attempt, with everything about the item filled in.
struct Task {
  Token token;
  std::string program;                   // a path, or a bare name to look up in the environment's PATH
  std::vector<std::string> arguments;    // argv, the program's own name first
  std::vector<std::string> environment;  // "NAME=value", over the slot's
  std::string stdout_path;               // where a full copy of the stream goes; empty: nowhere
  std::string stderr_path;
  // A terminal is made for it, in its container if it has one. The other end is sent through its standard input, which
  // is a socket for that, and what it prints is heard there.
  bool wants_terminal = false;
};

/// What all attempts in a slot share, until it turns to others.
struct SlotSetup {
  std::vector<std::string> environment;  // "NAME=value"
  std::string workdir;                   // absolute; empty: where this process was when the slot was opened
  int hold_descriptor = -1;              // kept open by the slot until all its processes are gone; -1: none
  int device_lock = -1;                  // likewise: while it is open, nobody else has the items' accelerators
  int input_descriptor = -1;             // what its items have as standard input; -1: /dev/null
  ItemLimits limits;
  // Its items run in containers; null: as processes of this machine. Paths and variables are then those inside.
  std::shared_ptr<const ContainerPlan> container;
};

/// Some of what the running attempt printed, in the order in which it was read.
struct AttemptPrinted {
  Token token;
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;  // epoch
  std::string bytes;
};

/// The attempt ended: by itself or killed; everything it printed has been told. `outcome.ending` is `exited`,
/// `signalled`, `out_of_memory` or `not_started`; why it was killed is known to whoever asked for it.
struct AttemptEnded {
  Token token;
  Outcome outcome;
  Usage usage;
  bool was_stopped = false;        // a stop() reached it before it ended
  std::uint64_t stdout_bytes = 0;  // all that was written
  std::uint64_t stderr_bytes = 0;
  int copy_error = 0;  // why a copy of its output is not whole, as errno tells it; 0: it is
};

/// A task that was taken ahead and not started comes back, after recall().
struct TaskReturned {
  Token token;
};

/// The slot itself is gone. What it ran was killed and is lost; what it had taken ahead was not started.
struct SlotDied {
  std::string reason;
};

using SlotEvent = std::variant<AttemptPrinted, AttemptEnded, TaskReturned, SlotDied>;

class Slot {
 public:
  virtual ~Slot() = default;

  /// To wait on: readable when events() has something, writable matters while has_unsent().
  virtual int descriptor() const = 0;
  virtual bool has_unsent() const = 0;
  virtual void send_more() = 0;

  /// Makes it a slot for other items, without the cost of another. Everything that it was given has ended or come back.
  /// False: it cannot be that one; open it.
  virtual bool turn_to(const SlotSetup& setup) = 0;
  /// Takes a task, to start when those before it have ended.
  virtual void start(const Task& task) = 0;
  /// Stops the attempt if it is the one running, when it has run for `ran_ms`; otherwise nothing happens.
  virtual void stop(Token token, StopHow how, std::int64_t ran_ms) = 0;
  /// Asks for everything not yet started; each comes back as TaskReturned, the last first.
  virtual void recall() = 0;
  /// Some of what happened since the last call; does not wait. An attempt that prints waits until it has been heard.
  virtual std::vector<SlotEvent> events() = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual Result<std::unique_ptr<Slot>> open_slot(const SlotSetup& setup) = 0;
};

}  // namespace drover

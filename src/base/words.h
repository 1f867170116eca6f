// The words that core and agent share: what names an attempt, how it ended, what it used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace drover {

/// The right to report on one item: the grant that handed it out, and the item. Grant numbers only rise, so at most
/// one token per item is current.
struct Token {
  GrantId grant;
  ItemIndex item;

  constexpr auto operator<=>(const Token&) const = default;
};

/// How an attempt ended.
enum class Ending : std::uint8_t {
  exited,         // by itself, with an exit code
  signalled,      // by a signal nobody of us sent
  timed_out,      // killed by us: it ran longer than its job allows
  not_started,    // the command could not be started
  stopped,        // killed by us: its job was cancelled
  lost,           // the machine, the worker or the slot under it went away
  out_of_memory,  // killed by the kernel: it needed more memory than it may have
};

std::string_view to_string(Ending ending);

struct Outcome {
  Ending ending = Ending::exited;
  std::int32_t exit_code = 0;  // with `exited`
  std::int32_t signal = 0;     // with `signalled`, and what ended a killed one
  std::string reason;          // for people; empty when ending and code say it all

  bool success() const { return ending == Ending::exited && exit_code == 0; }
  bool operator==(const Outcome&) const = default;
};

/// Where a piece of an attempt's log comes from.
enum class LogStream : std::uint8_t {
  out,
  err,
  note,  // said by Drover itself, such as where something was cut out
};

std::string_view to_string(LogStream stream);

/// How hard a running attempt is stopped.
enum class StopHow : std::uint8_t {
  terminate,  // SIGTERM (and SIGCONT) to the attempt's process group
  kill,       // SIGKILL to every process that came from it
};

/// What an attempt used.
struct Usage {
  std::int64_t started_ms = 0;  // epoch
  std::int64_t wall_us = 0;
  std::int64_t user_us = 0;
  std::int64_t system_us = 0;
  std::int64_t peak_memory_kib = 0;
  std::int64_t read_bytes = 0;     // from storage, not from a cache
  std::int64_t written_bytes = 0;  // to storage
  // Of its GPUs, where the driver tells. They are its own while it runs.
  std::int64_t gpu_busy_us = 0;          // how long they were busy, all together
  std::int64_t peak_gpu_memory_kib = 0;  // likewise
  std::int64_t gpu_energy_mj = 0;        // millijoules

  bool operator==(const Usage&) const = default;
};

/// What one item may use. 0: as much as it likes.
struct ItemLimits {
  std::uint64_t memory_bytes = 0;
  std::uint32_t milli_cpus = 0;
  std::uint32_t processes = 0;  // and threads
  std::int32_t nice = 0;
  std::uint64_t log_bytes = 0;  // kept of its output: the beginning and the end

  bool operator==(const ItemLimits&) const = default;
};

/// Bytes that are no text.
struct Bytes {
  std::string value;

  bool operator==(const Bytes&) const = default;
};

/// What an attempt printed: where it is kept, how much it was, and the line that says most.
struct AttemptLog {
  Bytes extents;            // as the module logs writes them; empty: nothing was printed
  std::uint64_t bytes = 0;  // all that was printed, also what was cut out
  std::string last_line;    // of stderr, else of stdout; of attempts that did not succeed

  bool operator==(const AttemptLog&) const = default;
};

/// "SIGKILL", "SIGRTMIN+2".
std::string signal_name(std::int32_t signal);

/// "exit code 3", "signal 9 (SIGKILL)", "timed out", "out of memory", "could not start".
std::string failure_kind(Ending ending, std::int32_t exit_code, std::int32_t signal);

/// "exited with code 3", "killed by signal 9 (SIGKILL)": an outcome in words.
std::string describe(const Outcome& outcome);

}  // namespace drover

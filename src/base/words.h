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
  exited,       // by itself, with an exit code
  signalled,    // by a signal nobody of us sent
  timed_out,    // killed by us: it ran longer than its job allows
  not_started,  // the command could not be started
  stopped,      // killed by us: its job was cancelled
  lost,         // the machine, the worker or the slot under it went away
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

  bool operator==(const Usage&) const = default;
};

/// Bytes that are no text.
struct Bytes {
  std::string value;
};

/// "exited with code 3", "killed by signal 9 (SIGKILL)": an outcome in words.
std::string describe(const Outcome& outcome);

}  // namespace drover

// What passes between core and agent: leases one way, orders with them, reports the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/resources.h"
#include "base/words.h"

namespace drover {

/// A range of one job's items handed to one worker, to be run in order.
struct Lease {
  GrantId grant;
  JobId job;
  ItemIndex first;
  std::uint64_t count = 0;
  std::vector<AttemptNumber> attempts;  // one per item; empty when every item is at its first
  std::int64_t timeout_ms = 0;          // per attempt; 0: none
  std::int64_t grace_ms = 0;            // between SIGTERM and SIGKILL
  Resources ask;                        // of each item

  AttemptNumber attempt_of(std::uint64_t offset) const {
    return attempts.empty() ? AttemptNumber{1} : attempts[offset];
  }
  bool operator==(const Lease&) const = default;
};

enum class StopMode : std::uint8_t {
  finish_running,  // start nothing more of this job; what runs may end
  kill_running,    // and kill what runs
};

struct StopOrder {
  JobId job;
  StopMode mode = StopMode::finish_running;
  bool operator==(const StopOrder&) const = default;
};

/// Whether a worker means to stay.
enum class Leaving : std::uint8_t {
  no,
  draining,  // it takes no more, and goes when what it runs has ended
  gone,      // with this: whatever it still holds is for others
};

/// An attempt that has ended, as the worker tells it.
struct EndedAttempt {
  Token token;
  Outcome outcome;
  Usage usage;
  std::uint32_t slot = 0;  // of the worker
  AttemptLog log;
  bool operator==(const EndedAttempt&) const = default;
};

/// What a worker has to say of a job as a whole.
struct JobNote {
  JobId job;
  std::string text;       // what it waits for before it can run anything of it; empty: nothing any more
  bool is_final = false;  // nothing of it can be run, on whatever machine: why

  bool operator==(const JobNote&) const = default;
};

/// An attempt that runs and is worth remembering: if its worker is lost now, it counts as a lost attempt.
struct RunningAttempt {
  Token token;
  std::int64_t started_ms = 0;
  bool operator==(const RunningAttempt&) const = default;
};

}  // namespace drover

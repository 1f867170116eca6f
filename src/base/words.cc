#include "base/words.h"

#include <cstring>

#include "base/text.h"

namespace drover {

std::string_view to_string(Ending ending) {
  switch (ending) {
    case Ending::exited: return "exited";
    case Ending::signalled: return "signalled";
    case Ending::timed_out: return "timed_out";
    case Ending::not_started: return "not_started";
    case Ending::stopped: return "stopped";
    case Ending::lost: return "lost";
  }
  return "unknown";
}

std::string describe(const Outcome& outcome) {
  if (!outcome.reason.empty()) return outcome.reason;
  switch (outcome.ending) {
    case Ending::exited: return concat("exited with code ", outcome.exit_code);
    case Ending::signalled: {
      const char* name = sigabbrev_np(outcome.signal);
      return concat("killed by signal ", outcome.signal, " (SIG", name != nullptr ? name : "?", ")");
    }
    case Ending::timed_out: return "timed out";
    case Ending::not_started: return "could not start";
    case Ending::stopped: return "stopped: the job was cancelled";
    case Ending::lost: return "lost";
  }
  return "ended";
}

}  // namespace drover

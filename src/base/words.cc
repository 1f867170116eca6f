#include "base/words.h"

#include <csignal>
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
    case Ending::out_of_memory: return "out_of_memory";
  }
  return "unknown";
}

std::string_view to_string(LogStream stream) {
  switch (stream) {
    case LogStream::out: return "stdout";
    case LogStream::err: return "stderr";
    case LogStream::note: return "drover";
  }
  return "unknown";
}

std::string signal_name(std::int32_t signal) {
  if (const char* name = sigabbrev_np(signal)) return concat("SIG", name);
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) return concat("SIGRTMIN+", signal - SIGRTMIN);
  return concat("signal ", signal);
}

std::string failure_kind(Ending ending, std::int32_t exit_code, std::int32_t signal) {
  switch (ending) {
    case Ending::exited: return concat("exit code ", exit_code);
    case Ending::signalled: return concat("signal ", signal, " (", signal_name(signal), ")");
    case Ending::timed_out: return "timed out";
    case Ending::not_started: return "could not start";
    case Ending::stopped: return "stopped";
    case Ending::lost: return "lost";
    case Ending::out_of_memory: return "out of memory";
  }
  return "unknown";
}

std::string describe(const Outcome& outcome) {
  if (!outcome.reason.empty()) return outcome.reason;
  switch (outcome.ending) {
    case Ending::exited: return concat("exited with code ", outcome.exit_code);
    case Ending::signalled: return concat("killed by signal ", outcome.signal, " (", signal_name(outcome.signal), ")");
    case Ending::timed_out: return "timed out";
    case Ending::not_started: return "could not start";
    case Ending::stopped: return "stopped: the job was cancelled";
    case Ending::lost: return "lost";
    case Ending::out_of_memory: return "out of memory";
  }
  return "ended";
}

}  // namespace drover

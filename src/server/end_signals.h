// The signals that end a server. They are blocked in every thread, and waited for.
#pragma once

#include <signal.h>

#include <cstdint>

namespace drover {

/// A signal that ends the server, or -1 after so long.
inline int wait_for_signal(std::int64_t ms) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  return sigtimedwait(&wanted, nullptr, &time);
}

}  // namespace drover

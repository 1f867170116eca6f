// Threads that take no signals: those belong to main, and a peer that hangs up while OpenSSL writes raises SIGPIPE.
#pragma once

#include <thread>
#include <utility>

#include <signal.h>

namespace drover {

/// A thread in which every signal is blocked.
template <class Body>
std::thread quiet_thread(Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace drover

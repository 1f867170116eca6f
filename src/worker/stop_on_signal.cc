#include "worker/stop_on_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace drover {
namespace {

std::atomic<int> came = 0;
std::atomic<int> tell = -1;  // where the thread listens

// A handler, and no signalfd: whichever thread the signal comes to, it is not to end the program.
void on_signal(int number) {
  const int error = errno;
  came = number;
  const char byte = 1;
  if (::write(tell, &byte, 1) < 0) came = number;
  errno = error;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  came = 0;
  if (::pipe2(pipe_, O_CLOEXEC) != 0) return;  // then Ctrl-C does what it does otherwise
  tell = pipe_[1];
  thread_ = std::thread([this] {
    char byte = 0;
    while (::read(pipe_[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte == 1) stop_.request_stop();
  });
  struct sigaction ours{};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    // What nohup has switched off stays so.
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &ours, nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  if (!thread_.joinable()) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  const char byte = 0;
  if (::write(pipe_[1], &byte, 1) < 0) stop_.request_stop();
  ::close(pipe_[1]);
  thread_.join();
  ::close(pipe_[0]);
}

int StopOnSignal::signal() const {
  return came;
}

}  // namespace drover

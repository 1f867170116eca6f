#include "screen/full_screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace drover {
namespace {

constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";  // the other screen, no cursor, no wrapping
constexpr const char* kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr const char* kBeginFrame = "\x1b[?2026h\x1b[H";
constexpr const char* kEndFrame = "\x1b[J\x1b[?2026l";
constexpr const char* kEndLine = "\x1b[m\x1b[K";

sigset_t kept_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH}) sigaddset(&set, signal);
  return set;
}

}  // namespace

FullScreen::FullScreen(int in, int out) : in_(in), out_(out), has_keys_(isatty(in) == 1) {
  const sigset_t set = kept_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  enter();
}

FullScreen::~FullScreen() {
  leave();
  if (signals_ >= 0) close(signals_);
}

void FullScreen::enter() {
  if (has_keys_ && tcgetattr(in_, &before_) == 0) {
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    tcsetattr(in_, TCSADRAIN, &now);
  }
  send(kEnter);
}

void FullScreen::leave() {
  send(kLeave);
  if (has_keys_) tcsetattr(in_, TCSADRAIN, &before_);
}

ScreenSize FullScreen::size() const {
  winsize now{};
  if (ioctl(out_, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) return {};
  return {now.ws_col, now.ws_row};
}

void FullScreen::send(const std::string& text) const {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t sent = ::write(out_, text.data() + at, text.size() - at);
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return;  // wait() will see that it is gone
    if (sent > 0) at += static_cast<std::size_t>(sent);
  }
}

void FullScreen::draw(const std::vector<std::string>& lines) {
  std::string frame = kBeginFrame;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) frame += "\r\n";
    frame += lines[i] + kEndLine;
  }
  send(frame + kEndFrame);
}

FullScreen::Event FullScreen::wait(int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return Event::time_is_up;
    pollfd watched[2] = {{signals_, POLLIN, 0}, {in_, POLLIN, 0}};
    if (::poll(watched, has_keys_ ? 2 : 1, static_cast<int>(left)) <= 0) continue;
    if (watched[0].revents != 0) {
      signalfd_siginfo told{};
      if (::read(signals_, &told, sizeof told) != sizeof told) continue;
      if (told.ssi_signo == SIGWINCH) return Event::resized;
      if (told.ssi_signo != SIGTSTP) return Event::quit;
      leave();
      ::raise(SIGSTOP);
      enter();
      return Event::resized;
    }
    if (!has_keys_ || watched[1].revents == 0) continue;
    char key = 0;
    if (::read(in_, &key, 1) != 1 || key == 'q' || key == 'Q') return Event::quit;
  }
}

}  // namespace drover

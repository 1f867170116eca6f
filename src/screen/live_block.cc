#include "screen/live_block.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "screen/cells.h"

namespace drover {
namespace {

constexpr std::string_view kBegin = "\x1b[?2026h\x1b[?25l";  // show nothing until the end; hide the cursor
constexpr std::string_view kEnd = "\x1b[?25h\x1b[?2026l";
constexpr std::string_view kWrapOff = "\x1b[?7l";
constexpr std::string_view kWrapOn = "\x1b[?7h";
constexpr std::string_view kClearToLineEnd = "\x1b[m\x1b[K";
constexpr std::string_view kDown = "\x1b[B";  // without scrolling

// A block that loses a line and gains it again makes the whole screen jump.
constexpr unsigned kDrawsBeforeShrinking = 20;
// All lines are written again every so often, in case something else wrote over them.
constexpr unsigned kDrawsBeforeMending = 10;
constexpr int kPatience_ms = 100;
constexpr int kLastPatience_ms = 1000;

std::string go_up(std::size_t rows) {
  return rows == 0 ? "\r" : concat("\x1b[", rows, "A\r");
}

// Empties the cursor's row and `more` below it, and stays. Row by row: told to clear all of a screen at once, tmux
// saves it in its history first, and the block would be left there.
std::string clear_rows(std::size_t more) {
  std::string out(kClearToLineEnd);
  for (std::size_t i = 0; i < more; ++i) out += concat(kDown, kClearToLineEnd);
  return more == 0 ? out : out + go_up(more);
}

/// The terminal once more, for a description that does not block and is not shared; -1: it is another user's.
int open_again(int fd) {
  return ::open(concat("/proc/self/fd/", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

bool can_draw_on(int fd) {
  const std::string_view term = environment("TERM");
  return !term.empty() && term != "dumb" && isatty(fd) == 1;
}

Narrowing usual_narrowing() {
  if (!environment("TMUX").empty()) return Narrowing::wraps;
  const bool cuts =
      environment("TERM") == "linux" || !environment("STY").empty() || !environment("XTERM_VERSION").empty();
  return cuts ? Narrowing::cuts : Narrowing::wraps;
}

LiveBlock::LiveBlock(int fd, Narrowing narrowing)
    : own_fd_(open_again(fd)), fd_(own_fd_ < 0 ? fd : own_fd_), narrowing_(narrowing) {}

LiveBlock::~LiveBlock() {
  erase();
  if (own_fd_ >= 0) ::close(own_fd_);
}

ScreenSize LiveBlock::size() const {
  winsize size{};
  // Serial lines and some containers say 0 by 0: nobody told them.
  if (ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

bool LiveBlock::in_background() const {
  const pid_t foreground = tcgetpgrp(fd_);
  return foreground > 0 && foreground != getpgrp();  // an error: not our controlling terminal, so nobody's shell
}

bool LiveBlock::takes_output(int wait_ms) const {
  pollfd wanted{fd_, POLLOUT, 0};
  return poll(&wanted, 1, wait_ms) > 0;  // also when it is gone: the write will tell
}

void LiveBlock::draw(std::vector<std::string> lines) {
  if (gone_) return;
  if (!takes_output(0) || !flush(0)) return;
  const ScreenSize now = size();
  // Lines too wide were made for a size that has just changed; the next ones will fit.
  if (std::ranges::any_of(lines, [&](const auto& line) { return cells_of(line) >= now.columns; })) return;
  lines.resize(std::min(lines.size(), now.rows - 1));  // the cursor's line is below them
  const std::size_t before = shown_.size() - padding_;
  if (lines.size() >= before || now != shown_size_ || ++lower_draws_ >= kDrawsBeforeShrinking) {
    lower_draws_ = 0;
  } else {
    lines.resize(before);
  }
  show(std::move(lines), now, ++draws_ % kDrawsBeforeMending == 0 ? Rewrite::all : Rewrite::changed);
}

void LiveBlock::print_above(std::string_view text) {
  if (gone_ || text.empty()) return;
  above_ += text;
  if (!text.ends_with('\n')) above_ += '\n';
  if (!takes_output(0) || !flush(0)) return;
  const ScreenSize now = size();
  std::vector<std::string> lines;
  // After a resize what was shown may not fit; the next draw will bring what does.
  if (now == shown_size_) lines.assign(shown_.begin() + static_cast<std::ptrdiff_t>(padding_), shown_.end());
  show(std::move(lines), now, Rewrite::changed);
}

void LiveBlock::erase() {
  if (gone_ || (shown_.empty() && above_.empty() && unsent_.empty())) return;
  if (!takes_output(kLastPatience_ms) || !flush(kLastPatience_ms)) return;
  show({}, size(), Rewrite::changed);
  flush(kLastPatience_ms);
}

void LiveBlock::forget() {
  shown_.clear();
  padding_ = 0;
}

void LiveBlock::show(std::vector<std::string> lines, ScreenSize now, Rewrite rewrite) {
  if (in_background()) {  // the screen is the shell's now
    forget();
    unsent_ = std::exchange(above_, {});
    flush(kPatience_ms);
    return;
  }
  set_padding(lines.size(), now);
  lines.insert(lines.begin(), padding_, std::string());
  const bool anew = now != shown_size_ || !above_.empty();
  if (!anew && rewrite == Rewrite::changed && lines == shown_) return;
  const std::size_t rows = rows_shown(now);
  std::string frame = concat(kBegin, go_up(rows));
  if (anew) frame += concat(clear_rows(rows), std::exchange(above_, {}));
  if (anew || rewrite == Rewrite::all) shown_.clear();
  frame += kWrapOff;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i >= shown_.size() || lines[i] != shown_[i]) frame += concat(lines[i], kClearToLineEnd);
    frame += "\r\n";
  }
  frame += concat(clear_rows(anew || rows < lines.size() ? 0 : rows - lines.size()), kWrapOn, kEnd);
  shown_ = std::move(lines);
  shown_size_ = now;
  unsent_ = std::move(frame);
  flush(kPatience_ms);
}

// Lines that a narrower terminal has wrapped leave rows free once they are drawn anew. If the block moved up into them,
// the next narrowing would push its upper part out of the screen while the rows below it stay empty: so they are kept
// above it. They go as soon as there is something to print there.
void LiveBlock::set_padding(std::size_t lines, ScreenSize now) {
  if (lines == 0 || !above_.empty()) {
    padding_ = 0;
  } else if (now != shown_size_) {
    const std::size_t rows = rows_shown(now);
    padding_ = rows - std::min(rows, lines);
  } else {
    const std::size_t before = shown_.size() - padding_;
    padding_ -= std::min(padding_, lines - std::min(lines, before));
  }
}

// How many rows above the cursor the block takes now, as far as they are on the screen.
std::size_t LiveBlock::rows_shown(ScreenSize now) const {
  const bool wrapped = now.columns < shown_size_.columns && narrowing_ == Narrowing::wraps;
  std::size_t rows = 0;
  for (const std::string& line : shown_) rows += wrapped ? rows_when_wrapped(line, now.columns) : 1;
  return std::min(rows, now.rows - 1);
}

bool LiveBlock::flush(int patience_ms) {
  bool has_waited = false;
  while (!unsent_.empty() && !gone_) {
    const ssize_t sent = write(fd_, unsent_.data(), unsent_.size());
    if (sent >= 0) {
      unsent_.erase(0, static_cast<std::size_t>(sent));
      has_waited = false;
    } else if (errno == EAGAIN) {
      // A terminal may say that it is ready and take nothing.
      if (has_waited || !takes_output(patience_ms)) return false;
      has_waited = true;
    } else if (errno != EINTR) {
      gone_ = true;
    }
  }
  return !gone_;
}

}  // namespace drover

// All of a terminal, for as long as somebody watches: lines drawn in place, keys read as they are pressed. What stood
// there before comes back at the end, also while the process is stopped (Ctrl-Z).
#pragma once

#include <termios.h>

#include <cstdint>
#include <string>
#include <vector>

#include "screen/screen_size.h"

namespace drover {

class FullScreen {
 public:
  /// Both stay the caller's. SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH are kept from now on, and read by wait().
  FullScreen(int in, int out);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  ScreenSize size() const;

  /// No more lines than rows, each narrower than the terminal.
  void draw(const std::vector<std::string>& lines);

  enum class Event : std::uint8_t {
    time_is_up,
    resized,  // or back after it was stopped: draw again
    quit,     // q, Ctrl-C, or the terminal is gone
  };
  Event wait(int timeout_ms);

 private:
  void enter();
  void leave();
  void send(const std::string& text) const;

  int in_;
  int out_;
  int signals_ = -1;
  bool has_keys_ = false;
  termios before_{};
};

}  // namespace drover

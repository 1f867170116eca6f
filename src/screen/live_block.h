// A block of lines at the bottom of a terminal, updated in place.
//
// The block stands above the cursor, which rests on an empty line of its own: what a person types, ^C, or a shell's
// prompt after the process was stopped or killed never lands inside. Between two refreshes the terminal is in its
// ordinary state (cursor shown, wrapping on), so there is nothing to restore. Every movement is relative to the cursor,
// because terminals move it along with the text when they are resized.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "screen/screen_size.h"

namespace drover {

/// Whether `fd` is a terminal that a block can be drawn on, by TERM.
bool can_draw_on(int fd);

/// What a terminal does with lines that have become wider than it is.
enum class Narrowing {
  wraps,  // most terminals, tmux
  cuts,   // xterm, the Linux console, GNU screen
};

/// What this process's terminal does, by its environment.
Narrowing usual_narrowing();

class LiveBlock {
 public:
  /// `fd` stays the caller's. Whoever draws never waits for a terminal that takes no output.
  explicit LiveBlock(int fd, Narrowing narrowing = usual_narrowing());
  /// Erases the block.
  ~LiveBlock();
  LiveBlock(const LiveBlock&) = delete;
  LiveBlock& operator=(const LiveBlock&) = delete;

  /// The terminal's size now.
  ScreenSize size() const;

  /// Shows `lines`, each narrower than the terminal, in the place of those shown before. Does nothing while the process
  /// is in the background or the terminal takes no output (Ctrl-S).
  void draw(std::vector<std::string> lines);

  /// Writes whole lines above the block, where they stay. `text` goes out as it is, with a line end if it has none.
  void print_above(std::string_view text);

  /// Takes the block away; the cursor is where its first line was.
  void erase();

  /// Leaves what is shown where it is, and draws anew below: for after others wrote to the terminal (SIGCONT).
  void forget();

  /// The terminal went away: nothing will be written any more.
  bool gone() const { return gone_; }

 private:
  bool in_background() const;
  bool takes_output(int wait_ms) const;
  enum class Rewrite { changed, all };
  void show(std::vector<std::string> lines, ScreenSize now, Rewrite rewrite);
  void set_padding(std::size_t lines, ScreenSize now);
  std::size_t rows_shown(ScreenSize now) const;
  bool flush(int patience_ms);

  const int own_fd_;  // -1: none
  const int fd_;
  const Narrowing narrowing_;
  std::vector<std::string> shown_;  // the padding first
  std::size_t padding_ = 0;         // empty lines above the others, which keep the cursor where a resize has put it
  ScreenSize shown_size_;
  std::string above_;   // to be printed above with the next frame
  std::string unsent_;  // the rest of a frame that the terminal did not take yet
  unsigned draws_ = 0;
  unsigned lower_draws_ = 0;  // how many in a row had fewer lines than are shown
  bool gone_ = false;
};

}  // namespace drover

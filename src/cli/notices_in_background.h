// Standard error. Nothing that a verb which runs for long prints there makes it wait for the reader, not even the error
// that it exits with.
#pragma once

#include <string_view>

#include "notices/background_lines.h"

namespace drover {

/// While it exists, what is printed there is written in the background. One at a time, made before other threads print
/// and destroyed after they did.
class NoticesInBackground {
 public:
  NoticesInBackground();
  ~NoticesInBackground();
  NoticesInBackground(const NoticesInBackground&) = delete;
  NoticesInBackground& operator=(const NoticesInBackground&) = delete;

 private:
  BackgroundLines lines_;
};

/// To standard error, in the background or not. From any thread.
void print_to_error(std::string_view text);

/// Before something is written there, or to standard output, in another way: keeps the order on a terminal that shows
/// both. Waits for a reader, but not for long.
void flush_notices();

}  // namespace drover

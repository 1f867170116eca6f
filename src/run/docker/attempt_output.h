// What one attempt in a container prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ports/descriptor.h"
#include "ports/runner.h"
#include "run/docker/slot_events.h"
#include "run/docker/stream_frames.h"
#include "run/slot/output_end.h"

namespace drover {

/// Passes it on as it comes: all of it, or its beginning and, when it has ended, its end. Writes full copies where the
/// task asks for them.
class AttemptOutput {
 public:
  explicit AttemptOutput(SlotEvents& events) : events_(events) {}

  /// `limit` 0: none. What went wrong, for people; empty: nothing.
  std::string begin(const Task& task, std::uint64_t limit);
  /// Some of what the daemon sent. False: not now, unless it takes everything.
  bool take(std::string_view bytes);
  void take_everything(bool does) { takes_everything_ = does; }
  /// There is no more. If all of it was the message of a command that could not be started, that is not passed on but
  /// the answer.
  std::string end(int exit_code);

  std::uint64_t stdout_bytes() const { return stdout_.bytes; }
  std::uint64_t stderr_bytes() const { return stderr_.bytes; }
  /// What went wrong with a copy, as errno tells it; 0: nothing.
  int copy_error() const { return stdout_.copy_error != 0 ? stdout_.copy_error : stderr_.copy_error; }
  /// What went wrong with the copies.
  std::vector<std::string> problems() const;

 private:
  struct Stream {
    std::uint64_t bytes = 0;
    std::string copy_path;
    Descriptor copy;
    int copy_error = 0;
  };

  static std::string open_copy(Stream& stream, const std::string& path);
  Stream& of(LogStream stream) { return stream == LogStream::err ? stderr_ : stdout_; }
  void add(LogStream stream, std::string_view bytes);
  void pass_on(LogStream stream, std::string_view bytes);
  void copy(Stream& stream, std::string_view bytes);

  SlotEvents& events_;
  Token token_;
  std::uint64_t limit_ = 0;
  std::uint64_t head_left_ = 0;
  std::int64_t cut_ms_ = 0;
  bool takes_everything_ = false;
  StreamFrames frames_;
  Stream stdout_;
  Stream stderr_;
  slot::OutputEnd end_;
  // The very beginning, while it could be the message of a command that could not be started.
  bool is_held_ = true;
  LogStream held_stream_ = LogStream::out;
  std::string held_;
};

}  // namespace drover

// The attempt that runs in this slot.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/words.h"
#include "ports/runner.h"
#include "run/slot/cgroup.h"
#include "run/slot/launch.h"
#include "run/slot/setup.h"
#include "run/slot/stream_capture.h"
#include "run/slot/task_plan.h"

namespace drover::slot {

/// One attempt from its start until every process that came from it is gone, then the next one in the same object.
///
///   idle ── start ──► running ── its first process ended ──► clearing ── nobody is left ──► over ── report ──► idle
///             └───────────────── it could not be started ──────────────────────────────────►┘
class Attempt {
 public:
  explicit Attempt(Outbox& outbox) : outbox_(outbox), output_(outbox) {}

  bool is_idle() const { return state_ == State::idle; }
  bool is_over() const { return state_ == State::over; }
  bool is_running(Token token) const { return is_live() && token_ == token; }
  pid_t first_process() const { return pid_; }

  void start(const TaskFrame& task, Setup& setup);
  /// Over at once, without a process.
  void refuse(Token token, std::string why);
  void stop(StopHow how);

  StreamCapture& standard_output() { return stdout_; }
  StreamCapture& standard_error() { return stderr_; }
  Output& output() { return output_; }

  /// Takes in every process that has ended. `streams_are_drained`: nothing was in the pipes after the first process
  /// had ended.
  void reap(bool streams_are_drained);
  /// Kills what is left and looks again soon: for when a while has passed and no process has ended.
  void sweep_again();
  /// How long until then; -1: no need to.
  int sweep_in_ms() const { return is_live() && is_killing_ ? sweep_wait_ms_ : -1; }

  /// Adds the frame that says how it ended.
  void report();

 private:
  enum class State : std::uint8_t { idle, running, clearing, over };

  bool is_live() const { return state_ == State::running || state_ == State::clearing; }
  void begin(Token token);
  void add_usage(const rusage& used);
  void sweep();
  void finish(bool streams_are_drained);
  Outcome outcome() const;

  State state_ = State::idle;
  Token token_;
  TaskPlan plan_;
  Outbox& outbox_;
  Output output_;
  StreamCapture stdout_{LogStream::out, output_};
  StreamCapture stderr_{LogStream::err, output_};

  pid_t pid_ = -1;  // of the first process, which also names its process group
  int status_ = 0;  // as wait gives it
  bool was_stopped_ = false;
  bool had_others_ = false;  // processes besides the first one came to us
  bool is_killing_ = false;
  int sweep_wait_ms_ = 0;
  Usage usage_;
  Cgroup* cgroup_ = nullptr;  // of the slot, if the items' memory is watched
  std::int64_t oom_kills_before_ = 0;
  std::int64_t oom_kills_ = 0;
  std::uint64_t memory_limit_ = 0;
  std::int64_t started_us_ = 0;  // steady clock
  std::string problem_;          // why it did not start
  std::vector<std::string> notes_;

  /// Processes that we are not permitted to kill: they outlive their attempt, and no later one waits for them.
  std::vector<pid_t> left_running_;
};

}  // namespace drover::slot

// The attempt that runs in this slot.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
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
///
/// In a container the first process to end may be the runtime that starts it; the item's own comes then.
class Attempt {
 public:
  explicit Attempt(Outbox& outbox) : outbox_(outbox), output_(outbox) {}

  bool is_idle() const { return state_ == State::idle; }
  bool is_over() const { return state_ == State::over; }
  bool is_running(Token token) const { return is_live() && token_ == token; }
  pid_t first_process() const { return pid_; }

  void start(TaskFrame task, Setup& setup);
  /// Over at once, without a process.
  void refuse(Token token, std::string why);
  /// When it has run for so long.
  void stop(StopHow how, std::int64_t ran_ms);
  void stop_if_due();
  /// How long until then; -1: nothing will be due.
  int stop_in_ms() const;

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
  Outcome report();

 private:
  enum class State : std::uint8_t { idle, running, clearing, over };

  struct EarlyEnd {
    pid_t pid = -1;
    int status = 0;
    rusage used{};
  };

  struct DueStop {
    StopHow how = StopHow::terminate;
    std::int64_t ran_us = 0;
  };

  bool is_live() const { return state_ == State::running || state_ == State::clearing; }
  bool is_starting() const;
  void begin(Token token);
  void stop_now(StopHow how);
  void take_end(pid_t pid, int status, const rusage& used);
  void on_started(int status);
  void read_last_words();
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
  Container* container_ = nullptr;
  Setup* setup_ = nullptr;
  std::optional<TaskFrame> task_;      // while a container is started for it
  std::optional<StopHow> stop_later_;  // when it has been started
  std::vector<EarlyEnd> early_;        // ended before it was known who they are
  std::int64_t oom_kills_before_ = 0;
  std::int64_t oom_kills_ = 0;
  std::uint64_t memory_limit_ = 0;
  std::int64_t started_us_ = 0;        // steady clock
  std::int64_t running_since_us_ = 0;  // the same, without what a container takes to be started
  std::vector<DueStop> due_stops_;
  std::string problem_;  // why it did not start
  std::vector<std::string> notes_;

  /// Processes that we are not permitted to kill: they outlive their attempt, and no later one waits for them.
  std::vector<pid_t> left_running_;
};

}  // namespace drover::slot

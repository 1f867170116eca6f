// One attempt by way of a Docker daemon: what those in a fresh container and those in a warm one share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ports/runner.h"
#include "run/docker/attempt_output.h"
#include "run/docker/container_outcome.h"
#include "run/docker/slot_place.h"

namespace drover {

/// An attempt that prints waits until it is heard: first because nobody reads what it prints, and when that takes long,
/// because its container is frozen. For a daemon waits two seconds at an end until all is read, and then drops the
/// rest: by then it must have been read, and there may be no more of it than is on the way.
///
/// Lives on the daemon's thread. Calls back once, with how the attempt ended or with why the daemon cannot be asked any
/// more; not after abandon().
class DockerAttempt : public std::enable_shared_from_this<DockerAttempt> {
 public:
  using Ended = std::function<void(AttemptEnded)>;
  using DaemonGone = std::function<void(std::string)>;

  DockerAttempt(std::shared_ptr<SlotPlace> place, Task task, Ended ended, DaemonGone daemon_gone);
  virtual ~DockerAttempt() = default;

  Token token() const { return task_.token; }

  void begin();
  /// When it has run for so long.
  void stop(StopHow how, std::chrono::milliseconds ran);
  /// What waits to be printed may be.
  void heard();
  /// Nobody wants to know how it ends. What it runs in goes.
  void abandon();

 protected:
  enum class State { starting, running, ended };

  virtual void start() = 0;
  virtual void send_stop(StopHow how) = 0;
  virtual void clean_up() = 0;

  /// Opens the stream of both outputs: `opened` when the daemon has accepted it, `ended` when there is no more.
  void listen(DaemonRequest request, std::function<void()> opened, std::function<void(HttpAnswer)> ended);
  void stop_listening() { place_->daemon.loop().cancel(stream_); }

  /// It runs: stops that came before are sent.
  void is_running();
  void not_started(std::string why);
  /// The daemon could not be asked, or refused.
  void failed(const Error& error);
  /// `end` without notes and limit.
  void finish(ContainerEnd end);

  bool is_over() const { return state_ == State::ended; }

  const std::shared_ptr<SlotPlace> place_;
  const Task task_;
  std::string id_;  // of the container; empty: there is none yet
  Usage usage_;
  State state_ = State::starting;
  bool was_stopped_ = false;

 private:
  void report(Outcome outcome);

  void stop_now(StopHow how);
  bool take(std::string_view bytes);
  void freeze();
  void thaw();
  void take_what_is_left();

  Ended ended_;
  DaemonGone daemon_gone_;
  AttemptOutput output_;
  HttpLoop::Exchange stream_ = 0;
  struct Stop {
    StopHow how = StopHow::terminate;
    std::chrono::milliseconds ran{0};
  };
  std::vector<Stop> stops_;                      // that came before it ran
  std::chrono::steady_clock::time_point since_;  // when it began to run
  bool is_stalled_ = false;                      // it has printed what nobody has heard
  std::uint64_t stalls_ = 0;
  bool is_frozen_ = false;  // or is about to be
};

}  // namespace drover

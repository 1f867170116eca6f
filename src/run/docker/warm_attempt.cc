#include "run/docker/warm_attempt.h"

#include <signal.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>

#include "base/text.h"
#include "host/system_files.h"
#include "run/docker/start_failure.h"
#include "run/stop_signal.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr int kKilled = 137;
// Its init, and what it waits in.
constexpr std::int64_t kOwnProcesses = 2;
// How often one looks for a lack of memory after an end.
constexpr int kLooks = 6;
constexpr std::chrono::milliseconds kLookWait{50};
constexpr std::chrono::milliseconds kFirstLook{1};
constexpr std::chrono::milliseconds kLastLook{200};

bool is_in_container(std::int64_t pid, const std::string& id) {
  const std::string text = read_system_file(concat("/proc/", pid, "/cgroup"));
  return pid > 1 && text.find(id) != std::string::npos;
}

}  // namespace

std::string WarmAttempt::exec_path(std::string_view below) const {
  return concat("/exec/", exec_, below);
}

void WarmAttempt::enter(int tries_left) {
  container_->ready([self = self(), tries_left](Result<std::string> id) {
    if (self->is_over()) return self->container_->discard();  // abandoned meanwhile
    if (!id) return self->failed(id.error());
    self->id_ = *id;
    self->place_->ask("POST", concat("/containers/", *id, "/exec"),
                      command_for(self->place_->setup, self->place_->image.defaults, self->task_),
                      "could not enter the warm container", [self, tries_left](Result<json::value> made) {
                        if (self->is_over()) return;
                        if (made) return self->run(text_at(*made, {"Id"}));
                        const bool is_dead =
                            made.error().code == ErrorCode::not_found || made.error().code == ErrorCode::conflict;
                        if (!is_dead || tries_left == 0) return self->failed(made.error());
                        self->container_->discard();
                        self->enter(tries_left - 1);
                      });
  });
}

void WarmAttempt::run(const std::string& exec) {
  exec_ = exec;
  started_ = Clock::now();
  const json::object how{{"Detach", false}, {"Tty", false}};
  listen(
      place_->daemon.request("POST", exec_path("/start"), json::serialize(how)),
      [self = self()] {
        if (!self->is_over()) self->is_running();
      },
      [self = self()](const HttpAnswer& answer) { self->silent(answer); });
}

void WarmAttempt::silent(const HttpAnswer& answer) {
  if (is_over()) return;
  usage_.wall_us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_).count();
  if (Result<json::value> accepted = place_->daemon.read(answer, {}); !accepted) {
    if (accepted.error().code == ErrorCode::unreachable) return failed(accepted.error());
    return not_started(why_not_started(task_.program, accepted.error().message));
  }
  look(kFirstLook);
}

void WarmAttempt::look(std::chrono::milliseconds wait) {
  place_->ask(
      "GET", exec_path("/json"), "could not inspect a command", [self = self(), wait](const Result<json::value>& said) {
        if (self->is_over()) return;
        // A container that was removed under it takes its commands along.
        if (!said && said.error().code == ErrorCode::not_found) return self->finish({.exit_code = kKilled});
        if (!said) return self->failed(said.error());
        if (truth_at(*said, {"Running"})) {
          return self->place_->daemon.loop().after(wait, [self, wait] { self->look(std::min(wait * 2, kLastLook)); });
        }
        const json::value* code = value_at(*said, {"ExitCode"});
        const bool has_code = code != nullptr && code->is_number();
        const int exit_code = has_code ? static_cast<int>(number_at(*said, {"ExitCode"})) : kKilled;
        if (exit_code == 0 && !self->was_stopped_) return self->count_left_behind(exit_code);
        self->look_for_lack_of_memory(exit_code, kLooks);
      });
}

void WarmAttempt::count_left_behind(int exit_code) {
  place_->ask("GET", concat("/containers/", id_, "/stats?stream=false&one-shot=true"), {},
              [self = self(), exit_code](const Result<json::value>& said) {
                if (self->is_over()) return;
                self->keeps_container_ = said && number_at(*said, {"pids_stats", "current"}) <= kOwnProcesses;
                self->finish({.exit_code = exit_code});
              });
}

void WarmAttempt::look_for_lack_of_memory(int exit_code, int looks_left) {
  place_->ask("GET", concat("/containers/", id_, "/json"), {},
              [self = self(), exit_code, looks_left](const Result<json::value>& said) {
                if (self->is_over()) return;
                const bool had_oom_kill = self->place_->had_oom_kill(self->id_, said ? *said : json::value());
                const bool may_come = self->place_->may_be_oom_kill(exit_code, self->was_stopped_);
                if (!had_oom_kill && may_come && looks_left > 0) {
                  return self->place_->daemon.loop().after(kLookWait, [self, exit_code, looks_left] {
                    self->look_for_lack_of_memory(exit_code, looks_left - 1);
                  });
                }
                self->finish({.exit_code = exit_code, .had_oom_kill = had_oom_kill});
              });
}

void WarmAttempt::signal_container(std::string_view signal) {
  place_->ask("POST", concat("/containers/", id_, "/kill?signal=", signal), {},
              [self = self()](const Result<json::value>&) {});
}

void WarmAttempt::send_stop(StopHow how) {
  if (how == StopHow::kill) return signal_container("SIGKILL");
  place_->ask("GET", exec_path("/json"), {}, [self = self()](const Result<json::value>& said) {
    if (self->is_over() || !said || !truth_at(*said, {"Running"})) return;
    const std::int64_t pid = number_at(*said, {"Pid"});
    // It prints already, but the daemon has not written down who it is.
    if (pid <= 0) {
      return self->place_->daemon.loop().after(kLookWait, [self] {
        if (!self->is_over()) self->send_stop(StopHow::terminate);
      });
    }
    const int polite = stop_signal_of(self->place_->image.defaults);
    if (!is_in_container(pid, self->id_)) return self->signal_container(std::to_string(polite));
    ::kill(static_cast<pid_t>(pid), polite);
    ::kill(static_cast<pid_t>(pid), SIGCONT);
  });
}

void WarmAttempt::clean_up() {
  if (!keeps_container_) container_->discard();
}

}  // namespace drover

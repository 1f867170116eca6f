#include "run/docker/fresh_attempt.h"

#include <algorithm>

#include "base/text.h"
#include "run/docker/start_failure.h"
#include "run/stop_signal.h"

namespace drover {
namespace json = boost::json;
namespace {

// How often one looks for a lack of memory after an end.
constexpr int kLooks = 6;
constexpr std::chrono::milliseconds kLookWait{50};
constexpr std::chrono::milliseconds kFirstSample{100};
constexpr std::chrono::milliseconds kLastSample{5'000};

}  // namespace

std::string FreshAttempt::path(std::string_view below) const {
  return concat("/containers/", id_, below);
}

void FreshAttempt::start() {
  place_->create(container_for(place_->setup, place_->container_place(), task_),
                 [self = self()](Result<std::string> made) {
                   if (!made) return self->failed(made.error());
                   self->created(*made);
                 });
}

void FreshAttempt::created(const std::string& id) {
  id_ = id;
  if (is_over()) return clean_up();  // abandoned meanwhile
  listen(
      place_->daemon.request("POST", path("/attach?stream=1&stdout=1&stderr=1")), [self = self()] { self->run(); },
      [self = self()](const HttpAnswer& answer) { self->silent(answer); });
}

void FreshAttempt::run() {
  place_->ask("POST", path("/start"), {}, [self = self()](const Result<json::value>& started) {
    if (self->is_over()) return;
    if (!started && started.error().code == ErrorCode::unreachable) return self->failed(started.error());
    if (!started) {
      self->stop_listening();
      return self->not_started(why_not_started(self->task_.program, started.error().message));
    }
    self->is_started_ = true;
    self->is_running();
    if (self->place_->usage.name().empty()) self->sample_usage(kFirstSample);
    self->conclude_if_done();
  });
}

void FreshAttempt::silent(const HttpAnswer& answer) {
  if (is_over()) return;
  if (Result<json::value> accepted = place_->daemon.read(answer, "could not attach to a container"); !accepted) {
    return failed(accepted.error());
  }
  is_silent_ = true;
  conclude_if_done();
}

void FreshAttempt::conclude_if_done() {
  if (!is_started_ || !is_silent_) return;
  place_->ask("POST", path("/wait"), "could not wait for a container", [self = self()](const Result<json::value>& end) {
    if (self->is_over()) return;
    if (!end) return self->failed(end.error());
    self->inspect(static_cast<int>(number_at(*end, {"StatusCode"})), kLooks);
  });
}

void FreshAttempt::inspect(int exit_code, int looks_left) {
  place_->ask("GET", path("/json"), "could not inspect a container",
              [self = self(), exit_code, looks_left](const Result<json::value>& said) {
                if (self->is_over()) return;
                if (!said) return self->failed(said.error());
                ContainerEnd end{.exit_code = exit_code, .had_oom_kill = self->place_->had_oom_kill(self->id_, *said)};
                const bool may_come = self->place_->may_be_oom_kill(exit_code, self->was_stopped_);
                if (!end.had_oom_kill && may_come && looks_left > 0) {
                  return self->place_->daemon.loop().after(
                      kLookWait, [self, exit_code, looks_left] { self->inspect(exit_code, looks_left - 1); });
                }
                const std::int64_t started_us = docker_time_us(text_at(*said, {"State", "StartedAt"}));
                const std::int64_t finished_us = docker_time_us(text_at(*said, {"State", "FinishedAt"}));
                if (started_us > 0) {
                  self->usage_.started_ms = started_us / 1'000;
                  self->usage_.wall_us = std::max<std::int64_t>(finished_us - started_us, 0);
                }
                self->finish(end);
              });
}

void FreshAttempt::sample_usage(std::chrono::milliseconds wait) {
  place_->daemon.loop().after(wait, [self = self(), wait] {
    if (self->is_over()) return;
    self->place_->ask(
        "GET", self->path("/stats?stream=false&one-shot=true"), {}, [self, wait](const Result<json::value>& said) {
          if (!said || self->is_over()) return;
          self->usage_.user_us =
              std::max(self->usage_.user_us, number_at(*said, {"cpu_stats", "cpu_usage", "usage_in_usermode"}) / 1'000);
          self->usage_.system_us = std::max(
              self->usage_.system_us, number_at(*said, {"cpu_stats", "cpu_usage", "usage_in_kernelmode"}) / 1'000);
          const std::int64_t memory =
              std::max(number_at(*said, {"memory_stats", "max_usage"}), number_at(*said, {"memory_stats", "usage"}));
          self->usage_.peak_memory_kib = std::max(self->usage_.peak_memory_kib, memory >> 10);
          self->sample_usage(std::min(wait * 2, kLastSample));
        });
  });
}

void FreshAttempt::send_stop(StopHow how) {
  const auto send = [&](std::string_view signal) {
    // Refused: it has ended meanwhile.
    place_->ask("POST", path(concat("/kill?signal=", signal)), {}, [self = self()](const Result<json::value>&) {});
  };
  if (how == StopHow::kill) return send("SIGKILL");
  send(std::to_string(stop_signal_of(place_->image.defaults)));
  send("SIGCONT");
}

void FreshAttempt::clean_up() {
  if (!id_.empty()) place_->remove(id_);
}

}  // namespace drover

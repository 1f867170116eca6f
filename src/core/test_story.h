// For stories of workers that poll, report, drain and get lost.
#pragma once

#include "core/test_world.h"

namespace drover {

/// A core with jobs of the simplest kind, and workers whose whole polls and reports count.
class StoryWorld : public TestWorld {
 public:
  StoryWorld() { now_ms = 1'000'000; }

  JobId submit(std::uint64_t total, const Policy& policy = {}) {
    return TestWorld::submit({{.policy = policy}, total});
  }

  WorkerId worker(const std::string& name, std::uint64_t incarnation = 1, std::int64_t term_ms = 60'000) {
    return std::get<WorkerRegistered>(ask(RegisterWorker{name, incarnation, term_ms})).worker;
  }

  PollAnswer poll(WorkerId worker, std::uint64_t want, Report report = {}, std::vector<PollNumber> given_up = {}) {
    report.worker = worker;
    report.incarnation = core.durable().workers.at(worker).incarnation;
    const Effect effect = ask(Poll{report, PollNumber{++polls_[worker]}, std::move(given_up), want, 0});
    return std::get<PollAnswer>(effect);
  }

  std::vector<Attempt> attempts() const {
    std::vector<Attempt> out;
    for (const Mutation& mutation : mutations) {
      if (const auto* add = std::get_if<AddAttempt>(&mutation)) out.push_back(add->attempt);
    }
    return out;
  }

  /// What was said of workers by the last command.
  std::vector<Standing> standings() const {
    std::vector<Standing> out;
    for (const Answer& answer : answers) {
      if (const auto* it = std::get_if<WorkerStands>(&answer.effect)) out.push_back(it->standing);
    }
    return out;
  }

 private:
  std::map<WorkerId, std::uint64_t> polls_;
};

}  // namespace drover

// For tests: workers that register, poll, report, die, come back, repeat themselves and lie, and those who send them
// away.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/command_source.h"

namespace drover {

class WorkerCommands : public CommandSource {
 public:
  using CommandSource::CommandSource;

  std::uint64_t weight() const override { return 44; }

  Command next(const Core& core, const LedgerModel& /*ledger*/) override {
    if (workers_.empty() || random_.one_in(16)) return register_worker();
    if (random_.one_in(50)) return Readmit{"worker" + std::to_string(random_.below(5))};
    if (random_.one_in(60)) return send_away(world_.pick(workers_));
    if (random_.one_in(5)) return report(world_.pick(workers_));
    return poll(core, world_.pick(workers_));
  }

  void hear(const Answer& answer, const Command* command) override {
    if (const auto* registered = std::get_if<WorkerRegistered>(&answer.effect);
        registered != nullptr && command != nullptr) {
      const auto& asked = std::get<RegisterWorker>(*command);
      for (FakeWorker& worker : workers_) {
        if (worker.name == asked.name) worker.id = registered->worker;
      }
    }
    if (const auto* leases = std::get_if<PollAnswer>(&answer.effect)) {
      for (const Lease& lease : leases->leases) {
        for (std::uint64_t offset = 0; offset < lease.count; ++offset) {
          held_[lease.grant].insert(ItemIndex{lease.first.value + offset});
        }
      }
    }
  }

 private:
  struct FakeWorker {
    std::string name;
    WorkerId id;
    std::uint64_t incarnation = 1;
    std::uint64_t polls = 0;
  };

  Command register_worker() {
    if (workers_.size() < 4 && (workers_.empty() || random_.one_in(2))) {
      workers_.push_back({"worker" + std::to_string(workers_.size()), {}, 1, 0});
      return hello(workers_.back());
    }
    FakeWorker& worker = world_.pick(workers_);
    if (random_.one_in(2)) {
      ++worker.incarnation;
      worker.polls = 0;
    }
    return hello(worker);
  }

  RegisterWorker hello(const FakeWorker& worker) {
    RegisterWorker hello{worker.name, worker.incarnation, random_.one_in(3) ? 0 : 60'000};
    if (random_.one_in(2)) hello.has = {1000 * random_.below(9), random_.below(5) << 30, {random_.below(3), 0, 1}};
    if (random_.one_in(2)) hello.labels["zone"] = random_.one_in(2) ? "a" : "b";
    if (random_.one_in(4)) hello.labels["gpu"] = "";
    if (random_.one_in(2)) hello.labels["market"] = random_.one_in(3) ? "on-demand" : "spot";
    if (random_.one_in(3)) hello.fleet = "name" + std::to_string(random_.below(3));
    return hello;
  }

  Command send_away(const FakeWorker& worker) {
    const std::string name = random_.one_in(20) ? "nobody" : worker.name;
    return random_.one_in(2) ? Command{AskToDrain{name}} : Command{Fence{name}};
  }

  Report report(const FakeWorker& worker) {
    Report report;
    report.worker = worker.id;
    report.incarnation = random_.one_in(40) ? worker.incarnation + 7 : worker.incarnation;
    // Mostly of what was handed out to anybody, and sometimes nonsense.
    for (auto it = held_.begin(); it != held_.end();) {
      auto& [grant, items] = *it;
      for (auto item = items.begin(); item != items.end() && report.ended.size() < 60;) {
        const Token token{grant, *item};
        bool done = false;
        switch (random_.below(8)) {
          case 0: report.running.push_back({token, world_.now_ms}); break;
          case 1:
            if (random_.one_in(4)) {
              report.returned.push_back(token);
              done = true;
            }
            break;
          case 2:
          case 3:
          case 4:
            report.ended.push_back({token, outcome(), Usage{world_.now_ms, 1000, 10, 20, 30, 40, 50}, 6, log()});
            if (random_.one_in(20)) report.ended.push_back(report.ended.back());
            done = !random_.one_in(20);
            break;
          default: break;
        }
        item = done ? items.erase(item) : std::next(item);
      }
      it = items.empty() ? held_.erase(it) : std::next(it);
    }
    if (random_.one_in(10)) report.notes.push_back({JobId{1 + random_.below(8)}, "waits", random_.one_in(30)});
    if (random_.one_in(150)) report.leaving = random_.one_in(2) ? Leaving::draining : Leaving::gone;
    if (random_.one_in(10)) {
      report.ended.push_back({{GrantId{random_.below(50)}, ItemIndex{random_.below(50)}}, outcome(), {}, 0, {}});
    }
    return report;
  }

  Outcome outcome() {
    switch (random_.below(10)) {
      case 0: return {Ending::exited, 3, 0, ""};
      case 1: return {Ending::exited, 75, 0, "a reason"};
      case 2: return {Ending::signalled, 0, 9, ""};
      case 3: return {Ending::timed_out, 0, 15, ""};
      case 4: return {Ending::not_started, 0, 0, "could not start: no such file"};
      case 6: return {Ending::out_of_memory, 0, 9, ""};
      case 5: return random_.one_in(3) ? Outcome{Ending::stopped, 0, 15, ""} : Outcome{Ending::lost, 0, 0, ""};
      default: return {};
    }
  }

  AttemptLog log() {
    if (random_.one_in(2)) return {};
    return {{std::string(1 + random_.below(20), static_cast<char>(random_.below(256)))}, random_.below(1000), "a line"};
  }

  Poll poll(const Core& core, FakeWorker& worker) {
    Poll poll;
    poll.report = report(worker);
    poll.number = PollNumber{random_.one_in(15) ? random_.below(worker.polls + 1) : ++worker.polls};
    if (random_.one_in(8)) poll.given_up.push_back(PollNumber{random_.below(worker.polls + 1)});
    poll.want = random_.one_in(4) ? 0 : random_.one_in(6) ? random_.below(5000) : random_.below(20);
    if (random_.one_in(2)) poll.room = {random_.below(10'000), random_.below(5) << 30, {random_.below(3), 1, 1}};
    poll.wait_ms = random_.one_in(2) ? 0 : static_cast<std::int64_t>(random_.below(20'000));
    while (random_.one_in(4)) poll.not_now.push_back(world_.any_job(core));
    return poll;
  }

  std::vector<FakeWorker> workers_;
  std::map<GrantId, std::set<ItemIndex>> held_;
};

}  // namespace drover

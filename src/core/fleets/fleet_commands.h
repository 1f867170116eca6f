// For tests: people who change fleets, planners that ask for too much, and providers that say whatever they like.
#pragma once

#include <string>

#include "core/command_source.h"

namespace drover {

class FleetCommands : public CommandSource {
 public:
  using CommandSource::CommandSource;

  std::uint64_t weight() const override { return 10; }

  Command next(const Core& core, const LedgerModel& /*ledger*/) override {
    const std::string fleet = "name" + std::to_string(random_.below(3));
    if (core.durable().fleets.size() < 2 && !random_.one_in(3)) return set(fleet);
    switch (random_.below(18)) {
      case 0: return set(fleet);
      case 1:
        if (random_.one_in(3)) return FleetEmptied{fleet};
        return random_.one_in(4) ? Command(DropFleet{fleet}) : Command(PauseFleet{fleet, random_.one_in(3)});
      case 2: return ask();
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: return scale(core, fleet);
      case 8: return arrive(core);
      case 9:
      case 10:
      case 11:
      case 12: return work(core);
      default: return news(core);
    }
  }

 private:
  Command set(const std::string& fleet) {
    SetFleet command{
        {.name = fleet, .text = "{}", .provider = random_.one_in(4) ? "local" : "none", .most = 1 + random_.below(4)}};
    if (random_.one_in(3)) command.spec.most_milli_cpus = 1000 * random_.below(9);
    command.spec.join_ms = static_cast<std::int64_t>(1 + random_.below(5)) * 30'000;
    return command;
  }

  Command ask() {
    AskFleets question{.want_machines = !random_.one_in(4), .want_jobs = !random_.one_in(4)};
    if (random_.one_in(2)) question.machines_after = "m" + std::to_string(random_.below(launched_ + 1));
    if (random_.one_in(2)) question.jobs_after = JobId{random_.below(5)};
    return question;
  }

  Command scale(const Core& core, const std::string& fleet) {
    ScaleFleet command{.fleet = fleet};
    do {
      // Names of workers that come by themselves are among them.
      const std::string name = random_.one_in(12)  ? "worker" + std::to_string(random_.below(5))
                               : random_.one_in(8) ? "m" + std::to_string(random_.below(launched_ + 1))
                                                   : "m" + std::to_string(++launched_);
      command.launches.push_back(
          {name, "small", {1000 * (1 + random_.below(3)), 1 << 30, {}}, "work waits", price(), random_.one_in(2)});
    } while (random_.one_in(2));
    while (random_.one_in(2)) command.drains.push_back({any_machine(core), "it is idle"});
    return command;
  }

  /// Of every third machine it is not known.
  HourlyPrice price() {
    if (random_.one_in(3)) return {};
    const auto on_demand = static_cast<std::int64_t>(1 + random_.below(30'000'000));
    return {static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(on_demand) + 1)), on_demand};
  }

  std::string any_machine(const Core& core) {
    const auto& machines = core.durable().machines;
    if (machines.empty() || random_.one_in(20)) return "nobody";
    return std::next(machines.begin(), static_cast<std::ptrdiff_t>(random_.below(machines.size())))->first;
  }

  /// The worker of a machine registers.
  Command arrive(const Core& core) {
    const auto found = core.durable().machines.find(any_machine(core));
    if (found == core.durable().machines.end()) return ask();
    RegisterWorker hello{found->first, 1 + random_.below(2), random_.one_in(3) ? 0 : 60'000};
    hello.has = found->second.has;
    hello.fleet = found->second.fleet;
    hello.labels = {{"zone", "a"}, {"gpu", ""}, {"market", found->second.spot ? "spot" : "on-demand"}};
    return hello;
  }

  /// The worker of a machine says how some of its items have ended, and polls. What it says of times may be anything.
  Command work(const Core& core) {
    const auto worker = core.volatile_part().worker_by_name.find(any_machine(core));
    if (worker == core.volatile_part().worker_by_name.end()) return arrive(core);
    const auto& known = core.durable().workers.at(worker->second);
    Poll poll;
    poll.report = {.worker = worker->second, .incarnation = known.incarnation};
    for (const GrantId id : core.volatile_part().worker_grants.at(worker->second)) {
      const Grant& grant = core.durable().grants.at(id);
      const Token token{id, ItemIndex{grant.first.value + random_.below(grant.count)}};
      if (random_.one_in(4)) continue;
      if (random_.one_in(4)) {
        poll.report.running.push_back({token, world_.now_ms - static_cast<std::int64_t>(random_.below(10'000))});
      } else {
        const auto wall_us =
            static_cast<std::int64_t>(random_.below(random_.one_in(9) ? 1'000'000'000'000 : 60'000'000));
        poll.report.ended.push_back({.token = token, .usage = {.started_ms = world_.now_ms, .wall_us = wall_us}});
      }
    }
    poll.number = PollNumber{++polls_};
    poll.want = random_.below(4);
    poll.room = known.has;
    return poll;
  }

  Command news(const Core& core) {
    MachineNews news{.machine = any_machine(core)};
    news.what = static_cast<MachineNews::What>(random_.below(4));
    if (!random_.one_in(5)) news.text = "id" + std::to_string(random_.below(3));
    return news;
  }

  std::uint64_t launched_ = 0;
  std::uint64_t polls_ = 0;
};

}  // namespace drover

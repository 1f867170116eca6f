// For tests: people who submit, cancel, reopen, ask and forget, and readers of the ledger.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/command_source.h"

namespace drover {

class JobCommands : public CommandSource {
 public:
  using CommandSource::CommandSource;

  std::uint64_t weight() const override { return 10; }

  Command next(const Core& core, const LedgerModel& ledger) override {
    switch (random_.below(10)) {
      case 0: return CancelJob{world_.any_job(core), "because", random_.one_in(3)};
      case 2: return Watch{world_.any_job(core), ItemIndex{random_.below(40)}};
      case 3:
        if (random_.one_in(2)) {
          return ForgetJob{world_.any_job(core), world_.now_ms - static_cast<std::int64_t>(random_.below(2000))};
        }
        return reopen(core, ledger);
      case 4: return reopen(core, ledger);
      case 5: return ask_why(core);
      default: return submit(core);
    }
  }

  std::optional<Command> answer(const Core& core, const LedgerModel& ledger) override {
    if (!wanted_.empty() && random_.one_in(3)) return next_page(core, ledger);
    if (!marks_wanted_.empty() && random_.one_in(3)) return next_marks(ledger);
    return std::nullopt;
  }

  void hear(const Answer& answer, const Command* /*command*/) override {
    if (const auto* wanted = std::get_if<ReopenWanted>(&answer.effect)) wanted_.push_back(*wanted);
    if (const auto* wanted = std::get_if<MarksWanted>(&answer.effect)) marks_wanted_.push_back(*wanted);
  }

  void crashed() override {
    wanted_.clear();
    if (random_.one_in(2)) marks_wanted_.clear();  // else they come although nobody waits for them
  }

 private:
  Command submit(const Core& core) {
    SubmitJob command;
    command.total = world_.large_jobs && random_.one_in(6) ? random_.below(9000) : random_.below(30);
    for (auto& byte : command.uuid.bytes) byte = static_cast<std::uint8_t>(random_.next());
    if (!core.durable().jobs.empty() && random_.one_in(10)) command.uuid = core.durable().jobs.begin()->second.uuid;
    command.name = "job" + std::to_string(random_.below(1000));
    command.definition = DefinitionId{1 + random_.below(3)};
    command.manifest = ManifestId{1 + random_.below(3)};
    command.policy = policy();
    if (random_.one_in(2)) command.ask = {random_.below(9000), random_.one_in(2) ? 0 : random_.below(5) << 30};
    if (random_.one_in(6)) command.ask.accelerators[random_.below(kAccelerators)] = 1 + random_.below(2);
    if (random_.one_in(4)) command.require["zone"] = random_.one_in(2) ? "a" : "b";
    if (random_.one_in(6)) command.spot.use = random_.one_in(2) ? SpotUse::only : SpotUse::never;
    command.spot.on_demand_after_losses = static_cast<std::uint32_t>(random_.below(3));
    command.spot.on_demand_after_ms = static_cast<std::int64_t>(random_.below(5000));
    if (random_.one_in(2)) command.place.queue = world_.any_queue();
    command.place.priority = static_cast<std::uint32_t>(random_.below(3));
    command.place.owner = random_.one_in(2) ? "" : "user" + std::to_string(random_.below(2));
    if (random_.one_in(2)) command.place.share = "share" + std::to_string(random_.below(3));
    while (random_.one_in(6)) {
      command.after.push_back({world_.any_job(core), random_.one_in(2)});
      const Job* other = core.durable().find_job(command.after.back().job);
      if (other != nullptr && command.after.back().each && !random_.one_in(10)) command.total = other->total;
    }
    command.sequential = random_.one_in(12);
    if (random_.one_in(8)) {
      command.stream = world_.any_stream();
      command.until_empty = random_.one_in(2);
      command.total = random_.one_in(10) ? 1 : 0;
      command.sequential = random_.one_in(10);
    }
    if (random_.one_in(6)) command.max_running = 1 + random_.below(4);
    if (random_.one_in(6)) command.job_timeout_ms = static_cast<std::int64_t>(1 + random_.below(5000));
    return command;
  }

  Command ask_why(const Core& core) {
    AskWhy command{world_.any_job(core), std::nullopt};
    if (random_.one_in(2)) command.item = ItemIndex{random_.below(30)};
    return command;
  }

  Policy policy() {
    Policy policy;
    policy.max_tries = static_cast<std::uint32_t>(1 + random_.below(4));
    policy.lost_limit = static_cast<std::uint32_t>(1 + random_.below(5));
    policy.retry_delay_ms = random_.one_in(2) ? 0 : static_cast<std::int64_t>(random_.below(2000));
    policy.timeout_ms = random_.one_in(2) ? 0 : 1000;
    policy.grace_ms = static_cast<std::int64_t>(random_.below(100));
    if (random_.one_in(3)) policy.max_failures = random_.below(4);
    if (random_.one_in(3))
      policy.rules.push_back({"", "", "3*", random_.one_in(2) ? RuleAction::exit : RuleAction::retry});
    if (random_.one_in(5)) policy.rules.push_back({"Host EC2*", "", "", RuleAction::exit});
    return policy;
  }

  Command reopen(const Core& core, const LedgerModel& ledger) {
    ReopenJob command;
    command.job = world_.any_job(core);
    const Job* job = core.durable().find_job(command.job);
    command.epoch = job == nullptr || random_.one_in(10) ? random_.below(3) : job->epoch;
    if (random_.one_in(3)) command.policy = policy();
    if (random_.one_in(6)) command.ask = Resources{random_.below(3000), 0, {}};
    if (job != nullptr && random_.one_in(2)) {
      auto choice = std::make_shared<ReopenChoice>();
      choice->failed = !random_.one_in(4);
      if (random_.one_in(4)) choice->exit_code = 3;
      if (random_.one_in(6)) choice->ending = Ending::signalled;
      if (random_.one_in(6)) choice->items = {ItemIndex{random_.below(9)}, ItemIndex{10 + random_.below(9)}};
      const ReopenMore page = read_page({job->id, job->epoch + 1, ItemIndex{0}, choice}, job->total, ledger);
      command.again = page.again;
      command.next = page.next;
      command.rest = choice;
      return command;
    }
    for (const auto& [key, row] : ledger.rows()) {
      if (row.job != command.job || !row.settled || row.state == AttemptState::succeeded) continue;
      if (command.again.size() < kReopenPage / 2 && !random_.one_in(3))
        command.again.push_back({row.item, row.attempt, row.state});
    }
    if (!command.again.empty() && random_.one_in(10)) command.again.push_back(command.again.front());
    // A reader may be out of date, but it reads no items as settled that are not: those are refused.
    const ItemIndex wrong{random_.below(40)};
    const bool settled =
        job != nullptr && wrong.value < job->total && ledger.marks(job->id, job->total).get(wrong) == ItemMark::ended;
    if (!settled && random_.one_in(15)) command.again.push_back({wrong, AttemptNumber{1}, AttemptState::failed});
    return command;
  }

  /// What a reader of the ledger finds for the next page of a retry; small ones, so that there are many.
  ReopenMore read_page(const ReopenWanted& wanted, std::uint64_t total, const LedgerModel& ledger) {
    ReopenMore page{wanted.job, wanted.epoch, wanted.from, {}, ItemIndex{total}};
    const std::size_t most = random_.one_in(4) ? kReopenPage : 1 + random_.below(4);
    for (auto it = ledger.rows().lower_bound({{wanted.job, wanted.from}, AttemptNumber{0}});
         it != ledger.rows().end() && it->second.job == wanted.job; ++it) {
      const Attempt& row = it->second;
      if (row.epoch >= wanted.epoch || !matches(*wanted.choice, row)) continue;
      if (page.again.size() == most) {
        page.next = row.item;
        break;
      }
      page.again.push_back({row.item, row.attempt, row.state});
    }
    return page;
  }

  Command next_page(const Core& core, const LedgerModel& ledger) {
    const ReopenWanted wanted = wanted_.front();
    const Job* job = core.durable().find_job(wanted.job);
    if (!random_.one_in(10)) wanted_.erase(wanted_.begin());  // or it is sent twice
    return read_page(wanted, job == nullptr ? wanted.from.value : std::max(job->total, wanted.from.value), ledger);
  }

  Command next_marks(const LedgerModel& ledger) {
    const MarksWanted wanted = marks_wanted_.front();
    if (!random_.one_in(10)) marks_wanted_.erase(marks_wanted_.begin());  // or they are sent twice
    if (random_.one_in(20)) return MarksRead{wanted.job, nullptr, {ErrorCode::damaged, "cannot be read", ""}};
    return MarksRead{wanted.job, std::make_shared<ItemBlocks>(ledger.marks(wanted.job, wanted.total))};
  }

  std::vector<ReopenWanted> wanted_;
  std::vector<MarksWanted> marks_wanted_;
};

}  // namespace drover

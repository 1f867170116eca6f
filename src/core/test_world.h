// For tests: a core whose state is inspected after every command, and short ways to say what people and workers say.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/core.h"
#include "core/sanity.h"

namespace drover {

/// As a store would give it back.
inline Durable copy_of(const Durable& from) {
  Durable to;
  to.counters = from.counters;
  to.jobs = from.jobs;
  for (const auto& [id, blocks] : from.blocks) {
    ItemBlocks& copy = to.blocks.emplace(id, ItemBlocks(blocks.total())).first->second;
    for (std::uint64_t block = 0; block < blocks.block_count(); ++block) {
      EXPECT_TRUE(copy.decode(block, blocks.encode(block)));
    }
  }
  to.open_items = from.open_items;
  to.grants = from.grants;
  to.workers = from.workers;
  to.queues = from.queues;
  to.shares = from.shares;
  to.definitions = from.definitions;
  to.fleets = from.fleets;
  to.machines = from.machines;
  to.documents = from.documents;
  to.accounts = from.accounts;
  to.streams = from.streams;
  to.messages = from.messages;
  to.sent_before = from.sent_before;
  return to;
}

class TestWorld {
 public:
  static constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  static inline const Outcome kSuccess{};
  static Outcome failure() { return {Ending::exited, 1, 0, ""}; }

  Effect ask(const Command& command) {
    const Ticket ticket{++tickets_};
    core.apply(ticket, command, now_ms);
    answers = core.take_answers();
    take_mutations();
    // What a reader of the ledger would be asked for.
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto* wanted = std::get_if<MarksWanted>(&answers[i].effect);
      if (wanted == nullptr || !gives_marks) continue;
      core.apply(Ticket{++tickets_}, read_marks(*wanted), now_ms);
      for (Answer& answer : core.take_answers()) answers.push_back(std::move(answer));
      take_mutations();
    }
    if (inspects) {
      const auto fault = find_fault(core);
      EXPECT_FALSE(fault) << fault.value_or("");
    }
    for (const Answer& answer : answers) {
      if (answer.to == ticket) return answer.effect;
    }
    return Refused{{ErrorCode::stopped, "no answer yet", ""}};
  }

  MarksRead read_marks(const MarksWanted& wanted) const {
    auto marks = std::make_shared<ItemBlocks>(wanted.total);
    for (auto it = blocks_.lower_bound({wanted.job, 0}); it != blocks_.end() && it->first.first == wanted.job; ++it) {
      EXPECT_TRUE(marks->decode(it->first.second, it->second));
    }
    return {wanted.job, std::move(marks)};
  }

  /// With a UUID, and a name if it has none.
  JobId submit(SubmitJob job) {
    ++uuids_;
    for (std::size_t i = 0; i < 8; ++i) job.uuid.bytes[i] = static_cast<std::uint8_t>(uuids_ >> (8 * i));
    if (job.name.empty()) job.name = "job" + std::to_string(uuids_);
    const Effect effect = ask(job);
    const auto* accepted = std::get_if<JobAccepted>(&effect);
    EXPECT_NE(accepted, nullptr) << (accepted == nullptr ? std::get<Refused>(effect).error.message : "");
    return accepted == nullptr ? JobId{} : accepted->job;
  }
  /// So many items of one CPU each.
  JobId submit(std::uint64_t total, JobPlace place = {}) {
    return submit({{.ask = {1000, 0, {}}, .place = std::move(place)}, total});
  }

  void set(Queue queue) { EXPECT_TRUE(std::holds_alternative<QueueSet>(ask(SetQueue{std::move(queue)}))); }

  /// A worker with so many CPUs.
  WorkerId worker(const std::string& name, std::uint64_t cpus = 8, const Labels& labels = {}) {
    return std::get<WorkerRegistered>(ask(RegisterWorker{name, 1, 0, {cpus * 1000, 64 * kGiB, {}}, labels})).worker;
  }

  /// As many of one CPU as it wants.
  std::vector<Lease> poll(WorkerId worker, std::uint64_t want, std::int64_t wait_ms = 0) {
    return poll(worker, want, {want * 1000, 64 * kGiB, {9, 9, 9}}, wait_ms);
  }
  std::vector<Lease> poll(WorkerId worker, std::uint64_t want, const Resources& room, std::int64_t wait_ms = 0) {
    Poll poll;
    poll.report = {.worker = worker, .incarnation = core.durable().workers.at(worker).incarnation};
    poll.number = PollNumber{++polls_[worker]};
    poll.want = want;
    poll.wait_ms = wait_ms;
    poll.room = room;
    const Effect effect = ask(poll);
    const auto* answer = std::get_if<PollAnswer>(&effect);
    return answer == nullptr ? std::vector<Lease>() : answer->leases;
  }
  /// The job of the one item that the worker is given; none: nothing is.
  JobId next(WorkerId worker) {
    const auto leases = poll(worker, 1);
    last = leases.empty() ? Lease{} : leases[0];
    return last.job;
  }

  /// What somebody who waits was given by the last command.
  std::vector<Lease> given_meanwhile() const {
    for (const Answer& answer : answers) {
      if (const auto* it = std::get_if<PollAnswer>(&answer.effect)) return it->leases;
    }
    return {};
  }

  void run(WorkerId worker, Token token) {
    Report report{.worker = worker, .incarnation = core.durable().workers.at(worker).incarnation};
    report.running.push_back({token, now_ms});
    ask(report);
  }
  void end(WorkerId worker, Token token, const Outcome& outcome = kSuccess, std::int64_t wall_ms = 5) {
    Report report{.worker = worker, .incarnation = core.durable().workers.at(worker).incarnation};
    report.ended.push_back({token, outcome, Usage{now_ms - wall_ms, wall_ms * 1000, 1, 1, 1}});
    ask(report);
  }
  void end(WorkerId worker, const Lease& lease, const Outcome& outcome = kSuccess) {
    for (std::uint64_t i = 0; i < lease.count; ++i) {
      end(worker, {lease.grant, ItemIndex{lease.first.value + i}}, outcome);
    }
  }

  void pass(std::int64_t ms) {
    const std::int64_t until_ms = now_ms + ms;
    for (auto due = core.next_deadline(); due && *due <= until_ms; due = core.next_deadline()) {
      now_ms = std::max(now_ms, *due);
      ask(Tick{});
    }
    now_ms = until_ms;
    ask(Tick{});
  }

  /// What was left for later commands is done.
  void tick_while_due() {
    while (core.next_deadline() && *core.next_deadline() <= now_ms) ask(Tick{});
  }

  /// It stops, and comes back from what is durable.
  void restart() { core = Core(copy_of(core.durable()), now_ms); }

  const Job& job(JobId id) const { return core.durable().jobs.at(id); }
  JobState state(JobId id) const { return job(id).state; }
  Why why(JobId id, std::optional<std::uint64_t> item = std::nullopt) const {
    return drover::why(core, id, item ? std::optional(ItemIndex{*item}) : std::nullopt);
  }

  Core core;
  std::int64_t now_ms = 1'700'000'000'000;
  bool inspects = true;
  bool gives_marks = true;
  Lease last;
  std::vector<Answer> answers;
  std::vector<Mutation> mutations;

 private:
  void take_mutations() {
    for (Mutation& mutation : core.take_mutations()) {
      if (const auto* put = std::get_if<PutBlock>(&mutation)) {
        blocks_[{put->block.job, put->block.block}] = put->block.marks.value;
      }
      mutations.push_back(std::move(mutation));
    }
  }

  std::uint64_t tickets_ = 0;
  std::uint64_t uuids_ = 0;
  std::map<WorkerId, std::uint64_t> polls_;
  std::map<std::pair<JobId, std::uint64_t>, std::string> blocks_;  // as they were last written
};

inline Token token(const Lease& lease, std::uint64_t offset = 0) {
  return {lease.grant, ItemIndex{lease.first.value + offset}};
}

}  // namespace drover

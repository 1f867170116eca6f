// `why` is never wrong: asked at random moments of random worlds, what it says is true, and when the reason it names is
// lifted the item is handed out, or another reason is named, until it is.
#include "sim/why_probe.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "core/random_commands.h"

namespace drover::sim {
namespace {

// DROVER_SEED and DROVER_SEEDS choose where to start and how many.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A queue that keeps half of the machines for shares yet to come, and one worker that two items fill.
class ReservedQueue {
 public:
  ReservedQueue() {
    ask(SetQueue{{.name = "fair", .order = QueueOrder::fair, .decay_s = 3600, .reserved_percent = 50}});
    worker_ = std::get<WorkerRegistered>(ask(RegisterWorker{"w", 1, 60'000, {1000, 0}})).worker;
  }

  const Core& core() const { return core_; }
  JobId submit(std::uint8_t number, const std::string& share, std::uint64_t total) {
    SubmitJob job;
    job.uuid = Uuid::from_random({number});
    job.name = concat("job-", number);
    job.definition = DefinitionId{1};
    job.manifest = ManifestId{number};
    job.total = total;
    job.ask = {500, 0};
    job.place = {"fair", share, 0, ""};
    return std::get<JobAccepted>(ask(job)).job;
  }
  std::vector<Lease> take_one() {
    return std::get<PollAnswer>(ask(Poll{.report = {.worker = worker_, .incarnation = 1},
                                         .number = PollNumber{++polls_},
                                         .given_up = {},
                                         .want = 1,
                                         .wait_ms = 0,
                                         .room = {1000, 0}}))
        .leases;
  }
  void end(const Lease& lease, std::int64_t wall_us) {
    EndedAttempt ended{.token = {lease.grant, lease.first}, .outcome = {}};
    ended.usage.wall_us = wall_us;
    ask(Report{.worker = worker_, .incarnation = 1, .ended = {ended}, .running = {}, .returned = {}});
  }

 private:
  Effect ask(const Command& command) {
    const Ticket ticket{++tickets_};
    core_.apply(ticket, command, 1'000'000);
    core_.take_mutations();
    for (Answer& answer : core_.take_answers()) {
      if (answer.to == ticket) return std::move(answer.effect);
    }
    return ReportTaken{};
  }

  Core core_;
  WorkerId worker_;
  std::uint64_t tickets_ = 0;
  std::uint64_t polls_ = 0;
};

// A share that has used much is next while the reserve holds back the one before it. The probe made room by adding
// workers; each raised the capacity by just what the share before it was given next, and so it never came to an end.
TEST(Why, IsNextWhileTheReserveHoldsBackTheShareBeforeIt) {
  ReservedQueue queue;
  const JobId job = queue.submit(1, "late", 2);
  queue.end(queue.take_one().at(0), 1'000'000'000);
  const JobId other = queue.submit(2, "first", 500);
  ASSERT_EQ(queue.take_one().at(0).job, other);
  EXPECT_EQ(why(queue.core(), job, std::nullopt).code, WhyCode::busy);
  EXPECT_EQ(why(queue.core(), other, std::nullopt).code, WhyCode::share_held_back);
  std::map<WhyCode, std::uint64_t> lifted;
  const auto wrong = lift_reasons(queue.core(), job, std::nullopt, lifted);
  EXPECT_FALSE(wrong) << wrong.value_or("");
}

TEST(Why, WhatItNamesIsWhatKeepsAnItem) {
  std::map<WhyCode, std::uint64_t> lifted;
  const std::uint64_t first = from_environment("DROVER_SEED", 700'001);
  const std::uint64_t count = from_environment("DROVER_SEEDS", 400);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomCommands world(seed);
    Random random(seed);
    Core core;
    LedgerModel ledger;
    std::uint64_t tickets = 0;
    for (int step = 0; step < 150; ++step) {
      const Command command = world.next(core, ledger);
      const Ticket ticket{++tickets};
      core.apply(ticket, command, world.now_ms());
      for (const Answer& answer : core.take_answers()) world.hear(answer, answer.to == ticket ? &command : nullptr);
      ledger.take(core.take_mutations());
      if (core.durable().jobs.empty() || !random.one_in(4)) continue;
      // Of very many items that are due, some are woken by the next command: who is next may change by it.
      if (core.next_deadline().value_or(core.now_ms() + 1) <= core.now_ms()) continue;
      auto any = core.durable().jobs.begin();
      std::advance(any, static_cast<std::ptrdiff_t>(random.below(core.durable().jobs.size())));
      const Job& job = any->second;
      std::optional<ItemIndex> item;
      if (job.total > 0 && random.one_in(2)) item = ItemIndex{random.below(std::min<std::uint64_t>(job.total, 30))};
      const auto wrong = lift_reasons(core, job.id, item, lifted);
      ASSERT_FALSE(wrong) << wrong.value_or("") << " (seed " << seed << ", step " << step << ")";
    }
  }
  for (const WhyCode code :
       {WhyCode::after_job, WhyCode::after_item, WhyCode::before_it, WhyCode::queue_disabled, WhyCode::no_message,
        WhyCode::retry_delay, WhyCode::most_running, WhyCode::machine_coming, WhyCode::no_worker, WhyCode::nobody_suits,
        WhyCode::set_apart, WhyCode::share_held_back, WhyCode::behind, WhyCode::busy, WhyCode::next}) {
    std::printf("  %s: lifted %llu times\n", std::string(to_string(code)).c_str(),
                static_cast<unsigned long long>(lifted[code]));
    EXPECT_GE(lifted[code], 10U) << to_string(code);
  }
}

}  // namespace
}  // namespace drover::sim

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
       {WhyCode::after_job, WhyCode::after_item, WhyCode::before_it, WhyCode::queue_disabled, WhyCode::retry_delay,
        WhyCode::most_running, WhyCode::no_worker, WhyCode::nobody_suits, WhyCode::set_apart, WhyCode::share_held_back,
        WhyCode::behind, WhyCode::busy, WhyCode::next}) {
    std::printf("  %s: lifted %llu times\n", std::string(to_string(code)).c_str(),
                static_cast<unsigned long long>(lifted[code]));
    EXPECT_GE(lifted[code], 10U) << to_string(code);
  }
}

}  // namespace
}  // namespace drover::sim

// Random command sequences against the core: whatever is asked of it, in whatever order, its state stays sound, and the
// same commands make the same state. DROVER_SEED and DROVER_SEEDS choose where to start and how many.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/random_commands.h"
#include "core/sanity.h"

namespace drover {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Said {
  Ticket ticket;
  Command command;
  std::int64_t now_ms;
};

/// The core takes the marks out of a command that brings them.
Command copy_of(const Command& command) {
  const auto* read = std::get_if<MarksRead>(&command);
  if (read == nullptr || read->marks == nullptr) return command;
  auto marks = std::make_shared<ItemBlocks>(read->marks->total());
  for (std::uint64_t block = 0; block < marks->block_count(); ++block) {
    EXPECT_TRUE(marks->decode(block, read->marks->encode(block)));
  }
  return MarksRead{read->job, std::move(marks)};
}

// Enough of them for jobs to get somewhere between the commands of every other part.
constexpr std::uint64_t kSteps = 250;

TEST(RandomCommands, KeepTheStateSoundAndReplayToTheSameHash) {
  const std::uint64_t first = from_environment("DROVER_SEED", 1);
  const std::uint64_t count = from_environment("DROVER_SEEDS", 3000);
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + count - 1));
  std::uint64_t settled = 0;
  std::uint64_t ended_jobs = 0;
  std::uint64_t received = 0;
  std::uint64_t dead_letters = 0;
  std::int64_t cost = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomCommands world(seed);
    Core core;
    LedgerModel ledger;
    std::vector<Said> said;
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      Command command = world.next(core, ledger);
      said.push_back({Ticket{step}, copy_of(command), world.now_ms()});
      core.apply(Ticket{step}, command, world.now_ms());
      for (const Answer& answer : core.take_answers())
        world.hear(answer, answer.to == Ticket{step} ? &command : nullptr);
      ledger.take(core.take_mutations());
      const auto fault = find_fault(core);
      ASSERT_FALSE(fault) << "seed " << seed << ", step " << step << ": " << fault.value_or("");
      if (step % 10 != 0) continue;
      const auto ledger_fault = ledger.find_fault(core.durable());
      ASSERT_FALSE(ledger_fault) << "seed " << seed << ", step " << step << ": " << ledger_fault.value_or("");
    }
    Core again;
    for (const Said& it : said) {
      again.apply(it.ticket, it.command, it.now_ms);
      again.take_mutations();  // blocks leave the memory at the end of a batch
    }
    ASSERT_EQ(hash(again.durable()), hash(core.durable())) << "seed " << seed;
    for (const auto& [id, job] : core.durable().jobs) {
      settled += job.succeeded + job.failed + job.cancelled;
      ended_jobs += job.ended() ? 1 : 0;
      cost += job.used.cost_microdollars;
    }
    for (const auto& [id, messages] : core.durable().messages) {
      for (const auto& [number, message] : messages.open) received += message.receives;
    }
    dead_letters += ledger.dead_letters().size();
  }
  // The world must really have got somewhere, or all of the above says nothing.
  EXPECT_GT(settled, count * 15);
  EXPECT_GT(ended_jobs, count);
  EXPECT_GT(received, count);
  EXPECT_GT(cost, static_cast<std::int64_t>(count));
  EXPECT_GT(dead_letters, count / 10);
}

}  // namespace
}  // namespace drover

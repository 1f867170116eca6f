// What runs beside what.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "agent/agent.h"
#include "base/random.h"

namespace drover {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr Resources kMachine{8000, 16 * kGiB};
constexpr std::size_t kManySlots = 64;

/// An agent, and slots that do what they are told and are inspected whenever they were.
class Machine {
 public:
  explicit Machine(const Resources& has, std::size_t most_slots = kManySlots)
      : agent(has, most_slots), has_(has), most_slots_(most_slots) {}

  /// Answers the agent's question with so many items of this size.
  AgentPoll lend(std::uint64_t count, const Resources& ask) {
    AgentPoll poll = agent.make_poll(now_ms);
    agent.on_answer(poll.number, {lease(count, ask)}, {}, now_ms);
    obey();
    return poll;
  }

  Lease lease(std::uint64_t count, const Resources& ask) {
    asks_[GrantId{++grant_}] = ask;
    return {.grant = GrantId{grant_}, .job = JobId{grant_}, .count = count, .grace_ms = 1000, .ask = ask};
  }

  void tick(std::int64_t later_ms) {
    now_ms += later_ms;
    agent.on_tick(now_ms);
    obey();
  }

  /// Ends what runs in this slot, after so long.
  void end(std::size_t slot, std::int64_t wall_us) {
    const Token token = slots_[slot].front();
    slots_[slot].pop_front();
    agent.on_ended(slot, {token, {}, Usage{.wall_us = wall_us}}, false, now_ms);
    obey();
  }

  void obey() {
    for (auto actions = agent.take_actions(); !actions.empty(); actions = agent.take_actions()) {
      for (const AgentAction& action : actions) {
        if (const auto* start = std::get_if<StartItem>(&action)) {
          if (start->slot >= slots_.size()) slots_.resize(start->slot + 1);
          slots_[start->slot].push_back(start->item.token);
        }
        if (const auto* recall = std::get_if<RecallSlot>(&action)) recalled(recall->slot);
      }
    }
    inspect();
  }

  std::vector<std::size_t> busy() const {
    std::vector<std::size_t> out;
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (!slots_[slot].empty()) out.push_back(slot);
    }
    return out;
  }

  /// How many items of each size run.
  std::size_t running(const Resources& ask) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        slots_, [&](const auto& slot) { return !slot.empty() && asks_.at(slot.front().grant) == ask; }));
  }

  Agent agent;
  std::int64_t now_ms = 1000;

 private:
  void recalled(std::size_t slot) {
    while (slots_[slot].size() > 1) {
      const Token last = slots_[slot].back();
      slots_[slot].pop_back();
      agent.on_returned(slot, last, now_ms);
    }
  }

  void inspect() const {
    Resources sum;
    for (const std::size_t slot : busy()) sum = sum.plus(asks_.at(slots_[slot].front().grant));
    ASSERT_TRUE(sum.fits(has_)) << sum.milli_cpus << " mCPU and " << sum.memory_bytes << " B side by side";
    ASSERT_LE(slots_.size(), most_slots_);
  }

  const Resources has_;
  const std::size_t most_slots_;
  std::vector<std::deque<Token>> slots_;
  std::map<GrantId, Resources> asks_;
  std::uint64_t grant_ = 0;
};

TEST(Pack, EightOneCpuItemsOrSixteenHalvesOrTwoOfFour) {
  for (const auto& [ask, count] : {std::pair(Resources{1000, 0}, 8U), std::pair(Resources{500, 0}, 16U),
                                   std::pair(Resources{4000, 0}, 2U), std::pair(Resources{500, 4 * kGiB}, 4U)}) {
    Machine it(kMachine);
    it.lend(40, ask);
    EXPECT_EQ(it.busy().size(), count);
  }
}

TEST(Pack, NeverMoreSideBySideThanSlots) {
  Machine it(kMachine, 3);
  it.lend(40, {100, 0});
  EXPECT_EQ(it.busy().size(), 3U);
}

TEST(Pack, NothingOvertakesALargeItemThatWaitsForItsRoom) {
  Machine it(kMachine);
  it.lend(3, {1000, 0});
  it.lend(1, {8000, 0});
  it.lend(10, {1000, 0});
  EXPECT_EQ(it.busy().size(), 3U);
  for (const std::size_t slot : {0U, 1U}) {
    it.tick(10);
    it.end(slot, 100'000);
    EXPECT_EQ(it.running({8000, 0}), 0U);
  }
  EXPECT_EQ(it.busy().size(), 1U) << "small ones came behind it, and wait";
  it.end(2, 100'000);
  EXPECT_EQ(it.running({8000, 0}), 1U);
  EXPECT_EQ(it.busy().size(), 1U);
  it.end(it.busy().front(), 100'000);
  EXPECT_EQ(it.running({1000, 0}), 8U);
}

TEST(Pack, ShortItemsAreHandedAheadOnlyBehindTheirLike) {
  Machine it({2000, 0});
  it.lend(2, {1000, 0});
  it.lend(40, {1000, 0});
  it.lend(1, {2000, 0});
  it.end(0, 500);
  std::size_t ended = 1;
  for (; it.running({2000, 0}) == 0; ++ended) {
    ASSERT_LT(ended, 100U);
    it.end(it.busy().front(), 500);
  }
  EXPECT_EQ(ended, 42U) << "it ran when all that came before it had ended";
}

TEST(Pack, AnItemThatAsksForMoreThanThereIsRunsAlone) {
  Machine it({1000, kGiB});
  const AgentPoll poll = it.agent.make_poll(it.now_ms);
  it.agent.on_answer(poll.number, {{.grant = GrantId{1}, .job = JobId{1}, .count = 2, .ask = {5000, 2 * kGiB}}}, {},
                     it.now_ms);
  EXPECT_EQ(std::ranges::count_if(it.agent.take_actions(),
                                  [](const AgentAction& action) { return std::holds_alternative<StartItem>(action); }),
            1);
}

constexpr Resources kFourGpus{8000, 16 * kGiB, {4}};
constexpr Resources kOneGpu{1000, kGiB, {1}};
constexpr Resources kTwoGpus{1000, kGiB, {2}};

TEST(Pack, WhatOthersUseIsNeitherAskedForNorHandedOut) {
  Machine machine(kFourGpus);
  machine.lend(2, kOneGpu);
  Resources left = Resources::endless();
  left.accelerators = {2, 0, 0};
  machine.agent.keep_to(left, machine.now_ms);
  machine.lend(3, kOneGpu);
  EXPECT_EQ(machine.running(kOneGpu), 2U);
  machine.end(0, 1'000'000);
  EXPECT_EQ(machine.running(kOneGpu), 2U);
  machine.agent.keep_to(Resources::endless(), machine.now_ms);
  machine.obey();
  EXPECT_EQ(machine.running(kOneGpu), 4U);
}

TEST(Pack, AnItemThatAsksForMoreThanOthersLeaveWaitsAndKeepsWhatItAsksFor) {
  Machine machine(kFourGpus);
  Resources left = Resources::endless();
  left.accelerators = {1, 0, 0};
  machine.agent.keep_to(left, machine.now_ms);
  machine.lend(1, kTwoGpus);
  EXPECT_TRUE(machine.busy().empty());
  machine.agent.keep_to(Resources::endless(), machine.now_ms);
  machine.obey();
  ASSERT_EQ(machine.running(kTwoGpus), 1U);
  EXPECT_EQ(machine.agent.running().front().item.ask, kTwoGpus);
}

TEST(Pack, WithoutAFailedDeviceThereIsLessAndWhatAsksForMoreGoesBack) {
  Machine machine(kFourGpus);
  Resources left = kFourGpus;
  left.accelerators = {1, 0, 0};
  machine.agent.shrink(left, machine.now_ms);
  machine.lend(1, kTwoGpus);
  EXPECT_TRUE(machine.busy().empty());
  EXPECT_EQ(machine.agent.make_poll(machine.now_ms).returned.size(), 1U);
  machine.agent.keep_to(Resources::endless(), machine.now_ms);
  machine.lend(3, kOneGpu);
  EXPECT_EQ(machine.running(kOneGpu), 1U);
}

TEST(Pack, AnUnstartedItemThatAsksForAFailedDeviceGoesBackToo) {
  Machine machine(kFourGpus);
  machine.lend(1, kTwoGpus);
  const Token token = machine.agent.running().front().item.token;
  Resources left = kFourGpus;
  left.accelerators = {1, 0, 0};
  machine.agent.shrink(left, machine.now_ms);
  machine.agent.on_returned(0, token, machine.now_ms);
  EXPECT_EQ(machine.agent.make_poll(machine.now_ms).returned, std::vector<Token>{token});
}

TEST(Pack, NothingIsHandedAheadWhereNotEvenTheFirstOnesHaveRoom) {
  Machine machine({8000, 16 * kGiB, {2}});
  machine.lend(1, kOneGpu);
  machine.end(0, 1000);  // they are short
  machine.lend(2, kOneGpu);
  Resources left = Resources::endless();
  left.accelerators = {1, 0, 0};
  machine.agent.keep_to(left, machine.now_ms);
  machine.lend(3, kOneGpu);
  for (const AgentAction& action : machine.agent.take_actions())
    EXPECT_FALSE(std::holds_alternative<StartItem>(action));
  EXPECT_EQ(machine.busy().size(), 2U);
}

/// How items are stopped when the machine is taken away in so long.
std::vector<StopHow> stops_before(Machine& machine, std::int64_t left_ms) {
  machine.agent.on_interruption(left_ms == 0 ? 0 : machine.now_ms + left_ms, machine.now_ms);
  std::vector<StopHow> out;
  for (const AgentAction& action : machine.agent.take_actions()) {
    if (const auto* stop = std::get_if<StopItem>(&action)) out.push_back(stop->how);
  }
  return out;
}

TEST(Interruption, WhatWillNotEndInTimeIsGivenUpAtOnceAndTheRestRunsOn) {
  for (const auto& [left_ms, stopped] : {std::pair(30'000, 1U), std::pair(90'000, 0U), std::pair(0, 0U)}) {
    Machine machine(kMachine);
    machine.lend(2, {1000});
    machine.end(0, 60'000'000);  // they take a minute
    const std::vector<StopHow> stops = stops_before(machine, left_ms);
    ASSERT_EQ(stops.size(), stopped) << left_ms;
    for (const StopHow how : stops) EXPECT_EQ(how, StopHow::kill);
    EXPECT_TRUE(machine.agent.draining());
    EXPECT_EQ(machine.agent.make_poll(machine.now_ms).want, 0U);
  }
}

TEST(Interruption, ItemsAreJudgedByOthersOfTheirOwnJob) {
  for (const bool long_ones_first : {true, false}) {
    Machine machine(kMachine, 2);
    const std::int64_t first_us = long_ones_first ? 600'000'000 : 1'000'000;
    const std::int64_t second_us = long_ones_first ? 1'000'000 : 600'000'000;
    machine.lend(2, {1000});
    machine.end(0, first_us);
    machine.end(1, first_us);
    machine.lend(3, {1000});
    machine.end(0, second_us);
    ASSERT_EQ(machine.busy().size(), 2U);
    EXPECT_EQ(stops_before(machine, 120'000).size(), long_ones_first ? 0U : 2U);
  }
}

TEST(Interruption, NobodyKnowsHowLongTheFirstItemsTake) {
  Machine machine(kMachine);
  machine.lend(1, {1000});
  EXPECT_TRUE(stops_before(machine, 1000).empty());
}

TEST(Interruption, WhatSavesItselfIsToldToAndIsLostHoweverItEnds) {
  Machine machine(kMachine);
  machine.agent.set_saves([](JobId) { return true; });
  machine.lend(1, {1000});
  EXPECT_EQ(stops_before(machine, 120'000), std::vector<StopHow>{StopHow::terminate});
  const Token token = machine.agent.running().front().item.token;
  machine.agent.on_ended(0, {token, {}, Usage{.wall_us = 1}}, true, machine.now_ms);
  const auto ended = machine.agent.take_ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].outcome.ending, Ending::lost);
}

TEST(Interruption, WhatHasNotStartedGoesBack) {
  Machine machine(kMachine, 1);
  machine.lend(5, {1000});
  machine.agent.on_interruption(machine.now_ms + 60'000, machine.now_ms);
  machine.obey();
  EXPECT_EQ(machine.agent.make_poll(machine.now_ms).returned.size(), 4U);
}

TEST(Pack, AsksForAsMuchAsFitsAndForARoundAhead) {
  Machine it(kMachine);
  const AgentPoll first = it.lend(2, {4000, 0});
  EXPECT_EQ(first.want, 16U) << "nobody knows yet what items ask for: one CPU each";
  EXPECT_EQ(first.room, kMachine.times(2));
  const AgentPoll second = it.lend(4, {4000, 0});
  EXPECT_EQ(second.want, 4U) << "two at a time by now, and two rounds of them";
  EXPECT_FALSE(it.agent.wants_to_ask() && it.agent.make_poll(it.now_ms).want > 0) << "there is enough in the backlog";
}

TEST(Pack, WhileItemsAreLongItAsksForWhatFitsNow) {
  Machine it(kMachine);
  it.lend(3, {2000, kGiB});
  it.end(0, 5'000'000);
  const AgentPoll poll = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(poll.room, (Resources{4000, 14 * kGiB}));
  EXPECT_EQ(poll.want, 2U);
  EXPECT_FALSE(it.agent.wants_to_ask());
  it.end(1, 5'000'000);
  EXPECT_TRUE(it.agent.wants_to_ask()) << "there is more room than the server knows of";
  EXPECT_EQ(it.agent.make_poll(it.now_ms).room, (Resources{6000, 15 * kGiB}));
}

TEST(Pack, WhatFindsNoRoomBesideLongItemsIsLeftToOthersUntilOneEnds) {
  Machine it(kMachine);
  it.lend(7, {1000, 0});
  it.tick(2000);
  it.lend(1, {8000, 0});
  it.tick(10);
  const AgentPoll poll = it.agent.make_poll(it.now_ms);
  EXPECT_EQ(poll.returned.size(), 1U);
  EXPECT_EQ(poll.want, 0U) << "it would be given just that again";
  it.end(0, 2'500'000);
  EXPECT_TRUE(it.agent.wants_to_ask());
  EXPECT_GT(it.agent.make_poll(it.now_ms).want, 0U);
}

TEST(Pack, WhileFetchingTakesLongARoundIsPutByThoughItemsAreLong) {
  Machine it(kMachine);
  it.agent.learn_fetch(1'000'000);
  it.lend(4, {2000, 0});
  it.tick(2000);
  EXPECT_TRUE(it.agent.wants_to_ask());
  const AgentPoll poll = it.lend(4, {2000, 0});
  EXPECT_EQ(poll.want, 4U);
  it.tick(10);
  const AgentPoll next = it.agent.make_poll(it.now_ms);
  EXPECT_TRUE(next.returned.empty()) << "what they need is being fetched";
  EXPECT_EQ(next.want, 0U) << "one round is enough";
}

TEST(Pack, WhereNothingIsFetchedAnyMoreNothingIsPutBy) {
  Machine it(kMachine);
  it.agent.learn_fetch(1'000'000);
  for (int i = 0; i < 100; ++i) it.agent.learn_fetch(0);
  it.lend(4, {2000, 0});
  it.tick(2000);
  EXPECT_EQ(it.agent.make_poll(it.now_ms).want, 0U);
}

TEST(Pack, WhatIsQuicklyFetchedIsNotPutByBehindLongItems) {
  Machine it(kMachine);
  it.agent.learn_fetch(1'000'000);
  it.lend(4, {2000, 0});
  it.end(0, 60'000'000);
  it.tick(2000);
  EXPECT_EQ(it.agent.make_poll(it.now_ms).want, 1U) << "fetching takes a sixtieth of the time";
}

/// A job that a pretended server lends out.
struct Pool {
  Resources ask;
  std::uint64_t left = 0;
};

// Random sizes, lengths and answers, by a server that heeds the room or does not: at every moment what runs side by
// side has room (Machine inspects that), and everything ends.
TEST(Pack, WhateverIsAskedForWhatRunsHasRoomAndEverythingEnds) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Resources has{100 * (1 + random.below(100)), random.below(20) * kGiB};
    Machine it(has, 1 + random.below(40));
    std::vector<Pool> jobs;
    for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
      jobs.push_back({{1 + random.below(has.milli_cpus), random.below(has.memory_bytes + 1)}, random.below(120)});
    }
    const bool heeds_room = random.one_in(2);
    const std::int64_t longest_ms = random.one_in(2) ? 40 : 6000;
    std::map<GrantId, std::size_t> job_of;
    std::uint64_t left = 0;
    for (const Pool& job : jobs) left += job.left;
    for (int step = 0; left > 0; ++step) {
      ASSERT_LT(step, 30'000);
      it.tick(static_cast<std::int64_t>(random.below(20)));
      if (it.agent.should_poll(it.now_ms)) {
        AgentPoll poll = it.agent.make_poll(it.now_ms);
        left -= poll.ended.size();
        for (const Token& token : poll.returned) ++jobs[job_of.at(token.grant)].left;
        std::vector<Lease> leases;
        Resources room = poll.room;
        for (std::size_t i = 0; i < jobs.size() && poll.want > 0 && room.milli_cpus > 0; ++i) {
          const std::uint64_t most = heeds_room ? std::max<std::uint64_t>(1, room.holds(jobs[i].ask)) : poll.want;
          const std::uint64_t count = std::min({poll.want, jobs[i].left, most});
          if (count == 0) continue;
          leases.push_back(it.lease(count, jobs[i].ask));
          job_of[leases.back().grant] = i;
          jobs[i].left -= count;
          poll.want -= count;
          room = room.minus(jobs[i].ask.times(count));
        }
        it.agent.on_answer(poll.number, leases, {}, it.now_ms);
        it.obey();
      }
      const auto busy = it.busy();
      if (!busy.empty() && !random.one_in(3)) {
        it.end(busy[random.below(busy.size())], 1000 * static_cast<std::int64_t>(random.below(longest_ms)));
      }
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(it.agent.idle());
  }
}

}  // namespace
}  // namespace drover

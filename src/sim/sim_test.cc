// A few seconds of the simulator in every test run; `make sim` runs the long of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/shrink.h"
#include "sim/world.h"

namespace drover::sim {
namespace {

TEST(Sim, TheSameSeedGivesTheSameWorld) {
  const RunResult once = act_out(make_script(7, 4));
  const RunResult twice = act_out(make_script(7, 4));
  EXPECT_EQ(once.hash, twice.hash);
  EXPECT_EQ(once.steps, twice.steps);
  EXPECT_NE(once.hash, act_out(make_script(8, 4)).hash);
}

TEST(Sim, SeedsComeToAGoodEnd) {
  std::int64_t counted = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const RunResult result = act_out(make_script(seed, 4));
    ASSERT_FALSE(result.failure) << "seed " << seed << ": " << result.failure.value_or("");
    counted += result.counted_hours;
  }
  EXPECT_GT(counted, 24) << "an hour counts if a hundred items settle in it and a fault falls";
}

TEST(Sim, FindsAnInjectedFaultAndCutsItsScriptDown) {
  const auto tryout = [](const Script& script) { return act_out(script, SeamFault::returned_token_forgotten).failure; };
  const Script script = make_script(1, 8);
  const auto failure = tryout(script);
  ASSERT_TRUE(failure);
  const Script small = shrink(script, failure.value_or(""), tryout, 60);
  EXPECT_LT(small.events.size(), script.events.size() / 4);
  EXPECT_TRUE(tryout(small));
}

TEST(Script, IsMadeOfItsSeedAndInOrder) {
  const Script script = make_script(5, 6);
  EXPECT_EQ(describe(script), describe(make_script(5, 6)));
  EXPECT_TRUE(std::ranges::is_sorted(script.events, {}, &ScriptEvent::at_ms));
}

}  // namespace
}  // namespace drover::sim

// What every provider is held to. A provider's test makes a fixture with `provider()`, which is made anew by
// `restart()` as after a restart of the server, and `count_running()`, which knows better than the provider.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "ports/provider.h"

namespace drover {

inline MachineOrder order_of(const std::string& name) {
  return {.name = name,
          .fleet = "f",
          .shape = "small",
          .has = {1000, std::uint64_t{1} << 30, {}},
          .labels = {{"zone", "a"}},
          .join_token = "token-of-" + name};
}

/// Waits for a condition, with a bound.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline std::string names_of(Provider& provider) {
  auto listed = provider.list();
  if (!listed) return "error: " + listed.error().message;
  std::string out;
  for (const ListedMachine& it : listed->machines)
    out += (out.empty() ? "" : " ") + it.name + (it.has_ended ? "(ended)" : "");
  return out;
}

/// Asked again and again, as a server does.
inline bool ends(Provider& provider, const std::string& name) {
  return comes_true([&] { return provider.terminate(name) && !(" " + names_of(provider) + " ").contains(" " + name); });
}

template <class Fixture>
class ProviderContract : public testing::Test {
 protected:
  Fixture fixture_;
};
TYPED_TEST_SUITE_P(ProviderContract);

TYPED_TEST_P(ProviderContract, WhatIsLaunchedIsListedUntilItIsTerminated) {
  auto& it = this->fixture_;
  EXPECT_EQ(names_of(it.provider()), "");
  ASSERT_TRUE(it.provider().launch(order_of("m1")));
  ASSERT_TRUE(it.provider().launch(order_of("m2")));
  EXPECT_EQ(names_of(it.provider()), "m1 m2");
  EXPECT_TRUE(comes_true([&] { return it.count_running() == 2; }));
  EXPECT_TRUE(ends(it.provider(), "m1"));
  EXPECT_EQ(names_of(it.provider()), "m2");
  EXPECT_TRUE(ends(it.provider(), "m2"));
  EXPECT_TRUE(comes_true([&] { return it.count_running() == 0; }));
}

TYPED_TEST_P(ProviderContract, ANameIsLaunchedOnceHoweverOftenItIsOrdered) {
  auto& it = this->fixture_;
  const auto first = it.provider().launch(order_of("m1"));
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(it.provider().launch(order_of("m1")));
  EXPECT_TRUE(comes_true([&] { return it.count_running() == 1; }));
  it.restart();
  ASSERT_TRUE(it.provider().launch(order_of("m1")));
  EXPECT_EQ(names_of(it.provider()), "m1");
  EXPECT_EQ(it.count_running(), 1);
  EXPECT_TRUE(ends(it.provider(), "m1"));
}

TYPED_TEST_P(ProviderContract, AServerThatComesBackFindsItsMachinesAndCanEndThem) {
  auto& it = this->fixture_;
  ASSERT_TRUE(it.provider().launch(order_of("m1")));
  EXPECT_TRUE(comes_true([&] { return it.count_running() == 1; }));
  it.restart();
  EXPECT_EQ(names_of(it.provider()), "m1");
  EXPECT_TRUE(ends(it.provider(), "m1"));
  EXPECT_TRUE(comes_true([&] { return it.count_running() == 0; }));
}

TYPED_TEST_P(ProviderContract, TerminatingWhatIsNotThereIsNoError) {
  EXPECT_TRUE(this->fixture_.provider().terminate("nobody"));
}

TYPED_TEST_P(ProviderContract, AMachineThatEndsByItselfIsToldFromOneThatRuns) {
  auto& it = this->fixture_;
  ASSERT_TRUE(it.provider().launch(order_of("m1")));
  EXPECT_TRUE(comes_true([&] { return it.count_running() == 1; }));
  it.break_machine("m1");
  EXPECT_TRUE(comes_true([&] {
    const std::string names = names_of(it.provider());
    return names.empty() || names == "m1(ended)";
  }));
  EXPECT_TRUE(ends(it.provider(), "m1"));
}

REGISTER_TYPED_TEST_SUITE_P(ProviderContract, WhatIsLaunchedIsListedUntilItIsTerminated,
                            ANameIsLaunchedOnceHoweverOftenItIsOrdered,
                            AServerThatComesBackFindsItsMachinesAndCanEndThem, TerminatingWhatIsNotThereIsNoError,
                            AMachineThatEndsByItselfIsToldFromOneThatRuns);

}  // namespace drover

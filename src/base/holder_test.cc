#include "base/holder.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

using Counted = HolderCounts::Outcome;
const Holder kAlice{"alice"};
const Holder kBob{"bob"};
const Holder kCarol{"carol"};
const Holder kAdmin{"admin", true};

TEST(HolderCounts, OneHolderHasItsOwnLimit) {
  HolderCounts counts({.total = 10, .each = 2, .reserved = 0});
  EXPECT_EQ(counts.take(kAlice), Counted::taken);
  EXPECT_EQ(counts.take(kAlice), Counted::taken);
  EXPECT_EQ(counts.take(kAlice), Counted::holder_has_enough);
  EXPECT_EQ(counts.take(kBob), Counted::taken);
  counts.give_back(kAlice);
  EXPECT_EQ(counts.take(kAlice), Counted::taken);
}

TEST(HolderCounts, TheReserveIsForThoseWhoMayUseIt) {
  HolderCounts counts({.total = 4, .each = 2, .reserved = 1});
  for (const Holder& holder : {kAlice, kAlice, kBob}) EXPECT_EQ(counts.take(holder), Counted::taken);
  EXPECT_EQ(counts.take(kCarol), Counted::none_left);
  EXPECT_EQ(counts.take(kAdmin), Counted::taken);
  EXPECT_EQ(counts.take(kAdmin), Counted::none_left);
  counts.give_back(kAdmin);
  EXPECT_EQ(counts.take(kCarol), Counted::none_left);
}

TEST(HolderCounts, WhatNobodyTookIsNotGivenBack) {
  HolderCounts counts({.total = 1, .each = 1, .reserved = 0});
  counts.give_back(kAlice);
  EXPECT_EQ(counts.total(), 0U);
  EXPECT_EQ(counts.take(kAlice), Counted::taken);
  EXPECT_EQ(counts.total(), 1U);
}

}  // namespace
}  // namespace drover

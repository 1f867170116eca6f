#include "agent/report_outbox.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace drover {
namespace {

SpooledEnd ended(std::uint64_t item, std::size_t bytes = 0, bool uploading = false) {
  return {.ended = {.token = {GrantId{1}, ItemIndex{item}}}, .bytes = bytes, .uploading = uploading};
}

std::vector<std::uint64_t> items(const std::vector<EndedAttempt>& all) {
  std::vector<std::uint64_t> out;
  out.reserve(all.size());
  for (const EndedAttempt& it : all) out.push_back(it.token.item.value);
  return out;
}

using Items = std::vector<std::uint64_t>;

TEST(ReportOutbox, CallsTakeTheOldestAndAFailedOnesAreNextInOrder) {
  ReportOutbox box;
  for (std::uint64_t item = 0; item < 4; ++item) box.add(ended(item, ReportOutbox::kMostBytes / 2));
  EXPECT_EQ(items(box.take(1)), (Items{0, 1}));
  EXPECT_EQ(items(box.take(2)), (Items{2, 3}));
  EXPECT_TRUE(box.take(3).empty());
  box.on_lost(1);
  box.on_taken(2);
  EXPECT_EQ(box.take_told().size(), 2U);
  EXPECT_EQ(items(box.take(4)), (Items{0, 1}));
  box.on_taken(1);
  EXPECT_EQ(box.size(), 2U) << "a call that was lost acknowledges nothing";
  box.on_taken(4);
  EXPECT_TRUE(box.empty());
}

TEST(ReportOutbox, OneIsTakenWhateverItWeighs) {
  ReportOutbox box;
  box.add(ended(0, 3 * ReportOutbox::kMostBytes));
  box.add(ended(1, 1));
  EXPECT_EQ(items(box.take(1)), Items{0});
  EXPECT_EQ(items(box.take(2)), Items{1});
}

TEST(ReportOutbox, WhatIsUploadedIsPassedOver) {
  ReportOutbox box;
  box.add(ended(0, 1, true));
  box.add(ended(1, 1));
  EXPECT_EQ(items(box.take(1)), Items{1});
  EXPECT_FALSE(box.has_some_to_take());
  box.on_uploaded(ended(0).ended);
  EXPECT_EQ(items(box.take(2)), Items{0});
  EXPECT_EQ(box.all().size(), 2U);
  box.clear();
  EXPECT_TRUE(box.empty());
  EXPECT_EQ(box.take_told().size(), 2U);
}

TEST(ReportOutbox, TheOneThatIsRefusedIsFoundAndTheOthersAreTold) {
  using What = ReportOutbox::Refused::What;
  constexpr std::uint64_t kBad = 137;
  ReportOutbox box;
  for (std::uint64_t item = 0; item < 300; ++item) box.add(ended(item, 10));
  std::vector<ReportOutbox::Refused> refused;
  std::uint64_t call = 0;
  for (; !box.empty() && call < 100; ++call) {
    const std::vector<EndedAttempt> taken = box.take(call);
    ASSERT_FALSE(taken.empty());
    const bool is_bad = std::ranges::any_of(taken, [](const auto& it) { return it.token.item.value == kBad; });
    if (!is_bad) {
      box.on_taken(call);
    } else if (const auto found = box.on_refused(call, "malformed")) {
      refused.push_back(*found);
    }
  }
  EXPECT_TRUE(box.empty());
  EXPECT_LT(call, 40U);
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_EQ(refused[0].token.item.value, kBad);
  EXPECT_EQ(refused[0].what, What::told_bare);
  EXPECT_EQ(refused[1].token.item.value, kBad);
  EXPECT_EQ(refused[1].what, What::given_up);
  EXPECT_EQ(box.take_told().size(), 300U) << "the spool need not keep any of them";
}

TEST(ReportOutbox, WhatIsToldBareHasNothingButHowItEnded) {
  ReportOutbox box;
  SpooledEnd bad = ended(0, 10);
  bad.ended.outcome = {.ending = Ending::exited, .exit_code = 3, .reason = "odd"};
  bad.ended.usage.wall_us = 7;
  bad.ended.log.bytes = 5;
  box.add(bad);
  box.take(1);
  EXPECT_TRUE(box.on_refused(1, "malformed"));
  const EndedAttempt bare = box.take(2).at(0);
  EXPECT_EQ(bare.outcome.exit_code, 3);
  EXPECT_EQ(bare.outcome.reason, "the server rejected the report of this attempt: malformed");
  EXPECT_EQ(bare.usage, Usage{});
  EXPECT_EQ(bare.log, AttemptLog{});
  box.on_taken(2);
  EXPECT_TRUE(box.empty());
}

}  // namespace
}  // namespace drover

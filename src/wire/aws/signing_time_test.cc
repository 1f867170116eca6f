#include "wire/aws/signing_time.h"

#include <gtest/gtest.h>

namespace drover::aws {
namespace {

TEST(SigningTime, IsReadAsItIsWritten) {
  EXPECT_EQ(signing_time(1'794'704'197'999), "20261115T005637Z");
  EXPECT_EQ(signing_time(0), "19700101T000000Z");
  EXPECT_EQ(parse_signing_time("20261115T005637Z"), 1'794'704'197'000);
  for (std::int64_t time_ms = 0; time_ms < 200'000'000'000'000; time_ms += 86'140'803'000) {
    EXPECT_EQ(parse_signing_time(signing_time(time_ms)), time_ms);
  }
}

TEST(SigningTime, ADateHeaderIsRead) {
  EXPECT_EQ(parse_signing_time("Sun, 15 Nov 2026 00:56:37 GMT"), 1'794'704'197'000);
  EXPECT_EQ(parse_signing_time("Thu, 29 Feb 2024 23:59:59 GMT"), 1'709'251'199'000);
}

TEST(SigningTime, WhatIsNoTimeIsRefused) {
  for (const char* text :
       {"", "20261115", "20261115T005637", "20261315T005637Z", "20260230T005637Z", "20261115T245637Z",
        "20261115T006037Z", "2026111xT005637Z", "20261115 005637Z", "-0261115T005637Z", "19691231T235959Z",
        "Sun, 15 anF 2026 00:56:37 GMT", "Sun, 15 Nov 2026 00:56:37 CET", "Sun, 31 Nov 2026 00:56:37 GMT"}) {
    EXPECT_FALSE(parse_signing_time(text)) << text;
  }
}

}  // namespace
}  // namespace drover::aws

#include "net/outbox.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"

namespace drover {
namespace {

TEST(Outbox, SmallPiecesLeaveTogether) {
  Outbox out;
  out.push("head ");
  out.push("");
  out.push("body");
  std::array<std::string_view, 4> views;
  ASSERT_EQ(out.front(views), 1U);
  EXPECT_EQ(views[0], "head body");
  out.pop(5);
  ASSERT_EQ(out.front(views), 1U);
  EXPECT_EQ(views[0], "body");
  out.pop(4);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.front(views), 0U);
}

TEST(Outbox, WhatGoesInComesOutInOrderHoweverItIsCut) {
  Random random(11);
  Outbox out;
  std::string in;
  std::string got;
  for (int round = 0; round < 3000; ++round) {
    // It is never empty, as a stream to a slow peer.
    const std::string piece(1 + random.below(round % 3 == 0 ? 40'000 : 10), static_cast<char>('a' + round % 26));
    in += piece;
    out.push(piece);
    std::array<std::string_view, 3> views;
    const std::size_t count = out.front(views);
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += views[i];
    const std::size_t taken = random.below(std::min(all.size(), out.bytes() - 1) + 1);
    got += all.substr(0, taken);
    out.pop(taken);
    ASSERT_EQ(out.bytes(), in.size() - got.size());
  }
  EXPECT_TRUE(in.starts_with(got));
  EXPECT_GT(got.size(), in.size() / 2);
}

}  // namespace
}  // namespace drover

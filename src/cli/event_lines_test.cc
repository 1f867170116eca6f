#include "cli/event_lines.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover {
namespace {

std::vector<std::string> read(std::string_view text, std::size_t piece) {
  std::vector<std::string> out;
  EventLines lines([&](const SentEvent& it) -> Result<void> {
    out.push_back(it.id + "|" + it.kind + "|" + it.data);
    return {};
  });
  for (std::size_t at = 0; at < text.size(); at += piece) EXPECT_TRUE(lines.add(text.substr(at, piece)));
  return out;
}

TEST(EventLines, HoweverTheyAreCutTheyAreReadAlike) {
  const std::string_view text =
      "retry: 2000\n\n:\n\nid: 7\nevent: job_ended\ndata: {\"a\":1}\n\n"
      "event: missed\r\ndata:one\r\ndata: two\r\n\r\nid\ndata\n\nid: 9\ndata: never ended";
  const std::vector<std::string> expected = {"7|job_ended|{\"a\":1}", "7|missed|one\ntwo", "||"};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(read(text, piece), expected) << piece;
}

TEST(EventLines, WhatTheTakerSaysIsTheAnswer) {
  EventLines lines([](const SentEvent&) -> Result<void> { return fail(ErrorCode::stopped, "enough"); });
  const auto added = lines.add("data: x\n\n");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message, "enough");
}

}  // namespace
}  // namespace drover

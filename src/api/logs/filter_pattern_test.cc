#include "api/logs/filter_pattern.h"

#include <gtest/gtest.h>

namespace drover::aws {
namespace {

bool is_match(std::string_view pattern, std::string_view line) {
  const auto parsed = FilterPattern::parse(pattern);
  EXPECT_TRUE(parsed) << pattern;
  return parsed && parsed->matches(line);
}

TEST(FilterPattern, AllTermsMustBeThere) {
  EXPECT_TRUE(is_match("", "anything"));
  EXPECT_TRUE(is_match("  ", ""));
  EXPECT_TRUE(is_match("ERROR", "[ERROR 400] bad request"));
  EXPECT_FALSE(is_match("ERROR", "error"));
  EXPECT_TRUE(is_match("ERROR request", "[ERROR 400] bad request"));
  EXPECT_FALSE(is_match("ERROR warm", "[ERROR 400] bad request"));
}

TEST(FilterPattern, Phrases) {
  EXPECT_TRUE(is_match("\"bad request\"", "a bad request"));
  EXPECT_FALSE(is_match("\"bad request\"", "a request, and bad"));
  EXPECT_TRUE(is_match("\"say \\\"no\\\"\"", "they say \"no\" again"));
  EXPECT_TRUE(is_match("-\"no way\" x", "x no y way"));
}

TEST(FilterPattern, OptionalAndExcluded) {
  EXPECT_TRUE(is_match("?ERROR ?WARN", "WARN: hot"));
  EXPECT_FALSE(is_match("?ERROR ?WARN", "fine"));
  EXPECT_FALSE(is_match("ERROR -Exiting", "ERROR: Exiting"));
  EXPECT_TRUE(is_match("-Exiting", "going on"));
  EXPECT_TRUE(is_match("?ERROR fine", "fine"));
}

TEST(FilterPattern, WhatIsNotSupportedIsRefused) {
  for (const char* pattern : {"{ $.level = 1 }", "[ip, user]", "%a.*b%", "\"open", "- x", "?"}) {
    EXPECT_FALSE(FilterPattern::parse(pattern)) << pattern;
  }
}

}  // namespace
}  // namespace drover::aws

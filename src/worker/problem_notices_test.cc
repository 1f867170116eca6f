#include "worker/problem_notices.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover {
namespace {

using About = ProblemNotices::About;

class ProblemNoticesTest : public ::testing::Test {
 protected:
  void full(int bytes) { notices_.say(About::reports, {ErrorCode::no_space, concat(bytes, " bytes are left"), ""}); }

  std::vector<std::string> said_;
  ProblemNotices notices_{[this](const std::string& text) { said_.push_back(text); }};
};

TEST_F(ProblemNoticesTest, OneThatLastsIsToldOnce) {
  for (int bytes = 100; bytes > 0; --bytes) {
    full(bytes);
    notices_.is_over(About::calls);  // a poll without logs was answered
  }
  EXPECT_EQ(said_, std::vector<std::string>{"the server: 100 bytes are left; trying again"});
}

TEST_F(ProblemNoticesTest, AnotherOneIsToldAndSoIsOneThatComesBack) {
  full(1);
  notices_.say(About::reports, {ErrorCode::unreachable, "nobody is there", ""});
  full(2);
  notices_.is_over(About::reports);
  full(3);
  EXPECT_EQ(said_.size(), 4U);
}

}  // namespace
}  // namespace drover

#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover {
namespace {

TEST(NearestWord, OneSlipOfTheFingersIsOneLetter) {
  EXPECT_EQ(letters_apart("status", "status"), 0);
  EXPECT_EQ(letters_apart("statsu", "status"), 1);
  EXPECT_EQ(letters_apart("tatus", "status"), 1);
  EXPECT_EQ(letters_apart("stattus", "status"), 1);
  EXPECT_EQ(letters_apart("stadus", "status"), 1);
  EXPECT_EQ(letters_apart("", "run"), 3);
  EXPECT_EQ(letters_apart("run", ""), 3);
  EXPECT_EQ(letters_apart("kitten", "sitting"), 3);
}

TEST(NearestWord, FindsWhatWasMeant) {
  const std::vector<std::string> verbs{"run", "resume", "retry", "status", "submit", "completion"};
  EXPECT_EQ(nearest_word("submti", verbs), "submit");
  EXPECT_EQ(nearest_word("rn", verbs), "run");
  EXPECT_EQ(nearest_word("comp", verbs), "completion");
  EXPECT_EQ(nearest_word("resum", verbs), "resume");
}

TEST(NearestWord, IsSilentRatherThanWrong) {
  const std::vector<std::string> verbs{"run", "resume", "retry", "status"};
  EXPECT_EQ(nearest_word("frobnicate", verbs), "");
  EXPECT_EQ(nearest_word("x", verbs), "");
  EXPECT_EQ(nearest_word("", verbs), "");
  EXPECT_EQ(nearest_word("run", {}), "");
}

}  // namespace
}  // namespace drover

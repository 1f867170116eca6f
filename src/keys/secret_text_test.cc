#include "keys/secret_text.h"

#include <gtest/gtest.h>

#include <concepts>
#include <ostream>
#include <set>

#include "keys/random_text.h"

namespace drover {
namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& it) { out << it; };
static_assert(Printable<std::string>);
static_assert(!Printable<SecretText>);
static_assert(!std::convertible_to<SecretText, std::string_view>);

TEST(SecretText, EqualsItselfAndNothingElse) {
  const SecretText secret(std::string("abc"));
  EXPECT_TRUE(secret.equals("abc"));
  for (const char* other : {"", "ab", "abd", "abcd", "ABC"}) EXPECT_FALSE(secret.equals(other)) << other;
  EXPECT_TRUE(SecretText().equals(""));
}

TEST(SecretText, MovesWithoutLeavingACopy) {
  SecretText from(std::string("abc"));
  const SecretText to(std::move(from));
  EXPECT_TRUE(to.equals("abc"));
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): that is the question
}

TEST(RandomText, UsesEveryLetterOfItsAlphabetAndNoOther) {
  const std::string text = random_text(kLettersAndDigits, 20'000);
  EXPECT_EQ(text.size(), 20'000U);
  const std::set<char> seen(text.begin(), text.end());
  EXPECT_EQ(seen, std::set<char>(kLettersAndDigits.begin(), kLettersAndDigits.end()));
}

TEST(RandomText, DoesNotRepeatItself) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(random_text(kBase32Letters, 16)).second);
}

}  // namespace
}  // namespace drover

#include "wire/aws/pattern.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"

namespace drover::aws {
namespace {

bool is_match(std::string_view pattern, std::string_view text, Comparison comparison = Comparison::exact) {
  return Pattern(pattern, Wildcards::expanded, Variables::literal).matches(text, comparison, {}) == Match::yes;
}

TEST(Pattern, WildcardsMatchRunsAndCharacters) {
  for (const auto& [pattern, text] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"*", ""},
           {"*", "anything:at/all"},
           {"", ""},
           {"a*c", "ac"},
           {"a*c", "abcbc"},
           {"**a**", "a"},
           {"a?c", "abc"},
           {"?", "ü"},
           {"*?", "ü"},
           {"x*??", "xab"},
           {"*b*d*f", "abcdef"},
           {"arn:aws:s3:::b/*/x?.log", "arn:aws:s3:::b/one/two/x1.log"}}) {
    EXPECT_TRUE(is_match(pattern, text)) << pattern << " " << text;
  }
  for (const auto& [pattern, text] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"", "a"}, {"a", ""}, {"?", ""}, {"??", "ü"}, {"a*c", "ab"}, {"A", "a"}, {"a*b*c", "acb"}, {"*ab", "aba"}}) {
    EXPECT_FALSE(is_match(pattern, text)) << pattern << " " << text;
  }
}

TEST(Pattern, CaseIsIgnoredOnlyWhenAsked) {
  EXPECT_TRUE(is_match("S3:get*", "s3:GetObject", Comparison::ignoring_case));
  EXPECT_FALSE(is_match("S3:get*", "s3:GetObject"));
}

TEST(Pattern, PartsOfAnArnAreComparedOneByOne) {
  EXPECT_TRUE(is_match("arn:aws:s3:*:*:bucket", "arn:aws:s3:::bucket", Comparison::arn));
  EXPECT_TRUE(is_match("arn:aws:logs:*:*:log-group:*", "arn:aws:logs:eu:1:log-group:a:log-stream:b", Comparison::arn));
  EXPECT_TRUE(is_match("*", "arn:aws:s3:::bucket", Comparison::arn));
  EXPECT_FALSE(is_match("arn:aws:s3*:bucket", "arn:aws:s3:::bucket", Comparison::arn));
  EXPECT_FALSE(is_match("arn:aws:sqs:*:1:q", "arn:aws:sqs:eu:2:1:q", Comparison::arn));
  EXPECT_TRUE(is_match("arn:aws:sqs:*:1:q", "arn:aws:sqs:eu:2:1:q")) << "as a text, a wildcard reaches anywhere";
  EXPECT_FALSE(is_match("*", "bucket", Comparison::arn)) << "not an ARN";
}

// Where the region is any already, it must say what the plain comparison says.
TEST(Pattern, BothComparisonsSayTheSameOfAnArnWithoutARegion) {
  Random random(7);
  const auto text = [&](std::string_view letters, std::size_t most) {
    std::string out;
    for (std::size_t i = random.below(most + 1); i > 0; --i) out += letters[random.below(letters.size())];
    return out;
  };
  int matches = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string resource = concat("arn:a:b:", text("ab", 3), ":1:", text("ab:", 6));
    const std::string pattern = concat("arn:a:b:*:1:", text("ab:*?", 6));
    const bool is_there = is_match(pattern, resource, Comparison::arn_of_any_region);
    // As a text, the first wildcard could reach beyond the region.
    EXPECT_TRUE(!is_there || is_match(pattern, resource)) << pattern << " " << resource;
    const bool is_rest = is_match(pattern.substr(9), resource.substr(resource.find(":1:")));
    EXPECT_TRUE(is_there || !is_rest) << pattern << " " << resource;
    matches += is_there ? 1 : 0;
  }
  EXPECT_GT(matches, 500);
}

TEST(Pattern, TheRegionOfAResourceMayBeAny) {
  const auto is_resource = [](std::string_view pattern, std::string_view text) {
    return is_match(pattern, text, Comparison::arn_of_any_region);
  };
  constexpr std::string_view kQueue = "arn:aws:batch:eu-west-1:1:job-queue/prod";
  for (const char* pattern :
       {"*", "arn:*", "arn:aws:batch:us-east-1:1:job-queue/prod", "arn:aws:batch:eu-west-1:1:job-queue/prod",
        "arn:aws:batch::1:job-queue/prod", "arn:aws:batch:us-*:1:job-queue/*", "arn:aws:batch:us-*", "arn:aws:batch:u*",
        "arn:*:us-east-1:*", "arn:*us-east-1*prod", "arn:aws:batch:us-?ast-?:1:job-queue/prod", "*:us-east-?:?:*"}) {
    EXPECT_TRUE(is_resource(pattern, kQueue)) << pattern;
  }
  for (const char* pattern : {"arn:aws:batch:us-east-1:2:job-queue/prod", "arn:aws:batch:us-east-1:1:job-queue/test",
                              "arn:aws:batch:us-east-1", "arn:aws:logs:*", "", "arn:aws:batch:1:job-queue/prod",
                              "arn:aws:batch:us:east:1:job-queue/prod", "arn:aws:batch:us-east-1:1:job-queue/prod/x"}) {
    EXPECT_FALSE(is_resource(pattern, kQueue)) << pattern;
  }
  EXPECT_TRUE(is_resource("arn:aws:s3:::b/?.txt", "arn:aws:s3:::b/\u00fc.txt"));
  EXPECT_FALSE(is_resource("arn:aws:s3:::b/??.txt", "arn:aws:s3:::b/\u00fc.txt"));
  const Pattern with_variable("arn:aws:batch:ap-southeast-2:1:job-queue/${aws:PrincipalTag/t, 'q'}",
                              Wildcards::expanded, Variables::substituted);
  EXPECT_EQ(with_variable.matches("arn:aws:batch:x:1:job-queue/q", Comparison::arn_of_any_region, {}), Match::yes);
  EXPECT_TRUE(is_resource("*", "*"));
  EXPECT_FALSE(is_resource("arn:aws:s3:::b", "*"));
}

TEST(Pattern, VariablesStandForValuesOfTheRequest) {
  const RequestContext context{
      {"aws:username", {"ann"}}, {"aws:Many", {"a", "b"}}, {"aws:wild", {"a*"}}, {"aws:no", {}}};
  const auto match = [&](std::string_view pattern, std::string_view text) {
    return Pattern(pattern, Wildcards::expanded, Variables::substituted).matches(text, Comparison::exact, context);
  };
  EXPECT_EQ(match("home/${aws:username}/*", "home/ann/x"), Match::yes);
  EXPECT_EQ(match("home/${AWS:UserName}/*", "home/ann/x"), Match::yes);
  EXPECT_EQ(match("home/${aws:username}/*", "home/bob/x"), Match::no);
  EXPECT_EQ(match("${aws:username}${aws:username}", "annann"), Match::yes);
  EXPECT_EQ(match("${aws:username, 'none'}", "ann"), Match::yes);
  EXPECT_EQ(match("${aws:nothing, 'none'}", "none"), Match::yes);
  EXPECT_EQ(match("${aws:nothing}", "none"), Match::unknown);
  EXPECT_EQ(match("${aws:nothing, none}", "none"), Match::unknown);
  EXPECT_EQ(match("*${aws:no}", ""), Match::unknown);
  EXPECT_EQ(match("${aws:Many}", "a"), Match::unknown) << "which of them?";
  EXPECT_EQ(match("${aws:wild}", "abc"), Match::no) << "a value has no wildcards";
  EXPECT_EQ(match("${aws:wild}", "a*"), Match::yes);
  EXPECT_EQ(match("${*}${?}${$}", "*?$"), Match::yes);
  EXPECT_EQ(match("${*}", "x"), Match::no);
  EXPECT_EQ(match("${aws:username", "${aws:username"), Match::yes) << "never closed: a text";
}

TEST(Pattern, ValuesThatAreTooLongDoNotMatchByBeingCut) {
  const RequestContext context{{"e", {""}}, {"s", {"secret"}}};
  const auto match = [&](std::string_view pattern, std::string_view text) {
    return Pattern(pattern, Wildcards::expanded, Variables::substituted).matches(text, Comparison::exact, context);
  };
  EXPECT_EQ(match("*${e}*${e}*${e}*${e}*${e}*${s}", "ab"), Match::no);
  EXPECT_EQ(match("*${e}*${e}*${e}*${e}*${e}*${s}", "my secret"), Match::yes);
  EXPECT_EQ(match("${s}${s}${s}", "secret"), Match::no);
}

TEST(Pattern, ManyWildcardsTakeNoLongerThanBothLengthsMultiplied) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  EXPECT_FALSE(is_match(pattern + "b", std::string(4000, 'a')));
  EXPECT_TRUE(is_match(pattern, std::string(4000, 'a')));
}

/// Which prefixes of the text each prefix of the pattern matches, one after another.
bool is_match_by_table(std::string_view pattern, std::string_view text) {
  std::vector<bool> matched(text.size() + 1, false);
  matched[0] = true;
  for (const char unit : pattern) {
    std::vector<bool> next(text.size() + 1, false);
    next[0] = unit == '*' && matched[0];
    for (std::size_t i = 1; i <= text.size(); ++i) {
      next[i] = unit == '*' ? matched[i] || next[i - 1] : matched[i - 1] && (unit == '?' || unit == text[i - 1]);
    }
    matched = next;
  }
  return matched.back();
}

TEST(Pattern, AgreesWithATableOfAllPrefixes) {
  Random random(1);
  const auto word = [&](std::string_view letters, std::size_t most) {
    std::string out(random.below(most + 1), ' ');
    for (char& c : out) c = letters[random.below(letters.size())];
    return out;
  };
  int matches = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string pattern = word("aab*?", 7);
    const std::string text = word("aab", 9);
    const bool expected = is_match_by_table(pattern, text);
    ASSERT_EQ(is_match(pattern, text), expected) << pattern << " " << text;
    matches += expected ? 1 : 0;
  }
  EXPECT_GT(matches, 1000);
}

}  // namespace
}  // namespace drover::aws

// What holds for all policies and requests. DROVER_SEED and DROVER_SEEDS choose where to start and how many.
#include <algorithm>
#include <cstdlib>

#include "base/random.h"
#include "wire/aws/policy_fixture.h"

namespace drover::aws {
namespace {

using Words = std::vector<std::string>;

const Words kActions = {"s3:GetObject", "s3:PutObject", "sqs:SendMessage", "iam:CreateUser"};
const Words kActionPatterns = {"*", "s3:*", "S3:Get*", "s3:?etObject", "sqs:SendMessage", "iam:*"};
const Words kResources = {"arn:aws:s3:::a/x", "arn:aws:s3:::b/ann", "arn:aws:sqs:eu:1:q"};
const Words kResourcePatterns = {"*", "arn:aws:s3:::*", "arn:aws:s3:::?/ann", "arn:aws:s3:::b/${aws:username}",
                                 "arn:aws:sqs:*"};
const Words kKeys = {"aws:username", "aws:SourceArn", "x:y"};
const Words kValues = {"ann", "bob", "arn:aws:s3:::a", "arn:aws:s3:::b"};
const Words kOperators = {"StringEquals", "StringNotEquals", "StringLike", "StringNotLikeIfExists",
                          "ArnLike",      "ArnNotLike",      "IpAddress",  "StringEqualsIfExists"};
const Words kValuePatterns = {"ann", "a*", "${aws:username}", "arn:aws:s3:::?", "arn:aws:s3:*:*:b", "true"};

class RandomPolicies {
 public:
  explicit RandomPolicies(std::uint64_t seed) : random_(seed) {}

  std::string statement(std::string_view effect) {
    std::string out = concat(R"({"Effect":")", effect, R"(",")", not_in(4), "Action\":", list(kActionPatterns), ",\"",
                             not_in(4), "Resource\":", list(kResourcePatterns));
    if (!random_.one_in(3)) {
      out +=
          concat(R"(,"Condition":{")", one_of(kOperators), "\":{\"", one_of(kKeys), "\":", list(kValuePatterns), "}}");
    }
    return out + "}";
  }
  std::string statement() { return statement(random_.one_in(4) ? "Deny" : "Allow"); }

  AccessRequest request() {
    RequestContext context;
    for (const std::string& key : kKeys) {
      if (random_.one_in(2)) context[key] = {one_of(kValues)};
    }
    return request_of(one_of(kActions), one_of(kResources), std::move(context));
  }

  void shuffle(Words& words) {
    for (std::size_t i = words.size(); i > 1; --i) std::swap(words[i - 1], words[random_.below(i)]);
  }

 private:
  const std::string& one_of(const Words& words) { return words[random_.below(words.size())]; }
  std::string_view not_in(std::uint64_t n) { return random_.one_in(n) ? "Not" : ""; }
  std::string list(const Words& words) {
    return random_.one_in(2) ? concat("\"", one_of(words), "\"")
                             : concat("[\"", one_of(words), "\",\"", one_of(words), "\"]");
  }

  Random random_;
};

Decision decide(const Words& statements, const AccessRequest& request) {
  std::string text;
  for (const std::string& one : statements) text += concat(text.empty() ? "" : ",", one);
  const PolicyDocument policy = policy_of(document_of(text));
  return evaluate({&policy}, request).decision;
}

std::uint64_t seed_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(RandomPolicies, ADenyWinsAndOrderDoesNotMatter) {
  const std::uint64_t first = seed_from_environment("DROVER_SEED", 1);
  const std::uint64_t count = seed_from_environment("DROVER_SEEDS", 3000);
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + count - 1));
  std::map<Decision, int> seen;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    RandomPolicies random(seed);
    Words statements;
    while (statements.size() < 1 + seed % 4) statements.push_back(random.statement());
    const AccessRequest request = random.request();
    const Decision before = decide(statements, request);
    ++seen[before];

    // Each statement by itself says what all of them say together.
    bool any_allows = false;
    bool any_denies = false;
    for (const std::string& one : statements) {
      any_allows |= decide({one}, request) == Decision::allowed;
      any_denies |= decide({one}, request) == Decision::explicit_deny;
    }
    const Decision expected = any_denies   ? Decision::explicit_deny
                              : any_allows ? Decision::allowed
                                           : Decision::implicit_deny;
    ASSERT_EQ(before, expected) << "seed " << seed;

    Words shuffled = statements;
    random.shuffle(shuffled);
    ASSERT_EQ(decide(shuffled, request), before) << "seed " << seed;

    const std::string deny = random.statement("Deny");
    Words more = statements;
    more.push_back(deny);
    random.shuffle(more);
    const Decision after = decide(more, request);
    const Decision alone = decide({deny}, request);
    ASSERT_NE(alone, Decision::allowed) << "seed " << seed;
    ASSERT_EQ(after, alone == Decision::explicit_deny ? alone : before) << "seed " << seed;
  }
  if (count < 1000) return;
  EXPECT_GT(seen[Decision::allowed], 100);
  EXPECT_GT(seen[Decision::implicit_deny], 100);
  EXPECT_GT(seen[Decision::explicit_deny], 100);
}

}  // namespace
}  // namespace drover::aws

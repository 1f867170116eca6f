#include "wire/definition.h"

#include <gtest/gtest.h>

#include "wire/base64.h"
#include "wire/rules.h"

namespace drover {
namespace {

TEST(Definition, ComesBackByteForByteEvenWhenItIsNotUtf8) {
  const Definition definition{.command = {"a b", "\xff\xfe\"'\\\n", ""},
                              .shell = true,
                              .literal = true,
                              .workdir = "/tmp/x",
                              .environment = {{"K", "v=1"}, {"E", ""}},
                              .items = ItemKind::json,
                              .limits = {1, 2, 3, -4, 5},
                              .download = true,
                              .output = "s3://photos/out/",
                              .aws_batch = R"({"type":"container"})"};
  const auto back = definition_from_json(definition_to_json(definition));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, definition);
}

TEST(Definition, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "{}", "{\"command\":3}", "{\"command\":[1],\"shell\":false}"}) {
    EXPECT_FALSE(definition_from_json(text)) << text;
  }
}

TEST(Rules, ComeBackAndTakeActionsInAnyCase) {
  const std::vector<ExitRule> rules = {{"Host*", "why", "1*", RuleAction::exit}, {"", "", "75", RuleAction::retry}};
  EXPECT_EQ(rules_from_json(rules_to_json(rules)).value(), rules);
  EXPECT_EQ(rules_from_json(R"([{"onExitCode":"3","action":"exit"}])").value()[0].action, RuleAction::exit);
  for (const char* text : {"{}", "[3]", R"([{"action":"maybe"}])", R"([{"onExit":"3"}])"}) {
    EXPECT_FALSE(rules_from_json(text)) << text;
  }
}

TEST(Base64, ComesBackAndRefusesWhatIsNone) {
  for (const std::string bytes : {"", "f", "fo", "foo", "\xff\xfe\xfd\xfc", "a\nb c"}) {
    EXPECT_EQ(from_base64(base64(bytes)), bytes);
  }
  for (const char* text : {"Zg=", "Z===", "Zg==Zg==", "Z!==", "=Zg="}) EXPECT_FALSE(from_base64(text)) << text;
}

TEST(Base64, PadsAsTheStandardSays) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd\xfc"), "//79/A==");
}

TEST(Definition, WhoseDigestIsNoneIsDamagedRatherThanUnpinned) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  Definition definition{.command = {"true"}};
  definition.container = ContainerOptions{.image = "busybox", .digest = digest};
  const std::string stored = definition_to_json(definition);
  const auto whole = definition_from_json(stored);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->container.value_or(ContainerOptions{}).digest, digest);
  for (const char* bad : {"sha256:a", "latest", "../../etc/passwd", ""}) {
    std::string changed = stored;
    changed.replace(changed.find(digest), digest.size(), bad);
    const auto read = definition_from_json(changed);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::damaged);
  }
}

}  // namespace
}  // namespace drover

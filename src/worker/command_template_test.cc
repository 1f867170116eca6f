#include "worker/command_template.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

std::vector<std::string> render(std::vector<std::string> command, std::string_view item, std::uint64_t index = 0,
                                bool shell = false, ItemKind kind = ItemKind::text) {
  const auto parsed =
      CommandTemplate::parse({.command = std::move(command), .shell = shell, .workdir = "/", .items = kind});
  EXPECT_TRUE(parsed);
  const auto out = parsed->render(item, ItemIndex{index});
  EXPECT_TRUE(out) << out.error().message;
  return out.value_or(std::vector<std::string>{});
}

using Words = std::vector<std::string>;

TEST(CommandTemplate, KnowsThePlaceholders) {
  EXPECT_EQ(render({"x", "{}", "{.}", "{/}", "{//}", "{/.}", "{#}"}, "/a/b.c/d.tar.gz", 41),
            (Words{"x", "/a/b.c/d.tar.gz", "/a/b.c/d.tar", "d.tar.gz", "/a/b.c", "d.tar", "42"}));
  EXPECT_EQ(render({"{.}", "{//}"}, "a.b/c"), (Words{"a.b/c", "a.b"}));
  EXPECT_EQ(render({"{//}", "{/}"}, "plain"), (Words{".", "plain"}));
}

TEST(CommandTemplate, FillsPlaceholdersInsideWords) {
  EXPECT_EQ(render({"--in={}", "x{/}y{#}"}, "d/f"), (Words{"--in=d/f", "xfy1"}));
}

TEST(CommandTemplate, AppendsTheItemWhenNothingSaysWhere) {
  EXPECT_EQ(render({"echo", "-n"}, "a b"), (Words{"echo", "-n", "a b"}));
}

TEST(CommandTemplate, TakesAnImagesWordsAsTheyAre) {
  const auto after = [](const Words& before, Words command) {
    const auto parsed = CommandTemplate::parse({.command = std::move(command), .items = ItemKind::json}, before);
    EXPECT_TRUE(parsed);
    return parsed->render(R"({"name":"x"})", ItemIndex{0}).value();
  };
  EXPECT_EQ(after({"sh", "{}", "{name}"}, {"cat", "{name}"}), (Words{"sh", "{}", "{name}", "cat", "x"}));
  EXPECT_EQ(after({"sh", "{}", "{name}"}, {"cat"}), (Words{"sh", "{}", "{name}", "cat", R"({"name":"x"})"}));
  EXPECT_EQ(after({"sh", "{}"}, {}), (Words{"sh", "{}", R"({"name":"x"})"}));
  EXPECT_EQ(after({"sh", ""}, {"{name}"}), (Words{"sh", "", "x"}));
}

TEST(CommandTemplate, NeverReadsTheItemAgain) {
  EXPECT_EQ(render({"echo", "{}"}, "{} {/} $(rm) `x`"), (Words{"echo", "{} {/} $(rm) `x`"}));
}

TEST(CommandTemplate, LeavesOtherBracesAlone) {
  EXPECT_EQ(render({"awk", "{print $1}", "{}"}, "f"), (Words{"awk", "{print $1}", "f"}));
  EXPECT_EQ(render({"x", "{", "{}"}, "f"), (Words{"x", "{", "f"}));
}

TEST(CommandTemplate, RefusesPlaceholdersThatItDoesNotKnow) {
  for (const char* word : {"{1}", "{-1}", "in/{2}.txt", "--file={1.}", "{3//}", "{%}", "{..}", "{+/}"}) {
    Definition definition;
    definition.command = {"echo", word};
    const auto parsed = CommandTemplate::parse(definition);
    ASSERT_FALSE(parsed) << word;
    EXPECT_NE(parsed.error().message.find("unknown placeholder"), std::string::npos) << parsed.error().message;
    definition.items = ItemKind::json;
    EXPECT_TRUE(CommandTemplate::parse(definition)) << "a field may have any name";
  }
  for (const char* word : {"[0-9]{4}", "a{2}", "(ab){3}", "${1}", "{1,3}", "{1..3}", "{print $1}"}) {
    Definition definition;
    definition.command = {"echo", word};
    EXPECT_TRUE(CommandTemplate::parse(definition)) << word;
  }
}

TEST(CommandTemplate, QuotesTheItemForAShell) {
  EXPECT_EQ(render({"cat {} | wc"}, "it's $(x)", 0, true), (Words{"/bin/sh", "-c", "cat 'it'\\''s $(x)' | wc"}));
  EXPECT_EQ(render({"echo", "hi"}, "a b", 0, true), (Words{"/bin/sh", "-c", "echo hi 'a b'"}));
}

TEST(CommandTemplate, TakesFieldsOfJsonItems) {
  EXPECT_EQ(render({"x", "{name}", "{n}", "{ok}", "{none}", "{list}", "{}"},
                   R"({"name":"a b","n":1.5,"ok":true,"none":null,"list":[1,"2"]})", 0, false, ItemKind::json)[5],
            R"([1,"2"])");
  EXPECT_EQ(render({"x", "{name}"}, R"({"name":"ü"})", 0, false, ItemKind::json), (Words{"x", "ü"}));
}

TEST(CommandTemplate, ALiteralCommandHasNoPlaceholders) {
  const auto parsed = CommandTemplate::parse({.command = {"echo", "{}", "{name}"}, .literal = true}, {"/bin/sh"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->render("item", ItemIndex{0}).value(), (Words{"/bin/sh", "echo", "{}", "{name}"}));
}

TEST(CommandTemplate, SaysWhichItemLacksWhichField) {
  const auto parsed = CommandTemplate::parse({.command = {"x", "{angle}"}, .items = ItemKind::json});
  ASSERT_TRUE(parsed);
  const auto missing = parsed->check(R"({"light":1})", ItemIndex{17});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "item 17 has no field 'angle'");
  EXPECT_FALSE(parsed->check("not json", ItemIndex{0}));
  EXPECT_FALSE(parsed->check("[1]", ItemIndex{0}));
  EXPECT_FALSE(parsed->check(R"({"angle":"a\u0000b"})", ItemIndex{0}));
  EXPECT_TRUE(parsed->check(R"({"angle":3})", ItemIndex{0}));
}

TEST(CommandTemplate, KnowsWhetherTheProgramIsFixed) {
  EXPECT_EQ(*CommandTemplate::parse({.command = {"gzip", "{}"}})->fixed_program(), "gzip");
  EXPECT_EQ(CommandTemplate::parse({.command = {"{}"}})->fixed_program(), nullptr);
  EXPECT_FALSE(CommandTemplate::parse({.command = {}}));
}

}  // namespace
}  // namespace drover

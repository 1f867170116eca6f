#include "wire/yaml_document.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace drover {
namespace {

std::string as_json(std::string_view yaml) {
  const auto node = node_from_yaml(yaml);
  return node ? node_to_json(*node)
              : concat(node.error().place.line, ":", node.error().place.column, " ", node.error().what);
}

TEST(YamlDocument, PlainScalarsAreWhatTheCoreSchemaSays) {
  EXPECT_EQ(as_json("[1, -2, 1.50, 1e3, true, False, ~, null, yes, on, 0x1f, 1-5, 4G, '3', \"4\", 007, --1, .5]"),
            R"([1,-2,1.50,1e3,true,false,null,null,"yes","on","0x1f","1-5","4G","3","4","007","--1",".5"])");
  EXPECT_EQ(as_json("a:\nb: |\n  two\n  lines\n"), R"({"a":null,"b":"two\nlines\n"})");
}

TEST(YamlDocument, EverythingKnowsWhereItStands) {
  const auto node = node_from_yaml("# first\nnäme: x\nlist:\n  - ä: 1\n    ö: [ü, v]\n");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->fields[0].place, (Position{2, 1}));
  EXPECT_EQ(node->fields[0].value.place, (Position{2, 7}));
  const Node& inner = node->fields[1].value.items[0];
  EXPECT_EQ(inner.fields[1].place, (Position{5, 5}));
  EXPECT_EQ(inner.fields[1].value.items[1].place, (Position{5, 12}));
}

TEST(YamlDocument, JsonIsYaml) {
  const std::string text =
      "{\n\t\"a\": [1, 2.0, \"x\\ud83d\\ude00\\u00e4\\/\\n\"],\n\t\"b\": {\"c\": null, \"d\": false}\n}\n";
  EXPECT_EQ(as_json(text), "{\"a\":[1,2.0,\"x\xf0\x9f\x98\x80\xc3\xa4/\\n\"],\"b\":{\"c\":null,\"d\":false}}");
}

TEST(YamlDocument, AliasesAreWrittenOut) {
  EXPECT_EQ(as_json("a: &x {k: [1]}\nb: *x\n"), R"({"a":{"k":[1]},"b":{"k":[1]}})");
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    laughs += concat("a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) laughs += concat(j == 0 ? "" : ", ", "*a", i - 1);
    laughs += "]\n";
  }
  EXPECT_NE(as_json(laughs).find("aliases expand to too many values"), std::string::npos);
  EXPECT_FALSE(node_from_yaml("a: &x [*x]\n"));
}

TEST(YamlDocument, WhatIsNoneIsRefusedWithItsPlace) {
  EXPECT_EQ(as_json("a: 1\n\tb: 2\n").substr(0, 4), "2:1 ");
  EXPECT_EQ(as_json("a: \"x\nb: 1\n").substr(0, 4), "1:4 ");
  EXPECT_EQ(as_json("a: 'x''\n").substr(0, 4), "1:4 ");
  EXPECT_EQ(as_json("a: \xff\n"), "1:4 invalid UTF-8");
  EXPECT_EQ(as_json(std::string_view("a: \0\n", 5)), "1:4 unexpected NUL byte");
  EXPECT_EQ(as_json("{\"a\": [1, \"]\"],\n \"b\": {\n"), "2:7 the object that begins here is not closed");
  EXPECT_EQ(as_json("{\"a\": [1"), "1:7 the list that begins here is not closed");
  EXPECT_EQ(as_json("retries:3\n"), "1:8 there is no space after this colon");
  EXPECT_NE(as_json("a: 1\n---\nb: 2\n").find("second document"), std::string::npos);
  EXPECT_NE(as_json(std::string(40, '[') + std::string(40, ']')).find("nested"), std::string::npos);
  EXPECT_NE(as_json("{[a]: b}").find("name"), std::string::npos);
}

TEST(YamlDocument, WordsFitWhatTheFileDescribes) {
  const FileSubject fleet{.what = "fleet", .examples = "the example in docs/fleets.md", .has_placeholders = false};
  const auto two = node_from_yaml("most: 1\n---\nmost: 2\n", fleet);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().what, "a second document begins here, but a file can describe only one fleet");
  EXPECT_EQ(two.error().next, "remove the --- line, or move the second fleet to its own file");
  const auto open = node_from_yaml("labels: {a: b\nmost: 1\n", fleet);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().next, "close it with }, with commas between its fields");
}

TEST(YamlDocument, AValueThatBeginsABlockOfTextIsNamed) {
  for (const std::string_view yaml : {"alarms:\n- when: >=\n  threshold: 1\n", "alarms:\n- when: >=1\n"}) {
    const auto node = node_from_yaml(yaml);
    ASSERT_FALSE(node) << yaml;
    EXPECT_EQ(node.error().place, (Position{2, 9})) << yaml;
    EXPECT_EQ(node.error().what, "a value that begins with > starts a block of text on the lines below it");
    EXPECT_TRUE(node.error().next.starts_with("put the value in quotes: '>=")) << node.error().next;
  }
}

}  // namespace
}  // namespace drover

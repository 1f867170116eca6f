#include "wire/json_text.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

JsonText parsed_json(std::string text) {
  auto out = JsonText::parse(std::move(text));
  EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().message);
  return std::move(*out);
}

TEST(JsonText, WhatIsNotChangedStaysToTheByte) {
  for (const std::string text :
       {"{}", " { } \n", "[1,2 , 3]", "{\"a\" :1e5, \"b\":\t[ ],\n \"a\": -0.10}", "\"\\u00e9\\/\"",
        "12345678901234567890123",
        "{\"args\": [32768, 18446744073709551615, 1.0], \"x\": {\"y\": null, \"z\": [true,false]}}\n"}) {
    EXPECT_EQ(parsed_json(text).text(), text);
  }
}

TEST(JsonText, MalformedTextSaysWhere) {
  const std::pair<std::string, std::string> cases[] = {{"", "line 1, column 1: a value is missing"},
                                                       {"{\"a\": 1,}", "column 9: a member's name"},
                                                       {"{\n\"a\" 1}", "line 2, column 5: a colon"},
                                                       {"[1 2]", "a comma or a closing bracket"},
                                                       {"[1", "the text ends here"},
                                                       {"\"a", "no closing quote"},
                                                       {"\"\\x\"", "unknown escape"},
                                                       {"01", "not a JSON value"},
                                                       {"{} x", "after the end"},
                                                       {"nul", "not a JSON value"}};
  for (const auto& [text, words] : cases) {
    const auto out = JsonText::parse(text);
    ASSERT_FALSE(out.has_value()) << text;
    EXPECT_NE(out.error().message.find(words), std::string::npos) << out.error().message;
  }
  EXPECT_FALSE(JsonText::parse(std::string(5000, '[')).has_value());
}

TEST(JsonText, StringsAreReadWithTheirEscapes) {
  const JsonText text = parsed_json(R"(["a\"\\\/\n\t", "\u00e9\ud83d\ude00", "\ud800"])");
  EXPECT_EQ(text.root().strings(), (std::vector<std::string>{"a\"\\/\n\t", "é😀", "\xef\xbf\xbd"}));
  EXPECT_EQ(json_quoted("a\"\\\n\x01é"), "\"a\\\"\\\\\\n\\u0001é\"");
}

TEST(JsonText, TheLastOfTwoMembersCounts) {
  EXPECT_EQ(parsed_json(R"({"a": 1, "a": 2})").root().find("a")->text, "2");
}

TEST(JsonText, ChangesKeepTheLayoutAroundThem) {
  JsonText text = parsed_json("{\n  \"a\": [1],\n  \"b\": {}\n}\n");
  text.append(*text.root().find("a"), text.value("2"));
  text.set(text.root(), "c", text.value("true"));
  text.set(text.root(), "b", text.value("null"));
  EXPECT_EQ(text.text(), "{\n  \"a\": [1,2],\n  \"b\": null,\n  \"c\": true\n}\n");
  text.prepend(*text.root().find("a"), text.value("0"));
  EXPECT_EQ(text.text(), "{\n  \"a\": [0,1,2],\n  \"b\": null,\n  \"c\": true\n}\n");
}

TEST(JsonText, EraseUndoesSet) {
  for (const std::string before :
       {"{}", "{ }", "{\n}", "{\n\n}", "{\"a\":1}", "{ \"a\" : 1 , \"b\":2 }", "{\n\t\"a\": {\n\t}\n}\n"}) {
    JsonText text = parsed_json(before);
    text.set(text.root(), "new", text.value(R"({"path": "/x"})"));
    EXPECT_NE(text.text(), before);
    JsonText again = parsed_json(text.text());
    EXPECT_EQ(again.root().find("new")->find("path")->string(), "/x");
    EXPECT_TRUE(again.erase(again.root(), "new"));
    EXPECT_EQ(again.text(), before);
    EXPECT_FALSE(again.erase(again.root(), "new"));
  }
}

}  // namespace
}  // namespace drover

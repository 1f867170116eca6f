#include "wire/json_fields.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

using Fields = std::map<std::string, std::string>;

TEST(JsonFields, StringsAreDecodedAndTheRestStaysAsWritten) {
  EXPECT_EQ(json_fields(R"( {"a" : "x\"\u00fc,}" ,"b":1.0, "c":12345678901234567890123 ,"d":null,"e":true} )").value(),
            (Fields{{"a", "x\"ü,}"}, {"b", "1.0"}, {"c", "12345678901234567890123"}, {"d", ""}, {"e", "true"}}));
  EXPECT_EQ(json_fields(R"({"l":[1, {"k":"]"}] ,"o":{"a":[2,3]}})").value(),
            (Fields{{"l", R"([1, {"k":"]"}])"}, {"o", R"({"a":[2,3]})"}}));
}

TEST(JsonFields, AnEmptyObjectHasNone) {
  EXPECT_TRUE(json_fields(" { } ").value().empty());
}

TEST(JsonFields, TheLastOfTwoFieldsOfOneNameCounts) {
  EXPECT_EQ(json_fields(R"({"a":1,"a":2})").value(), (Fields{{"a", "2"}}));
}

TEST(JsonFields, WhatIsNoObjectIsAnError) {
  for (const char* text : {"", "[]", "3", "{", "{\"a\"}", "{\"a\":1} x", "{\"a\":01}"})
    EXPECT_FALSE(json_fields(text)) << text;
}

}  // namespace
}  // namespace drover

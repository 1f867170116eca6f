#include "wire/message_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace drover {
namespace {

MessageDraft read(std::string_view text) {
  auto out = messages_from_json(text);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out && out->size() == 1 ? out->front() : MessageDraft{};
}

std::string refusal(std::string_view text) {
  const auto out = messages_from_json(text);
  return out ? "" : out.error().message;
}

StreamSpec stream_of(bool fifo, bool deduplicates_content = false) {
  StreamSpec out;
  out.name = fifo ? "s.fifo" : "s";
  out.fifo = fifo;
  out.max_message_bytes = 20;
  out.deduplicates_content = deduplicates_content;
  return out;
}

std::string refusal_of(const StreamSpec& stream, MessageDraft message) {
  const auto checked = check_message(stream, message);
  return checked ? "" : checked.error().message;
}

TEST(MessageJson, AnArrayAndLinesAreTheSame) {
  const auto array = messages_from_json(R"([{"body": "a"}, {"body": "b"}])");
  const auto lines = messages_from_json("{\"body\": \"a\"}\n\n{\"body\":\r\n \"b\"} ");
  ASSERT_TRUE(array && lines);
  EXPECT_EQ(*array, *lines);
  EXPECT_EQ(array->size(), 2);
  EXPECT_EQ(messages_from_json("  \n")->size(), 0);
  EXPECT_EQ(messages_from_json("[]")->size(), 0);
}

TEST(MessageJson, EverythingOfAMessageComesBack) {
  MessageDraft message{.body = "hello",
                       .attributes = {{"blob", "Binary.png", std::string("\xff\0", 2)},
                                      {"colour", "String", "red"},
                                      {"size", "Number", "7"}},
                       .delay_ms = 1500,
                       .group = "g",
                       .deduplication = "d"};
  EXPECT_EQ(read(boost::json::serialize(message_to_json(message))), message);
  message.body = "\xff";
  EXPECT_EQ(message_to_json(message).at("body_b64"), "/w==");
  EXPECT_EQ(read(boost::json::serialize(message_to_json(message))), message);
  EXPECT_EQ(message.bytes(), 1 + (4 + 10 + 2) + (6 + 6 + 3) + (4 + 6 + 1));
}

TEST(MessageJson, AnAttributeMayBeAPlainString) {
  const MessageDraft message = read(R"({"body": "x", "attributes": {"colour": "red"}})");
  EXPECT_EQ(message.attributes, (std::vector<MessageAttribute>{{"colour", "String", "red"}}));
}

TEST(MessageJson, TheMessageThatIsWrongIsNamed) {
  EXPECT_TRUE(refusal("{\"body\": \"a\"}\n{\"body\"").starts_with("message 2: not valid JSON"));
  EXPECT_EQ(refusal(R"([{"body": "a"}, 3])"), "message 2: a message must be a JSON object");
  EXPECT_EQ(refusal(R"({"body": "a"} [])"), "message 2: a message must be a JSON object");
  EXPECT_EQ(refusal("{}"), "message 1: a message must have either 'body' or 'body_b64'");
  EXPECT_EQ(refusal(R"({"body": "a", "body_b64": "YQ=="})"),
            "message 1: a message must have either 'body' or 'body_b64'");
  EXPECT_EQ(refusal(R"({"body_b64": "?"})"), "message 1: field 'body_b64' must be a string in base64");
  EXPECT_EQ(refusal(R"({"body": "a", "colour": 1})"), "message 1: unknown field 'colour'");
  EXPECT_TRUE(refusal(R"({"body": "a", "group": "a b"})").contains("visible ASCII"));
  EXPECT_TRUE(refusal(R"({"body": "a", "attributes": {"a..b": "x"}})").contains("invalid attribute name 'a..b'"));
  EXPECT_TRUE(refusal(R"({"body": "a", "attributes": {"a": {"type": "Int", "value": "1"}}})").contains("the type"));
  EXPECT_TRUE(refusal(R"({"body": "a", "attributes": {"a": ""}})").contains("has no value"));
  EXPECT_TRUE(refusal(R"({"body": "a", "attributes": {"a": {"type": "String"}}})").contains("'value'"));
}

TEST(MessageJson, NoMoreThanSoMany) {
  std::string lines;
  for (std::size_t i = 0; i < kMostMessagesPerSend; ++i) lines += "{\"body\":\"x\"}\n";
  EXPECT_EQ(messages_from_json(lines)->size(), kMostMessagesPerSend);
  EXPECT_TRUE(refusal(lines + "{\"body\":\"x\"}").contains("at most 500 messages"));
  boost::json::object many;
  for (std::size_t i = 0; i <= kMostMessageAttributes; ++i) many["a" + std::to_string(i)] = "x";
  EXPECT_TRUE(refusal(boost::json::serialize(boost::json::object{{"body", "x"}, {"attributes", many}}))
                  .contains("at most 10 attributes"));
}

TEST(MessageJson, AStreamAcceptsWhatItIsFor) {
  EXPECT_EQ(refusal_of(stream_of(false), {.body = "x", .delay_ms = 900'000}), "");
  EXPECT_EQ(refusal_of(stream_of(false), {.body = ""}), "the body is empty");
  EXPECT_TRUE(refusal_of(stream_of(false), {.body = std::string(21, 'x')}).contains("has 21 bytes"));
  EXPECT_TRUE(refusal_of(stream_of(false), {.body = "x", .delay_ms = 900'001}).contains("15 minutes"));
  EXPECT_TRUE(refusal_of(stream_of(false), {.body = "x", .group = "g"}).contains("no 'group'"));
  EXPECT_TRUE(refusal_of(stream_of(true), {.body = "x", .deduplication = "d"}).contains("has no group"));
  EXPECT_TRUE(refusal_of(stream_of(true), {.body = "x", .group = "g"}).contains("no deduplication id"));
  EXPECT_TRUE(refusal_of(stream_of(true), {.body = "x", .delay_ms = 1, .group = "g"}).contains("delayed"));
  EXPECT_EQ(refusal_of(stream_of(true), {.body = "x", .group = "g", .deduplication = "d"}), "");
}

TEST(MessageJson, BodiesAreToldApartWhereTheStreamWantsIt) {
  MessageDraft message{.body = "x", .group = "g"};
  ASSERT_TRUE(check_message(stream_of(true, true), message));
  EXPECT_EQ(message.deduplication, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
}

}  // namespace
}  // namespace drover

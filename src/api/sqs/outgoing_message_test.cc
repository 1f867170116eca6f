#include "api/sqs/outgoing_message.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "base/text.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

/// The code of the refusal and its message; empty: none.
std::string refused(const json::object& input, const StreamSpec& queue = {}) {
  const auto made = outgoing_message(input, queue, {"sender", 5});
  return made ? "" : concat(made.error().query_code, ": ", made.error().message);
}

json::object with_attribute(const json::object& value, const std::string& name = "a") {
  return {{"MessageBody", "x"}, {"MessageAttributes", json::object{{name, value}}}};
}

StreamSpec fifo() {
  StreamSpec out;
  out.fifo = true;
  return out;
}

TEST(OutgoingMessage, HasWhatWasSent) {
  const auto made = outgoing_message(
      {{"MessageBody", "hello"},
       {"DelaySeconds", 7},
       {"MessageGroupId", "g"},
       {"MessageAttributes", json::object{{"b", json::object{{"DataType", "Binary"}, {"BinaryValue", "\1"}}},
                                          {"a", json::object{{"DataType", "Number.int"}, {"StringValue", "12"}}}}},
       {"MessageSystemAttributes",
        json::object{{"AWSTraceHeader", json::object{{"DataType", "String"}, {"StringValue", "t"}}}}}},
      {}, {"sender", 5});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->delay_ms, 7000);
  EXPECT_EQ(made->content.body, "hello");
  EXPECT_EQ(made->content.sender, "sender");
  EXPECT_EQ(made->content.sent_ms, 5);
  EXPECT_EQ(made->content.group, "g");
  const std::vector<MessageAttribute> sorted{{"a", "Number.int", "12"}, {"b", "Binary", "\1"}};
  EXPECT_EQ(made->content.attributes, sorted);
  EXPECT_EQ(made->content.system_attributes.at(0).value, "t");
  EXPECT_EQ(made->bytes, 5 + (1 + 10 + 2) + (1 + 6 + 1));
}

TEST(OutgoingMessage, ABodyHasOnlyWhatXmlCanCarry) {
  EXPECT_EQ(refused({{"MessageBody", "\t\n\r \xC3\xA4\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBD\xF0\x90\x80\x80"}}), "");
  EXPECT_EQ(refused({{"MessageBody", ""}}), "MissingParameter: The request must contain the parameter MessageBody.");
  for (const std::string_view bad : {"a\1b", "\x1F", "\xEF\xBF\xBE", "\xEF\xBF\xBF", "\xFF"}) {
    EXPECT_TRUE(refused({{"MessageBody", bad}}).starts_with("InvalidMessageContents")) << bad;
  }
}

TEST(OutgoingMessage, AttributesCountForItsLength) {
  StreamSpec queue;
  queue.max_message_bytes = 1024;
  EXPECT_EQ(refused({{"MessageBody", std::string(1024, 'x')}}, queue), "");
  EXPECT_EQ(
      refused({{"MessageBody", std::string(1025, 'x')}}, queue),
      "InvalidParameterValue: One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.");
  json::object input = with_attribute({{"DataType", "String"}, {"StringValue", "v"}});
  input["MessageBody"] = std::string(1024 - 8, 'x');
  EXPECT_EQ(refused(input, queue), "");
  input["MessageBody"] = std::string(1024 - 7, 'x');
  EXPECT_NE(refused(input, queue), "");
}

TEST(OutgoingMessage, AttributesAreChecked) {
  const json::object good{{"DataType", "String"}, {"StringValue", "v"}};
  EXPECT_EQ(refused(with_attribute(good, "a-b_c.D9")), "");
  EXPECT_EQ(refused(with_attribute({{"DataType", "Number"}, {"StringValue", "-1.5e3"}})), "");
  for (const std::string& name : {std::string(), std::string("AWS.x"), std::string("amazon.x"), std::string(".a"),
                                  std::string("a."), std::string("a..b"), std::string("a b"), std::string(257, 'a')}) {
    EXPECT_TRUE(refused(with_attribute(good, name)).contains("The message attribute name")) << name;
  }
  EXPECT_TRUE(
      refused(with_attribute({{"DataType", "Text"}, {"StringValue", "v"}})).contains("supported type prefixes"));
  EXPECT_TRUE(
      refused(with_attribute({{"DataType", ""}, {"StringValue", "v"}})).contains("non-empty message attribute type"));
  EXPECT_TRUE(refused(with_attribute({{"DataType", "String"}, {"StringValue", ""}}))
                  .contains("non-empty message attribute value"));
  EXPECT_TRUE(
      refused(with_attribute({{"DataType", "Binary"}, {"StringValue", "v"}})).contains("attribute type 'Binary'"));
  EXPECT_TRUE(refused(with_attribute({{"DataType", "Number"}, {"StringValue", "one"}})).contains("to a number"));
  EXPECT_TRUE(refused(with_attribute({{"DataType", "Number"}, {"StringValue", "inf"}})).contains("to a number"));
  EXPECT_TRUE(
      refused(with_attribute({{"DataType", "String"}, {"StringValue", "\1"}})).starts_with("InvalidMessageContents"));
  EXPECT_TRUE(refused(with_attribute({{"DataType", "String"}, {"StringListValues", json::array{"v"}}}))
                  .starts_with("AWS.SimpleQueueService.UnsupportedOperation"));
  json::object eleven;
  for (int i = 0; i < 11; ++i) eleven[concat("a", i)] = good;
  EXPECT_TRUE(
      refused({{"MessageBody", "x"}, {"MessageAttributes", eleven}}).contains("[11] exceeds the allowed maximum [10]"));
  EXPECT_TRUE(refused({{"MessageBody", "x"}, {"MessageSystemAttributes", json::object{{"Other", good}}}})
                  .contains("AWSTraceHeader"));
}

TEST(OutgoingMessage, DelaysAreForQueuesThatAreNotFifo) {
  EXPECT_EQ(refused({{"MessageBody", "x"}, {"DelaySeconds", 900}}), "");
  EXPECT_TRUE(refused({{"MessageBody", "x"}, {"DelaySeconds", 901}}).contains("DelaySeconds must be >= 0 and <= 900."));
  EXPECT_TRUE(refused({{"MessageBody", "x"}, {"DelaySeconds", -1}}).contains("Value -1 for parameter DelaySeconds"));
  EXPECT_TRUE(
      refused({{"MessageBody", "x"}, {"DelaySeconds", 1}, {"MessageGroupId", "g"}, {"MessageDeduplicationId", "d"}},
              fifo())
          .contains("not valid for this queue type"));
}

TEST(OutgoingMessage, AFifoQueueNeedsAGroupAndADeduplicationId) {
  EXPECT_EQ(refused({{"MessageBody", "x"}}, fifo()),
            "MissingParameter: The request must contain the parameter MessageGroupId.");
  EXPECT_TRUE(refused({{"MessageBody", "x"}, {"MessageGroupId", "g"}}, fifo()).contains("ContentBasedDeduplication"));
  EXPECT_EQ(refused({{"MessageBody", "x"}, {"MessageGroupId", "g"}, {"MessageDeduplicationId", "d"}}, fifo()), "");
  EXPECT_TRUE(refused({{"MessageBody", "x"}, {"MessageGroupId", "a b"}}, fifo()).contains("1 to 128 in length"));
  EXPECT_TRUE(
      refused({{"MessageBody", "x"}, {"MessageDeduplicationId", "d"}}).contains("not valid for this queue type"));
  StreamSpec by_content = fifo();
  by_content.deduplicates_content = true;
  const auto made = outgoing_message({{"MessageBody", "x"}, {"MessageGroupId", "g"}}, by_content, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->content.deduplication, hex(sha256("x")));
}

}  // namespace
}  // namespace drover::aws

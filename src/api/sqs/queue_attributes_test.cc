#include "api/sqs/queue_attributes.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace drover::aws {
namespace {

namespace json = boost::json;

/// Queues that there are, by name.
class QueueAttributesTest : public ::testing::Test {
 protected:
  void add(const std::string& name, const json::object& attributes = {}) {
    Stream stream;
    stream.name = name;
    const auto set = set_attributes(attributes, QueueAge::is_new, neighbours_, stream);
    ASSERT_TRUE(set) << set.error().message;
    queues_[name] = std::make_shared<const Stream>(stream);
  }
  /// The code and the message of the refusal; empty: none.
  std::string set(StreamSpec& spec, const json::object& given, QueueAge age = QueueAge::exists) const {
    const auto done = set_attributes(given, age, neighbours_, spec);
    return done ? "" : done.error().query_code + ": " + done.error().message;
  }
  std::string set(const json::object& given) const {
    StreamSpec spec;
    spec.name = "q";
    return set(spec, given);
  }
  std::string differing(const json::object& given, const std::string& queue) const {
    const auto name = differing_attribute(given, neighbours_, *queues_.at(queue));
    return name ? *name : name.error().query_code;
  }
  static json::object shown(const StreamSpec& spec) {
    StreamView view;
    static_cast<StreamSpec&>(view.stream) = spec;
    return attributes_of(view, {}, "eu-west-1");
  }

  const Account account_;
  std::map<std::string, std::shared_ptr<const Stream>> queues_;
  const QueueNeighbours neighbours_{account_, [this](const std::string& name) {
                                      const auto found = queues_.find(name);
                                      return found == queues_.end() ? nullptr : found->second;
                                    }};
};

TEST_F(QueueAttributesTest, WhatIsSetComesBack) {
  add("dead");
  StreamSpec spec;
  spec.name = "q";
  const json::object given{
      {"VisibilityTimeout", "0"},
      {"DelaySeconds", "900"},
      {"MessageRetentionPeriod", "60"},
      {"ReceiveMessageWaitTimeSeconds", "20"},
      {"MaximumMessageSize", "1024"},
      {"KmsMasterKeyId", "alias/aws/sqs"},
      {"KmsDataKeyReusePeriodSeconds", "300"},
      {"SqsManagedSseEnabled", "true"},
      {"RedriveAllowPolicy", R"({"redrivePermission":"denyAll"})"},
      {"RedrivePolicy", R"({"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:dead","maxReceiveCount":3})"}};
  EXPECT_EQ(set(spec, given), "");
  EXPECT_EQ(spec.max_receives, 3);
  EXPECT_EQ(spec.dead_letters, "dead");
  EXPECT_EQ(spec.delay_ms, 900'000);
  const json::object all = shown(spec);
  for (const auto& [name, value] : given) EXPECT_EQ(all.at(name), value) << name;
  EXPECT_EQ(all.at("QueueArn"), "arn:aws:sqs:eu-west-1:123456789012:q");
  EXPECT_FALSE(all.contains("FifoQueue"));
  for (const auto& [name, value] : all) EXPECT_TRUE(is_queue_attribute(name)) << name;
}

TEST_F(QueueAttributesTest, HasTheDefaultsOfAws) {
  StreamSpec spec;
  EXPECT_EQ(set(spec, {{"FifoQueue", "true"}}, QueueAge::is_new), "");
  const json::object all = shown(spec);
  const json::object expected{{"VisibilityTimeout", "30"},
                              {"DelaySeconds", "0"},
                              {"MessageRetentionPeriod", "345600"},
                              {"ReceiveMessageWaitTimeSeconds", "0"},
                              {"MaximumMessageSize", "1048576"},
                              {"FifoQueue", "true"},
                              {"ContentBasedDeduplication", "false"},
                              {"DeduplicationScope", "queue"},
                              {"FifoThroughputLimit", "perQueue"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(all.at(name), value) << name;
  EXPECT_FALSE(all.contains("RedrivePolicy"));
}

TEST_F(QueueAttributesTest, ValuesOutOfRangeAreRefused) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"VisibilityTimeout", "43201"},
                                                        {"VisibilityTimeout", "-1"},
                                                        {"VisibilityTimeout", "x"},
                                                        {"VisibilityTimeout", ""},
                                                        {"DelaySeconds", "901"},
                                                        {"MessageRetentionPeriod", "59"},
                                                        {"MessageRetentionPeriod", "1209601"},
                                                        {"ReceiveMessageWaitTimeSeconds", "21"},
                                                        {"MaximumMessageSize", "1023"},
                                                        {"MaximumMessageSize", "1048577"},
                                                        {"KmsDataKeyReusePeriodSeconds", "59"},
                                                        {"SqsManagedSseEnabled", "maybe"}}) {
    EXPECT_EQ(set({{name, value}}), "InvalidAttributeValue: Invalid value for the parameter " + name + ".");
  }
  EXPECT_EQ(set({{"Colour", "red"}}), "InvalidAttributeName: Unknown Attribute Colour.");
  EXPECT_EQ(set({{"QueueArn", "x"}}), "InvalidAttributeName: Unknown Attribute QueueArn.");
  EXPECT_EQ(set({{"All", "x"}}), "InvalidAttributeName: Unknown Attribute All.");
  EXPECT_EQ(set({{"ContentBasedDeduplication", "true"}}),
            "InvalidAttributeName: Unknown Attribute ContentBasedDeduplication.");
  EXPECT_TRUE(set({{"Policy", "{}"}}).starts_with("InvalidAttributeValue: Invalid value for the parameter Policy."));
}

TEST_F(QueueAttributesTest, OfAFifoQueueOneThroughputLimitNeedsItsScope) {
  StreamSpec spec;
  const json::object limit{{"FifoQueue", "true"}, {"FifoThroughputLimit", "perMessageGroupId"}};
  EXPECT_TRUE(set(spec, limit, QueueAge::is_new).contains("requires DeduplicationScope messageGroup"));
  spec = {};
  EXPECT_EQ(
      set(spec,
          {{"DeduplicationScope", "messageGroup"}, {"FifoThroughputLimit", "perMessageGroupId"}, {"FifoQueue", "true"}},
          QueueAge::is_new),
      "");
  EXPECT_TRUE(spec.deduplicates_by_group);
  EXPECT_TRUE(set(spec, {{"FifoQueue", "false"}}).contains("Modifying queue type is not supported"));
}

TEST_F(QueueAttributesTest, ARedrivePolicyNamesAQueueThatTakesDeadLetters) {
  add("dead");
  add("fifo.fifo", {{"FifoQueue", "true"}});
  add("closed", {{"RedriveAllowPolicy", R"({"redrivePermission":"denyAll"})"}});
  add("choosy",
      {{"RedriveAllowPolicy",
        R"({"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:123456789012:friend"]})"}});
  const auto refused = [&](const std::string& target, const std::string& count = "3", const std::string& name = "q") {
    StreamSpec spec;
    spec.name = name;
    const std::string said = set(spec, {{"RedrivePolicy", R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:)" + target +
                                                              R"(","maxReceiveCount":)" + count + "}"}});
    const std::size_t reason = said.find("Reason: ");
    return reason == std::string::npos ? said : said.substr(reason + 8);
  };
  EXPECT_EQ(refused("123456789012:dead"), "");
  EXPECT_EQ(refused("123456789012:dead", R"("1000")"), "");
  EXPECT_TRUE(refused("123456789012:dead", "0").starts_with("Invalid value for maxReceiveCount: 0"));
  EXPECT_TRUE(refused("123456789012:dead", "1001").starts_with("Invalid value for maxReceiveCount: 1001"));
  EXPECT_TRUE(refused("123456789012:none").starts_with("Dead letter target does not exist"));
  EXPECT_TRUE(refused("999999999999:dead").starts_with("Dead letter target does not exist"));
  EXPECT_TRUE(refused("123456789012:fifo.fifo").starts_with("Dead-letter queue must be same type"));
  EXPECT_TRUE(refused("123456789012:closed").contains("does not permit"));
  EXPECT_TRUE(refused("123456789012:choosy").contains("does not permit"));
  EXPECT_EQ(refused("123456789012:choosy", "1", "friend"), "");
  EXPECT_TRUE(
      set({{"RedrivePolicy", R"({"maxReceiveCount":1})"}}).contains("mandatory attribute: deadLetterTargetArn"));
  EXPECT_TRUE(set({{"RedriveAllowPolicy", R"({"redrivePermission":"byQueue"})"}}).contains("sourceQueueArns"));
}

TEST_F(QueueAttributesTest, AnEmptyValueRemovesWhatCanBeAbsent) {
  add("dead");
  StreamSpec spec;
  spec.text = R"({"other":1})";
  EXPECT_EQ(set(spec, {{"KmsMasterKeyId", "k"},
                       {"RedrivePolicy",
                        R"({"deadLetterTargetArn":"arn:aws:sqs:x:123456789012:dead","maxReceiveCount":"2"})"}}),
            "");
  EXPECT_EQ(set(spec, {{"KmsMasterKeyId", ""}, {"RedrivePolicy", ""}}), "");
  EXPECT_EQ(spec.max_receives, 0);
  EXPECT_EQ(spec.text, R"({"other":1})") << "what others keep there stays";
}

TEST_F(QueueAttributesTest, OnlyWhatIsGivenIsCompared) {
  add("q", {{"VisibilityTimeout", "10"}, {"KmsMasterKeyId", "k"}});
  EXPECT_EQ(differing({}, "q"), "");
  EXPECT_EQ(differing({{"VisibilityTimeout", "10"}, {"DelaySeconds", "0"}, {"KmsMasterKeyId", "k"}}, "q"), "");
  EXPECT_EQ(differing({{"VisibilityTimeout", "10"}, {"DelaySeconds", "1"}}, "q"), "DelaySeconds");
  EXPECT_EQ(differing({{"KmsMasterKeyId", "other"}}, "q"), "KmsMasterKeyId");
  EXPECT_EQ(differing({{"Colour", "red"}}, "q"), "InvalidAttributeName");
}

TEST(QueueText, KeepsTagsAndAttributes) {
  StreamSpec spec;
  set_queue_text(spec, {{{"Policy", "p"}}, {{"team", "a"}}});
  EXPECT_EQ(spec.text, R"({"attributes":{"Policy":"p"},"tags":{"team":"a"}})");
  EXPECT_EQ(queue_text(spec).tags.at("team"), "a");
  set_queue_text(spec, {});
  EXPECT_EQ(spec.text, "");
  spec.text = "no JSON";
  EXPECT_TRUE(queue_text(spec).attributes.empty());
}

}  // namespace
}  // namespace drover::aws

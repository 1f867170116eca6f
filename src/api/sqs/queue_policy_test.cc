#include "api/sqs/queue_policy.h"

#include <gtest/gtest.h>

#include "api/sqs/queue_attributes.h"
#include "base/text.h"

namespace drover::aws {
namespace {

StreamSpec queue_with(const std::string& policy) {
  StreamSpec spec;
  spec.name = "jobs";
  if (!policy.empty()) set_queue_text(spec, {{{"Policy", policy}}, {}});
  return spec;
}

bool s3_may_send(const std::string& statement, const std::string& bucket = "photos") {
  const std::string policy = statement.empty() ? "" : R"({"Version":"2012-10-17","Statement":[)" + statement + "]}";
  return may_send(queue_with(policy), {"s3.amazonaws.com", "arn:aws:s3:::" + bucket}, {}, "us-east-1");
}

std::string allow(const std::string& condition = "",
                  const std::string& principal = R"({"Service":"s3.amazonaws.com"})") {
  return concat(R"({"Effect":"Allow","Principal":)", principal,
                R"(,"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:us-east-1:123456789012:jobs")",
                condition.empty() ? "" : ",\"Condition\":" + condition, "}");
}

TEST(QueuePolicy, AServiceMaySendWhereThePolicySaysSo) {
  EXPECT_FALSE(s3_may_send(""));
  EXPECT_TRUE(s3_may_send(allow()));
  EXPECT_TRUE(s3_may_send(allow("", R"("*")")));
  EXPECT_FALSE(s3_may_send(allow("", R"({"Service":"sns.amazonaws.com"})")));
  EXPECT_FALSE(s3_may_send(allow("", R"({"AWS":"123456789012"})")));
  EXPECT_FALSE(s3_may_send(
      R"({"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"arn:aws:sqs:us-east-1:123456789012:other"})"));
}

TEST(QueuePolicy, TheBucketMayBeNamed) {
  const std::string exact = allow(R"({"ArnEquals":{"aws:SourceArn":"arn:aws:s3:::photos"}})");
  EXPECT_TRUE(s3_may_send(exact));
  EXPECT_FALSE(s3_may_send(exact, "films"));
  const std::string like = allow(R"({"ArnLike":{"aws:SourceArn":"arn:aws:s3:*:*:pho*"}})");
  EXPECT_TRUE(s3_may_send(like));
  EXPECT_FALSE(s3_may_send(like, "films"));
  EXPECT_TRUE(s3_may_send(allow(R"({"StringEquals":{"aws:SourceAccount":"123456789012"}})")));
}

TEST(QueuePolicy, ADenialHolds) {
  EXPECT_FALSE(s3_may_send(allow() + R"(,{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*"})"));
}

TEST(QueuePolicy, OneThatCannotBeReadDeniesEverything) {
  EXPECT_EQ(queue_policy(queue_with("")), nullptr);
  const auto policy = queue_policy(queue_with("no policy"));
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->statements.at(0).effect, StatementEffect::deny);
}

TEST(QueuePolicy, PermissionsAreStatements) {
  const std::string arn = "arn:aws:sqs:us-east-1:123456789012:jobs";
  const auto made = with_permission("", {"share", {"111122223333"}, {"SendMessage", "ReceiveMessage"}}, arn);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made,
            R"({"Version":"2012-10-17","Statement":[{"Sid":"share","Effect":"Allow","Principal":{"AWS":)"
            R"(["arn:aws:iam::111122223333:root"]},"Action":["SQS:SendMessage","SQS:ReceiveMessage"],"Resource":")" +
                arn + R"("}]})");
  EXPECT_TRUE(policy_from_json(*made, PolicyKind::resource));
  const auto more = with_permission(*made, {"all", {"111122223333"}, {"*"}}, arn);
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(without_permission(*more, "all"), *made);
  EXPECT_EQ(without_permission(*made, "share"), "");
}

TEST(QueuePolicy, PermissionsThatCannotBeAreRefused) {
  const auto refused = [](const QueuePermission& it, const std::string& policy = "") {
    const auto made = with_permission(policy, it, "arn:aws:sqs:us-east-1:123456789012:jobs");
    return made ? "" : made.error().query_code + ": " + made.error().message;
  };
  EXPECT_TRUE(
      refused({"a b", {"111122223333"}, {"*"}}).starts_with("InvalidParameterValue: Value a b for parameter Label"));
  EXPECT_TRUE(refused({"a", {"x"}, {"*"}}).contains("twelve digits"));
  EXPECT_TRUE(refused({"a", {"111122223333"}, {"DeleteQueue"}}).contains("Only the queue owner"));
  EXPECT_TRUE(refused({"a", {}, {"*"}}).starts_with("MissingParameter"));
  const std::string once =
      *with_permission("", {"a", {"111122223333"}, {"*"}}, "arn:aws:sqs:us-east-1:123456789012:jobs");
  EXPECT_TRUE(refused({"a", {"111122223333"}, {"*"}}, once).contains("Already exists"));
  EXPECT_TRUE(without_permission(once, "b").error().message.contains("can't find label"));
}

}  // namespace
}  // namespace drover::aws

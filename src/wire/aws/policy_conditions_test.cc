#include "wire/aws/policy_conditions.h"

#include "wire/aws/policy_fixture.h"

namespace drover::aws {
namespace {

using enum Decision;

std::string allow_if(std::string_view condition) {
  return concat(R"({"Effect":"Allow","Action":"*","Resource":"*","Condition":)", condition, "}");
}

std::string deny_if(std::string_view condition) {
  return concat(
      R"({"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"*","Resource":"*","Condition":)",
      condition, "}");
}

AccessRequest with(RequestContext context) {
  return request_of("s3:GetObject", "arn:aws:s3:::bucket/a", std::move(context));
}

TEST(PolicyConditions, ABucketMaySendToAQueue) {
  const char* policy = R"({"Sid":"FromBucket","Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},
      "Action":"SQS:SendMessage","Resource":"arn:aws:sqs:eu-west-1:111122223333:jobs",
      "Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:s3:*:*:in?ut-*"},
                   "StringEquals":{"aws:SourceAccount":"111122223333"}}})";
  const Principal s3{.service = "s3.amazonaws.com"};
  const auto sent = [&](const Principal& by, const char* bucket, const char* account) {
    return request_by(by, {{"aws:SourceArn", {bucket}}, {"aws:SourceAccount", {account}}});
  };
  AccessRequest other_queue = sent(s3, "arn:aws:s3:::input-a", "111122223333");
  other_queue.resource = "arn:aws:sqs:eu-west-1:111122223333:jobs-2";
  expect_decisions(
      PolicyKind::resource,
      {
          {"the bucket", policy, sent(s3, "arn:aws:s3:::input-a", "111122223333"), allowed},
          {"another bucket", policy, sent(s3, "arn:aws:s3:::output-a", "111122223333"), implicit_deny},
          {"of another account", policy, sent(s3, "arn:aws:s3:::input-a", "444455556666"), implicit_deny},
          {"not S3", policy, sent(kAnn, "arn:aws:s3:::input-a", "111122223333"), implicit_deny},
          {"S3 does not say", policy, request_by(s3), implicit_deny},
          {"another queue", policy, other_queue, implicit_deny},
          {"a colon is not matched", policy, sent(s3, "arn:aws:s3::::input-a", "111122223333"), implicit_deny},
      });
}

TEST(PolicyConditions, EachOperator) {
  const auto color = [](const char* value) { return with({{"x:color", {value}}}); };
  const auto source = [](const char* arn) { return with({{"aws:SourceArn", {arn}}}); };
  const char* topic = "arn:aws:sns:eu-west-1:1:topic";
  expect_decisions(
      PolicyKind::identity,
      {
          {"StringEquals", allow_if(R"({"StringEquals":{"x:color":"red"}})"), color("red"), allowed},
          {"StringEquals has case", allow_if(R"({"StringEquals":{"x:color":"red"}})"), color("Red"), implicit_deny},
          {"StringEquals has no wildcards", allow_if(R"({"StringEquals":{"x:color":"r*"}})"), color("red"),
           implicit_deny},
          {"a star itself", allow_if(R"({"StringEquals":{"x:color":"r*"}})"), color("r*"), allowed},
          {"keys have no case", allow_if(R"({"StringEquals":{"X:Color":"red"}})"), color("red"), allowed},
          {"IgnoreCase", allow_if(R"({"StringEqualsIgnoreCase":{"x:color":"red"}})"), color("RED"), allowed},
          {"NotEqualsIgnoreCase", allow_if(R"({"StringNotEqualsIgnoreCase":{"x:color":"red"}})"), color("RED"),
           implicit_deny},
          {"StringLike", allow_if(R"({"StringLike":{"x:color":"r?d*"}})"), color("redder"), allowed},
          {"StringLike, other", allow_if(R"({"StringLike":{"x:color":"r?d*"}})"), color("rd"), implicit_deny},
          {"StringNotEquals", allow_if(R"({"StringNotEquals":{"x:color":"red"}})"), color("blue"), allowed},
          {"StringNotEquals, same", allow_if(R"({"StringNotEquals":{"x:color":"red"}})"), color("red"), implicit_deny},
          {"StringNotLike", allow_if(R"({"StringNotLike":{"x:color":"r*"}})"), color("red"), implicit_deny},
          {"ArnEquals has wildcards", allow_if(R"({"ArnEquals":{"aws:SourceArn":"arn:aws:sns:*:1:t*"}})"),
           source(topic), allowed},
          {"ArnNotEquals", allow_if(R"({"ArnNotEquals":{"aws:SourceArn":"arn:aws:sns:*:1:t*"}})"), source(topic),
           implicit_deny},
          {"ArnNotLike", allow_if(R"({"ArnNotLike":{"aws:SourceArn":"arn:aws:sns:*:2:t*"}})"), source(topic), allowed},
          {"ArnLike, by parts", allow_if(R"({"ArnLike":{"aws:SourceArn":"arn:aws:sns:*:topic"}})"), source(topic),
           implicit_deny},
          {"Bool", allow_if(R"({"Bool":{"aws:SecureTransport":"true"}})"), with({{"aws:SecureTransport", {"true"}}}),
           allowed},
          {"Bool in JSON", allow_if(R"({"Bool":{"aws:SecureTransport":true}})"),
           with({{"aws:SecureTransport", {"true"}}}), allowed},
          {"Bool denies", deny_if(R"({"Bool":{"aws:SecureTransport":"false"}})"),
           with({{"aws:SecureTransport", {"false"}}}), explicit_deny},
          {"Null: absent", allow_if(R"({"Null":{"x:color":"true"}})"), with({}), allowed},
          {"Null: present", allow_if(R"({"Null":{"x:color":"true"}})"), color("red"), implicit_deny},
          {"Null false: present", allow_if(R"({"Null":{"x:color":false}})"), color("red"), allowed},
          {"Null false: absent", allow_if(R"({"Null":{"x:color":false}})"), with({{"x:color", {}}}), implicit_deny},
      });
}

TEST(PolicyConditions, ValuesAreAlternativesAndKeysAndOperatorsMustAllHold) {
  const std::string two_values = allow_if(R"({"StringEquals":{"x:color":["red","blue"]}})");
  const std::string neither = allow_if(R"({"StringNotEquals":{"x:color":["red","blue"]}})");
  const std::string two_keys = allow_if(R"({"StringEquals":{"x:color":"red","x:size":["s","m"]}})");
  const std::string two_operators = allow_if(R"({"StringLike":{"x:color":"r*"},"StringNotLike":{"x:color":"*x"}})");
  expect_decisions(PolicyKind::identity,
                   {
                       {"the second value", two_values, with({{"x:color", {"blue"}}}), allowed},
                       {"no value", two_values, with({{"x:color", {"green"}}}), implicit_deny},
                       {"one of the request's", two_values, with({{"x:color", {"green", "red"}}}), allowed},
                       {"neither", neither, with({{"x:color", {"green"}}}), allowed},
                       {"one of them", neither, with({{"x:color", {"blue"}}}), implicit_deny},
                       {"one of the request's is", neither, with({{"x:color", {"green", "blue"}}}), implicit_deny},
                       {"both keys", two_keys, with({{"x:color", {"red"}}, {"x:size", {"m"}}}), allowed},
                       {"one key", two_keys, with({{"x:color", {"red"}}, {"x:size", {"l"}}}), implicit_deny},
                       {"one key alone", two_keys, with({{"x:color", {"red"}}}), implicit_deny},
                       {"both operators", two_operators, with({{"x:color", {"red"}}}), allowed},
                       {"one operator", two_operators, with({{"x:color", {"rex"}}}), implicit_deny},
                   });
}

TEST(PolicyConditions, AMissingKey) {
  expect_decisions(
      PolicyKind::identity,
      {
          {"fails", allow_if(R"({"StringEquals":{"x:color":"red"}})"), with({}), implicit_deny},
          {"does not deny", deny_if(R"({"StringEquals":{"x:color":"red"}})"), with({}), allowed},
          {"is not equal", allow_if(R"({"StringNotEquals":{"x:color":"red"}})"), with({}), allowed},
          {"is fine with IfExists", allow_if(R"({"StringEqualsIfExists":{"x:color":"red"}})"), with({}), allowed},
          {"IfExists, and it does", allow_if(R"({"StringLikeIfExists":{"x:color":"r*"}})"),
           with({{"x:color", {"blue"}}}), implicit_deny},
          {"ArnLikeIfExists", allow_if(R"({"ArnLikeIfExists":{"aws:SourceArn":"arn:aws:s3:::b"}})"), with({}), allowed},
          {"IfExists denies", deny_if(R"({"BoolIfExists":{"aws:SecureTransport":"false"}})"), with({}), explicit_deny},
          {"without values", allow_if(R"({"StringEquals":{"x:color":"red"}})"), with({{"x:color", {}}}), implicit_deny},
      });
}

TEST(PolicyConditions, AnUnsupportedOperatorNeverAllowsAndDeniesAsIfItHeld) {
  const char* address = R"({"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}})";
  const char* address_and_color = R"({"IpAddress":{"aws:SourceIp":"10.0.0.0/8"},"StringEquals":{"x:color":"red"}})";
  expect_decisions(
      PolicyKind::identity,
      {
          {"does not allow", allow_if(address), with({{"aws:SourceIp", {"10.0.0.1"}}}), implicit_deny},
          {"denies", deny_if(address), with({}), explicit_deny},
          {"denies where the rest holds", deny_if(address_and_color), with({{"x:color", {"red"}}}), explicit_deny},
          {"the rest does not hold", deny_if(address_and_color), with({{"x:color", {"blue"}}}), allowed},
          {"does not allow with the rest", allow_if(address_and_color), with({{"x:color", {"red"}}}), implicit_deny},
          {"NullIfExists is none", allow_if(R"({"NullIfExists":{"x:color":"true"}})"), with({}), implicit_deny},
          {"operators have case", allow_if(R"({"stringequals":{"x:color":"red"}})"), with({{"x:color", {"red"}}}),
           implicit_deny},
      });
  const PolicyDocument policy = policy_of(document_of(concat(
      allow_if(address), ",", allow_if(R"({"DateLessThan":{"aws:CurrentTime":"2030-01-01"},"StringLike":{"a:b":"c"}})"),
      ",", deny_if(address))));
  EXPECT_EQ(unsupported_operators(policy), (std::vector<std::string>{"DateLessThan", "IpAddress"}));
  EXPECT_TRUE(unsupported_operators(policy_of(document_of(allow_if(R"({"Null":{"a:b":"true"}})")))).empty());
  EXPECT_TRUE(supported_operators().starts_with("ArnEquals, ArnLike, "));
}

TEST(PolicyConditions, Variables) {
  const char* home = R"({"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::home/${aws:username}/*"})";
  const char* not_home = R"({"Effect":"Allow","Action":"s3:*","NotResource":"arn:aws:s3:::home/${aws:username}/*"})";
  const char* deny_others =
      R"({"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"*","NotResource":"arn:aws:s3:::home/${aws:username}/*"})";
  const std::string prefix = allow_if(R"({"StringLike":{"s3:prefix":"home/${aws:username}/*"}})");
  const std::string not_owner = allow_if(R"({"StringNotEquals":{"x:owner":"${aws:username}"}})");
  const std::string same_arn = allow_if(R"({"ArnEquals":{"aws:SourceArn":"${aws:PrincipalArn}"}})");
  const auto get = [](const char* object, RequestContext context) {
    return request_of("s3:GetObject", concat("arn:aws:s3:::home/", object), std::move(context));
  };
  const RequestContext ann{{"aws:username", {"ann"}}};
  expect_decisions(
      PolicyKind::identity,
      {
          {"own folder", home, get("ann/x", ann), allowed},
          {"another's folder", home, get("bob/x", ann), implicit_deny},
          {"no name", home, get("ann/x", {}), implicit_deny},
          {"no name, as it is written", home, get("${aws:username}/x", {}), implicit_deny},
          {"a name with a wildcard", home, get("bob/x", {{"aws:username", {"*"}}}), implicit_deny},
          {"NotResource", not_home, get("bob/x", ann), allowed},
          {"NotResource without a name does not allow", not_home, get("bob/x", {}), implicit_deny},
          {"NotResource without a name denies", deny_others, get("ann/x", {}), explicit_deny},
          {"NotResource with a name does not", deny_others, get("ann/x", ann), allowed},
          {"in a condition", prefix, with({{"aws:username", {"ann"}}, {"s3:prefix", {"home/ann/a"}}}), allowed},
          {"in a condition, other", prefix, with({{"aws:username", {"ann"}}, {"s3:prefix", {"home/bob/a"}}}),
           implicit_deny},
          {"negated", not_owner, with({{"aws:username", {"ann"}}, {"x:owner", {"bob"}}}), allowed},
          {"negated, without a name", not_owner, with({{"x:owner", {"bob"}}}), implicit_deny},
          {"a whole ARN", same_arn,
           with({{"aws:PrincipalArn", {"arn:a:b:c:d:e"}}, {"aws:SourceArn", {"arn:a:b:c:d:e"}}}), allowed},
      });
  const PolicyDocument old = policy_of(document_of(home, "2008-10-17"));
  EXPECT_EQ(evaluate({&old}, get("ann/x", ann)).decision, implicit_deny) << "the older version has no variables";
  EXPECT_EQ(evaluate({&old}, get("${aws:username}/x", ann)).decision, allowed);
}

}  // namespace
}  // namespace drover::aws

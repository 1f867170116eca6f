#include "wire/aws/policy_evaluation.h"

#include "wire/aws/policy_fixture.h"

namespace drover::aws {
namespace {

using enum Decision;

constexpr const char* kObject = "arn:aws:s3:::bucket/a/b.txt";

TEST(PolicyEvaluation, ActionsAndResources) {
  const char* read = R"({"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::bucket/*"})";
  const char* two =
      R"({"Effect":"Allow","Action":["s3:GetObject","s3:PutObject"],"Resource":["arn:aws:s3:::x/*","arn:aws:s3:::bucket/*"]})";
  const char* short_name = R"({"Effect":"Allow","Action":"s3:Get*","Resource":"arn:aws:s3:::b?cket/?/*"})";
  const char* not_iam = R"({"Effect":"Allow","NotAction":["iam:*","sts:*"],"Resource":"*"})";
  const char* not_secret =
      R"({"Effect":"Allow","Action":"s3:*","NotResource":["arn:aws:s3:::secret","arn:aws:s3:::secret/*"]})";
  const char* all = R"({"Effect":"Allow","Action":"*","Resource":"*"})";
  expect_decisions(
      PolicyKind::identity,
      {
          {"the action and the resource", read, request_of("s3:GetObject", kObject), allowed},
          {"another action", read, request_of("s3:PutObject", kObject), implicit_deny},
          {"a longer action", read, request_of("s3:GetObjectAcl", kObject), implicit_deny},
          {"another bucket", read, request_of("s3:GetObject", "arn:aws:s3:::other/a"), implicit_deny},
          {"the bucket is not in the bucket", read, request_of("s3:GetObject", "arn:aws:s3:::bucket"), implicit_deny},
          {"actions have no case", read, request_of("S3:getobject", kObject), allowed},
          {"resources have case", read, request_of("s3:GetObject", "arn:aws:s3:::Bucket/a"), implicit_deny},
          {"the second of a list", two, request_of("s3:PutObject", kObject), allowed},
          {"the first of a list", two, request_of("s3:GetObject", "arn:aws:s3:::x/y"), allowed},
          {"none of a list", two, request_of("s3:DeleteObject", kObject), implicit_deny},
          {"? is one character", short_name, request_of("s3:GetObjectTagging", kObject), allowed},
          {"? is not two", short_name, request_of("s3:GetObject", "arn:aws:s3:::bucket/ab/c"), implicit_deny},
          {"? is not none", short_name, request_of("s3:GetObject", "arn:aws:s3:::bcket/a/c"), implicit_deny},
          {"NotAction allows the rest", not_iam, request_of("s3:GetObject", kObject), allowed},
          {"NotAction has no case either", not_iam, request_of("IAM:CreateUser", "*"), implicit_deny},
          {"NotAction, second of a list", not_iam, request_of("sts:AssumeRole", "*"), implicit_deny},
          {"NotResource allows the rest", not_secret, request_of("s3:GetObject", kObject), allowed},
          {"NotResource", not_secret, request_of("s3:GetObject", "arn:aws:s3:::secret/a"), implicit_deny},
          {"NotResource, first of a list", not_secret, request_of("s3:ListBucket", "arn:aws:s3:::secret"),
           implicit_deny},
          {"everything", all, request_of("batch:SubmitJob", "arn:aws:batch:eu-west-1:1:job/x"), allowed},
          {"everything, without a resource", all, request_of("sts:GetCallerIdentity", ""), allowed},
      });
}

TEST(PolicyEvaluation, ADenyWins) {
  const std::string all = R"({"Effect":"Allow","Action":"*","Resource":"*"},)";
  const std::string deny = all + R"({"Effect":"Deny","Action":"s3:Delete*","Resource":"*"})";
  const std::string deny_rest = all + R"({"Effect":"Deny","NotAction":"s3:*","Resource":"*"})";
  const std::string deny_elsewhere = all + R"({"Effect":"Deny","Action":"s3:*","NotResource":"arn:aws:s3:::bucket/*"})";
  const std::string alone = R"({"Effect":"Deny","Action":"s3:*","Resource":"arn:aws:s3:::bucket/*"})";
  expect_decisions(
      PolicyKind::identity,
      {
          {"denied", deny, request_of("s3:DeleteObject", kObject), explicit_deny},
          {"not denied", deny, request_of("s3:GetObject", kObject), allowed},
          {"NotAction denies", deny_rest, request_of("sqs:SendMessage", kObject), explicit_deny},
          {"NotAction does not", deny_rest, request_of("s3:GetObject", kObject), allowed},
          {"NotResource denies", deny_elsewhere, request_of("s3:GetObject", "arn:aws:s3:::x/a"), explicit_deny},
          {"NotResource does not", deny_elsewhere, request_of("s3:GetObject", kObject), allowed},
          {"nothing to win over", alone, request_of("s3:GetObject", kObject), explicit_deny},
          {"nothing applies", alone, request_of("s3:GetObject", "arn:aws:s3:::x/a"), implicit_deny},
      });
}

TEST(PolicyEvaluation, Principals) {
  const auto policy = [](std::string_view principal) {
    return concat(R"({"Effect":"Allow","Action":"SQS:SendMessage","Resource":"*",)", principal, "}");
  };
  const Principal anonymous;
  const Principal bob{.arn = "arn:aws:iam::111122223333:user/bob", .account = "111122223333"};
  const Principal other{.arn = "arn:aws:iam::444455556666:user/ann", .account = "444455556666", .canonical_user = "c1"};
  const Principal session{.arn = "arn:aws:sts::111122223333:assumed-role/runner/i-1",
                          .role_arn = "arn:aws:iam::111122223333:role/batch/runner",
                          .account = "111122223333"};
  const Principal s3{.service = "s3.amazonaws.com"};
  const std::string ann = policy(R"("Principal":{"AWS":"arn:aws:iam::111122223333:user/ann"})");
  const std::string account = policy(R"("Principal":{"AWS":["111122223333"]})");
  const std::string root = policy(R"("Principal":{"AWS":"arn:aws:iam::111122223333:root"})");
  const std::string role = policy(R"("Principal":{"AWS":"arn:aws:iam::111122223333:role/batch/runner"})");
  const std::string one_session = policy(R"("Principal":{"AWS":"arn:aws:sts::111122223333:assumed-role/runner/i-1"})");
  const std::string service = policy(R"("Principal":{"Service":["sns.amazonaws.com","s3.amazonaws.com"]})");
  const std::string mixed = policy(R"("Principal":{"Service":"ec2.amazonaws.com","CanonicalUser":"c1"})");
  const std::string federated = policy(R"("Principal":{"Federated":"accounts.example.com"})");
  const std::string not_ann = policy(R"("NotPrincipal":{"AWS":"arn:aws:iam::111122223333:user/ann"})");
  expect_decisions(PolicyKind::resource,
                   {
                       {"the user", ann, request_by(kAnn), allowed},
                       {"another user", ann, request_by(bob), implicit_deny},
                       {"a namesake elsewhere", ann, request_by(other), implicit_deny},
                       {"nobody", ann, request_by(anonymous), implicit_deny},
                       {"the account", account, request_by(bob), allowed},
                       {"the account's session", account, request_by(session), allowed},
                       {"another account", account, request_by(other), implicit_deny},
                       {"an account is no service", account, request_by(s3), implicit_deny},
                       {"the account by its root", root, request_by(bob), allowed},
                       {"the role of a session", role, request_by(session), allowed},
                       {"not of the role", role, request_by(kAnn), implicit_deny},
                       {"the session", one_session, request_by(session), allowed},
                       {"the service", service, request_by(s3), allowed},
                       {"not a service", service, request_by(kAnn), implicit_deny},
                       {"another service", mixed, request_by(s3), implicit_deny},
                       {"the canonical user", mixed, request_by(other), allowed},
                       {"no canonical user", mixed, request_by(anonymous), implicit_deny},
                       {"federated", federated, request_by(anonymous), implicit_deny},
                       {"everyone", policy(R"("Principal":"*")"), request_by(anonymous), allowed},
                       {"all of AWS", policy(R"("Principal":{"AWS":"*"})"), request_by(s3), allowed},
                       {"NotPrincipal", not_ann, request_by(kAnn), implicit_deny},
                       {"all but one", not_ann, request_by(bob), allowed},
                   });
}

TEST(PolicyEvaluation, ATrustPolicySaysWhoMayAssumeTheRole) {
  const char* trust =
      R"({"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"ecs-tasks.amazonaws.com"}})";
  const AccessRequest tasks{"sts:AssumeRole", "", {.service = "ecs-tasks.amazonaws.com"}, {}};
  const AccessRequest batch{"sts:AssumeRole", "", {.service = "batch.amazonaws.com"}, {}};
  expect_decisions(PolicyKind::trust, {{"the service", trust, tasks, allowed},
                                       {"another service", trust, batch, implicit_deny},
                                       {"another action", trust, request_of("sts:TagSession", ""), implicit_deny}});
}

TEST(PolicyEvaluation, AnAllowSaysWhetherItNamesTheCallerOrTheAccount) {
  const std::string to_account =
      R"({"Effect":"Allow","Principal":{"AWS":"111122223333"},"Action":"sqs:*","Resource":"*"})";
  const std::string to_ann =
      R"({"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:user/ann"},"Action":"sqs:*","Resource":"*"})";
  const PolicyDocument both = policy_of(document_of(to_account + "," + to_ann), PolicyKind::resource);
  const PolicyDocument account = policy_of(document_of(to_account), PolicyKind::resource);
  EXPECT_EQ(evaluate({&account}, request_by(kAnn)).named, Named::by_account);
  EXPECT_EQ(evaluate({&both}, request_by(kAnn)).named, Named::itself);
  EXPECT_EQ(evaluate({&both}, request_by(kAnn)).decided_by->statement, 1U);
  const Principal root{.arn = "arn:aws:iam::111122223333:root", .account = "111122223333"};
  EXPECT_EQ(evaluate({&account}, request_by(root)).named, Named::itself);
}

TEST(PolicyEvaluation, NamesTheStatementThatDecided) {
  const PolicyDocument first = policy_of(document_of(R"({"Effect":"Allow","Action":"sns:*","Resource":"*"},
                                                       {"Effect":"Allow","Action":"sqs:*","Resource":"*"})"));
  const PolicyDocument second =
      policy_of(document_of(R"({"Sid":"NoSending","Effect":"Deny","Action":"sqs:Send*","Resource":"*"})"));
  const auto allow = evaluate({&first}, request_by(kAnn));
  ASSERT_TRUE(allow.decided_by);
  EXPECT_EQ(allow.decided_by->name(), "statement 2");
  EXPECT_EQ(allow.decided_by->policy, 0U);
  const auto deny = evaluate({&first, &second}, request_by(kAnn));
  ASSERT_TRUE(deny.decided_by);
  EXPECT_EQ(deny.decided_by->name(), "statement 'NoSending'");
  EXPECT_EQ(deny.decided_by->policy, 1U);
  EXPECT_EQ(deny.decision, explicit_deny);
  EXPECT_FALSE(evaluate({}, request_by(kAnn)).decided_by);
  EXPECT_EQ(evaluate({}, request_by(kAnn)).decision, implicit_deny);
}

}  // namespace
}  // namespace drover::aws

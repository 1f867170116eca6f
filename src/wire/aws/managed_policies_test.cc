#include "wire/aws/managed_policies.h"

#include "wire/aws/policy_fixture.h"

namespace drover::aws {
namespace {

constexpr const char* kPolicies = "arn:aws:iam::aws:policy/";
constexpr const char* kServiceRoles = "arn:aws:iam::aws:policy/service-role/";

struct ManagedCase {
  std::string arn;
  std::vector<std::string> allows;
  std::vector<std::string> does_not_allow;
};

Decision decision_of(const std::string& arn, const AccessRequest& request) {
  const ManagedPolicy* policy = find_managed_policy(arn);
  EXPECT_NE(policy, nullptr) << arn;
  return policy == nullptr ? Decision::explicit_deny : evaluate({&policy->document}, request).decision;
}

TEST(ManagedPolicies, AllowWhatTheirNamesSay) {
  const auto role = [](const char* name) { return concat(kServiceRoles, name); };
  const auto policy = [](const char* name) { return concat(kPolicies, name); };
  const std::vector<ManagedCase> cases = {
      {policy("AmazonS3FullAccess"), {"s3:PutObject", "s3:DeleteBucket"}, {"sqs:SendMessage"}},
      {policy("AmazonS3ReadOnlyAccess"), {"s3:GetObject", "s3:ListBucket"}, {"s3:PutObject", "s3:DeleteObject"}},
      {policy("AmazonSQSFullAccess"), {"sqs:SendMessage", "sqs:CreateQueue"}, {"s3:GetObject"}},
      {policy("AmazonSQSReadOnlyAccess"),
       {"sqs:GetQueueUrl", "sqs:ListQueues"},
       {"sqs:ReceiveMessage", "sqs:SendMessage"}},
      {policy("CloudWatchLogsFullAccess"), {"logs:PutLogEvents", "logs:DeleteLogGroup"}, {"cloudwatch:PutMetricData"}},
      {policy("CloudWatchLogsReadOnlyAccess"), {"logs:GetLogEvents", "logs:FilterLogEvents"}, {"logs:PutLogEvents"}},
      {policy("AmazonEC2ContainerRegistryReadOnly"), {"ecr:BatchGetImage", "ecr:DescribeImages"}, {"ecr:PutImage"}},
      {role("AmazonEC2ContainerServiceforEC2Role"),
       {"ecs:Poll", "ecs:SubmitTaskStateChange", "logs:PutLogEvents"},
       {"ecs:RunTask", "ecs:TagResource", "s3:GetObject"}},
      {role("AmazonECSTaskExecutionRolePolicy"),
       {"ecr:GetAuthorizationToken", "logs:CreateLogStream"},
       {"logs:CreateLogGroup", "s3:GetObject"}},
      {role("AWSBatchServiceRole"),
       {"ec2:RunInstances", "ecs:RunTask", "logs:CreateLogGroup"},
       {"iam:PassRole", "ec2:CreateTags", "s3:GetObject"}},
      {policy("AWSBatchFullAccess"), {"batch:SubmitJob", "iam:ListRoles"}, {"iam:PassRole", "ec2:RunInstances"}},
      {role("AmazonEC2SpotFleetTaggingRole"),
       {"ec2:CreateTags", "ec2:RunInstances"},
       {"iam:PassRole", "ec2:StopInstances"}},
      {role("AmazonEC2ContainerServiceRole"), {"ec2:DescribeInstances"}, {"ec2:RunInstances", "ecs:RunTask"}},
      {role("AmazonEC2ContainerServiceAutoscaleRole"), {"ecs:UpdateService"}, {"ecs:RunTask"}},
      {policy("AdministratorAccess"), {"iam:CreateUser", "s3:GetObject"}, {}},
      {policy("ReadOnlyAccess"),
       {"s3:GetObject", "batch:DescribeJobs", "iam:GetRole", "ecr:BatchGetImage"},
       {"s3:PutObject", "batch:SubmitJob", "iam:CreateRole", "sts:AssumeRole"}},
      {policy("PowerUserAccess"),
       {"s3:PutObject", "batch:SubmitJob", "iam:ListRoles"},
       {"iam:CreateRole", "iam:PassRole", "organizations:CreateAccount"}},
  };
  EXPECT_EQ(cases.size(), managed_policies().size());
  for (const ManagedCase& one : cases) {
    const auto expect = [&](const std::vector<std::string>& actions, Decision decision) {
      for (const std::string& action : actions) {
        EXPECT_EQ(to_string(decision_of(one.arn, request_of(action, "arn:aws:any:eu-west-1:111122223333:thing"))),
                  to_string(decision))
            << one.arn << " " << action;
      }
    };
    expect(one.allows, Decision::allowed);
    expect(one.does_not_allow, Decision::implicit_deny);
  }
}

TEST(ManagedPolicies, RolesArePassedOnlyToTheServicesThatNeedThem) {
  const auto pass_role = [](const char* role, const char* service) {
    return request_of("iam:PassRole", concat("arn:aws:iam::111122223333:role/", role),
                      {{"iam:PassedToService", {service}}});
  };
  const std::string batch = concat(kServiceRoles, "AWSBatchServiceRole");
  EXPECT_EQ(decision_of(batch, pass_role("x", "ec2.amazonaws.com")), Decision::allowed);
  EXPECT_EQ(decision_of(batch, pass_role("x", "lambda.amazonaws.com")), Decision::implicit_deny);
  const std::string full = concat(kPolicies, "AWSBatchFullAccess");
  EXPECT_EQ(decision_of(full, pass_role("ecsInstanceRole", "ec2.amazonaws.com")), Decision::allowed);
  EXPECT_EQ(decision_of(full, pass_role("admin", "ec2.amazonaws.com")), Decision::implicit_deny);
}

TEST(ManagedPolicies, AreFoundByTheirWholeArn) {
  const ManagedPolicy* found =
      find_managed_policy("arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->name, "AmazonECSTaskExecutionRolePolicy");
  EXPECT_EQ(found->path, "/service-role/");
  EXPECT_EQ(find_managed_policy("arn:aws:iam::aws:policy/AmazonECSTaskExecutionRolePolicy"), nullptr);
  EXPECT_EQ(find_managed_policy("AmazonS3FullAccess"), nullptr);
  EXPECT_EQ(find_managed_policy("arn:aws:iam::aws:policy/AdministratorAccess")->json,
            R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]})");
  EXPECT_TRUE(std::ranges::is_sorted(managed_policies(), {}, &ManagedPolicy::name));
  for (const ManagedPolicy& policy : managed_policies()) EXPECT_TRUE(unsupported_operators(policy.document).empty());
}

}  // namespace
}  // namespace drover::aws

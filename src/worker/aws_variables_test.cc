#include "worker/aws_variables.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace drover {
namespace {

using Variables = std::map<std::string, std::string>;

TEST(AwsVariables, FollowHowTheServerIsReached) {
  Variables plain{{"DROVER_SERVER", "http://head:7070"}};
  add_aws_address(plain);
  EXPECT_EQ(plain["AWS_ENDPOINT_URL"], "http://head:7070");
  EXPECT_EQ(plain["AWS_REGION"], plain["AWS_DEFAULT_REGION"]);
  EXPECT_FALSE(plain.contains("AWS_CA_BUNDLE"));
  Variables encrypted{{"DROVER_SERVER", "https://head:7070"}, {"DROVER_CA", "/ca.pem"}};
  add_aws_address(encrypted);
  EXPECT_EQ(encrypted["AWS_CA_BUNDLE"], "/ca.pem");
  Variables socket{{"DROVER_SERVER", "unix:/run/drover"}};
  add_aws_address(socket);
  EXPECT_EQ(socket.size(), 1U);
}

TEST(AwsVariables, AJobThatSaysItselfWhereItsClientsGoIsLeftAlone) {
  Definition definition{.container = ContainerOptions{}};
  definition.environment = {{"AWS_DEFAULT_OUTPUT", "json"}};
  EXPECT_TRUE(uses_our_aws(definition));
  definition.environment.emplace_back("AWS_PROFILE", "work");
  EXPECT_FALSE(uses_our_aws(definition));
}

TEST(AwsVariables, TheCertificateIsMountedIntoContainers) {
  Variables settings{{"DROVER_CA", "/data/ca.pem"}};
  EXPECT_EQ(with_authority(nullptr, settings), nullptr);
  EXPECT_EQ(settings["DROVER_CA"], "/data/ca.pem");
  const auto plan = std::make_shared<const ContainerPlan>();
  const auto changed = with_authority(plan, settings);
  ASSERT_EQ(changed->edits.mounts.size(), 1U);
  EXPECT_EQ(changed->edits.mounts[0].source, "/data/ca.pem");
  EXPECT_EQ(changed->edits.mounts[0].target, settings["DROVER_CA"]);
  EXPECT_TRUE(changed->edits.mounts[0].read_only);
  EXPECT_TRUE(plan->edits.mounts.empty());
}

TEST(AwsVariables, CredentialsAreOfOneAttempt) {
  WorkerJob job{.attempts_key = "claim.secret"};
  const Token token{GrantId{1}, ItemIndex{2}};
  const auto first = aws_credentials(job, token, AttemptNumber{1});
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(aws_credentials(job, token, AttemptNumber{1}), first);
  EXPECT_NE(aws_credentials(job, token, AttemptNumber{2}), first);
  job.attempts_key.clear();
  EXPECT_TRUE(aws_credentials(job, token, AttemptNumber{1}).empty());
}

}  // namespace
}  // namespace drover

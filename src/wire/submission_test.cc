#include "wire/submission.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Submission, WhatIsWrittenIsReadBack) {
  Submission job;
  job.name = "job";
  job.client_token = "token";
  job.definition.command = {"echo", "{}"};
  job.definition.workdir = "/tmp";
  job.definition.environment = {{"COLOUR", "green"}};
  job.definition.limits = {.memory_bytes = 1 << 20, .log_bytes = 4096};
  job.policy = {.max_tries = 3, .timeout_ms = 1500, .max_failures = 7};
  job.items = std::vector<std::string>{"a", "b"};
  job.require = {{"gpu", "none"}, {"zone", ""}};
  const auto again = submission_from_json(submission_to_json(job));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->name, job.name);
  EXPECT_EQ(again->client_token, job.client_token);
  EXPECT_EQ(again->definition, job.definition);
  EXPECT_EQ(again->policy, job.policy);
  EXPECT_EQ(again->items, job.items);
  EXPECT_EQ(again->require, job.require);
}

TEST(Submission, WhatCannotBeRequiredIsNamed) {
  for (const char* require : {R"("gpu")", R"({"gpu":1})", R"({"g pu":"x"})", R"({"gpu":"a b"})"}) {
    const auto job =
        submission_from_json(std::string(R"({"command":["true"],"range":[1,2],"require":)") + require + "}");
    ASSERT_FALSE(job) << require;
    EXPECT_NE(job.error().message.find("require"), std::string::npos) << job.error().message;
  }
  EXPECT_FALSE(submission_from_json(R"({"command":["true"],"range":[1,2],"cpus":0.0001})"));
  EXPECT_EQ(submission_from_json(R"({"command":["true"],"range":[1,2],"cpus":0.001})")->definition.limits.milli_cpus,
            1U);
}

TEST(Submission, NoLimitOnOutputIsNotTheUsualLimit) {
  Submission job;
  job.definition.command = {"true"};
  job.items = NumberItems{1, 2};
  ASSERT_EQ(job.definition.limits.log_bytes, 0U);
  const auto again = submission_from_json(submission_to_json(job));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->definition.limits.log_bytes, 0U);
  EXPECT_GT(submission_from_json(R"({"command":["true"],"range":[1,2]})")->definition.limits.log_bytes, 0U);
}

TEST(Submission, ARangeWhoseLengthIsTooLongToCountIsRefused) {
  for (const char* range :
       {"[-9223372036854775808,9223372036854775807]", "[0,9223372036854775807]", "[1,10000000001]"}) {
    const auto job = submission_from_json(std::string(R"({"command":["true"],"range":)") + range + "}");
    ASSERT_FALSE(job) << range;
    EXPECT_NE(job.error().message.find("range"), std::string::npos) << job.error().message;
  }
  EXPECT_TRUE(submission_from_json(R"({"command":["true"],"range":[1,10000000000]})"));
}

}  // namespace
}  // namespace drover

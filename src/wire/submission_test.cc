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
  job.definition.limits = {.memory_bytes = 8 << 20, .nice = 5, .log_bytes = 4096};
  job.policy = {.max_tries = 3, .timeout_ms = 1500, .max_failures = 7};
  job.items = std::vector<std::string>{"a", "b"};
  job.require = {{"gpu", "none"}, {"zone", ""}};
  job.spot = {SpotUse::never, 5, 90'000};
  job.place.queue = "night";
  job.place.priority = 9999;
  job.place.share = "physics";
  job.after_jobs = {{"prepare", false}, {"split", true}};
  job.sequential = true;
  job.definition.strict_lease = true;
  job.definition.on_notice = "checkpoint";
  job.definition.download = true;
  job.definition.output = "s3://photos/out/{.}/";
  job.max_running = 50;
  job.job_timeout_ms = 90'000;
  job.ask.accelerators = {2, 0, 1};
  job.named_definition = "render:3";
  job.definition.container = ContainerOptions{.image = "python:3.12",
                                              .digest = "sha256:" + std::string(64, 'a'),
                                              .runtime = ContainerRuntime::runc,
                                              .entrypoint = std::vector<std::string>{},
                                              .user = "7:8",
                                              .hostname = "here",
                                              .mounts = {{"/a", "/b", true}, {"cache", "/c", false}},
                                              .tmpfs = {{"/t", 4096}, {"/u", 0}},
                                              .devices = {{"/dev/a", "/dev/b", "r"}},
                                              .ulimits = {{"nofile", 64, 128}},
                                              .add_capabilities = {"SYS_PTRACE"},
                                              .drop_capabilities = {"ALL"},
                                              .shm_bytes = 1 << 20,
                                              .disk_bytes = 1 << 30,
                                              .network = ContainerNetwork::none,
                                              .read_only = true,
                                              .privileged = true,
                                              .init = false,
                                              .reuse = true,
                                              .reset = ContainerReset::none,
                                              .reuse_limit = 7};
  const auto again = submission_from_json(submission_to_json(job));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->name, job.name);
  EXPECT_EQ(again->client_token, job.client_token);
  EXPECT_EQ(again->definition, job.definition);
  EXPECT_EQ(again->policy, job.policy);
  EXPECT_EQ(again->items, job.items);
  EXPECT_EQ(again->require, job.require);
  EXPECT_EQ(again->spot, job.spot);
  EXPECT_EQ(again->place, job.place);
  EXPECT_EQ(again->after_jobs, job.after_jobs);
  EXPECT_EQ(again->sequential, job.sequential);
  EXPECT_EQ(again->max_running, job.max_running);
  EXPECT_EQ(again->job_timeout_ms, job.job_timeout_ms);
  EXPECT_EQ(again->ask.accelerators, job.ask.accelerators);
  EXPECT_EQ(again->named_definition, job.named_definition);
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
  job.definition.limits.log_bytes = 0;
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

// A job with this in it, beside what every job needs.
Result<Submission> with(const std::string& fields) {
  return submission_from_json(R"({"command":["true"],"range":[1,2],)" + fields + "}");
}

TEST(Submission, WhatNobodySaysIsTheUsual) {
  const auto job = submission_from_json(R"({"command":["true"],"range":[1,2],"share":null})");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->place.queue, "default");
  EXPECT_EQ(job->place.priority, 0U);
  EXPECT_TRUE(job->place.share.empty() && job->after_jobs.empty() && !job->sequential && job->named_definition.empty());
  EXPECT_EQ(job->max_running, 0U);
  EXPECT_EQ(job->job_timeout_ms, 0);
  EXPECT_EQ(job->ask.accelerators, (std::array<std::uint64_t, 3>{}));
  EXPECT_EQ(job->said, (std::set<std::string, std::less<>>{"command", "range"}));
}

TEST(Submission, WhatWasSaidIsSaidAgainEvenWhereItIsTheUsual) {
  const auto job = with(R"("retries":0,"queue":"default","shell":false,"gpus":0,"log_limit":"64MiB","after":[])");
  ASSERT_TRUE(job) << job.error().message;
  const std::string text = submission_to_json(*job);
  for (const char* part : {R"("retries":0)", R"("queue":"default")", R"("shell":false)", R"("accelerators":{})",
                           R"("log_limit":"64MiB")", R"("after":[])"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_EQ(submission_to_json(*with(R"("priority":0)")).find("retries"), std::string::npos);
}

TEST(Submission, GpusAreShortForAcceleratorsOfTheFirstKind) {
  EXPECT_EQ(with(R"("gpus":2)")->ask.accelerators, (std::array<std::uint64_t, 3>{2, 0, 0}));
  EXPECT_EQ(with(R"("gpus":2,"accelerators":{"neuron":4})")->ask.accelerators, (std::array<std::uint64_t, 3>{2, 0, 4}));
  EXPECT_FALSE(with(R"("gpus":2,"accelerators":{"nvidia":2})"));
  const std::string none = submission_to_json(*with(R"("gpus":0,"accelerators":{"neuron":0})"));
  EXPECT_EQ(submission_to_json(*submission_from_json(none)), none);
}

TEST(Submission, ACommandIsOneTextOnlyForTheShell) {
  const auto line = submission_from_json(R"({"command":"echo {} | wc","shell":true,"range":[1,2]})");
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->definition.command, (std::vector<std::string>{"echo {} | wc"}));
  EXPECT_FALSE(submission_from_json(R"({"command":"echo {}","range":[1,2]})"));
  EXPECT_FALSE(submission_from_json(R"({"command":"echo {}","shell":false,"range":[1,2]})"));
}

TEST(Submission, ADefinitionTakesThePlaceOfACommand) {
  EXPECT_TRUE(submission_from_json(R"({"definition":"render","range":[1,2]})"));
  EXPECT_FALSE(submission_from_json(R"({"range":[1,2]})"));
}

TEST(Submission, EveryWrongFieldIsNamed) {
  for (const char* field : {R"("queue":"a b")",
                            R"("queue":"")",
                            R"("priority":10000)",
                            R"("priority":-1)",
                            R"("priority":"3")",
                            R"("share":"a/b")",
                            R"("after":"x")",
                            R"("after":[1])",
                            R"("after":[{"each":true}])",
                            R"("after":[{"job":"x","all":1}])",
                            R"("sequential":1)",
                            R"("max_running":0)",
                            R"("max_running":1.5)",
                            R"("job_timeout":"30")",
                            R"("job_timeout":"0s")",
                            R"("gpus":-1)",
                            R"("accelerators":{"tpu":1})",
                            R"("accelerators":[1])",
                            R"("definition":"a:0")",
                            R"("definition":"..")",
                            R"("nice":20)",
                            R"("memory":"4X")",
                            R"("memory":"1MiB")",
                            R"("timeout":"30")",
                            R"("log_limit":"1B")",
                            R"("cpus":0.0004)",
                            R"("environment":{"A=":"b"})",
                            R"("environment":{"A":null})",
                            R"("environment":{"A":"\u0000"})",
                            R"("rules":[{"action":"maybe"}])",
                            R"("image":"")",
                            R"("image":"a b")",
                            R"("image":"oci:images/x:1")",
                            R"("image":"docker-archive:./x.tar")",
                            R"("image":"rootfs:root")",
                            R"("items_file":"list")",
                            R"("map":{"/a":"/b"})",
                            R"("name":"..")"}) {
    const auto job = with(field);
    ASSERT_FALSE(job) << field;
    const std::string_view name = std::string_view(field).substr(1, std::string_view(field).find('"', 1) - 1);
    EXPECT_NE(job.error().message.find(name), std::string::npos) << job.error().message;
    EXPECT_FALSE(job.error().next.empty()) << field;
  }
  std::string many = R"("after":["x")";
  for (int i = 0; i < 20; ++i) many += R"(,"x")";
  EXPECT_FALSE(with(many + "]"));
}

TEST(Submission, AnImageLiesWhereEverybodyFindsIt) {
  EXPECT_TRUE(with(R"("image":"oci:/srv/my images/x:1")"));
  EXPECT_TRUE(with(R"("image":"rootfs:/srv/root")"));
  const auto relative = with(R"("image":"oci:images/x:1")");
  ASSERT_FALSE(relative);
  EXPECT_EQ(relative.error().message, "field 'image' has the path 'images/x', which is not absolute");
  EXPECT_EQ(relative.error().next, "write the absolute path: oci:/…/images/x");
}

TEST(Submission, AllThatIsWrongIsTold) {
  const auto job = with(R"("priority":-1,"queu":"x","range":[2,3])");
  ASSERT_FALSE(job);
  for (const char* part : {"priority", "queu", "range' appears twice"}) {
    EXPECT_NE(job.error().message.find(part), std::string::npos) << job.error().message;
  }
}

TEST(Submission, NumbersAndTheirDigitsSurviveInItems) {
  const auto job = submission_from_json(R"({"command":["true","{a}"],"items":[{"a":1.0,"b":[1e2,{"c":null}]}]})");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(std::get<std::vector<std::string>>(job->items).front(), R"({"a":1.0,"b":[1e2,{"c":null}]})");
}

TEST(Submission, AJobComesBeforeItsDefinition) {
  const auto job = submission_from(job_over_definition(
      *job_document(R"({"command":["a"],"environment":{"A":"1","B":"2"},"retries":3,"timeout":"1h","gpus":1})"),
      *job_document(
          R"({"definition":"d","environment":{"B":"3","C":"4"},"retries":0,"timeout":null,"accelerators":{"amd":1},"range":[1,2]})")));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->definition.command, (std::vector<std::string>{"a"}));
  EXPECT_EQ(job->definition.environment,
            (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "3"}, {"C", "4"}}));
  EXPECT_EQ(job->policy.max_tries, 1U);
  EXPECT_EQ(job->policy.timeout_ms, 3'600'000);
  EXPECT_EQ(job->ask.accelerators, (std::array<std::uint64_t, 3>{0, 1, 0}));
  EXPECT_FALSE(job_document("[]"));
  EXPECT_FALSE(job_document("{"));
}

}  // namespace
}  // namespace drover

#include "api/batch/job_properties.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace drover::aws {
namespace {

namespace json = boost::json;

json::object parsed(std::string_view text) {
  return json::parse(text).as_object();
}

std::string native(std::string_view properties) {
  const auto job = native_job(parsed(properties));
  return job ? json::serialize(*job) : job.error().message;
}

TEST(JobProperties, BecomeAJobOfOurs) {
  EXPECT_EQ(
      native(R"({"type":"container","parameters":{"in":"a b"},"retryStrategy":{"attempts":3},
                       "timeout":{"attemptDurationSeconds":60},"tags":{"drover:reuse":"true"},
                       "containerProperties":{"image":"x","command":["run","Ref::in","Ref::out","-Ref::in"],
                       "resourceRequirements":[{"type":"VCPU","value":"0.25"},{"type":"MEMORY","value":"512"},
                       {"type":"GPU","value":"2"}],"environment":[{"name":"A","value":"1"}],"privileged":true,
                       "volumes":[{"name":"v","host":{"sourcePath":"/data"}}],
                       "mountPoints":[{"sourceVolume":"v","containerPath":"/in","readOnly":true}]}})"),
      R"({"image":"x","literal":true,"cpus":2.5E-1,"memory":"512MiB","command":["run","a b","Ref::out","-Ref::in"],)"
      R"("gpus":2,"environment":{"A":"1"},"mounts":["/data:/in:ro,create"],"privileged":true,"retries":2,"timeout":"60s",)"
      R"("reuse":true})");
}

TEST(JobProperties, ASubmissionOverridesItsDefinition) {
  const json::object merged = with_overrides(
      parsed(R"({"parameters":{"a":"1","b":"2"},"schedulingPriority":1,
                 "containerProperties":{"image":"x","command":["old"],"vcpus":1,"memory":64,
                 "environment":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
                 "resourceRequirements":[{"type":"GPU","value":"1"}]}})"),
      parsed(R"({"parameters":{"b":"3"},"schedulingPriorityOverride":5,"timeout":{"attemptDurationSeconds":90},
                 "containerOverrides":{"command":["new"],"memory":128,"environment":[{"name":"B","value":"4"},
                 {"name":"C","value":"5"}],"resourceRequirements":[{"type":"GPU","value":"4"}]}})"));
  EXPECT_EQ(
      json::serialize(merged),
      R"({"parameters":{"a":"1","b":"3"},"schedulingPriority":5,"containerProperties":{"image":"x",)"
      R"("command":["new"],"vcpus":1,"memory":128,"environment":[{"name":"A","value":"1"},)"
      R"({"name":"B","value":"4"},{"name":"C","value":"5"}],"resourceRequirements":[{"type":"GPU","value":"4"}]},)"
      R"("timeout":{"attemptDurationSeconds":90}})");
}

TEST(JobProperties, WhatCannotBeDoneIsNamed) {
  const auto refusal = [](std::string_view text) {
    const auto checked = check_properties(parsed(text));
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(refusal(R"({"type":"multinode","nodeProperties":{}})"),
            "nodeProperties is not supported: a job runs on one machine");
  EXPECT_EQ(refusal(R"({"type":"container","eksProperties":{}})"),
            "eksProperties is not supported: jobs do not run on EKS");
  EXPECT_EQ(refusal(R"({"type":"container"})"), "containerProperties is required");
  EXPECT_EQ(refusal(R"({"type":"container","containerProperties":{"image":"x","vcpus":1}})"),
            "containerProperties.resourceRequirements must say VCPU and MEMORY");
  EXPECT_EQ(refusal(R"({"type":"container","containerProperties":{"image":"x","vcpus":1,"memory":64}})"), "");
}

}  // namespace
}  // namespace drover::aws

#include "accel/engine_config.h"

#include <gtest/gtest.h>

#include "wire/json_text.h"

namespace drover {
namespace {

constexpr const char* kProgram = "/usr/bin/drover-runtime";
using enum ContainerEngine;

using Text = std::optional<std::string>;

TEST(EngineConfig, UninstallingLeavesDockersFileAsItWas) {
  for (const Text& before :
       {Text(), Text("{}"), Text("{}\n"), Text("{ }"), Text("{\n}\n"), Text("{\n\t\"debug\": true\n}"),
        Text("{\"runtimes\":{}}"), Text("{\n\n\n}"),
        Text("{\n  \"runtimes\": {\n    \"kata\": {\"path\": \"/usr/bin/kata\"}\n  },\n  \"log-level\": \"warn\"\n}\n"),
        Text("{\"a\":1,\"runtimes\": { } ,\"b\" : [1, 2.50]}")}) {
    for (const bool is_default : {false, true}) {
      const auto after = with_runtimes(docker, before, kProgram, is_default);
      ASSERT_TRUE(after.has_value()) << before.value_or("no file") << after.error().message;
      const auto read = JsonText::parse(*after);
      ASSERT_TRUE(read.has_value()) << *after;
      for (const char* name : {"nvidia", "oci-neuron", "drover"}) {
        EXPECT_EQ(read->root().find("runtimes")->find(name)->find("path")->string(), kProgram);
      }
      EXPECT_EQ(read->root().find("default-runtime") != nullptr, is_default);
      EXPECT_EQ(with_runtimes(docker, *after, kProgram, is_default).value(), *after) << "twice is once";
      EXPECT_EQ(without_runtimes(docker, *after).value(), before) << *after;
    }
  }
}

TEST(EngineConfig, WhatWasAddedToDockersFileMeanwhileStays) {
  std::string text = with_runtimes(docker, Text("{\"a\": 1}"), kProgram).value();
  text.insert(text.rfind('}'), ", \"b\": 2");
  EXPECT_EQ(without_runtimes(docker, text).value(), "{\"a\": 1, \"b\": 2}");
}

TEST(EngineConfig, RuntimesOfOthersAreNotTouched) {
  const std::string nvidias = R"({"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}})";
  const auto taken = with_runtimes(docker, nvidias, kProgram);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().message, "the runtime 'nvidia' is there already and is not Drover's");
  EXPECT_EQ(without_runtimes(docker, nvidias).value(), nvidias);
  EXPECT_FALSE(with_runtimes(docker, R"({"default-runtime": "kata"})", kProgram, true).has_value());
  const std::string others = R"({"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "x"}}})";
  EXPECT_EQ(without_runtimes(docker, others).value(), others);
}

TEST(EngineConfig, MalformedFilesAreNotTouched) {
  for (const std::string text : {"", "[]", "{", R"({"runtimes": []})"}) {
    EXPECT_FALSE(with_runtimes(docker, text, kProgram).has_value()) << text;
  }
  EXPECT_FALSE(with_runtimes(containerd, "a = ", kProgram).has_value());
}

TEST(EngineConfig, UninstallingLeavesContainerdsFileAsItWas) {
  for (const Text& before :
       {Text(), Text(""), Text("version = 2\n"), Text("version = 2"), Text("version = 3\nroot = '/x'\n"),
        Text("version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\nruntime_type = "
             "'io.containerd.runc.v2'\n\n\n")}) {
    const auto after = with_runtimes(containerd, before, kProgram);
    ASSERT_TRUE(after.has_value()) << after.error().message;
    EXPECT_NE(after->find("BinaryName = \"/usr/bin/drover-runtime\""), std::string::npos);
    EXPECT_EQ(after->find("io.containerd.cri.v1.runtime") != std::string::npos,
              before.value_or("").starts_with("version = 3"));
    EXPECT_EQ(with_runtimes(containerd, *after, kProgram).value(), *after);
    EXPECT_EQ(without_runtimes(containerd, *after).value(), before) << *after;
    EXPECT_EQ(without_runtimes(containerd, *after + "[timeouts]\n").has_value(), true);
  }
}

TEST(EngineConfig, ContainerdsOtherFilesAreRefused) {
  EXPECT_FALSE(with_runtimes(containerd, "root = '/x'\n", kProgram).has_value()) << "version 1";
  const auto taken = with_runtimes(
      containerd, "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\na = 1\n", kProgram);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::conflict);
  EXPECT_FALSE(with_runtimes(containerd, "version = 2\n[plugins]\n\"io.containerd.grpc.v1.cri\" = {a = 1}\n", kProgram)
                   .has_value());
}

TEST(EngineConfig, PodmansFileIsOurOwn) {
  const auto after = with_runtimes(podman, {}, kProgram, true);
  ASSERT_TRUE(after.has_value());
  EXPECT_NE(after->find("[engine.runtimes]\nnvidia = [\"/usr/bin/drover-runtime\"]"), std::string::npos);
  EXPECT_NE(after->find("runtime = \"nvidia\""), std::string::npos);
  EXPECT_EQ(without_runtimes(podman, *after).value(), std::nullopt);
  EXPECT_FALSE(with_runtimes(podman, "mine\n", kProgram).has_value());
  EXPECT_EQ(without_runtimes(podman, "mine\n").value(), "mine\n");
}

}  // namespace
}  // namespace drover

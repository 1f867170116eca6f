#include "wire/oci_edit.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

JsonText config_of(std::string text) {
  auto out = JsonText::parse(std::move(text));
  EXPECT_TRUE(out.has_value());
  return std::move(*out);
}

std::string edited(std::string config, const CdiEdits& edits) {
  JsonText text = config_of(std::move(config));
  const auto done = apply_edits(text, edits);
  EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  return text.text();
}

TEST(OciEdit, AVariableReplacesThoseOfItsName) {
  EXPECT_EQ(edited(R"({"process":{"env":["A=1","AB=2","A=3"]}})", {.environment = {"A=4", "C=5"}}),
            R"({"process":{"env":["A=4","AB=2","C=5"]}})");
  EXPECT_EQ(edited(R"({"process":{"env":["A=1"]}})", {.environment = {"B=1", "B=2"}}),
            R"({"process":{"env":["A=1","B=2"]}})");
}

TEST(OciEdit, ADeviceBecomesANodeAndARule) {
  CdiEdits edits;
  edits.devices.push_back(
      {.path = "/dev/x", .host_path = "/elsewhere/x", .type = "c", .major = 195, .minor = 3, .mode = 0666});
  EXPECT_EQ(
      edited(R"({"linux":{"devices":[],"resources":{"devices":[{"allow":false,"access":"rwm"}]}}})", edits),
      "{\"linux\":{\"devices\":[\n    "
      "{\"path\":\"/dev/x\",\"type\":\"c\",\"major\":195,\"minor\":3,\"fileMode\":438}\n]"
      ",\"resources\":{\"devices\":[{\"allow\":false,\"access\":\"rwm\"},{\"allow\":true,\"type\":\"c\",\"major\":195,"
      "\"minor\":3,\"access\":\"rwm\"}]}}}");
}

TEST(OciEdit, ADeviceOfTheSamePathIsReplaced) {
  CdiEdits edits;
  edits.devices.push_back({.path = "/dev/x", .type = "c", .major = 2, .minor = 3, .permissions = "none"});
  const std::string text = edited(R"({"linux":{"devices":[{"path":"/dev/x","type":"b"},{"path":"/dev/y"}]}})", edits);
  EXPECT_EQ(text, R"({"linux":{"devices":[{"path":"/dev/y"},{"path":"/dev/x","type":"c","major":2,"minor":3}]}})");
}

TEST(OciEdit, ADeviceBelongsToTheContainersUser) {
  CdiEdits edits;
  edits.devices.push_back({.path = "/dev/x", .type = "c", .major = 2, .minor = 3, .permissions = "none"});
  const std::string text = edited(R"({"process":{"user":{"uid":1000,"gid":0}},"linux":{"devices":[]}})", edits);
  EXPECT_NE(text.find("\"uid\":1000"), std::string::npos) << text;
  EXPECT_EQ(text.find("\"gid\":0}\n"), std::string::npos) << text;
}

TEST(OciEdit, MountsReplaceByDestinationAndAreSortedByDepth) {
  CdiEdits edits;
  edits.mounts.push_back({"/host/lib", "/usr/lib/x", {"ro"}, ""});
  edits.mounts.push_back({"/host/data", "/data", {"ro"}, ""});
  const JsonText text = config_of(edited(
      R"({"mounts":[{"destination":"/dev/shm","type":"tmpfs"},{"destination":"/proc"},{"destination":"/usr/lib/x","type":"old"}]})",
      edits));
  std::vector<std::string> order;
  for (const auto& child : text.root().find("mounts")->children)
    order.push_back(child.value.find("destination")->string());
  EXPECT_EQ(order, (std::vector<std::string>{"/proc", "/data", "/dev/shm", "/usr/lib/x"}));
  EXPECT_EQ(text.root().find("mounts")->children.back().value.find("type")->string(), "bind");
}

TEST(OciEdit, GroupsAreAddedOnceAndNeverRoots) {
  const std::string text = edited(R"({"process":{"user":{"additionalGids":[5]}}})", {.groups = {0, 5, 44}});
  EXPECT_EQ(text, R"({"process":{"user":{"additionalGids":[5,44]}}})");
}

TEST(OciEdit, HooksAndTheRestOfCdi) {
  CdiEdits edits;
  edits.hooks.push_back({"createContainer", "/bin/hook", {"hook", "x"}, {"PATH=/bin"}, 5});
  edits.net_devices.push_back({"eth1", "net0"});
  edits.intel_rdt = R"({"closID":"a"})";
  const JsonText text = config_of(edited(R"({"hooks":{"createContainer":[{"path":"/a"}]},"linux":{}})", edits));
  const JsonValue& hooks = *text.root().find("hooks")->find("createContainer");
  ASSERT_EQ(hooks.children.size(), 2u);
  EXPECT_EQ(hooks.children[1].value.find("env")->strings(), std::vector<std::string>{"PATH=/bin"});
  EXPECT_EQ(hooks.children[1].value.find("timeout")->text, "5");
  EXPECT_EQ(text.root().find("linux")->find("netDevices")->find("eth1")->find("name")->string(), "net0");
  EXPECT_EQ(text.root().find("linux")->find("intelRdt")->find("closID")->string(), "a");
}

TEST(OciEdit, WhatIsNotAnObjectIsNamed) {
  JsonText text = config_of(R"({"linux":[1]})");
  CdiEdits edits;
  edits.devices.push_back({.path = "/dev/x", .type = "c", .major = 2, .minor = 3});
  const auto done = apply_edits(text, edits);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "invalid config.json: 'linux' is not an array");
  JsonText list = config_of("[]");
  EXPECT_FALSE(apply_edits(list, {.environment = {"A=1"}}).has_value());
  EXPECT_FALSE(oci_facts(list).has_value());
}

TEST(OciEdit, OnlyTheNamedHooksAreRemoved) {
  JsonText text =
      config_of(R"({"hooks":{"prestart":[{"path":"/a/nvidia-container-runtime-hook"},{"path":"/b/other"}]}})");
  remove_hooks(text, "prestart", {"nvidia-container-runtime-hook", "nvidia-container-toolkit"});
  EXPECT_EQ(text.text(), R"({"hooks":{"prestart":[{"path":"/b/other"}]}})");
}

TEST(OciEdit, HooksFromAFileComeFirst) {
  JsonText text = config_of(R"({"hooks":{"prestart":[{"path":"/old"}]}})");
  const JsonText more =
      config_of(R"({"prestart":[{"path":"/1","unknown":[1]},{"path":"/2"}],"poststop":[{"path":"/3"}]})");
  ASSERT_TRUE(prepend_hooks(text, more).has_value());
  const JsonValue& hooks = *text.root().find("hooks")->find("prestart");
  ASSERT_EQ(hooks.children.size(), 3u);
  EXPECT_EQ(hooks.children[0].value.find("path")->string(), "/1");
  EXPECT_NE(hooks.children[0].value.find("unknown"), nullptr);
  EXPECT_EQ(hooks.children[1].value.find("path")->string(), "/2");
  EXPECT_EQ(text.root().find("hooks")->find("poststop")->children.size(), 1u);
}

TEST(OciEdit, FactsOfAContainer) {
  const JsonText text = config_of(
      R"({"root":{"path":"rootfs"},"process":{"env":["A=1","A=2","B="],"capabilities":{"bounding":["CAP_KILL","CAP_SYS_ADMIN"]}},)"
      R"("annotations":{"k":"v"},"mounts":[{"source":"/dev/null","destination":"/x"}]})");
  const auto facts = oci_facts(text);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->root, "rootfs");
  EXPECT_STREQ(facts->variable("A"), "2");
  EXPECT_STREQ(facts->variable("B"), "");
  EXPECT_EQ(facts->variable("C"), nullptr);
  EXPECT_TRUE(facts->is_privileged);
  EXPECT_EQ(facts->annotations.at("k"), "v");
  EXPECT_EQ(facts->mounts.at(0).source, "/dev/null");
}

}  // namespace
}  // namespace drover

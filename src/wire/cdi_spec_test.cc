#include "wire/cdi_spec.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

constexpr std::string_view kWhole = R"({
  "cdiVersion": "1.1.0", "kind": "vendor.com/class.x", "annotations": {"a": "b"},
  "devices": [{"name": "0", "annotations": {"c": "d"}, "containerEdits": {
    "env": ["A=1"],
    "deviceNodes": [{"path": "/dev/x", "hostPath": "/dev/y", "type": "c", "major": 1, "minor": 2, "fileMode": 438, "permissions": "rw", "uid": 3, "gid": 4}],
    "mounts": [{"hostPath": "/h", "containerPath": "/c", "options": ["ro"], "type": "tmpfs"}],
    "hooks": [{"hookName": "createContainer", "path": "/hook", "args": ["hook"], "env": ["B=2"], "timeout": 5}],
    "additionalGids": [44], "intelRdt": {"closID": "x"}, "netDevices": [{"hostInterfaceName": "eth0", "name": "net0"}]}}],
  "containerEdits": {"env": ["C=3"]}})";

Result<CdiSpec> cdi_with(std::string_view version, std::string_view device, std::string_view kind = "vendor.com/gpu",
                         std::string_view name = "x") {
  return cdi_from_text(std::string("{\"cdiVersion\": \"") + std::string(version) + "\", \"kind\": \"" +
                           std::string(kind) + "\", \"devices\": [{\"name\": \"" + std::string(name) +
                           "\", \"containerEdits\": " + std::string(device) + "}]}",
                       true);
}

TEST(CdiSpec, WhatIsWrittenIsReadBack) {
  const auto spec = cdi_from_text(kWhole, true);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  const auto again = cdi_from_text(cdi_to_json(*spec), true);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, *spec);
}

TEST(CdiSpec, YamlSaysTheSame) {
  const auto spec = cdi_from_text(
      "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices:\n- name: gpu0\n  containerEdits:\n    deviceNodes:\n"
      "    - path: /dev/x\n      major: 195\n      minor: 0\n",
      false);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->devices.at(0).edits.devices.at(0).major, 195);
  EXPECT_FALSE(cdi_from_text("a: [", false).has_value());
}

TEST(CdiSpec, TheLeastVersionIsWritten) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"env": ["A=1"]})", "0.3.0"},
      {R"({"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "bind"}]})", "0.4.0"},
      {R"({"deviceNodes": [{"path": "/dev/x", "hostPath": "/dev/y"}]})", "0.5.0"},
      {R"({"additionalGids": [5]})", "0.7.0"},
      {R"({"intelRdt": {"closID": "a"}})", "0.7.0"},
      {R"({"netDevices": [{"hostInterfaceName": "a", "name": "b"}]})", "1.1.0"}};
  for (const auto& [edits, version] : cases) {
    const auto spec = cdi_with("1.1.0", edits);
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    EXPECT_EQ(least_cdi_version(*spec), version) << edits;
    if (version == "0.3.0") continue;
    const auto older = cdi_with("0.3.0", edits);
    ASSERT_FALSE(older.has_value()) << edits;
    EXPECT_NE(older.error().message.find(version), std::string::npos) << older.error().message;
  }
  EXPECT_EQ(least_cdi_version(*cdi_with("1.0.0", R"({"env": ["A=1"]})", "vendor.com/gpu", "0")), "0.5.0");
  EXPECT_EQ(least_cdi_version(*cdi_with("1.0.0", R"({"env": ["A=1"]})", "vendor.com/gpu.x")), "0.6.0");
  EXPECT_FALSE(cdi_with("0.4.0", R"({"env": ["A=1"]})", "vendor.com/gpu", "0").has_value());
}

TEST(CdiSpec, WhatIsWrongIsNamed) {
  const std::pair<Result<CdiSpec>, std::string_view> cases[] = {
      {cdi_with("9.9.9", R"({"env": ["A=1"]})"), "'9.9.9' is not a known cdiVersion"},
      {cdi_with("0.3.0", R"({"env": ["A=1"]})", "1vendor/gpu"), "not a valid vendor"},
      {cdi_with("0.3.0", R"({"env": ["A=1"]})", "vendor/g pu"), "not a valid class"},
      {cdi_with("0.3.0", R"({"env": ["A=1"]})", "vendor"), "not VENDOR/CLASS"},
      {cdi_with("0.3.0", R"({"env": ["A=1"]})", "a/b", "x="), "not a valid device name"},
      {cdi_with("0.3.0", R"({})"), "has no containerEdits"},
      {cdi_with("0.3.0", R"({"env": ["A"]})"), "'A' in env is not NAME=value"},
      {cdi_with("0.3.0", R"({"envs": []})"), "unknown member 'envs'"},
      {cdi_with("0.3.0", R"({"deviceNodes": [{"path": "/x", "type": "q"}]})"), "'q' is not a type"},
      {cdi_with("0.3.0", R"({"deviceNodes": [{"path": "/x", "permissions": "rx"}]})"), "permissions"},
      {cdi_with("0.3.0", R"({"deviceNodes": [{"path": "/x", "major": "1"}]})"), "'major' must be a whole number"},
      {cdi_with("0.3.0", R"({"hooks": [{"hookName": "later", "path": "/x"}]})"), "'later' is not the name of a hook"},
      {cdi_with("0.3.0", R"({"mounts": [{"hostPath": "/x"}]})"), "'containerPath' is missing"},
      {cdi_from_text(R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": []})", true), "there is no device"},
      {cdi_from_text(R"({"cdiVersion": "0.3.0", "kind": "a/b", "kind": "a/c", "devices": []})", true),
       "'kind' is there twice"},
      {cdi_from_text("[]", true), "must be an object"},
      {cdi_from_text("{", true), "malformed JSON"}};
  for (const auto& [spec, words] : cases) {
    ASSERT_FALSE(spec.has_value()) << words;
    EXPECT_NE(spec.error().message.find(words), std::string::npos) << spec.error().message;
  }
  const auto twice = cdi_from_text(
      R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": [{"name": "x", "containerEdits": {"env": ["A=1"]}}, {"name": "x", "containerEdits": {"env": ["A=1"]}}]})",
      true);
  ASSERT_FALSE(twice.has_value());
  EXPECT_EQ(twice.error().message, "device 'x' is there twice");
}

TEST(CdiNames, AreQualified) {
  for (const std::string_view good : {"nvidia.com/gpu=0", "nvidia.com/gpu=GPU-8a", "a/b.c=1:0", "vendor_1.x/c-d=all"}) {
    EXPECT_TRUE(is_cdi_name(good)) << good;
  }
  for (const std::string_view bad : {"", "0", "nvidia.com/gpu", "nvidia.com=0", "nvidia.com/gpu=", "/gpu=0", "a/=0",
                                     "a/b=-x", "a/b=x/y", "a/b=x-"}) {
    EXPECT_FALSE(is_cdi_name(bad)) << bad;
  }
}

TEST(CdiNames, InAnnotationsAreSortedAndDeduplicated) {
  const std::map<std::string, std::string> annotations = {
      {"cdi.k8s.io/b_1", "a/b=2, a/b=1"}, {"cdi.k8s.io/a_1", "a/b=1"}, {"other", "no name"}};
  EXPECT_EQ(cdi_names_in(annotations, {"cdi.k8s.io/"}).value(), (std::vector<std::string>{"a/b=1", "a/b=2"}));
  const auto wrong = cdi_names_in({{"cdi.k8s.io/x", "gpu0"}}, {"cdi.k8s.io/"});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("annotation cdi.k8s.io/x: 'gpu0'"), std::string::npos);
}

}  // namespace
}  // namespace drover

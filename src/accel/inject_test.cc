#include "accel/inject.h"

#include "accel/cdi_registry.h"
#include "accel/driver_root_fixture.h"
#include "accel/neuron.h"

namespace drover {
namespace {

Result<Injection> injected(const AccelSettings& settings, std::vector<std::string> variables) {
  const auto request = device_request({.environment = std::move(variables)}, settings);
  EXPECT_TRUE(request.has_value());
  return inject_devices(*request, settings, "/usr/bin/drover-hook");
}

std::string cdi_file(const std::string& name, const std::string& variable) {
  return R"({"cdiVersion": "0.5.0", "kind": "a.com/b", "containerEdits": {"env": ["SPEC=)" + variable +
         R"("]}, "devices": [{"name": ")" + name + R"(", "containerEdits": {"env": ["A=)" + variable + R"("]}}]})";
}

TEST(Inject, AllGpusComeWithTheirControlNodes) {
  const DriverRootFixture machine;
  const AccelSettings settings{.driver_root = machine.path()};
  const auto injection = injected(settings, {"NVIDIA_VISIBLE_DEVICES=0,1"});
  ASSERT_TRUE(injection.has_value()) << injection.error().message;
  EXPECT_EQ(injection->edits.devices.size(), 5u);
  EXPECT_TRUE(injection->notices.empty());
}

TEST(Inject, NoneIsTheDriverWithoutAnyNode) {
  const DriverRootFixture machine;
  const auto injection = injected({.driver_root = machine.path()}, {"NVIDIA_VISIBLE_DEVICES=none"});
  ASSERT_TRUE(injection.has_value()) << injection.error().message;
  EXPECT_TRUE(injection->edits.devices.empty());
  EXPECT_FALSE(injection->edits.mounts.empty());
}

TEST(Inject, WhatIsMissingIsNamed) {
  const FolderFixture empty;
  empty.write("proc/driver/nvidia/x", "");
  const auto without = injected({.driver_root = empty.path()}, {"NVIDIA_VISIBLE_DEVICES=all"});
  ASSERT_FALSE(without.has_value());
  EXPECT_EQ(without.error().message, "NVIDIA's driver is not loaded: /proc/driver/nvidia/version is missing");
  const DriverRootFixture machine;
  std::filesystem::remove_all(machine / "usr/lib");
  const auto libraries = injected({.driver_root = machine.path()}, {"NVIDIA_VISIBLE_DEVICES=all"});
  ASSERT_FALSE(libraries.has_value());
  EXPECT_NE(libraries.error().message.find("libcuda.so and libnvidia-ml.so are missing"), std::string::npos);
  const auto root = injected({.driver_root = empty / "nothing"}, {"NVIDIA_VISIBLE_DEVICES=all"});
  ASSERT_FALSE(root.has_value());
  EXPECT_NE(root.error().message.find("cannot use the driver root"), std::string::npos);
  const auto newer =
      injected({.driver_root = machine.path()}, {"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_CUDA=cuda>=12.9"});
  ASSERT_FALSE(newer.has_value());
  EXPECT_NE(newer.error().message.find("driver 535.104.05 with CUDA 12.2"), std::string::npos);
}

TEST(Inject, WhatWasFoundIsGoodUntilTheDriversFilesChange) {
  const DriverRootFixture machine;
  std::filesystem::remove_all(machine / "proc/driver/nvidia/capabilities");  // MIG devices are looked for each time
  const AccelSettings settings{.driver_root = machine.path()};
  const auto request = device_request({.environment = {"NVIDIA_VISIBLE_DEVICES=0"}}, settings);
  ASSERT_TRUE(request.has_value());
  Injector injector(settings, "/usr/bin/drover-hook");
  const auto first = injector.inject(*request);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  machine.write("proc/driver/nvidia/version", "not read again");
  const auto second = injector.inject(*request);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->edits, first->edits);
  machine.write("usr/lib/x86_64-linux-gnu/libnew.so", "");
  EXPECT_FALSE(injector.inject(*request).has_value()) << "the version is read again";
}

TEST(Inject, ADriverOfAnotherVersionIsNoticed) {
  const DriverRootFixture machine;
  machine.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.1.2  x\n");
  const auto injection = injected({.driver_root = machine.path()}, {"NVIDIA_VISIBLE_DEVICES=all"});
  ASSERT_TRUE(injection.has_value());
  ASSERT_EQ(injection->notices.size(), 1u);
  EXPECT_NE(injection->notices[0].find("570.1.2 and its libraries are version 535.104.05"), std::string::npos);
}

TEST(Neuron, DevicesAreThoseThatAreThere) {
  const FolderFixture machine;
  for (unsigned n = 0; n < 3; ++n) machine.node("dev/neuron" + std::to_string(n), 242, n);
  machine.write("dev/neuron9", "not a device");
  const AccelSettings settings{.driver_root = machine.path()};
  const auto all = injected(settings, {"AWS_NEURON_VISIBLE_DEVICES=ALL"});
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(all->edits.devices.size(), 3u);
  const auto one = injected(settings, {"AWS_NEURON_VISIBLE_DEVICES=2"});
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->edits.devices.at(0).path, "/dev/neuron2");
  EXPECT_EQ(one->edits.devices.at(0).host_path, machine / "dev/neuron2");
  const auto missing = injected(settings, {"AWS_NEURON_VISIBLE_DEVICES=9"});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, "there is no Neuron device 9 on this machine: it has 0, 1, 2");
  const auto places = DriverPlaces::open(machine.path());
  const auto spec = neuron_cdi_spec(*places);
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->devices.back().name, "all");
  EXPECT_EQ(spec->devices.back().edits.devices.size(), 3u);
}

TEST(CdiRegistry, LaterFoldersShadowEarlierOnes) {
  const FolderFixture folder;
  folder.write("1/a.json", cdi_file("x", "first"));
  folder.write("2/b.json", cdi_file("x", "second"));
  folder.write("2/ignored.txt", "no JSON");
  folder.write("2/below/c.json", cdi_file("y", "below"));
  const CdiRegistry registry = CdiRegistry::scan({folder / "1", folder / "2", folder / "missing"});
  EXPECT_EQ(registry.names(), std::vector<std::string>{"a.com/b=x"});
  EXPECT_EQ(registry.resolve({"a.com/b=x"})->environment, (std::vector<std::string>{"SPEC=second", "A=second"}));
  EXPECT_TRUE(registry.problems().empty());
}

TEST(CdiRegistry, TheSameNameTwiceInAFolderIsUnusable) {
  const FolderFixture folder;
  folder.write("1/a.json", cdi_file("x", "1"));
  folder.write("1/b.json", cdi_file("x", "2"));
  folder.write("1/c.json", cdi_file("y", "3"));
  const CdiRegistry registry = CdiRegistry::scan({folder / "1"});
  EXPECT_EQ(registry.names(), std::vector<std::string>{"a.com/b=y"});
  EXPECT_EQ(registry.problems().size(), 2u);
  const auto edits = registry.resolve({"a.com/b=x", "a.com/b=y", "a.com/b=z"});
  ASSERT_FALSE(edits.has_value());
  EXPECT_NE(edits.error().message.find("no CDI file names a.com/b=x, a.com/b=z"), std::string::npos);
  EXPECT_NE(edits.error().message.find("b.json: names a.com/b=x as"), std::string::npos);
  EXPECT_EQ(edits.error().next, "the known devices are a.com/b=y");
}

TEST(CdiRegistry, ABadFileBlocksNoOther) {
  const FolderFixture folder;
  folder.write("1/bad.yaml", "a: [");
  folder.write("1/good.json", cdi_file("x", "1"));
  const CdiRegistry registry = CdiRegistry::scan({folder / "1"});
  EXPECT_TRUE(registry.resolve({"a.com/b=x"}).has_value());
  ASSERT_EQ(registry.problems().size(), 1u);
  EXPECT_EQ(registry.problems()[0].path, folder / "1/bad.yaml");
}

TEST(CdiRegistry, EditsOfAFileComeOnce) {
  const FolderFixture folder;
  folder.write(
      "1/a.json",
      R"({"cdiVersion": "0.5.0", "kind": "a.com/b", "containerEdits": {"env": ["S=1"]}, "devices": [)"
      R"({"name": "x", "containerEdits": {"env": ["X=1"]}}, {"name": "y", "containerEdits": {"env": ["Y=1"]}}]})");
  EXPECT_EQ(CdiRegistry::scan({folder / "1"}).resolve({"a.com/b=y", "a.com/b=x"})->environment,
            (std::vector<std::string>{"S=1", "Y=1", "X=1"}));
}

TEST(Inject, DeviceNumbersThatCdiLeavesOpenAreTheMachines) {
  CdiEdits edits;
  edits.devices.push_back({.path = "/dev/inside", .host_path = "/dev/null"});
  ASSERT_TRUE(fill_device_numbers(edits).has_value());
  EXPECT_EQ(edits.devices[0].type, "c");
  EXPECT_EQ(edits.devices[0].major, 1);
  EXPECT_EQ(edits.devices[0].minor, 3);
  edits.devices.push_back({.path = "/dev/nothing-of-that-name"});
  const auto missing = fill_device_numbers(edits);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("/dev/nothing-of-that-name"), std::string::npos);
  CdiEdits wrong;
  wrong.devices.push_back({.path = "/dev/null", .type = "b"});
  EXPECT_FALSE(fill_device_numbers(wrong).has_value());
}

}  // namespace
}  // namespace drover

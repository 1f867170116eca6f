#include "worker/slot_devices.h"

#include <algorithm>

#include "accel/driver_root_fixture.h"

namespace drover {
namespace {

class SlotDevices : public testing::Test {
 protected:
  SlotDevices() {
    machine_.settings.driver_root = root_.path();
    machine_.hook_program = "/usr/bin/drover-hook";
    machine_.injector = std::make_shared<Injector>(machine_.settings, machine_.hook_program);
    auto found = DevicePool::find(machine_.settings);
    EXPECT_TRUE(found.has_value());
    machine_.pool = DevicePool(found->devices(), root_ / "locks");
  }

  DeviceGrant take(const AcceleratorCounts& wanted) const {
    auto grant = machine_.pool.take(wanted);
    EXPECT_TRUE(grant && *grant);
    return std::move(**grant);
  }
  static std::string value_of(const SlotSetup& setup, const std::string& name) {
    std::string out = "unset";
    for (const std::string& it : setup.environment) {
      if (it.starts_with(name + "=")) out = out == "unset" ? it.substr(name.size() + 1) : "twice";
    }
    return out;
  }
  static SlotSetup in_container(std::vector<std::string> environment = {}) {
    return {.environment = std::move(environment), .container = std::make_shared<ContainerPlan>()};
  }

  const DriverRootFixture root_;
  MachineDevices machine_;
};

TEST_F(SlotDevices, AProcessFindsItsGpusByTheirIndices) {
  const DeviceGrant first = take({1});
  const DeviceGrant grant = take({2});
  SlotSetup setup{.environment = {"CUDA_VISIBLE_DEVICES=7", "A=b"}};
  ASSERT_TRUE(give_devices(setup, grant, machine_));
  EXPECT_EQ(value_of(setup, "CUDA_VISIBLE_DEVICES"), "1,2");
  EXPECT_EQ(value_of(setup, "CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(value_of(setup, "NVIDIA_VISIBLE_DEVICES"), "GPU-1a,GPU-2a");
  EXPECT_EQ(value_of(setup, "A"), "b");
  EXPECT_EQ(setup.device_lock, grant.lock.get());
}

TEST_F(SlotDevices, AContainerHasItsGpusAloneAndCountsThemFromZero) {
  const DeviceGrant first = take({1});
  const DeviceGrant grant = take({1});
  SlotSetup setup = in_container();
  auto plan = std::make_shared<ContainerPlan>(*setup.container);
  plan->options.runtime = ContainerRuntime::runc;
  plan->options.reuse = true;
  setup.container = plan;
  const auto given = give_devices(setup, grant, machine_);
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(value_of(setup, "CUDA_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(value_of(setup, "NVIDIA_VISIBLE_DEVICES"), "GPU-1a");
  std::vector<std::string> nodes;
  for (const auto& it : setup.container->edits.devices) nodes.push_back(it.wanted.inside);
  EXPECT_NE(std::ranges::find(nodes, "/dev/nvidia2"), nodes.end());
  EXPECT_EQ(std::ranges::find(nodes, "/dev/nvidia1"), nodes.end());
  EXPECT_FALSE(setup.container->edits.mounts.empty());
  EXPECT_FALSE(setup.container->edits.hooks.empty());
  EXPECT_FALSE(setup.container->options.reuse);
  EXPECT_TRUE(plan->edits.devices.empty()) << "other slots have the same plan";
}

TEST_F(SlotDevices, WhatAnImageWantsOfTheDriverIsObeyed) {
  const DeviceGrant grant = take({1});
  const auto mounts = [&](const std::string& capabilities) {
    SlotSetup setup = in_container({"NVIDIA_DRIVER_CAPABILITIES=" + capabilities});
    auto plan = std::make_shared<ContainerPlan>();
    plan->options.runtime = ContainerRuntime::runc;
    setup.container = plan;
    EXPECT_TRUE(give_devices(setup, grant, machine_));
    return setup.container->edits.mounts.size();
  };
  EXPECT_LT(mounts("utility"), mounts("all"));
}

TEST_F(SlotDevices, DockerIsAskedForThem) {
  const DeviceGrant grant = take({1});
  SlotSetup setup = in_container();
  auto plan = std::make_shared<ContainerPlan>();
  plan->options.runtime = ContainerRuntime::docker;
  setup.container = plan;
  ASSERT_TRUE(give_devices(setup, grant, machine_));
  EXPECT_EQ(setup.container->gpus, std::vector<std::string>{"GPU-0a"});
  EXPECT_TRUE(setup.container->edits.hooks.empty());
}

TEST_F(SlotDevices, WithoutTheHookAnErrorSaysSo) {
  const DeviceGrant grant = take({1});
  machine_.hook_program.clear();
  SlotSetup setup = in_container();
  auto plan = std::make_shared<ContainerPlan>();
  plan->options.runtime = ContainerRuntime::runc;
  setup.container = plan;
  const auto given = give_devices(setup, grant, machine_);
  ASSERT_FALSE(given);
  EXPECT_NE(given.error().message.find("drover-hook"), std::string::npos);
}

TEST_F(SlotDevices, ProcessesThatAskForNoneSeeNone) {
  SlotSetup setup{.environment = {"NVIDIA_VISIBLE_DEVICES=none"}};
  hide_devices(setup, machine_);
  EXPECT_EQ(value_of(setup, "CUDA_VISIBLE_DEVICES"), "");
  EXPECT_EQ(value_of(setup, "NVIDIA_VISIBLE_DEVICES"), "none");
  SlotSetup elsewhere;
  hide_devices(elsewhere, MachineDevices{});
  EXPECT_TRUE(elsewhere.environment.empty());
}

TEST_F(SlotDevices, NeuronCoresAreCountedThroughTheMachine) {
  PoolDevices devices;
  devices[2] = {{"neuron0", 0, 2}, {"neuron1", 1, 2}, {"neuron2", 2, 2}};
  machine_.pool = DevicePool(devices, root_ / "locks");
  const DeviceGrant first = take({0, 0, 1});
  const DeviceGrant grant = take({0, 0, 2});
  SlotSetup setup;
  ASSERT_TRUE(give_devices(setup, grant, machine_));
  EXPECT_EQ(value_of(setup, "NEURON_RT_VISIBLE_CORES"), "2-3,4-5");
  EXPECT_EQ(value_of(setup, "CUDA_VISIBLE_DEVICES"), "unset");
}

TEST_F(SlotDevices, KindsOfWhichNoneIsHereAreOnlyCounted) {
  EXPECT_EQ(machine_.given_of({.accelerators = {2, 3, 1}}), (AcceleratorCounts{2, 0, 0}));
}

}  // namespace
}  // namespace drover

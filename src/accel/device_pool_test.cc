#include "accel/device_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "accel/driver_root_fixture.h"

namespace drover {
namespace {

std::string ids(const std::vector<PoolDevice>& devices) {
  std::string out;
  for (const PoolDevice& it : devices) out += (out.empty() ? "" : " ") + it.id;
  return out;
}

class DevicePoolTest : public testing::Test {
 protected:
  DevicePool pool() const {
    PoolDevices devices;
    devices[0] = {{"GPU-0a", 0}, {"GPU-1a", 1}, {"GPU-1b", 2}};
    devices[2] = {{"neuron0", 0, 2}};
    return DevicePool(devices, folder_ / "locks");
  }
  static std::string taken(const DevicePool& from, const AcceleratorCounts& wanted, std::vector<DeviceGrant>& keep) {
    auto grant = from.take(wanted);
    if (!grant) return grant.error().message;
    if (!*grant) return "none";
    std::string out;
    for (const auto& of_kind : (*grant)->devices) out += ids(of_kind) + ";";
    keep.push_back(std::move(**grant));
    return out;
  }

  const FolderFixture folder_;
};

TEST_F(DevicePoolTest, NobodyIsGivenWhatAnotherHas) {
  std::vector<DeviceGrant> one;
  std::vector<DeviceGrant> other;
  EXPECT_EQ(taken(pool(), {2}, one), "GPU-0a GPU-1a;;;");
  EXPECT_EQ(taken(pool(), {2}, other), "none");
  EXPECT_EQ(taken(pool(), {1, 0, 1}, other), "GPU-1b;;neuron0;");
  EXPECT_EQ(taken(pool(), {0, 0, 1}, one), "none");
  one.clear();
  EXPECT_EQ(taken(pool(), {1}, other), "GPU-0a;;;");
}

TEST_F(DevicePoolTest, WhatCouldNotBeTakenAsAWholeIsFree) {
  std::vector<DeviceGrant> grants;
  EXPECT_EQ(taken(pool(), {4}, grants), "none");
  EXPECT_EQ(taken(pool(), {3}, grants), "GPU-0a GPU-1a GPU-1b;;;");
}

TEST_F(DevicePoolTest, AProcessThatInheritedTheLockHoldsTheDevicesUntilItEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  pid_t child = 0;
  {
    std::vector<DeviceGrant> grants;
    ASSERT_EQ(taken(pool(), {3}, grants), "GPU-0a GPU-1a GPU-1b;;;");
    child = ::fork();
    if (child == 0) {
      char byte = 0;
      ::close(ends[1]);
      (void)!::read(ends[0], &byte, 1);
      ::_exit(0);
    }
  }
  std::vector<DeviceGrant> grants;
  EXPECT_EQ(taken(pool(), {1}, grants), "none");
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  EXPECT_EQ(taken(pool(), {1}, grants), "GPU-0a;;;");
}

TEST_F(DevicePoolTest, OneThatIsNamedIsTakenIfNobodyHasIt) {
  std::vector<DeviceGrant> grants;
  {
    const auto named = pool().take_gpu("GPU-1a");
    ASSERT_TRUE(named && *named);
    EXPECT_EQ((*named)->devices[kNvidia].size(), 1);
    EXPECT_EQ(taken(pool(), {3}, grants), "none");
    EXPECT_EQ(taken(pool(), {2}, grants), "GPU-0a GPU-1b;;;");
  }
  const auto in_use = pool().take_gpu("GPU-0a");
  ASSERT_TRUE(in_use.has_value());
  EXPECT_FALSE(in_use->has_value());
}

TEST_F(DevicePoolTest, ALinkInPlaceOfTheFileOfLocksIsRefused) {
  folder_.link("locks", "elsewhere");
  std::vector<DeviceGrant> grants;
  EXPECT_NE(taken(pool(), {1}, grants).find("in which accelerators are locked"), std::string::npos);
}

TEST_F(DevicePoolTest, AListOfVisibleGpusMeansWhatItMeansToCuda) {
  const std::vector<PoolDevice> all = pool().devices()[0];
  EXPECT_EQ(ids(visible_gpus(all, "2,0")), "GPU-0a GPU-1b");
  EXPECT_EQ(ids(visible_gpus(all, " GPU-1b , GPU-0")), "GPU-0a GPU-1b");
  EXPECT_EQ(ids(visible_gpus(all, "1,7,2")), "GPU-1a");
  EXPECT_EQ(ids(visible_gpus(all, "1,1")), "GPU-1a");
  EXPECT_EQ(ids(visible_gpus(all, "")), "");
  EXPECT_EQ(ids(visible_gpus(all, "-1")), "");
}

TEST_F(DevicePoolTest, ThoseOfAMachineAreFoundWithoutAsking) {
  const DriverRootFixture machine;
  machine.node("dev/neuron1", 242, 1);
  machine.write("sys/devices/virtual/neuron_device/neuron1/core_count", "4\n");
  const AccelSettings settings{.driver_root = machine.path()};
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  const auto found = DevicePool::find(settings);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(ids(found->devices()[0]), "GPU-0a GPU-1a GPU-2a GPU-3a");
  ::setenv("CUDA_VISIBLE_DEVICES", "1,3", 1);
  const auto given = DevicePool::find(settings);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(ids(given->devices()[0]), "GPU-1a GPU-3a");
}

}  // namespace
}  // namespace drover

#include "accel/device_request.h"

#include <gtest/gtest.h>

#include "accel/driver_root_fixture.h"
#include "accel/nvidia_requirement.h"

namespace drover {
namespace {

using Variables = std::vector<std::string>;

DeviceRequest request_of(const OciFacts& container, const AccelSettings& settings = {},
                         AccelVendor vendor = AccelVendor::any) {
  auto request = device_request(container, settings, vendor);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error().message);
  return request ? std::move(*request) : DeviceRequest{};
}
DeviceRequest request_by(Variables variables, const AccelSettings& settings = {}) {
  return request_of({.environment = std::move(variables)}, settings);
}
std::string refusal(const OciFacts& container, const AccelSettings& settings = {}) {
  const auto request = device_request(container, settings);
  return request ? std::string() : request.error().message;
}

TEST(DeviceRequest, NothingIsAskedForByVoidEmptyOrUnset) {
  for (const Variables& variables :
       {Variables{}, Variables{"NVIDIA_VISIBLE_DEVICES="}, Variables{"NVIDIA_VISIBLE_DEVICES=void"},
        Variables{"NVIDIA_VISIBLE_DEVICES=0, void ,1"}, Variables{"NVIDIA_VISIBLE_DEVICESX=all"},
        Variables{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=void"},
        Variables{"NVIDIA_REQUIRE_CUDA=cuda>=99", "NVIDIA_DRIVER_CAPABILITIES=nonsense"}}) {
    EXPECT_TRUE(request_by(variables).is_empty());
  }
}

TEST(DeviceRequest, AllNoneAndNames) {
  EXPECT_TRUE(request_by({"NVIDIA_VISIBLE_DEVICES=all"}).wants_all_gpus);
  const DeviceRequest none = request_by({"NVIDIA_VISIBLE_DEVICES=none"});
  EXPECT_TRUE(none.wants_driver);
  EXPECT_FALSE(none.wants_all_gpus);
  EXPECT_TRUE(none.gpus.empty());
  EXPECT_EQ(request_by({"NVIDIA_VISIBLE_DEVICES= 0 ,GPU-1a,3:0,MIG-GPU-3a/9/0,0"}).gpus,
            (Variables{"0", "GPU-1a", "3:0", "MIG-GPU-3a/9/0"}));
}

TEST(DeviceRequest, NamesOfCdiAreCdisIfAllAre) {
  EXPECT_EQ(request_by({"NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=0,nvidia.com/gpu=1"}).cdi,
            (Variables{"nvidia.com/gpu=0", "nvidia.com/gpu=1"}));
  EXPECT_EQ(request_by({"NVIDIA_VISIBLE_DEVICES=runtime.nvidia.com/gpu=1"}).gpus, Variables{"1"});
  EXPECT_TRUE(request_by({"NVIDIA_VISIBLE_DEVICES=runtime.nvidia.com/gpu=all"}).wants_all_gpus);
  const AccelSettings cdi{.mode = AccelMode::cdi};
  const DeviceRequest request = request_by({"NVIDIA_VISIBLE_DEVICES=0,other.com/gpu=x"}, cdi);
  EXPECT_EQ(request.cdi, (Variables{"nvidia.com/gpu=0", "other.com/gpu=x"}));
  EXPECT_FALSE(request.wants_driver);
}

TEST(DeviceRequest, AnnotationsComeBeforeMountsAndThoseBeforeVariables) {
  OciFacts container{.environment = {"NVIDIA_VISIBLE_DEVICES=all"},
                     .annotations = {{"cdi.k8s.io/plugin_1", "nvidia.com/gpu=1"}},
                     .mounts = {{"/dev/null", "/var/run/nvidia-container-devices/0"}}};
  const AccelSettings settings{.takes_mounts = true};
  EXPECT_EQ(request_of(container, settings).cdi, Variables{"nvidia.com/gpu=1"});
  EXPECT_FALSE(request_of(container, settings).wants_driver);
  container.annotations.clear();
  EXPECT_EQ(request_of(container, settings).gpus, Variables{"0"});
  EXPECT_TRUE(request_of(container).wants_all_gpus) << "mounts are not taken unless the settings say so";
}

TEST(DeviceRequest, MountsNameDevicesInThreeForms) {
  const OciFacts container{.mounts = {{"/dev/null", "/var/run/nvidia-container-devices/GPU-1a"},
                                      {"/dev/zero", "/var/run/nvidia-container-devices/2"},
                                      {"/dev/null", "/var/run/nvidia-container-devices/imex/3"},
                                      {"/dev/null", "/elsewhere/4"}}};
  const DeviceRequest request = request_of(container, {.takes_mounts = true});
  EXPECT_EQ(request.gpus, Variables{"GPU-1a"});
  EXPECT_EQ(request.imex_channels, Variables{"3"});
  const OciFacts cdi{.mounts = {{"/dev/null", "/var/run/nvidia-container-devices/cdi/nvidia.com/gpu/0"},
                                {"/dev/null", "/var/run/nvidia-container-devices/cdi/nvidia.com/gpu=1"}}};
  EXPECT_EQ(request_of(cdi, {.takes_mounts = true}).cdi, (Variables{"nvidia.com/gpu=0", "nvidia.com/gpu=1"}));
}

TEST(DeviceRequest, UnprivilegedContainersGetNothingByVariablesWhereTheSettingsSaySo) {
  const AccelSettings settings{.takes_variables_of_all = false};
  OciFacts container{.environment = {"NVIDIA_VISIBLE_DEVICES=all", "AWS_NEURON_VISIBLE_DEVICES=ALL"}};
  const DeviceRequest refused = request_of(container, settings);
  EXPECT_TRUE(refused.is_empty());
  ASSERT_EQ(refused.notices.size(), 2u) << "ignored, and said so";
  container.is_privileged = true;
  EXPECT_TRUE(request_of(container, settings).wants_all_gpus);
  EXPECT_TRUE(request_of(container, settings).wants_all_neuron);
}

TEST(DeviceRequest, LegacyImagesMeanAllGpusAndAllCapabilities) {
  const DeviceRequest legacy = request_by({"CUDA_VERSION=10.2.89"});
  EXPECT_TRUE(legacy.wants_all_gpus);
  EXPECT_EQ(legacy.capabilities.bits(), NvidiaCapabilities::all);
  EXPECT_EQ(legacy.requirements, Variables{"cuda>=10.2"});
  EXPECT_TRUE(request_by({"CUDA_VERSION=10.2.89", "NVIDIA_REQUIRE_CUDA=cuda>=10.2"}).is_empty());
  EXPECT_TRUE(request_by({"CUDA_VERSION=10.2.89", "NVIDIA_VISIBLE_DEVICES="}).is_empty());
}

TEST(DeviceRequest, SwarmVariablesReplaceTheVisibleDevices) {
  const AccelSettings settings{.swarm_variables = {"DOCKER_RESOURCE_GPU", "DOCKER_RESOURCE_OTHER"}};
  EXPECT_EQ(
      request_by({"NVIDIA_VISIBLE_DEVICES=all", "DOCKER_RESOURCE_GPU=GPU-0a", "DOCKER_RESOURCE_OTHER=1"}, settings)
          .gpus,
      (Variables{"GPU-0a", "1"}));
  EXPECT_TRUE(request_by({"NVIDIA_VISIBLE_DEVICES=all"}, settings).wants_all_gpus);
}

TEST(DeviceRequest, CapabilitiesAreUtilityAndComputeUnlessSaid) {
  const std::string all = "NVIDIA_VISIBLE_DEVICES=all";
  EXPECT_EQ(request_by({all}).capabilities.bits(), NvidiaCapabilities::utility | NvidiaCapabilities::compute);
  EXPECT_EQ(request_by({all, "NVIDIA_DRIVER_CAPABILITIES="}).capabilities.bits(),
            NvidiaCapabilities::utility | NvidiaCapabilities::compute);
  EXPECT_EQ(request_by({all, "NVIDIA_DRIVER_CAPABILITIES=video,display"}).capabilities.bits(),
            NvidiaCapabilities::video | NvidiaCapabilities::display);
  EXPECT_NE(
      refusal({.environment = {all, "NVIDIA_DRIVER_CAPABILITIES=cuda"}}).find("'cuda' is not a driver capability"),
      std::string::npos);
  const AccelSettings some{.supported = NvidiaCapabilities::utility | NvidiaCapabilities::video};
  EXPECT_EQ(request_by({all, "NVIDIA_DRIVER_CAPABILITIES=all"}, some).capabilities.bits(), some.supported.bits());
  EXPECT_NE(refusal({.environment = {all, "NVIDIA_DRIVER_CAPABILITIES=compute"}}, some).find("not all allowed"),
            std::string::npos);
}

TEST(DeviceRequest, RequirementsAreGatheredUnlessDisabled) {
  const Variables variables = {"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_REQUIRE_CUDA=cuda>=12.0",
                               "NVIDIA_REQUIRE_DRIVER=driver>=500", "NVIDIA_REQUIRE_JETPACK=x"};
  EXPECT_EQ(request_by(variables).requirements, (Variables{"cuda>=12.0", "driver>=500"}));
  for (const std::string word : {"1", "true", "T"}) {
    Variables disabled = variables;
    disabled.push_back("NVIDIA_DISABLE_REQUIRE=" + word);
    EXPECT_TRUE(request_by(disabled).requirements.empty());
  }
  Variables enabled = variables;
  enabled.push_back("NVIDIA_DISABLE_REQUIRE=maybe");
  EXPECT_EQ(request_by(enabled).requirements.size(), 2u);
  EXPECT_TRUE(request_by(variables, {.checks_requirements = false}).requirements.empty());
}

TEST(DeviceRequest, MigVariablesAreForPrivilegedContainers) {
  for (const std::string name : {"NVIDIA_MIG_CONFIG_DEVICES", "NVIDIA_MIG_MONITOR_DEVICES"}) {
    OciFacts container{.environment = {"NVIDIA_VISIBLE_DEVICES=all", name + "=all"}};
    EXPECT_EQ(refusal(container), "only privileged containers can set " + name);
    container.is_privileged = true;
    EXPECT_TRUE(request_of(container).sees_mig_config != request_of(container).sees_mig_monitor);
  }
}

TEST(DeviceRequest, ExtrasAndChannels) {
  const DeviceRequest request = request_by(
      {"NVIDIA_VISIBLE_DEVICES=none", "NVIDIA_GDS=enabled", "NVIDIA_MOFED=disabled", "NVIDIA_IMEX_CHANNELS=0,2"});
  EXPECT_EQ(request.extras, Variables{"gds"});
  EXPECT_EQ(request.imex_channels, (Variables{"0", "2"}));
}

TEST(DeviceRequest, NeuronDevicesFollowOneAnother) {
  EXPECT_TRUE(request_by({"AWS_NEURON_VISIBLE_DEVICES=ALL"}).wants_all_neuron);
  EXPECT_TRUE(request_by({"AWS_NEURON_VISIBLE_DEVICES=all"}).wants_all_neuron);
  EXPECT_EQ(request_by({"AWS_NEURON_VISIBLE_DEVICES=3, 2"}).neuron, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_TRUE(request_by({"AWS_NEURON_VISIBLE_DEVICES="}).is_empty());
  EXPECT_NE(refusal({.environment = {"AWS_NEURON_VISIBLE_DEVICES=0,2"}}).find("not contiguous"), std::string::npos);
  EXPECT_NE(refusal({.environment = {"AWS_NEURON_VISIBLE_DEVICES=0-1"}}).find("'0-1' is not the number"),
            std::string::npos);
}

TEST(DeviceRequest, AVendorHidesTheOther) {
  const OciFacts container{.environment = {"NVIDIA_VISIBLE_DEVICES=all", "AWS_NEURON_VISIBLE_DEVICES=0"}};
  EXPECT_FALSE(request_of(container, {}, AccelVendor::neuron).wants_driver);
  EXPECT_TRUE(request_of(container, {}, AccelVendor::nvidia).neuron.empty());
}

TEST(NvidiaRequirement, SpaceIsOrAndCommaIsAnd) {
  const NvidiaProperties machine{.driver = "535.104.05", .cuda = "12.2", .brands = {"tesla"}};
  for (const std::string met :
       {"cuda>=12.2", "cuda>12.1", "cuda=12.2", "cuda!=12.10", "cuda<12.10", "driver>=535,driver<536",
        "cuda>=13 brand=tesla,driver>=470", "brand!=geforce", "arch>=9.0", "", "driver<=535.104.05"}) {
    EXPECT_TRUE(check_requirement(met, machine).has_value()) << met;
  }
  for (const std::string unmet :
       {"cuda>=12.10", "cuda>=12.2,driver<535", "cuda>=13 brand=geforce", "brand!=tesla", "driver>535.104.05"}) {
    const auto checked = check_requirement(unmet, machine);
    ASSERT_FALSE(checked.has_value()) << unmet;
    EXPECT_EQ(checked.error().message,
              "the image requires '" + unmet + "', and this machine has driver 535.104.05 with CUDA 12.2");
  }
  for (const std::string wrong : {"cuda", "cuda>=", "memory>=3", ">=3"}) {
    EXPECT_NE(check_requirement(wrong, machine).error().message.find("is not a requirement"), std::string::npos);
  }
}

TEST(NvidiaRequirement, CudaFollowsFromTheDriver) {
  EXPECT_EQ(cuda_version_of_driver("535.104.05"), "12.2");
  EXPECT_EQ(cuda_version_of_driver("470.57"), "11.4");
  EXPECT_EQ(cuda_version_of_driver("9999.1"), "13.1");
  EXPECT_EQ(cuda_version_of_driver(""), "");
  EXPECT_EQ(brand_of_model("Tesla V100-SXM2-16GB"), "tesla");
  EXPECT_EQ(brand_of_model("NVIDIA H200"), "");
}

TEST(AccelSettings, AreNvidias) {
  const FolderFixture folder;
  folder.write("config.toml", R"(disable-require = true
accept-nvidia-visible-devices-envvar-when-unprivileged = false
accept-nvidia-visible-devices-as-volume-mounts = true
swarm-resource = "A, B"
supported-driver-capabilities = "compute,utility"
unknown = 1
[nvidia-container-cli]
root = "/run/nvidia/driver"
load-kmods = true
[nvidia-container-runtime]
debug = "/var/log/x"
log-level = "debug"
runtimes = ["crun"]
mode = "cdi"
[nvidia-container-runtime.modes.cdi]
default-kind = "vendor.com/gpu"
spec-dirs = ["/a"]
annotation-prefixes = ["x/"]
)");
  const auto settings = read_accel_settings(folder / "config.toml");
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_FALSE(settings->checks_requirements);
  EXPECT_FALSE(settings->takes_variables_of_all);
  EXPECT_TRUE(settings->takes_mounts);
  EXPECT_EQ(settings->swarm_variables, (Variables{"A", "B"}));
  EXPECT_EQ(settings->supported.bits(), NvidiaCapabilities::utility | NvidiaCapabilities::compute);
  EXPECT_EQ(settings->driver_root, "/run/nvidia/driver");
  EXPECT_EQ(settings->log, "/var/log/x");
  EXPECT_TRUE(settings->logs_details);
  EXPECT_EQ(settings->runtimes, Variables{"crun"});
  EXPECT_EQ(settings->mode, AccelMode::cdi);
  EXPECT_EQ(settings->default_kind, "vendor.com/gpu");
  EXPECT_EQ(settings->cdi_folders, Variables{"/a"});
  EXPECT_EQ(settings->annotation_prefixes, Variables{"x/"});
}

TEST(AccelSettings, WithoutAFileAreTheDefaults) {
  const FolderFixture folder;
  const auto settings = read_accel_settings(folder / "nothing");
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->driver_root, "/");
  EXPECT_TRUE(settings->takes_variables_of_all);
  EXPECT_TRUE(settings->log.empty());
  EXPECT_FALSE(read_accel_settings(folder / "nothing", true).has_value());
}

TEST(AccelSettings, WhatIsWrongIsNamed) {
  const FolderFixture folder;
  const std::pair<std::string, std::string> cases[] = {
      {"disable-require = 1", "disable-require must be true or false"},
      {"[nvidia-container-runtime]\nmode = \"csv\"", "mode 'csv' is not supported"},
      {"[nvidia-container-runtime]\nruntimes = \"runc\"", "runtimes must be a list of strings"},
      {"supported-driver-capabilities = \"x\"", "'x' is not a driver capability"},
      {"a = \n", "line 1"}};
  for (const auto& [text, words] : cases) {
    folder.write("config.toml", text);
    const auto settings = read_accel_settings(folder / "config.toml");
    ASSERT_FALSE(settings.has_value()) << text;
    EXPECT_NE(settings.error().message.find(words), std::string::npos) << settings.error().message;
  }
}

}  // namespace
}  // namespace drover

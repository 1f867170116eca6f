#include <algorithm>
#include <array>

#include "api/ec2/ec2.h"
#include "wire/shapes/aws_types.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

bool is_arm(const MachineType& type) {
  constexpr std::array<std::string_view, 4> kArm = {"c6g", "c7g", "m6g", "m7g"};
  return std::ranges::find(kArm, type.family()) != kArm.end();
}

void show_accelerators(const MachineType& type, json::object& out) {
  const Accelerator& each = *type.accelerator;
  if (each.kind == AcceleratorKind::neuron) {
    const json::object devices{{"Count", type.accelerators}, {"Name", each.name}, {"Manufacturer", "AWS"}};
    out["InferenceAcceleratorInfo"] = json::object{{"Accelerators", json::array{devices}}};
    return;
  }
  const json::object devices{{"Name", each.name},
                             {"Manufacturer", "NVIDIA"},
                             {"Count", type.accelerators},
                             {"MemoryInfo", json::object{{"SizeInMiB", each.memory_mib}}}};
  out["GpuInfo"] =
      json::object{{"Gpus", json::array{devices}}, {"TotalGpuMemoryInMiB", each.memory_mib * type.accelerators}};
}

json::object show_instance_type(const MachineType& type) {
  const int threads_per_core = is_arm(type) ? 1 : 2;
  json::object out{
      {"InstanceType", type.name},
      {"SupportedUsageClasses", json::array{"on-demand", "spot"}},
      {"SupportedRootDeviceTypes", json::array{"ebs"}},
      {"SupportedVirtualizationTypes", json::array{"hvm"}},
      {"BareMetal", type.name.contains(".metal")},
      {"BurstablePerformanceSupported", type.family() == "t3"},
      {"ProcessorInfo", json::object{{"SupportedArchitectures", json::array{is_arm(type) ? "arm64" : "x86_64"}}}},
      {"VCpuInfo", json::object{{"DefaultVCpus", type.vcpus},
                                {"DefaultCores", type.vcpus / threads_per_core},
                                {"DefaultThreadsPerCore", threads_per_core}}},
      {"MemoryInfo", json::object{{"SizeInMiB", type.memory_mib}}}};
  if (type.accelerator != nullptr) show_accelerators(type, out);
  return out;
}

}  // namespace

void Ec2Api::serve_instance_types() {
  on_read("DescribeInstanceTypes", &Ec2Api::describe_instance_types);
}

Outcome Ec2Api::describe_instance_types(const Call& call) const {
  static const Kind kind{.type = {},
                         .prefix = {},
                         .documents = {},
                         .list = "InstanceTypes",
                         .id = {"InstanceTypes", "InstanceType", "InvalidInstanceType"},
                         .name = {},
                         .filters = {{"instance-type", "InstanceType"},
                                     {"bare-metal", "BareMetal"},
                                     {"burstable-performance-supported", "BurstablePerformanceSupported"},
                                     {"memory-info.size-in-mib", "MemoryInfo.SizeInMiB"},
                                     {"processor-info.supported-architecture", "ProcessorInfo.SupportedArchitectures"},
                                     {"supported-root-device-type", "SupportedRootDeviceTypes"},
                                     {"supported-usage-class", "SupportedUsageClasses"},
                                     {"supported-virtualization-type", "SupportedVirtualizationTypes"},
                                     {"vcpu-info.default-cores", "VCpuInfo.DefaultCores"},
                                     {"vcpu-info.default-threads-per-core", "VCpuInfo.DefaultThreadsPerCore"},
                                     {"vcpu-info.default-vcpus", "VCpuInfo.DefaultVCpus"}},
                         .most = 100};
  json::array all;
  for (const MachineType& it : kAwsTypes) all.push_back(show_instance_type(it));
  return describe(kind, call, std::move(all));
}

}  // namespace drover::aws

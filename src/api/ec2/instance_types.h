// The instance types that people use for batch work and deep learning. All of them can be had on demand and as spot
// instances.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace drover::aws {

enum class AcceleratorKind : std::uint8_t { gpu, neuron };

struct Accelerator {
  AcceleratorKind kind = AcceleratorKind::gpu;
  std::string_view name;
  std::int64_t memory_mib = 0;  // of each; GPUs only
};

inline constexpr Accelerator kK80{AcceleratorKind::gpu, "K80", 12288};
inline constexpr Accelerator kV100{AcceleratorKind::gpu, "V100", 16384};
inline constexpr Accelerator kV100With32GiB{AcceleratorKind::gpu, "V100", 32768};
inline constexpr Accelerator kA100{AcceleratorKind::gpu, "A100", 40960};
inline constexpr Accelerator kH100{AcceleratorKind::gpu, "H100", 81920};
inline constexpr Accelerator kT4{AcceleratorKind::gpu, "T4", 16384};
inline constexpr Accelerator kA10G{AcceleratorKind::gpu, "A10G", 24576};
inline constexpr Accelerator kL4{AcceleratorKind::gpu, "L4", 24576};
inline constexpr Accelerator kInferentia{AcceleratorKind::neuron, "Inferentia"};
inline constexpr Accelerator kInferentia2{AcceleratorKind::neuron, "Inferentia2"};
inline constexpr Accelerator kTrainium{AcceleratorKind::neuron, "Trainium"};

struct InstanceType {
  std::string_view name;
  int vcpus = 0;
  std::int64_t memory_mib = 0;
  const Accelerator* accelerator = nullptr;
  int accelerators = 0;

  std::string_view family() const { return name.substr(0, name.find('.')); }
  bool is_arm() const { return family() == "c6g" || family() == "m6g"; }
  bool is_burstable() const { return family() == "t3"; }
  bool is_metal() const { return name.contains(".metal"); }
};

inline constexpr auto kInstanceTypes = std::to_array<InstanceType>({
    {"t3.nano", 2, 512},
    {"t3.micro", 2, 1024},
    {"t3.small", 2, 2048},
    {"t3.medium", 2, 4096},
    {"t3.large", 2, 8192},
    {"t3.xlarge", 4, 16384},
    {"t3.2xlarge", 8, 32768},
    {"c5.large", 2, 4096},
    {"c5.xlarge", 4, 8192},
    {"c5.2xlarge", 8, 16384},
    {"c5.4xlarge", 16, 32768},
    {"c5.9xlarge", 36, 73728},
    {"c5.12xlarge", 48, 98304},
    {"c5.18xlarge", 72, 147456},
    {"c5.24xlarge", 96, 196608},
    {"c5.metal", 96, 196608},
    {"c5a.large", 2, 4096},
    {"c5a.xlarge", 4, 8192},
    {"c5a.2xlarge", 8, 16384},
    {"c5a.4xlarge", 16, 32768},
    {"c5a.8xlarge", 32, 65536},
    {"c5a.12xlarge", 48, 98304},
    {"c5a.16xlarge", 64, 131072},
    {"c5a.24xlarge", 96, 196608},
    {"c6i.large", 2, 4096},
    {"c6i.xlarge", 4, 8192},
    {"c6i.2xlarge", 8, 16384},
    {"c6i.4xlarge", 16, 32768},
    {"c6i.8xlarge", 32, 65536},
    {"c6i.12xlarge", 48, 98304},
    {"c6i.16xlarge", 64, 131072},
    {"c6i.24xlarge", 96, 196608},
    {"c6i.32xlarge", 128, 262144},
    {"c6i.metal", 128, 262144},
    {"c6g.medium", 1, 2048},
    {"c6g.large", 2, 4096},
    {"c6g.xlarge", 4, 8192},
    {"c6g.2xlarge", 8, 16384},
    {"c6g.4xlarge", 16, 32768},
    {"c6g.8xlarge", 32, 65536},
    {"c6g.12xlarge", 48, 98304},
    {"c6g.16xlarge", 64, 131072},
    {"c6g.metal", 64, 131072},
    {"c7i.large", 2, 4096},
    {"c7i.xlarge", 4, 8192},
    {"c7i.2xlarge", 8, 16384},
    {"c7i.4xlarge", 16, 32768},
    {"c7i.8xlarge", 32, 65536},
    {"c7i.12xlarge", 48, 98304},
    {"c7i.16xlarge", 64, 131072},
    {"c7i.24xlarge", 96, 196608},
    {"c7i.48xlarge", 192, 393216},
    {"c7i.metal-24xl", 96, 196608},
    {"c7i.metal-48xl", 192, 393216},
    {"m5.large", 2, 8192},
    {"m5.xlarge", 4, 16384},
    {"m5.2xlarge", 8, 32768},
    {"m5.4xlarge", 16, 65536},
    {"m5.8xlarge", 32, 131072},
    {"m5.12xlarge", 48, 196608},
    {"m5.16xlarge", 64, 262144},
    {"m5.24xlarge", 96, 393216},
    {"m5.metal", 96, 393216},
    {"m6i.large", 2, 8192},
    {"m6i.xlarge", 4, 16384},
    {"m6i.2xlarge", 8, 32768},
    {"m6i.4xlarge", 16, 65536},
    {"m6i.8xlarge", 32, 131072},
    {"m6i.12xlarge", 48, 196608},
    {"m6i.16xlarge", 64, 262144},
    {"m6i.24xlarge", 96, 393216},
    {"m6i.32xlarge", 128, 524288},
    {"m6i.metal", 128, 524288},
    {"m6g.medium", 1, 4096},
    {"m6g.large", 2, 8192},
    {"m6g.xlarge", 4, 16384},
    {"m6g.2xlarge", 8, 32768},
    {"m6g.4xlarge", 16, 65536},
    {"m6g.8xlarge", 32, 131072},
    {"m6g.12xlarge", 48, 196608},
    {"m6g.16xlarge", 64, 262144},
    {"m6g.metal", 64, 262144},
    {"m7i.large", 2, 8192},
    {"m7i.xlarge", 4, 16384},
    {"m7i.2xlarge", 8, 32768},
    {"m7i.4xlarge", 16, 65536},
    {"m7i.8xlarge", 32, 131072},
    {"m7i.12xlarge", 48, 196608},
    {"m7i.16xlarge", 64, 262144},
    {"m7i.24xlarge", 96, 393216},
    {"m7i.48xlarge", 192, 786432},
    {"m7i.metal-24xl", 96, 393216},
    {"m7i.metal-48xl", 192, 786432},
    {"r5.large", 2, 16384},
    {"r5.xlarge", 4, 32768},
    {"r5.2xlarge", 8, 65536},
    {"r5.4xlarge", 16, 131072},
    {"r5.8xlarge", 32, 262144},
    {"r5.12xlarge", 48, 393216},
    {"r5.16xlarge", 64, 524288},
    {"r5.24xlarge", 96, 786432},
    {"r5.metal", 96, 786432},
    {"r6i.large", 2, 16384},
    {"r6i.xlarge", 4, 32768},
    {"r6i.2xlarge", 8, 65536},
    {"r6i.4xlarge", 16, 131072},
    {"r6i.8xlarge", 32, 262144},
    {"r6i.12xlarge", 48, 393216},
    {"r6i.16xlarge", 64, 524288},
    {"r6i.24xlarge", 96, 786432},
    {"r6i.32xlarge", 128, 1048576},
    {"r6i.metal", 128, 1048576},
    {"p2.xlarge", 4, 62464, &kK80, 1},
    {"p2.8xlarge", 32, 499712, &kK80, 8},
    {"p2.16xlarge", 64, 749568, &kK80, 16},
    {"p3.2xlarge", 8, 62464, &kV100, 1},
    {"p3.8xlarge", 32, 249856, &kV100, 4},
    {"p3.16xlarge", 64, 499712, &kV100, 8},
    {"p3dn.24xlarge", 96, 786432, &kV100With32GiB, 8},
    {"p4d.24xlarge", 96, 1179648, &kA100, 8},
    {"p5.48xlarge", 192, 2097152, &kH100, 8},
    {"g4dn.xlarge", 4, 16384, &kT4, 1},
    {"g4dn.2xlarge", 8, 32768, &kT4, 1},
    {"g4dn.4xlarge", 16, 65536, &kT4, 1},
    {"g4dn.8xlarge", 32, 131072, &kT4, 1},
    {"g4dn.12xlarge", 48, 196608, &kT4, 4},
    {"g4dn.16xlarge", 64, 262144, &kT4, 1},
    {"g4dn.metal", 96, 393216, &kT4, 8},
    {"g5.xlarge", 4, 16384, &kA10G, 1},
    {"g5.2xlarge", 8, 32768, &kA10G, 1},
    {"g5.4xlarge", 16, 65536, &kA10G, 1},
    {"g5.8xlarge", 32, 131072, &kA10G, 1},
    {"g5.12xlarge", 48, 196608, &kA10G, 4},
    {"g5.16xlarge", 64, 262144, &kA10G, 1},
    {"g5.24xlarge", 96, 393216, &kA10G, 4},
    {"g5.48xlarge", 192, 786432, &kA10G, 8},
    {"g6.xlarge", 4, 16384, &kL4, 1},
    {"g6.2xlarge", 8, 32768, &kL4, 1},
    {"g6.4xlarge", 16, 65536, &kL4, 1},
    {"g6.8xlarge", 32, 131072, &kL4, 1},
    {"g6.12xlarge", 48, 196608, &kL4, 4},
    {"g6.16xlarge", 64, 262144, &kL4, 1},
    {"g6.24xlarge", 96, 393216, &kL4, 4},
    {"g6.48xlarge", 192, 786432, &kL4, 8},
    {"inf1.xlarge", 4, 8192, &kInferentia, 1},
    {"inf1.2xlarge", 8, 16384, &kInferentia, 1},
    {"inf1.6xlarge", 24, 49152, &kInferentia, 4},
    {"inf1.24xlarge", 96, 196608, &kInferentia, 16},
    {"inf2.xlarge", 4, 16384, &kInferentia2, 1},
    {"inf2.8xlarge", 32, 131072, &kInferentia2, 1},
    {"inf2.24xlarge", 96, 393216, &kInferentia2, 6},
    {"inf2.48xlarge", 192, 786432, &kInferentia2, 12},
    {"trn1.2xlarge", 8, 32768, &kTrainium, 1},
    {"trn1.32xlarge", 128, 524288, &kTrainium, 16},
});

}  // namespace drover::aws

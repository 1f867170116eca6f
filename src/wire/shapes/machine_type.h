// The machine types that people rent for batch work and deep learning, and what these cost. All of them can be had on
// demand and as spot machines.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover {

/// When prices were looked up. Spot prices change by the hour: those in the tables are typical ones.
inline constexpr std::string_view kPricesOf = "2025-07-01";

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
inline constexpr Accelerator kA100With80GiB{AcceleratorKind::gpu, "A100", 81920};
inline constexpr Accelerator kH100{AcceleratorKind::gpu, "H100", 81920};
inline constexpr Accelerator kT4{AcceleratorKind::gpu, "T4", 16384};
inline constexpr Accelerator kA10G{AcceleratorKind::gpu, "A10G", 24576};
inline constexpr Accelerator kL4{AcceleratorKind::gpu, "L4", 24576};
inline constexpr Accelerator kInferentia{AcceleratorKind::neuron, "Inferentia"};
inline constexpr Accelerator kInferentia2{AcceleratorKind::neuron, "Inferentia2"};
inline constexpr Accelerator kTrainium{AcceleratorKind::neuron, "Trainium"};

struct MachineType {
  std::string_view name;
  int vcpus = 0;
  std::int64_t memory_mib = 0;
  std::int64_t on_demand_microdollars = 0;  // per hour
  std::int64_t spot_microdollars = 0;       // likewise
  const Accelerator* accelerator = nullptr;
  int accelerators = 0;

  /// "c5" of "c5.large".
  constexpr std::string_view family() const { return name.substr(0, name.find('.')); }
};

/// Of any cloud. Null: it is in no table.
const MachineType* find_machine_type(std::string_view name);

}  // namespace drover

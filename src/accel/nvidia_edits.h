// What a container is given of NVIDIA's driver and GPUs, as edits of CDI.
#pragma once

#include <string>
#include <vector>

#include "accel/device_request.h"
#include "accel/nvidia_driver.h"
#include "accel/nvidia_files.h"
#include "accel/nvidia_requirement.h"

namespace drover {

/// A GPU, or a part of one.
struct GpuChoice {
  const NvidiaGpu* gpu = nullptr;
  const MigDevice* part = nullptr;
};

/// An error names what is not there, and what is.
Result<std::vector<GpuChoice>> choose_gpus(const NvidiaDriver& driver, const std::vector<std::string>& names,
                                           bool all = false);

NvidiaProperties nvidia_properties(const NvidiaDriver& driver);

class NvidiaEdits {
 public:
  NvidiaEdits(const DriverPlaces& places, const NvidiaDriver& driver, std::string hook_program)
      : places_(places), driver_(driver), hook_program_(std::move(hook_program)) {}

  /// The nodes of one GPU.
  CdiEdits of_gpu(const GpuChoice& choice, NvidiaCapabilities capabilities) const;
  /// The nodes that every container with a GPU needs.
  CdiEdits of_control() const;
  /// Libraries, programs, sockets, and the hook that makes them usable.
  CdiEdits of_files(const NvidiaFiles& files) const;
  /// Nodes that variables ask for beside GPUs.
  CdiEdits of_extras(const DeviceRequest& request) const;

 private:
  void add_node(CdiEdits& to, const std::string& path, std::string_view driver, std::uint32_t minor) const;
  void add_capability(CdiEdits& to, std::uint32_t number) const;
  void add_nodes_like(CdiEdits& to, const std::string& folder, std::string_view prefix) const;
  void add_mount(CdiEdits& to, const std::string& path, bool read_only) const;
  void add_mount(CdiEdits& to, const std::string& path, const std::string& real, bool read_only) const;

  const DriverPlaces& places_;
  const NvidiaDriver& driver_;
  std::string hook_program_;
};

/// The file of CDI for the GPUs of this machine: by index, by UUID, and all of them.
Result<CdiSpec> nvidia_cdi_spec(const DriverPlaces& places, const std::string& hook_program);

}  // namespace drover

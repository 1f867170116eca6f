// AWS Neuron devices: Inferentia and Trainium.
#pragma once

#include <cstdint>
#include <vector>

#include "accel/device_request.h"

namespace drover {

/// The numbers N of /dev/neuronN, sorted.
std::vector<std::uint32_t> find_neuron_devices(const DriverPlaces& places);

/// How many cores the device has; what the driver does not say is what most devices have.
std::uint32_t neuron_cores(const DriverPlaces& places, std::uint32_t number);

/// An error names the device that is not there, and those that are.
Result<CdiEdits> neuron_edits(const DriverPlaces& places, const DeviceRequest& request);

/// The file of CDI for the Neuron devices of this machine.
Result<CdiSpec> neuron_cdi_spec(const DriverPlaces& places);

}  // namespace drover

#include "accel/neuron.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

std::string neuron_path(std::uint32_t number) {
  return concat("/dev/neuron", number);
}

std::string list_of(const std::vector<std::uint32_t>& numbers) {
  if (numbers.empty()) return "it has none";
  std::string out;
  for (const std::uint32_t number : numbers) out += concat(out.empty() ? "it has " : ", ", number);
  return out;
}

}  // namespace

std::vector<std::uint32_t> find_neuron_devices(const DriverPlaces& places) {
  constexpr std::string_view kPrefix = "neuron";
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : places.devices.names_in("/dev")) {
    if (!name.starts_with(kPrefix)) continue;
    const auto number = parse_number(std::string_view(name).substr(kPrefix.size()));
    if (number && *number <= 4095 && device_node(places, "/dev/" + name)) {
      numbers.push_back(static_cast<std::uint32_t>(*number));
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::uint32_t neuron_cores(const DriverPlaces& places, std::uint32_t number) {
  constexpr std::uint32_t kUsual = 2;
  constexpr std::uint64_t kMost = 1024;
  const auto text = places.devices.read(concat("/sys/devices/virtual/neuron_device/neuron", number, "/core_count"));
  const std::uint64_t count = text ? parse_number(trimmed(*text)).value_or(0) : 0;
  return count > 0 && count <= kMost ? static_cast<std::uint32_t>(count) : kUsual;
}

Result<CdiEdits> neuron_edits(const DriverPlaces& places, const DeviceRequest& request) {
  const std::vector<std::uint32_t> there = find_neuron_devices(places);
  const std::vector<std::uint32_t>& wanted = request.wants_all_neuron ? there : request.neuron;
  if (wanted.empty()) {
    return fail(ErrorCode::not_found, "there is no Neuron device on this machine: /dev/neuron0 is missing",
                "load the driver: modprobe neuron");
  }
  CdiEdits edits;
  for (const std::uint32_t number : wanted) {
    auto node = device_node(places, neuron_path(number));
    if (!node) {
      return fail(ErrorCode::not_found,
                  concat("there is no Neuron device ", number, " on this machine: ", list_of(there)),
                  "see drover accel list");
    }
    edits.devices.push_back(std::move(*node));
  }
  return edits;
}

Result<CdiSpec> neuron_cdi_spec(const DriverPlaces& places) {
  CdiSpec spec{.kind = "aws.amazon.com/neuron"};
  CdiEdits of_all;
  for (const std::uint32_t number : find_neuron_devices(places)) {
    const CdiEdits edits{.devices = {*device_node(places, neuron_path(number))}};
    spec.devices.push_back({std::to_string(number), {}, edits});
    of_all.add(edits);
  }
  if (spec.devices.empty()) {
    return fail(ErrorCode::not_found, "no Neuron device was found: /dev/neuron0 is missing",
                "load the driver: modprobe neuron");
  }
  spec.devices.push_back({"all", {}, of_all});
  spec.version = least_cdi_version(spec);
  return spec;
}

}  // namespace drover

#include "cli/devices_here.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/units.h"
#include "cli/accel.h"
#include "wire/job_fields.h"

namespace drover {

namespace {

// Processes of a run that was killed a moment ago may still be on their way out.
constexpr int kMostTries = 20;
constexpr std::chrono::milliseconds kBetweenTries(100);

}  // namespace

Result<AcceleratorCounts> accelerator_counts(std::uint64_t gpus, const std::vector<std::string>& words) {
  AcceleratorCounts out{gpus};
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const auto kind = std::ranges::find(kAcceleratorNames, std::string_view(word).substr(0, equals));
    const auto count = equals == std::string::npos ? Result<std::uint64_t>(fail(ErrorCode::bad_input, ""))
                                                   : parse_number(word.substr(equals + 1));
    if (kind == kAcceleratorNames.end() || !count || *count > kMostAccelerators) {
      return fail(ErrorCode::bad_input, fmt::format("--accelerator '{}' is not KIND=N", word),
                  "write --accelerator nvidia=1; the kinds are nvidia, amd and neuron");
    }
    const auto index = static_cast<std::size_t>(kind - kAcceleratorNames.begin());
    if (index == 0 && gpus > 0) {
      return fail(ErrorCode::bad_input, "--gpus cannot be combined with --accelerator nvidia", "use one of them");
    }
    out[index] = *count;
  }
  return out;
}

Result<std::shared_ptr<const MachineDevices>> devices_here() {
  auto settings = read_accel_settings(settings_path());
  if (!settings) return pass(settings);
  auto pool = DevicePool::find(*settings);
  if (!pool) return pass(pool);
  MachineDevices out{
      .pool = std::move(*pool), .settings = std::move(*settings), .hook_program = {}, .monitor = {}, .injector = {}};
  if (!out.pool.is_empty()) {
    out.hook_program = program_beside("drover-hook").value_or("");
    out.injector = std::make_shared<Injector>(out.settings, out.hook_program);
    // Items are told which of them are theirs.
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    out.monitor = std::make_shared<GpuMonitor>([root = out.settings.driver_root]() {
      auto places = DriverPlaces::open(root);
      return places ? open_nvml(*places) : std::unexpected(places.error());
    });
  }
  return std::make_shared<const MachineDevices>(std::move(out));
}

Result<std::shared_ptr<SlotGrants>> devices_for(const AcceleratorCounts& each, std::size_t most_slots) {
  if (each == AcceleratorCounts{}) return std::shared_ptr<SlotGrants>();
  auto devices = devices_here();
  if (!devices) return pass(devices);
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    const std::size_t here = (*devices)->pool.devices()[kind].size();
    if (each[kind] <= here) continue;
    return fail(
        ErrorCode::bad_input,
        fmt::format("each item asks for {} of kind '{}', and this machine has {}", plural(each[kind], "accelerator"),
                    kAcceleratorNames[kind], here == 0 ? "none" : format_count(here)),
        "see what is here, and what is missing: drover accel check");
  }
  SlotGrants out{.machine = std::move(*devices), .grants = {}};
  for (int tries = 0; out.grants.size() < most_slots;) {
    auto grant = out.machine->pool.take(each);
    if (!grant) return pass(grant);
    if (*grant) {
      out.grants.push_back(std::move(**grant));
    } else if (out.grants.empty() && tries++ < kMostTries) {
      std::this_thread::sleep_for(kBetweenTries);
    } else {
      break;
    }
  }
  if (!out.grants.empty()) return std::make_shared<SlotGrants>(std::move(out));
  return fail(ErrorCode::conflict, "others on this machine use the accelerators that items ask for",
              "wait until their runs have ended: drover runs");
}

}  // namespace drover

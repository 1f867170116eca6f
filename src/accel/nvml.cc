#include "accel/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>

#include "accel/nvidia_files.h"
#include "base/text.h"

namespace drover {
namespace {

// NVML's ABI, as far as it is used here.
using Device = void*;
using EventSet = void*;
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
constexpr int kSuccess = 0;
constexpr int kErrorGpuIsLost = 15;
constexpr unsigned long long kXidEvents = 8;
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | (2U << 24);

// What a program does wrong on its own account: the GPU is as good as before.
constexpr std::array<unsigned long long, 6> kXidsOfPrograms = {13, 31, 43, 45, 68, 109};

struct Close {
  void operator()(void* library) const { ::dlclose(library); }
};

class NvmlReader : public GpuReader {
 public:
  static Result<std::unique_ptr<GpuReader>> open(const std::string& path) {
    const auto cannot = [&](std::string_view why) {
      return fail(ErrorCode::io, concat("cannot ask ", path, " about GPUs: ", why), "see drover accel check");
    };
    std::unique_ptr<void, Close> library(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!library) return cannot(::dlerror());
    auto out = std::unique_ptr<NvmlReader>(new NvmlReader);
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library.get(), name));
      return function != nullptr;
    };
    int (*init)() = nullptr;
    if (!load(init, "nvmlInit_v2") || !load(out->handle_, "nvmlDeviceGetHandleByUUID") ||
        !load(out->utilization_, "nvmlDeviceGetUtilizationRates") || !load(out->memory_, "nvmlDeviceGetMemoryInfo")) {
      return cannot("it lacks functions that every version has");
    }
    // Older drivers have none of these.
    load(out->memory_v2_, "nvmlDeviceGetMemoryInfo_v2");
    load(out->energy_, "nvmlDeviceGetTotalEnergyConsumption");
    load(out->words_, "nvmlErrorString");
    int (*make_set)(EventSet*) = nullptr;
    const bool tells_events = load(make_set, "nvmlEventSetCreate") && load(out->wait_, "nvmlEventSetWait_v2") &&
                              load(out->register_, "nvmlDeviceRegisterEvents");
    if (const int error = init(); error != kSuccess) {
      return cannot(out->words_of(error));
    }
    if (!tells_events || make_set(&out->events_) != kSuccess) out->events_ = nullptr;
    // It stays loaded: threads and handlers of its own may outlive what it is asked for.
    static_cast<void>(library.release());
    return out;
  }

  std::optional<GpuSample> sample(const std::string& uuid) override {
    const Device device = device_of(uuid);
    if (device == nullptr) return std::nullopt;
    Utilization busy{};
    const int busy_error = utilization_(device, &busy);
    if (busy_error == kErrorGpuIsLost) note_lost(uuid);
    GpuSample out;
    if (busy_error == kSuccess) out.busy_percent = static_cast<std::int64_t>(std::min(busy.gpu, 100U));
    // As nvidia-smi counts, without what the driver keeps for itself.
    MemoryV2 exact{.version = kMemoryV2};
    Memory memory{};
    int memory_error = kSuccess;
    if (memory_v2_ != nullptr && memory_v2_(device, &exact) == kSuccess) {
      memory = {exact.total, exact.free, exact.used};
    } else {
      memory_error = memory_(device, &memory);
    }
    if (busy_error != kSuccess && memory_error != kSuccess) return std::nullopt;
    out.memory_kib = static_cast<std::int64_t>(memory.used >> 10);
    out.memory_total_kib = static_cast<std::int64_t>(memory.total >> 10);
    unsigned long long energy = 0;
    if (energy_ != nullptr && energy_(device, &energy) == kSuccess) out.energy_mj = static_cast<std::int64_t>(energy);
    return out;
  }

  Result<void> watch(const std::string& uuid) override {
    const auto cannot = [&](std::string_view why) {
      return fail(ErrorCode::io, concat("the driver does not tell of errors of GPU ", uuid, ": ", why));
    };
    const Device device = device_of(uuid);
    if (device == nullptr) return cannot("it does not know this GPU");
    if (events_ == nullptr) return cannot("its library is too old");
    const int error = register_(device, kXidEvents, events_);
    return error == kSuccess ? Result<void>() : cannot(words_of(error));
  }

  std::vector<GpuFailure> failures() override {
    for (EventData event{}; events_ != nullptr && wait_(events_, &event, 0) == kSuccess; event = {}) {
      if (event.type != kXidEvents || std::ranges::count(kXidsOfPrograms, event.data) > 0) continue;
      for (const auto& [uuid, device] : devices_) {
        // Without a device it may be any.
        if (device == event.device || event.device == nullptr) failures_.push_back({uuid, concat("Xid ", event.data)});
      }
    }
    return std::exchange(failures_, {});
  }

 private:
  NvmlReader() = default;

  /// Null: there is no such GPU.
  Device device_of(const std::string& uuid) {
    const auto known = devices_.find(uuid);
    if (known != devices_.end()) return known->second;
    Device device = nullptr;
    const int error = handle_(uuid.c_str(), &device);
    if (error == kErrorGpuIsLost) note_lost(uuid);
    if (error != kSuccess) device = nullptr;
    if (device != nullptr) devices_[uuid] = device;
    return device;
  }

  void note_lost(const std::string& uuid) { failures_.push_back({uuid, "it is lost: the driver cannot reach it"}); }

  std::string words_of(int error) const { return words_ != nullptr ? words_(error) : concat("error ", error); }

  int (*handle_)(const char*, Device*) = nullptr;
  const char* (*words_)(int) = nullptr;
  int (*utilization_)(Device, Utilization*) = nullptr;
  int (*memory_)(Device, Memory*) = nullptr;
  int (*memory_v2_)(Device, MemoryV2*) = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  int (*register_)(Device, unsigned long long, EventSet) = nullptr;
  int (*wait_)(EventSet, EventData*, unsigned) = nullptr;
  EventSet events_ = nullptr;
  std::map<std::string, Device> devices_;
  std::vector<GpuFailure> failures_;
};

}  // namespace

Result<std::unique_ptr<GpuReader>> open_nvml(const DriverPlaces& places) {
  for (const std::string& path : find_nvidia_files(places.files, NvidiaCapabilities::utility).libraries) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    if (name.starts_with("libnvidia-ml.so.")) return NvmlReader::open(places.files.outside(path));
  }
  return fail(ErrorCode::not_found, concat("there is no libnvidia-ml.so below ", places.files.path()),
              "install the driver's libraries; until then nothing is known of what GPUs do");
}

}  // namespace drover

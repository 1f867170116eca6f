#include "accel/nvidia_driver.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr const char* kGpus = "/proc/driver/nvidia/gpus";
constexpr const char* kCapabilities = "/proc/driver/nvidia/capabilities";

std::optional<std::uint32_t> small_number(std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number > 0xffffffffu) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

/// "gi7" with "gi" is 7.
std::optional<std::uint32_t> numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return small_number(name.substr(prefix.size()));
}

/// "Device Minor: \t 0" by its key.
std::string value_in(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view name = take_until(line, ':');
    if (trimmed(name) == key) return std::string(trimmed(line));
  }
  return {};
}

std::map<std::string, std::uint32_t> character_majors(std::string_view devices) {
  std::map<std::string, std::uint32_t> majors;
  while (!devices.empty()) {
    std::string_view line = take_until(devices, '\n');
    if (line.starts_with("Block devices")) break;
    line = trimmed(line);
    const std::string_view number = take_until(line, ' ');
    if (const auto major = small_number(number)) majors.try_emplace(std::string(trimmed(line)), *major);
  }
  return majors;
}

/// "gpu0/gi1/access 12", a line each.
std::map<std::string, std::uint32_t> capability_minors(std::string_view text) {
  std::map<std::string, std::uint32_t> minors;
  while (!text.empty()) {
    std::string_view line = trimmed(take_until(text, '\n'));
    const std::string_view key = take_until(line, ' ');
    if (const auto minor = small_number(trimmed(line))) minors[std::string(key)] = *minor;
  }
  return minors;
}

std::vector<MigDevice> mig_devices(const RootFolder& proc, std::uint32_t gpu_minor) {
  std::vector<MigDevice> parts;
  const std::string folder = concat(kCapabilities, "/gpu", gpu_minor, "/mig");
  for (const std::string& gpu_instance : proc.names_in(folder)) {
    const auto gi = numbered(gpu_instance, "gi");
    if (!gi) continue;
    for (const std::string& compute_instance : proc.names_in(concat(folder, "/", gpu_instance))) {
      const auto ci = numbered(compute_instance, "ci");
      if (!ci) continue;
      parts.push_back({.gpu_instance = *gi, .compute_instance = *ci});
    }
  }
  std::ranges::sort(parts, {}, [](const MigDevice& it) { return std::pair(it.gpu_instance, it.compute_instance); });
  return parts;
}

void fill_capabilities(const DriverPlaces& places, std::vector<NvidiaGpu>& gpus) {
  if (std::ranges::all_of(gpus, [](const NvidiaGpu& gpu) { return gpu.parts.empty(); })) return;
  const auto minors = nvidia_capability_minors(places);
  const auto minor_of = [&](const std::string& key) -> std::optional<std::uint32_t> {
    const auto it = minors.find(key);
    return it == minors.end() ? std::nullopt : std::optional(it->second);
  };
  for (NvidiaGpu& gpu : gpus) {
    for (MigDevice& part : gpu.parts) {
      const std::string key = concat("gpu", gpu.minor, "/gi", part.gpu_instance, "/");
      part.gpu_capability = minor_of(key + "access");
      part.compute_capability = minor_of(concat(key, "ci", part.compute_instance, "/access"));
    }
  }
}

// /proc shows all GPUs of the machine, also in a container that was given some of them: it has nodes of those alone.
void leave_out_hidden(const DriverPlaces& places, std::vector<NvidiaGpu>& gpus) {
  const auto is_hidden = [&](const NvidiaGpu& gpu) { return !device_node(places, gpu.node()); };
  if (std::ranges::all_of(gpus, is_hidden)) return;  // nobody has made any node yet
  std::erase_if(gpus, is_hidden);
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].index = static_cast<std::uint32_t>(i);
}

bool is_version(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
         word.find('.') != std::string_view::npos && word.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::string NvidiaGpu::node() const {
  return concat("/dev/nvidia", minor);
}

std::string driver_version_in(std::string_view text) {
  std::string_view line = take_until(text, '\n');
  if (!line.starts_with("NVRM version")) return {};
  while (!line.empty()) {
    const std::string_view word = take_until(line, ' ');
    if (is_version(word)) return std::string(word);
  }
  return {};
}

std::map<std::string, std::uint32_t> nvidia_capability_minors(const DriverPlaces& places) {
  return capability_minors(places.proc.read("/proc/driver/nvidia-caps/mig-minors").value_or(""));
}

NvidiaDriver find_nvidia_driver(const DriverPlaces& places) {
  NvidiaDriver driver;
  const RootFolder& proc = places.proc;
  driver.version = driver_version_in(proc.read("/proc/driver/nvidia/version").value_or(""));
  driver.majors = character_majors(proc.read("/proc/devices").value_or(""));
  for (const std::string& bus : proc.names_in(kGpus)) {  // sorted, as nvidia-smi counts
    const std::string text = proc.read(concat(kGpus, "/", bus, "/information")).value_or("");
    const auto minor = small_number(value_in(text, "Device Minor"));
    if (!minor) continue;
    NvidiaGpu gpu{.index = static_cast<std::uint32_t>(driver.gpus.size()), .minor = *minor};
    gpu.uuid = value_in(text, "GPU UUID");
    gpu.bus = bus;
    gpu.model = value_in(text, "Model");
    gpu.parts = mig_devices(proc, *minor);
    driver.gpus.push_back(std::move(gpu));
  }
  fill_capabilities(places, driver.gpus);
  leave_out_hidden(places, driver.gpus);
  return driver;
}

}  // namespace drover

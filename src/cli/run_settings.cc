#include "cli/run_settings.h"

#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace drover {
namespace json = boost::json;
namespace {

std::string path_of(const RunFolder& folder) {
  return folder.path() + "/settings.json";
}

template <class Number>
void take_number(const json::object& from, const char* name, Number& to) {
  const json::value* value = from.if_contains(name);
  if (value == nullptr || !value->is_number()) return;
  json::error_code error;
  const auto number = value->to_number<Number>(error);
  if (!error) to = number;
}

}  // namespace

RunSettings load_settings(const RunFolder& folder) {
  RunSettings settings;
  std::ifstream file(path_of(folder), std::ios::binary);
  json::error_code error;
  const json::value read = json::parse(std::string(std::istreambuf_iterator<char>(file), {}), error);
  if (error || !read.is_object()) return settings;
  const json::object& object = read.get_object();
  take_number(object, "jobs", settings.jobs);
  if (const json::value* out = object.if_contains("out"); out != nullptr && out->is_string()) {
    settings.out_dir = out->get_string();
  }
  if (const json::value* limits = object.if_contains("limits"); limits != nullptr && limits->is_object()) {
    ItemLimits& to = settings.limits.emplace();
    take_number(limits->get_object(), "memory_bytes", to.memory_bytes);
    take_number(limits->get_object(), "milli_cpus", to.milli_cpus);
    take_number(limits->get_object(), "processes", to.processes);
    take_number(limits->get_object(), "nice", to.nice);
    take_number(limits->get_object(), "log_bytes", to.log_bytes);
  }
  if (const json::value* accelerators = object.if_contains("accelerators");
      accelerators != nullptr && accelerators->is_object()) {
    for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
      take_number(accelerators->get_object(), kAcceleratorNames[kind].data(), settings.accelerators[kind]);
    }
  }
  return settings;
}

// By a rename, so that a crash leaves the old ones or the new.
Result<void> save_settings(const RunFolder& folder, const RunSettings& settings) {
  json::object object{{"jobs", settings.jobs}, {"out", settings.out_dir}};
  if (const std::optional<ItemLimits>& limits = settings.limits) {
    object["limits"] = json::object{{"memory_bytes", limits->memory_bytes},
                                    {"milli_cpus", limits->milli_cpus},
                                    {"processes", limits->processes},
                                    {"nice", limits->nice},
                                    {"log_bytes", limits->log_bytes}};
  }
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    if (settings.accelerators[kind] == 0) continue;
    json::value& accelerators = object["accelerators"];
    if (!accelerators.is_object()) accelerators = json::object();
    accelerators.get_object()[kAcceleratorNames[kind]] = settings.accelerators[kind];
  }
  const std::string path = path_of(folder);
  const std::string fresh = path + ".new";
  {
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    file << json::serialize(object) << "\n";
    if (!file.flush()) return std::unexpected(errno_error(errno, fresh));
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return std::unexpected(errno_error(errno, path));
  return {};
}

}  // namespace drover

#include "api/batch/job_properties.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <map>
#include <optional>

#include "base/text.h"
#include "base/units.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::string_view kReference = "Ref::";
constexpr std::string_view kReuseTag = "drover:reuse";

std::unexpected<Fault> cannot(std::string_view member, std::string_view why) {
  return std::unexpected(Fault{"ClientException", concat(member, " ", why), 400});
}

const json::object* object_in(const json::object& in, std::string_view member) {
  const json::value* it = in.if_contains(member);
  return it == nullptr ? nullptr : &it->get_object();
}

const json::array* list_in(const json::object& in, std::string_view member) {
  const json::value* it = in.if_contains(member);
  return it == nullptr ? nullptr : &it->get_array();
}

std::string text_in(const json::object& in, std::string_view member) {
  const json::value* it = in.if_contains(member);
  return it == nullptr ? std::string() : std::string(it->get_string());
}

bool is_set(const json::object& in, std::string_view member) {
  const json::value* it = in.if_contains(member);
  return it != nullptr && it->get_bool();
}

/// CPUs, memory in MiB and GPUs: in resourceRequirements, or in the members that there were before.
struct Wanted {
  std::string cpus;
  std::string memory_mib;
  std::string gpus;
};

Wanted wanted_by(const json::object& container) {
  Wanted out;
  if (const json::value* it = container.if_contains("vcpus")) out.cpus = concat(it->get_int64());
  if (const json::value* it = container.if_contains("memory")) out.memory_mib = concat(it->get_int64());
  if (const json::array* all = list_in(container, "resourceRequirements")) {
    for (const json::value& it : *all) {
      const std::string value = text_in(it.get_object(), "value");
      const std::string type = text_in(it.get_object(), "type");
      (type == "GPU" ? out.gpus : type == "VCPU" ? out.cpus : out.memory_mib) = value;
    }
  }
  return out;
}

std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::expected<void, Fault> check_resources(const json::object& container) {
  const Wanted wanted = wanted_by(container);
  if (wanted.cpus.empty() || wanted.memory_mib.empty()) {
    return cannot("containerProperties.resourceRequirements", "must say VCPU and MEMORY");
  }
  if (!real_number(wanted.cpus)) {
    return cannot("containerProperties.resourceRequirements", "must have a number as VCPU");
  }
  const auto memory = parse_number(wanted.memory_mib);
  if (!memory || *memory < 4) {
    return cannot("containerProperties.resourceRequirements", "must have a MEMORY of at least 4 MiB");
  }
  if (!wanted.gpus.empty() && !parse_number(wanted.gpus)) {
    return cannot("containerProperties.resourceRequirements", "must have a whole number as GPU");
  }
  return {};
}

/// The folder of the machine that each volume is.
std::expected<std::map<std::string, std::string>, Fault> sources_of(const json::object& container) {
  std::map<std::string, std::string> out;
  const json::array* volumes = list_in(container, "volumes");
  for (std::size_t i = 0; volumes != nullptr && i < volumes->size(); ++i) {
    const json::object& volume = (*volumes)[i].get_object();
    const std::string where = concat("containerProperties.volumes[", i, "]");
    if (volume.contains("efsVolumeConfiguration")) return cannot(where, "is on EFS, which cannot be mounted here");
    const json::object* host = object_in(volume, "host");
    const std::string source = host == nullptr ? "" : text_in(*host, "sourcePath");
    if (source.empty()) return cannot(where, "must have a host.sourcePath");
    if (!source.starts_with('/')) return cannot(where, "must have an absolute path as host.sourcePath");
    out[text_in(volume, "name")] = source;
  }
  return out;
}

std::expected<json::array, Fault> mounts_of(const json::object& container) {
  auto sources = sources_of(container);
  if (!sources) return std::unexpected(std::move(sources.error()));
  json::array out;
  const json::array* points = list_in(container, "mountPoints");
  for (std::size_t i = 0; points != nullptr && i < points->size(); ++i) {
    const json::object& point = (*points)[i].get_object();
    const std::string where = concat("containerProperties.mountPoints[", i, "]");
    const auto source = sources->find(text_in(point, "sourceVolume"));
    if (source == sources->end()) return cannot(where, "names a sourceVolume that is not among the volumes");
    const std::string inside = text_in(point, "containerPath");
    if (!inside.starts_with('/')) return cannot(where, "must have an absolute path as containerPath");
    if ((source->second + inside).find(':') != std::string::npos) return cannot(where, "has a ':' in a path");
    out.emplace_back(concat(source->second, ":", inside, is_set(point, "readOnly") ? ":ro,create" : ":create"));
  }
  return out;
}

std::expected<void, Fault> check_linux(const json::object& container) {
  const json::object* linux_parameters = object_in(container, "linuxParameters");
  if (linux_parameters == nullptr) return {};
  for (const char* member : {"maxSwap", "swappiness"}) {
    if (linux_parameters->contains(member)) {
      return cannot(concat("containerProperties.linuxParameters.", member), "is not supported: items do not swap");
    }
  }
  return {};
}

std::expected<void, Fault> check_logs(const json::object& container) {
  const json::object* logs = object_in(container, "logConfiguration");
  if (logs == nullptr) return {};
  const std::string driver = text_in(*logs, "logDriver");
  if (driver == "awslogs" || driver == "json-file") return {};
  return cannot("containerProperties.logConfiguration.logDriver", "must be awslogs: logs are kept by Drover");
}

void add_linux(const json::object& container, json::object& job) {
  const json::object* linux_parameters = object_in(container, "linuxParameters");
  if (linux_parameters == nullptr) return;
  if (const json::array* all = list_in(*linux_parameters, "devices")) {
    json::array devices;
    for (const json::value& it : *all) {
      const json::object& device = it.get_object();
      const std::string host = text_in(device, "hostPath");
      const std::string inside = text_in(device, "containerPath");
      std::string access;
      if (const json::array* permissions = list_in(device, "permissions")) {
        for (const json::value& one : *permissions) access += one == "READ" ? "r" : one == "WRITE" ? "w" : "m";
      }
      devices.emplace_back(concat(host, ":", inside.empty() ? host : inside, access.empty() ? "" : ":", access));
    }
    job["devices"] = std::move(devices);
  }
  if (const json::array* all = list_in(*linux_parameters, "tmpfs")) {
    json::array folders;
    for (const json::value& it : *all) {
      folders.emplace_back(
          concat(text_in(it.get_object(), "containerPath"), ":", it.get_object().at("size").get_int64(), "MiB"));
    }
    job["tmpfs"] = std::move(folders);
  }
  if (const json::value* size = linux_parameters->if_contains("sharedMemorySize")) {
    job["shm_size"] = concat(size->get_int64(), "MiB");
  }
  if (const json::value* init = linux_parameters->if_contains("initProcessEnabled")) job["init"] = init->get_bool();
}

std::optional<std::string> parameter(const JobProperties& properties, std::string_view name) {
  const json::object* parameters = object_in(properties, "parameters");
  const json::value* it = parameters == nullptr ? nullptr : parameters->if_contains(name);
  if (it == nullptr) return std::nullopt;
  return std::string(it->get_string());
}

json::array command_of(const JobProperties& properties, const json::object& container) {
  json::array out;
  const json::array* command = list_in(container, "command");
  for (std::size_t i = 0; command != nullptr && i < command->size(); ++i) {
    const std::string_view word = (*command)[i].get_string();
    const auto given =
        word.starts_with(kReference) ? parameter(properties, word.substr(kReference.size())) : std::nullopt;
    out.emplace_back(given ? std::string_view(*given) : word);
  }
  return out;
}

void add_policy(const JobProperties& properties, json::object& job) {
  if (const json::object* retry = object_in(properties, "retryStrategy")) {
    if (const json::value* attempts = retry->if_contains("attempts")) job["retries"] = attempts->get_int64() - 1;
    if (const json::array* rules = list_in(*retry, "evaluateOnExit")) job["rules"] = *rules;
  }
  if (const json::object* timeout = object_in(properties, "timeout")) {
    if (const json::value* seconds = timeout->if_contains("attemptDurationSeconds")) {
      job["timeout"] = concat(seconds->get_int64(), "s");
    }
  }
  if (const json::value* priority = properties.if_contains("schedulingPriority")) job["priority"] = *priority;
  const json::object* tags = object_in(properties, "tags");
  if (tags != nullptr && text_in(*tags, kReuseTag) == "true") job["reuse"] = true;
}

/// Entries of a list by one of their members; what the second has replaces what the first has.
json::array merged(const json::array* base, const json::array& over, std::string_view by) {
  json::array out = base == nullptr ? json::array() : *base;
  for (const json::value& it : over) {
    const auto same = std::ranges::find_if(
        out, [&](const json::value& one) { return text_in(one.get_object(), by) == text_in(it.get_object(), by); });
    if (same == out.end()) {
      out.push_back(it);
    } else {
      *same = it;
    }
  }
  return out;
}

}  // namespace

std::expected<void, Fault> check_properties(const JobProperties& properties) {
  for (const auto& [member, why] : {std::pair("nodeProperties", "is not supported: a job runs on one machine"),
                                    std::pair("eksProperties", "is not supported: jobs do not run on EKS")}) {
    if (properties.contains(member)) return cannot(member, why);
  }
  if (text_in(properties, "type") != "container") return cannot("type", "must be container");
  const json::object* container = object_in(properties, "containerProperties");
  if (container == nullptr) return cannot("containerProperties", "is required");
  if (text_in(*container, "image").empty()) return cannot("containerProperties.image", "is required");
  if (container->contains("secrets")) return cannot("containerProperties.secrets", "is not supported");
  if (auto good = check_resources(*container); !good) return good;
  if (auto mounts = mounts_of(*container); !mounts) return std::unexpected(std::move(mounts.error()));
  if (auto good = check_linux(*container); !good) return good;
  return check_logs(*container);
}

JobProperties with_overrides(JobProperties definition, const json::object& submission) {
  if (const json::object* given = object_in(submission, "parameters")) {
    json::value& parameters = definition["parameters"];
    if (!parameters.is_object()) parameters = json::object();
    for (const auto& [name, value] : *given) parameters.get_object()[name] = value;
  }
  for (const char* member : {"retryStrategy", "timeout", "propagateTags"}) {
    if (const json::value* it = submission.if_contains(member)) definition[member] = *it;
  }
  if (const json::value* it = submission.if_contains("schedulingPriorityOverride"))
    definition["schedulingPriority"] = *it;
  const json::object* over = object_in(submission, "containerOverrides");
  if (over == nullptr) return definition;
  json::object& container = definition["containerProperties"].get_object();
  if (const json::array* it = list_in(*over, "environment")) {
    container["environment"] = merged(list_in(container, "environment"), *it, "name");
  }
  if (const json::array* it = list_in(*over, "resourceRequirements")) {
    container["resourceRequirements"] = merged(list_in(container, "resourceRequirements"), *it, "type");
  }
  for (const char* member : {"vcpus", "memory", "command", "instanceType"}) {
    if (const json::value* it = over->if_contains(member)) container[member] = *it;
  }
  return definition;
}

std::expected<json::object, Fault> native_job(const JobProperties& properties) {
  const json::object& container = properties.at("containerProperties").get_object();
  const Wanted wanted = wanted_by(container);
  json::object job{{"image", container.at("image")},
                   {"literal", true},
                   {"cpus", real_number(wanted.cpus).value_or(1)},
                   {"memory", concat(wanted.memory_mib, "MiB")}};
  if (json::array command = command_of(properties, container); !command.empty()) job["command"] = std::move(command);
  if (!wanted.gpus.empty()) job["gpus"] = parse_number(wanted.gpus).value_or(0);
  json::object environment;
  if (const json::array* all = list_in(container, "environment")) {
    for (const json::value& it : *all)
      environment[text_in(it.get_object(), "name")] = text_in(it.get_object(), "value");
  }
  if (!environment.empty()) job["environment"] = std::move(environment);
  auto mounts = mounts_of(container);
  if (!mounts) return std::unexpected(std::move(mounts.error()));
  if (!mounts->empty()) job["mounts"] = std::move(*mounts);
  if (const json::array* all = list_in(container, "ulimits")) {
    json::array limits;
    for (const json::value& it : *all) {
      const json::object& limit = it.get_object();
      limits.emplace_back(concat(text_in(limit, "name"), "=", limit.at("softLimit").get_int64(), ":",
                                 limit.at("hardLimit").get_int64()));
    }
    job["ulimits"] = std::move(limits);
  }
  if (const std::string user = text_in(container, "user"); !user.empty()) job["user"] = user;
  if (is_set(container, "privileged")) job["privileged"] = true;
  if (is_set(container, "readonlyRootFilesystem")) job["read_only"] = true;
  if (const std::string role = text_in(container, "jobRoleArn"); !role.empty()) job["role"] = role;
  add_linux(container, job);
  add_policy(properties, job);
  return job;
}

}  // namespace drover::aws

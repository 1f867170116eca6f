// The Container Device Interface: which device nodes, mounts, variables and hooks make a device usable in a container,
// as files in /etc/cdi say it for every container engine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover {

/// What is added to a container.
struct CdiEdits {
  struct DeviceNode {
    std::string path;       // in the container
    std::string host_path;  // empty: the same
    std::string type;       // "c", "b", "u" or "p"; empty: as it is on the machine
    std::optional<std::int64_t> major, minor;
    std::optional<std::uint32_t> mode, user, group;
    std::string permissions;  // of its cgroup rule, from "rwm"; empty: all; "none": no rule

    bool operator==(const DeviceNode&) const = default;
  };
  struct Mount {
    std::string host_path;
    std::string container_path;
    std::vector<std::string> options;
    std::string type;  // empty: a bind mount

    bool operator==(const Mount&) const = default;
  };
  struct Hook {
    std::string stage;  // "createContainer" and the like
    std::string path;
    std::vector<std::string> arguments;  // with the name of the program
    std::vector<std::string> environment;
    std::optional<std::int64_t> timeout_s;

    bool operator==(const Hook&) const = default;
  };
  struct NetDevice {
    std::string host_name, container_name;

    bool operator==(const NetDevice&) const = default;
  };

  std::vector<std::string> environment;  // "NAME=value"
  std::vector<DeviceNode> devices;
  std::vector<Mount> mounts;
  std::vector<Hook> hooks;
  std::vector<std::uint32_t> groups;
  std::vector<NetDevice> net_devices;
  std::optional<std::string> intel_rdt;  // a JSON object, in CDI's words

  bool is_empty() const;
  /// `more` after what is here.
  void add(const CdiEdits& more);

  bool operator==(const CdiEdits&) const = default;
};

struct CdiDevice {
  std::string name;
  std::map<std::string, std::string> annotations;
  CdiEdits edits;

  bool operator==(const CdiDevice&) const = default;
};

/// One file of CDI.
struct CdiSpec {
  std::string version;  // as declared; cdi_to_json() writes the least that its features need
  std::string kind;     // "nvidia.com/gpu"
  std::map<std::string, std::string> annotations;
  std::vector<CdiDevice> devices;
  CdiEdits edits;  // once for each container that has any of the devices

  bool operator==(const CdiSpec&) const = default;
};

/// The stages that hooks have, in the order in which OCI lists them.
inline constexpr std::string_view kHookStages[] = {"prestart",       "createRuntime", "createContainer",
                                                   "startContainer", "poststart",     "poststop"};

/// "nvidia.com/gpu=0" in parts.
struct CdiName {
  std::string kind;
  std::string device;
};
/// An error says what is wrong with the name.
Result<CdiName> parse_cdi_name(std::string_view text);
bool is_cdi_name(std::string_view text);
/// Of a device alone: "0", "GPU-8a1f", "0:1".
bool is_cdi_device_name(std::string_view name);

/// A file of CDI, YAML or JSON, decoded strictly: an unknown member is an error, and so is a declared version that does
/// not have the features that are used.
Result<CdiSpec> cdi_from_text(std::string_view text, bool is_json);

/// What makes a file unusable that can be read; nothing: it is in order.
std::optional<std::string> cdi_problem(const CdiSpec& spec);

/// Indented JSON with the least version that has what is used.
std::string cdi_to_json(const CdiSpec& spec);
std::string least_cdi_version(const CdiSpec& spec);

/// The names that annotations ask for, sorted, each once: keys with one of the prefixes, values comma lists.
Result<std::vector<std::string>> cdi_names_in(const std::map<std::string, std::string>& annotations,
                                              const std::vector<std::string>& prefixes);

}  // namespace drover

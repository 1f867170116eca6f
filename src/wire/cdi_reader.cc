// Reading files of CDI: see cdi_spec.h.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "wire/cdi_spec.h"
#include "wire/document.h"
#include "wire/yaml_document.h"

namespace drover {
namespace {

/// Reads a file's objects, and remembers the first thing that is wrong.
class CdiReader {
 public:
  std::optional<std::string> error;

  CdiSpec spec(const Node& node) {
    CdiSpec out;
    if (!is_object(node, "the file")) return out;
    only(node, "the file", {"cdiVersion", "kind", "annotations", "devices", "containerEdits"});
    out.version = text(node, "cdiVersion", true);
    out.kind = text(node, "kind", true);
    if (out.version.starts_with('v')) out.version.erase(0, 1);
    out.annotations = texts_by_name(node, "annotations");
    for (const Node* device : list(node, "devices")) {
      CdiDevice& one = out.devices.emplace_back();
      if (!is_object(*device, "a device")) break;
      only(*device, "a device", {"name", "annotations", "containerEdits"});
      one.name = text(*device, "name", true);
      one.annotations = texts_by_name(*device, "annotations");
      if (const Node* edits = device->find("containerEdits")) one.edits = edits_of(*edits);
      if (!error && !is_cdi_device_name(one.name)) refuse(concat("'", one.name, "' is not a valid device name"));
      if (!error && one.edits.is_empty()) refuse(concat("device '", one.name, "' has no containerEdits"));
    }
    if (const Node* edits = node.find("containerEdits")) out.edits = edits_of(*edits);
    return out;
  }

  void refuse(std::string what) {
    if (!error) error = std::move(what);
  }

 private:
  bool is_object(const Node& node, std::string_view what) {
    if (node.kind == Node::Kind::object) return true;
    refuse(concat(what, " must be an object"));
    return false;
  }
  void only(const Node& node, std::string_view what, std::initializer_list<std::string_view> names) {
    std::set<std::string_view> seen;
    for (const Node::Field& field : node.fields) {
      if (std::ranges::find(names, std::string_view(field.name)) == names.end()) {
        refuse(concat("unknown member '", field.name, "' in ", what));
      }
      if (!seen.insert(field.name).second) refuse(concat("'", field.name, "' is there twice in ", what));
    }
  }
  std::string text(const Node& node, std::string_view name, bool required = false) {
    const Node* value = node.find(name);
    if (value == nullptr || value->kind == Node::Kind::null) {
      if (required) refuse(concat("'", name, "' is missing"));
      return {};
    }
    if (value->kind != Node::Kind::text) refuse(concat("'", name, "' must be a string"));
    return value->text;
  }
  template <class T>
  std::optional<T> number(const Node& node, std::string_view name) {
    const Node* value = node.find(name);
    if (value == nullptr || value->kind == Node::Kind::null) return std::nullopt;
    const auto parsed = value->kind == Node::Kind::number ? parse_number(value->text) : Result<std::uint64_t>(0);
    if (value->kind != Node::Kind::number || !parsed || *parsed > 0xffffffffu) {
      refuse(concat("'", name, "' must be a whole number"));
      return std::nullopt;
    }
    return static_cast<T>(*parsed);
  }
  std::vector<const Node*> list(const Node& node, std::string_view name) {
    std::vector<const Node*> out;
    const Node* value = node.find(name);
    if (value == nullptr || value->kind == Node::Kind::null) return out;
    if (value->kind != Node::Kind::list) refuse(concat("'", name, "' must be a list"));
    for (const Node& item : value->items) out.push_back(&item);
    return out;
  }
  std::vector<std::string> texts(const Node& node, std::string_view name) {
    std::vector<std::string> out;
    for (const Node* item : list(node, name)) {
      if (item->kind != Node::Kind::text) refuse(concat("'", name, "' must be a list of strings"));
      out.push_back(item->text);
    }
    return out;
  }
  std::map<std::string, std::string> texts_by_name(const Node& node, std::string_view name) {
    std::map<std::string, std::string> out;
    const Node* value = node.find(name);
    if (value == nullptr || value->kind == Node::Kind::null || !is_object(*value, name)) return out;
    for (const Node::Field& field : value->fields) {
      if (field.value.kind != Node::Kind::text) refuse(concat("'", name, "' must hold strings"));
      out[field.name] = field.value.text;
    }
    return out;
  }

  CdiEdits edits_of(const Node& node) {
    CdiEdits out;
    if (!is_object(node, "containerEdits")) return out;
    only(node, "containerEdits", {"env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt", "netDevices"});
    out.environment = texts(node, "env");
    for (const std::string& variable : out.environment) {
      if (variable.find('=') == std::string::npos || variable.starts_with('=')) {
        refuse(concat("'", variable, "' in env is not NAME=value"));
      }
    }
    for (const Node* device : list(node, "deviceNodes")) out.devices.push_back(device_node(*device));
    for (const Node* mount : list(node, "mounts")) out.mounts.push_back(mount_of(*mount));
    for (const Node* hook : list(node, "hooks")) out.hooks.push_back(hook_of(*hook));
    for (const Node* group : list(node, "additionalGids")) {
      const auto id = parse_number(group->text);
      if (group->kind != Node::Kind::number || !id || *id > 0xffffffffu) {
        refuse("'additionalGids' must be a list of numbers");
      } else {
        out.groups.push_back(static_cast<std::uint32_t>(*id));
      }
    }
    for (const Node* device : list(node, "netDevices")) {
      if (!is_object(*device, "a net device")) break;
      only(*device, "a net device", {"hostInterfaceName", "name"});
      out.net_devices.push_back({text(*device, "hostInterfaceName", true), text(*device, "name", true)});
    }
    if (const Node* rdt = node.find("intelRdt"); rdt != nullptr && is_object(*rdt, "intelRdt")) {
      only(*rdt, "intelRdt",
           {"closID", "l3CacheSchema", "memBwSchema", "schemata", "enableMonitoring", "enableCMT", "enableMBM"});
      out.intel_rdt = node_to_json(*rdt);
    }
    return out;
  }

  CdiEdits::DeviceNode device_node(const Node& node) {
    CdiEdits::DeviceNode out;
    if (!is_object(node, "a device node")) return out;
    only(node, "a device node",
         {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"});
    out.path = text(node, "path", true);
    out.host_path = text(node, "hostPath");
    out.type = text(node, "type");
    out.major = number<std::int64_t>(node, "major");
    out.minor = number<std::int64_t>(node, "minor");
    out.mode = number<std::uint32_t>(node, "fileMode");
    out.permissions = text(node, "permissions");
    out.user = number<std::uint32_t>(node, "uid");
    out.group = number<std::uint32_t>(node, "gid");
    if (!out.type.empty() && std::string_view("bcup").find(out.type) == std::string_view::npos) {
      refuse(concat("device node ", out.path, ": '", out.type, "' is not a type: b, c, u or p"));
    }
    const bool are_known = std::ranges::all_of(
        out.permissions, [](char c) { return std::string_view("rwm").find(c) != std::string_view::npos; });
    if (out.permissions != "none" && !are_known) {
      refuse(concat("device node ", out.path, ": permissions are made of r, w and m, or are 'none'"));
    }
    return out;
  }

  CdiEdits::Mount mount_of(const Node& node) {
    CdiEdits::Mount out;
    if (!is_object(node, "a mount")) return out;
    only(node, "a mount", {"hostPath", "containerPath", "options", "type"});
    out.host_path = text(node, "hostPath", true);
    out.container_path = text(node, "containerPath", true);
    out.options = texts(node, "options");
    out.type = text(node, "type");
    return out;
  }

  CdiEdits::Hook hook_of(const Node& node) {
    CdiEdits::Hook out;
    if (!is_object(node, "a hook")) return out;
    only(node, "a hook", {"hookName", "path", "args", "env", "timeout"});
    out.stage = text(node, "hookName", true);
    out.path = text(node, "path", true);
    out.arguments = texts(node, "args");
    out.environment = texts(node, "env");
    out.timeout_s = number<std::int64_t>(node, "timeout");
    if (!error && std::ranges::find(kHookStages, out.stage) == std::end(kHookStages)) {
      refuse(concat("'", out.stage, "' is not the name of a hook"));
    }
    return out;
  }
};

}  // namespace

Result<CdiSpec> cdi_from_text(std::string_view text, bool is_json) {
  Node node;
  if (is_json) {
    auto read = node_from_json(text);
    if (!read) return fail(ErrorCode::bad_input, concat("malformed JSON: ", read.error().message));
    node = std::move(*read);
  } else {
    auto read = node_from_yaml(
        text,
        {.what = "CDI specification", .examples = "the examples of the CDI specification", .has_placeholders = false});
    if (!read) {
      return fail(ErrorCode::bad_input, concat("line ", read.error().place.line, ": ", read.error().what),
                  std::move(read.error().next));
    }
    node = std::move(*read);
  }
  CdiReader reader;
  CdiSpec spec = reader.spec(node);
  if (!reader.error) reader.error = cdi_problem(spec);
  if (reader.error) return fail(ErrorCode::bad_input, std::move(*reader.error));
  return spec;
}

}  // namespace drover

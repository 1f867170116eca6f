#include "wire/cdi_spec.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "wire/json_text.h"

namespace drover {
namespace {

constexpr std::array<std::string_view, 9> kCdiVersions = {"0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0",
                                                          "0.8.0", "1.0.0", "1.1.0", "0.2.0"};

bool is_cdi_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_cdi_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Letters, digits and some more, of which the first and the last are letters or digits.
bool is_cdi_word(std::string_view text, std::string_view more, bool may_begin_with_digit) {
  if (text.empty()) return false;
  const auto is_plain = [](char c) { return is_cdi_letter(c) || is_cdi_digit(c); };
  if (!is_cdi_letter(text.front()) && !(may_begin_with_digit && is_cdi_digit(text.front()))) return false;
  if (!is_plain(text.back())) return false;
  return std::ranges::all_of(text, [&](char c) { return is_plain(c) || more.find(c) != std::string_view::npos; });
}

std::optional<std::string> wrong_cdi_kind(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  if (slash == std::string_view::npos) return concat("'", kind, "' is not VENDOR/CLASS");
  if (!is_cdi_word(kind.substr(0, slash), "_-.", false)) {
    return concat("'", kind.substr(0, slash), "' is not a valid vendor: it takes letters, digits, '_', '-' and '.'");
  }
  if (!is_cdi_word(kind.substr(slash + 1), "_-.", false)) {
    return concat("'", kind.substr(slash + 1), "' is not a valid class: it takes letters, digits, '_', '-' and '.'");
  }
  return std::nullopt;
}

/// The least version that has what is used, and what that is.
std::pair<std::string_view, std::string_view> needed_version(const CdiSpec& spec) {
  std::pair<std::string_view, std::string_view> least = {"0.3.0", ""};
  const auto needs = [&](bool does, std::string_view version, std::string_view what) {
    if (does && version > least.first) least = {version, what};
  };
  const auto of_edits = [&](const CdiEdits& edits) {
    needs(std::ranges::any_of(edits.mounts, [](const auto& mount) { return !mount.type.empty(); }), "0.4.0",
          "the type of a mount");
    needs(std::ranges::any_of(edits.devices, [](const auto& node) { return !node.host_path.empty(); }), "0.5.0",
          "the hostPath of a device node");
    needs(edits.intel_rdt.has_value(), "0.7.0", "intelRdt");
    needs(!edits.groups.empty(), "0.7.0", "additionalGids");
    needs(!edits.net_devices.empty(), "1.1.0", "netDevices");
  };
  of_edits(spec.edits);
  needs(!spec.annotations.empty(), "0.6.0", "annotations");
  needs(spec.kind.find('.', spec.kind.find('/')) != std::string::npos, "0.6.0", "a class with a dot");
  for (const CdiDevice& device : spec.devices) {
    of_edits(device.edits);
    needs(!device.annotations.empty(), "0.6.0", "annotations");
    needs(!device.name.empty() && is_cdi_digit(device.name.front()), "0.5.0", "a device name that begins with a digit");
  }
  return least;
}

/// Writes indented JSON.
class CdiWriter {
 public:
  std::string out;

  void open(char bracket) {
    out += bracket;
    depth_ += 1;
    is_first_ = true;
  }
  void close(char bracket) {
    depth_ -= 1;
    if (!is_first_) line();
    out += bracket;
    is_first_ = false;
  }
  void name(std::string_view text) {
    item();
    out += json_quoted(text);
    out += ": ";
  }
  void item() {
    if (!is_first_) out += ',';
    line();
    is_first_ = false;
  }
  void text(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    name(key);
    out += json_quoted(value);
  }
  template <class T>
  void number(std::string_view key, const std::optional<T>& value) {
    if (!value) return;
    name(key);
    append_text(out, *value);
  }
  void texts(std::string_view key, const std::vector<std::string>& values) {
    if (values.empty()) return;
    name(key);
    open('[');
    for (const std::string& value : values) {
      item();
      out += json_quoted(value);
    }
    close(']');
  }
  void texts(std::string_view key, const std::map<std::string, std::string>& values) {
    if (values.empty()) return;
    name(key);
    open('{');
    for (const auto& [one, value] : values) text(one, value);
    close('}');
  }
  template <class T, class Write>
  void list(std::string_view key, const std::vector<T>& values, Write write) {
    if (values.empty()) return;
    name(key);
    open('[');
    for (const T& value : values) {
      item();
      open('{');
      write(value);
      close('}');
    }
    close(']');
  }

 private:
  void line() { out += '\n' + std::string(2 * depth_, ' '); }

  std::size_t depth_ = 0;
  bool is_first_ = true;
};

void write_edits(CdiWriter& to, const CdiEdits& edits) {
  to.name("containerEdits");
  to.open('{');
  to.texts("env", edits.environment);
  to.list("deviceNodes", edits.devices, [&](const CdiEdits::DeviceNode& node) {
    to.text("path", node.path);
    to.text("hostPath", node.host_path);
    to.text("type", node.type);
    to.number("major", node.major);
    to.number("minor", node.minor);
    to.number("fileMode", node.mode);
    to.text("permissions", node.permissions);
    to.number("uid", node.user);
    to.number("gid", node.group);
  });
  to.list("mounts", edits.mounts, [&](const CdiEdits::Mount& mount) {
    to.text("hostPath", mount.host_path);
    to.text("containerPath", mount.container_path);
    to.texts("options", mount.options);
    to.text("type", mount.type);
  });
  to.list("hooks", edits.hooks, [&](const CdiEdits::Hook& hook) {
    to.text("hookName", hook.stage);
    to.text("path", hook.path);
    to.texts("args", hook.arguments);
    to.texts("env", hook.environment);
    to.number("timeout", hook.timeout_s);
  });
  if (!edits.groups.empty()) {
    to.name("additionalGids");
    to.open('[');
    for (const std::uint32_t group : edits.groups) {
      to.item();
      append_text(to.out, group);
    }
    to.close(']');
  }
  if (edits.intel_rdt) {
    to.name("intelRdt");
    to.out += *edits.intel_rdt;
  }
  to.list("netDevices", edits.net_devices, [&](const CdiEdits::NetDevice& device) {
    to.text("hostInterfaceName", device.host_name);
    to.text("name", device.container_name);
  });
  to.close('}');
}

}  // namespace

std::optional<std::string> cdi_problem(const CdiSpec& spec) {
  if (std::ranges::find(kCdiVersions, spec.version) == kCdiVersions.end()) {
    return concat("'", spec.version, "' is not a known cdiVersion (0.3.0 to 1.1.0)");
  }
  if (auto wrong = wrong_cdi_kind(spec.kind)) return concat("kind: ", *wrong);
  if (spec.devices.empty()) return "there is no device";
  std::set<std::string_view> names;
  for (const CdiDevice& device : spec.devices) {
    if (!names.insert(device.name).second) return concat("device '", device.name, "' is there twice");
  }
  const auto [least, feature] = needed_version(spec);
  if (spec.version < least) {
    return concat(feature, " needs cdiVersion ", least, ", and the file declares ", spec.version);
  }
  return std::nullopt;
}

bool CdiEdits::is_empty() const {
  return *this == CdiEdits{};
}

void CdiEdits::add(const CdiEdits& more) {
  environment.insert(environment.end(), more.environment.begin(), more.environment.end());
  devices.insert(devices.end(), more.devices.begin(), more.devices.end());
  mounts.insert(mounts.end(), more.mounts.begin(), more.mounts.end());
  hooks.insert(hooks.end(), more.hooks.begin(), more.hooks.end());
  groups.insert(groups.end(), more.groups.begin(), more.groups.end());
  net_devices.insert(net_devices.end(), more.net_devices.begin(), more.net_devices.end());
  if (more.intel_rdt) intel_rdt = more.intel_rdt;
}

Result<CdiName> parse_cdi_name(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorCode::bad_input, concat("'", text, "' is not a CDI device name"),
                "write VENDOR/CLASS=NAME, for example nvidia.com/gpu=0");
  }
  CdiName out{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  if (auto wrong = wrong_cdi_kind(out.kind)) return fail(ErrorCode::bad_input, concat("'", text, "': ", *wrong));
  if (!is_cdi_device_name(out.device)) {
    return fail(ErrorCode::bad_input, concat("'", text, "': '", out.device, "' is not a valid device name"));
  }
  return out;
}

bool is_cdi_device_name(std::string_view name) {
  return is_cdi_word(name, "_-.:", true);
}

bool is_cdi_name(std::string_view text) {
  return parse_cdi_name(text).has_value();
}

std::string least_cdi_version(const CdiSpec& spec) {
  return std::string(needed_version(spec).first);
}

std::string cdi_to_json(const CdiSpec& spec) {
  CdiWriter to;
  to.open('{');
  to.text("cdiVersion", least_cdi_version(spec));
  to.text("kind", spec.kind);
  to.texts("annotations", spec.annotations);
  to.list("devices", spec.devices, [&](const CdiDevice& device) {
    to.text("name", device.name);
    to.texts("annotations", device.annotations);
    write_edits(to, device.edits);
  });
  if (!spec.edits.is_empty()) write_edits(to, spec.edits);
  to.close('}');
  return to.out + '\n';
}

Result<std::vector<std::string>> cdi_names_in(const std::map<std::string, std::string>& annotations,
                                              const std::vector<std::string>& prefixes) {
  std::set<std::string> names;
  for (const auto& [key, value] : annotations) {
    const auto has_prefix = [&](const std::string& prefix) { return key.starts_with(prefix); };
    if (std::ranges::none_of(prefixes, has_prefix)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::string_view name = trimmed(take_until(rest, ','));
      if (auto parsed = parse_cdi_name(name); !parsed) {
        return fail(ErrorCode::bad_input, concat("annotation ", key, ": ", parsed.error().message),
                    std::move(parsed.error().next));
      }
      names.emplace(name);
    }
  }
  return std::vector(names.begin(), names.end());
}

}  // namespace drover

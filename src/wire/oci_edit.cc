#include "wire/oci_edit.h"

#include <algorithm>

#include "base/text.h"

namespace drover {
namespace {

using JsonKind = JsonValue::Kind;

/// A JSON object that is put together member by member.
class ObjectText {
 public:
  ObjectText& raw(std::string_view name, std::string_view json) {
    text_ += concat(text_.size() > 1 ? "," : "", json_quoted(name), ":", json);
    return *this;
  }
  ObjectText& text(std::string_view name, std::string_view value) { return raw(name, json_quoted(value)); }
  template <class T>
  ObjectText& number(std::string_view name, const std::optional<T>& value) {
    return value ? raw(name, std::to_string(*value)) : *this;
  }
  ObjectText& texts(std::string_view name, const std::vector<std::string>& values) {
    std::string list = "[";
    for (const std::string& value : values) list += concat(list.size() > 1 ? "," : "", json_quoted(value));
    return raw(name, list + "]");
  }
  std::string done() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string member_text(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value != nullptr && value->is_string() ? value->string() : std::string();
}

/// Finds members on the way down, makes those that are missing, and remembers the first that is of another kind.
class SpecEditor {
 public:
  explicit SpecEditor(JsonText& config) : config_(config) {}

  JsonValue* at(std::initializer_list<std::string_view> path, JsonKind kind) {
    JsonValue* value = &config_.root();
    std::string so_far;
    std::size_t left = path.size();
    for (const std::string_view name : path) {
      if (!value->is_object()) break;
      so_far += concat(so_far.empty() ? "" : ".", name);
      value = &config_.member(*value, name, --left == 0 && kind == JsonKind::array ? "[]" : "{}");
    }
    if (left == 0 && value->kind == kind) return value;
    if (!wrong_) {
      wrong_ = so_far.empty() ? std::string("it is not a JSON object")
                              : concat("'", so_far, "' is not ", kind == JsonKind::array ? "an array" : "an object");
    }
    return nullptr;
  }
  Result<void> done() const {
    if (!wrong_) return {};
    return fail(ErrorCode::bad_input, concat("invalid config.json: ", *wrong_));
  }
  JsonText& config() { return config_; }

 private:
  JsonText& config_;
  std::optional<std::string> wrong_;
};

void set_variable(SpecEditor& editor, std::string_view variable) {
  JsonValue* list = editor.at({"process", "env"}, JsonKind::array);
  if (list == nullptr) return;
  const std::string_view name = variable.substr(0, variable.find('=') + 1);
  JsonValue value = editor.config().value(json_quoted(variable));
  const auto same = [&](const JsonValue::Child& it) { return it.value.string().starts_with(name); };
  const auto there = std::ranges::find_if(list->children, same);
  if (there == list->children.end()) return editor.config().append(*list, std::move(value));
  there->value = std::move(value);
  for (std::size_t i = list->children.size(); i-- > 0;) {
    if (&list->children[i] > &*there && same(list->children[i])) JsonText::erase(*list, i);
  }
}

/// Puts an object into a list, in the place of those that have the same text at `key`.
void put_by(SpecEditor& editor, JsonValue& list, std::string_view key, std::string_view text, std::string json) {
  const auto same = [&](const JsonValue::Child& it) { return member_text(it.value, key) == text; };
  for (std::size_t i = list.children.size(); i-- > 0;) {
    if (same(list.children[i])) JsonText::erase(list, i);
  }
  editor.config().append(list, editor.config().value(std::move(json)));
}

/// Devices belong to the container's user, unless it is root or they say whose they are.
std::optional<std::uint32_t> user_number(const JsonText& config, std::string_view name) {
  const JsonValue* process = config.root().find("process");
  const JsonValue* user = process != nullptr ? process->find("user") : nullptr;
  const JsonValue* value = user != nullptr ? user->find(name) : nullptr;
  if (value == nullptr || value->kind != JsonKind::number || value->text == "0") return std::nullopt;
  std::uint32_t out = 0;
  for (const char c : value->text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return out;
}

void put_device(SpecEditor& editor, const CdiEdits::DeviceNode& node) {
  JsonValue* devices = editor.at({"linux", "devices"}, JsonKind::array);
  if (devices == nullptr) return;
  ObjectText device;
  device.text("path", node.path).text("type", node.type);
  if (node.type != "p") device.number("major", node.major).number("minor", node.minor);
  device.number("fileMode", node.mode)
      .number("uid", node.user ? node.user : user_number(editor.config(), "uid"))
      .number("gid", node.group ? node.group : user_number(editor.config(), "gid"));
  put_by(editor, *devices, "path", node.path, device.done());
  if (node.permissions == "none" || (node.type != "b" && node.type != "c")) return;
  JsonValue* rules = editor.at({"linux", "resources", "devices"}, JsonKind::array);
  if (rules == nullptr) return;
  ObjectText rule;
  rule.raw("allow", "true").text("type", node.type).number("major", node.major).number("minor", node.minor);
  rule.text("access", node.permissions.empty() ? "rwm" : node.permissions);
  editor.config().append(*rules, editor.config().value(rule.done()));
}

std::size_t path_depth(const JsonValue& mount) {
  std::string path = member_text(mount, "destination");
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path == "/" ? 0 : static_cast<std::size_t>(std::ranges::count(path, '/'));
}

void put_mounts(SpecEditor& editor, const std::vector<CdiEdits::Mount>& mounts) {
  JsonValue* list = mounts.empty() ? nullptr : editor.at({"mounts"}, JsonKind::array);
  if (list == nullptr) return;
  for (const CdiEdits::Mount& mount : mounts) {
    ObjectText text;
    text.text("destination", mount.container_path).text("type", mount.type.empty() ? "bind" : mount.type);
    text.text("source", mount.host_path).texts("options", mount.options);
    put_by(editor, *list, "destination", mount.container_path, text.done());
  }
  // The values change places, not the spaces between them.
  std::vector<JsonValue> values;
  for (JsonValue::Child& child : list->children) values.push_back(std::move(child.value));
  std::ranges::stable_sort(values, {}, path_depth);
  for (std::size_t i = 0; i < values.size(); ++i) list->children[i].value = std::move(values[i]);
}

void put_groups(SpecEditor& editor, const std::vector<std::uint32_t>& groups) {
  for (const std::uint32_t group : groups) {
    if (group == 0) continue;
    JsonValue* list = editor.at({"process", "user", "additionalGids"}, JsonKind::array);
    if (list == nullptr) return;
    const std::string text = std::to_string(group);
    const bool is_there = std::ranges::any_of(list->children, [&](const auto& it) { return it.value.text == text; });
    if (!is_there) editor.config().append(*list, editor.config().value(text));
  }
}

void put_hook(SpecEditor& editor, const CdiEdits::Hook& hook) {
  JsonValue* list = editor.at({"hooks", hook.stage}, JsonKind::array);
  if (list == nullptr) return;
  ObjectText text;
  text.text("path", hook.path).texts("args", hook.arguments);
  if (!hook.environment.empty()) text.texts("env", hook.environment);
  text.number("timeout", hook.timeout_s);
  editor.config().append(*list, editor.config().value(text.done()));
}

const JsonValue* find_object(const JsonValue& in, std::string_view name) {
  const JsonValue* value = in.find(name);
  return value != nullptr && value->is_object() ? value : nullptr;
}

}  // namespace

const char* OciFacts::variable(std::string_view name) const {
  for (auto it = environment.rbegin(); it != environment.rend(); ++it) {
    if (it->size() > name.size() && it->starts_with(name) && (*it)[name.size()] == '=') {
      return it->c_str() + name.size() + 1;
    }
  }
  return nullptr;
}

Result<OciFacts> oci_facts(const JsonText& config) {
  if (!config.root().is_object()) return fail(ErrorCode::bad_input, "invalid config.json: it is not a JSON object");
  OciFacts out;
  if (const JsonValue* root = find_object(config.root(), "root")) out.root = member_text(*root, "path");
  if (const JsonValue* process = find_object(config.root(), "process")) {
    if (const JsonValue* environment = process->find("env")) out.environment = environment->strings();
    if (const JsonValue* capabilities = find_object(*process, "capabilities")) {
      const JsonValue* bounding = capabilities->find("bounding");
      if (bounding != nullptr) {
        const std::vector<std::string> names = bounding->strings();
        out.is_privileged = std::ranges::find(names, "CAP_SYS_ADMIN") != names.end();
      }
    }
  }
  if (const JsonValue* annotations = find_object(config.root(), "annotations")) {
    for (const JsonValue::Child& child : annotations->children) out.annotations[child.name] = child.value.string();
  }
  if (const JsonValue* mounts = config.root().find("mounts")) {
    for (const JsonValue::Child& child : mounts->children) {
      out.mounts.push_back({member_text(child.value, "source"), member_text(child.value, "destination")});
    }
  }
  return out;
}

Result<void> apply_edits(JsonText& config, const CdiEdits& edits) {
  SpecEditor editor(config);
  for (const std::string& variable : edits.environment) set_variable(editor, variable);
  for (const CdiEdits::DeviceNode& node : edits.devices) put_device(editor, node);
  put_mounts(editor, edits.mounts);
  for (const CdiEdits::Hook& hook : edits.hooks) put_hook(editor, hook);
  put_groups(editor, edits.groups);
  if (edits.intel_rdt) {
    if (JsonValue* linux_part = editor.at({"linux"}, JsonKind::object)) {
      config.set(*linux_part, "intelRdt", config.value(*edits.intel_rdt));
    }
  }
  for (const CdiEdits::NetDevice& device : edits.net_devices) {
    if (JsonValue* devices = editor.at({"linux", "netDevices"}, JsonKind::object)) {
      config.set(*devices, device.host_name, config.value(ObjectText().text("name", device.container_name).done()));
    }
  }
  return editor.done();
}

Result<void> prepend_hooks(JsonText& config, const JsonText& hooks) {
  SpecEditor editor(config);
  for (const JsonValue::Child& stage : hooks.root().children) {
    JsonValue* list = editor.at({"hooks", stage.name}, JsonKind::array);
    if (list == nullptr) break;
    for (auto it = stage.value.children.rbegin(); it != stage.value.children.rend(); ++it) {
      std::string json;
      append_json(json, it->value);
      config.prepend(*list, config.value(std::move(json)));
    }
  }
  return editor.done();
}

void remove_hooks(JsonText& config, std::string_view stage, const std::vector<std::string_view>& programs) {
  if (!config.root().is_object()) return;
  JsonValue* hooks = config.root().find("hooks");
  JsonValue* list = hooks != nullptr ? hooks->find(stage) : nullptr;
  if (list == nullptr || !list->is_array()) return;
  for (std::size_t i = list->children.size(); i-- > 0;) {
    const std::string path = member_text(list->children[i].value, "path");
    if (std::ranges::find(programs, last_part(path)) != programs.end()) JsonText::erase(*list, i);
  }
}

}  // namespace drover

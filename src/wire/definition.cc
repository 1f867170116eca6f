#include "wire/definition.h"

#include <boost/json.hpp>

#include "wire/container_json.h"

namespace drover {
namespace json = boost::json;
namespace {

template <class Limits, class Visit>
void each_limit(Limits& limits, Visit&& visit) {
  visit("memory_bytes", limits.memory_bytes);
  visit("milli_cpus", limits.milli_cpus);
  visit("processes", limits.processes);
  visit("nice", limits.nice);
  visit("log_bytes", limits.log_bytes);
}

json::object to_json(const ItemLimits& limits) {
  json::object out;
  each_limit(limits, [&](const char* name, auto value) {
    if (value != 0) out[name] = value;
  });
  return out;
}

ItemLimits limits_from(const json::object& object) {
  ItemLimits limits;
  each_limit(limits, [&](const char* name, auto& value) {
    const json::value* given = object.if_contains(name);
    json::error_code wrong;
    if (given != nullptr) value = given->to_number<std::remove_reference_t<decltype(value)>>(wrong);
  });
  return limits;
}

}  // namespace

std::string definition_to_json(const Definition& definition) {
  json::array command;
  for (const std::string& word : definition.command) command.emplace_back(word);
  json::object environment;
  for (const auto& [name, value] : definition.environment) environment[name] = value;
  json::object out{{"command", std::move(command)},
                   {"shell", definition.shell},
                   {"workdir", definition.workdir},
                   {"environment", std::move(environment)},
                   {"items", definition.items == ItemKind::json ? "json" : "text"},
                   {"limits", to_json(definition.limits)}};
  if (definition.literal) out["literal"] = true;
  if (definition.strict_lease) out["strict_lease"] = true;
  if (definition.download) out["download"] = true;
  if (!definition.output.empty()) out["output"] = definition.output;
  if (!definition.on_notice.empty()) out["on_notice"] = definition.on_notice;
  if (!definition.role.empty()) out["role"] = definition.role;
  if (!definition.aws_batch.empty()) out["aws_batch"] = definition.aws_batch;
  if (definition.container) out["container"] = container_to_json(*definition.container);
  return json::serialize(out);
}

Result<Definition> definition_from_json(std::string_view text) {
  // Words of a command are bytes: whatever the user typed comes back, UTF-8 or not.
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::error_code error;
  const json::value value = json::parse(text, error, {}, options);
  const json::object* object = value.if_object();
  const auto bad = [] { return fail(ErrorCode::damaged, "a stored definition is invalid"); };
  if (error || object == nullptr) return bad();
  const json::value* command = object->if_contains("command");
  const json::value* shell = object->if_contains("shell");
  const json::value* workdir = object->if_contains("workdir");
  const json::value* environment = object->if_contains("environment");
  const json::value* items = object->if_contains("items");
  if (command == nullptr || !command->is_array() || shell == nullptr || !shell->is_bool() || workdir == nullptr ||
      !workdir->is_string() || environment == nullptr || !environment->is_object() || items == nullptr ||
      !items->is_string()) {
    return bad();
  }
  Definition definition;
  definition.shell = shell->get_bool();
  definition.workdir = workdir->get_string();
  definition.items = items->get_string() == "json" ? ItemKind::json : ItemKind::text;
  for (const json::value& word : command->get_array()) {
    if (!word.is_string()) return bad();
    definition.command.emplace_back(word.get_string());
  }
  for (const auto& [name, setting] : environment->get_object()) {
    if (!setting.is_string()) return bad();
    definition.environment.emplace_back(name, setting.get_string());
  }
  if (const json::value* limits = object->if_contains("limits"); limits != nullptr && limits->is_object()) {
    definition.limits = limits_from(limits->get_object());
  }
  for (const auto& [name, flag] :
       {std::pair("literal", &definition.literal), std::pair("strict_lease", &definition.strict_lease),
        std::pair("download", &definition.download)}) {
    const json::value* said = object->if_contains(name);
    if (said == nullptr) continue;
    if (!said->is_bool()) return bad();
    *flag = said->get_bool();
  }
  for (const auto& [name, text_member] :
       {std::pair("role", &definition.role), std::pair("aws_batch", &definition.aws_batch),
        std::pair("output", &definition.output), std::pair("on_notice", &definition.on_notice)}) {
    const json::value* said = object->if_contains(name);
    if (said == nullptr) continue;
    if (!said->is_string()) return bad();
    *text_member = said->get_string();
  }
  if (const json::value* container = object->if_contains("container"); container != nullptr) {
    if (!container->is_object()) return bad();
    auto known = container_from_json(container->get_object());
    if (!known) return pass(known);
    definition.container = std::move(*known);
  }
  return definition;
}

}  // namespace drover

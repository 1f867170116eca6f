#include "wire/submission.h"

#include <boost/json.hpp>
#include <limits>

#include "base/text.h"
#include "base/units.h"
#include "wire/labels.h"
#include "wire/rules.h"

namespace drover {
namespace json = boost::json;
namespace {

/// Reads the fields of an object one by one; the first thing that is wrong is remembered.
class Fields {
 public:
  explicit Fields(const json::object& object) : object_(object) {}

  const json::value* find(std::string_view name) {
    known_.emplace_back(name);
    const json::value* value = object_.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  void text(std::string_view name, std::string& out) {
    const json::value* value = find(name);
    if (value == nullptr) return;
    if (value->is_string()) {
      out = value->get_string();
    } else {
      complain(name, "is not text");
    }
  }
  void flag(std::string_view name, bool& out) {
    const json::value* value = find(name);
    if (value == nullptr) return;
    if (value->is_bool()) {
      out = value->get_bool();
    } else {
      complain(name, "is neither true nor false");
    }
  }
  template <class Number>
  void number(std::string_view name, Number& out, std::uint64_t least, std::uint64_t most) {
    const json::value* value = find(name);
    if (value == nullptr) return;
    json::error_code error;
    const auto given = value->to_number<std::uint64_t>(error);
    if (error || given < least || given > most) {
      return complain(name, concat("is not a whole number from ", least, " to ", most));
    }
    out = static_cast<Number>(given);
  }
  /// A number of milliseconds, or text such as "30s".
  void duration(std::string_view name, std::int64_t& out_ms) {
    const json::value* value = find(name);
    if (value == nullptr) return;
    if (value->is_string()) {
      auto parsed = parse_duration_ms(std::string_view(value->get_string()));
      if (!parsed) return complain(name, parsed.error().message);
      out_ms = *parsed;
    } else {
      complain(name, "is not a time such as \"30s\", \"10m\" or \"2h\"");
    }
  }
  void size(std::string_view name, std::uint64_t& out) {
    const json::value* value = find(name);
    if (value == nullptr) return;
    if (!value->is_string()) return complain(name, "is not a size such as \"512MiB\"");
    auto parsed = parse_size(std::string_view(value->get_string()));
    if (!parsed) return complain(name, parsed.error().message);
    out = *parsed;
  }
  void complain(std::string_view name, std::string_view what) {
    if (problem_.empty()) problem_ = concat("field '", name, "' ", what);
  }
  Result<void> done() {
    for (const auto& [name, value] : object_) {
      if (std::ranges::find(known_, std::string_view(name)) == known_.end())
        complain(std::string_view(name), "is not known");
    }
    if (problem_.empty()) return {};
    return fail(ErrorCode::bad_input, problem_, "docs/api.md lists the fields of a job");
  }

 private:
  const json::object& object_;
  std::vector<std::string> known_;
  std::string problem_;
};

void read_texts(Fields& fields, std::string_view name, std::vector<std::string>& out) {
  const json::value* value = fields.find(name);
  if (value == nullptr) return;
  if (!value->is_array()) return fields.complain(name, "is not a list of texts");
  for (const json::value& word : value->get_array()) {
    if (!word.is_string()) return fields.complain(name, "is not a list of texts");
    out.emplace_back(word.get_string());
  }
}

void read_items(Fields& fields, Submission& out) {
  int given = 0;
  if (const json::value* value = fields.find("items")) {
    ++given;
    std::vector<std::string> texts;
    if (!value->is_array()) fields.complain("items", "is not a list");
    for (const json::value& item : value->is_array() ? value->get_array() : json::array()) {
      if (item.is_string()) {
        texts.emplace_back(item.get_string());
      } else if (item.is_object()) {
        texts.push_back(json::serialize(item));
        out.definition.items = ItemKind::json;
      } else {
        fields.complain("items", "holds something that is neither text nor an object");
      }
    }
    const json::array all = value->is_array() ? value->get_array() : json::array();
    const auto objects = std::ranges::count_if(all, [](const json::value& item) { return item.is_object(); });
    if (objects > 0 && objects < std::ssize(all)) fields.complain("items", "holds both texts and objects");
    out.items = std::move(texts);
  }
  if (const json::value* value = fields.find("range")) {
    ++given;
    const json::array* bounds = value->if_array();
    json::error_code error;
    NumberItems numbers;
    if (bounds != nullptr && bounds->size() == 2) {
      numbers.first = bounds->at(0).to_number<std::int64_t>(error);
      if (!error) numbers.last = bounds->at(1).to_number<std::int64_t>(error);
    }
    if (bounds == nullptr || bounds->size() != 2 || error || numbers.first > numbers.last) {
      fields.complain("range", "is not a pair of numbers, the smaller first, such as [1, 1000]");
    } else if (static_cast<std::uint64_t>(numbers.last) - static_cast<std::uint64_t>(numbers.first) >= kMostItems) {
      fields.complain("range", concat("is more than ", kMostItems, " items"));
    }
    out.items = numbers;
  }
  if (fields.find("manifest") != nullptr) {
    ++given;
    std::uint64_t id = 0;
    fields.number("manifest", id, 1, std::numeric_limits<std::int64_t>::max());
    out.items = ManifestId{id};
  }
  if (given != 1) fields.complain("items", "or 'range' or 'manifest' must be there, and only one of them");
}

void read_limits(Fields& fields, ItemLimits& limits) {
  fields.size("memory", limits.memory_bytes);
  fields.size("log_limit", limits.log_bytes);
  if (const json::value* value = fields.find("cpus")) {
    json::error_code error;
    const double cpus = value->to_number<double>(error);
    if (error || !(cpus >= 0.001) || cpus > 100'000) {
      fields.complain("cpus", "is not a number from 0.001 to 100000");
    } else {
      limits.milli_cpus = static_cast<std::uint32_t>(cpus * 1000 + 0.5);
    }
  }
  fields.number("pids", limits.processes, 1, std::numeric_limits<std::uint32_t>::max());
}

void read_policy(Fields& fields, Policy& policy) {
  std::uint32_t retries = 0;
  fields.number("retries", retries, 0, 1'000'000);
  policy.max_tries = retries + 1;
  fields.duration("timeout", policy.timeout_ms);
  fields.duration("grace", policy.grace_ms);
  fields.duration("retry_delay", policy.retry_delay_ms);
  fields.number("max_failures", policy.max_failures, 0, Policy::kNoLimit);
  fields.number("lost_limit", policy.lost_limit, 1, 1'000'000);
  if (const json::value* value = fields.find("rules")) {
    auto rules = rules_from_json(json::serialize(*value));
    if (rules) {
      policy.rules = std::move(*rules);
    } else {
      fields.complain("rules", rules.error().message);
    }
  }
}

}  // namespace

Result<Submission> submission_from_json(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) {
    return fail(ErrorCode::bad_input,
                concat("the job is not a JSON object", error ? concat(": ", error.message()) : ""),
                "docs/api.md shows one");
  }
  Fields fields(value.get_object());
  Submission out;
  out.definition.limits.log_bytes = std::uint64_t{64} << 20;
  fields.text("name", out.name);
  fields.text("client_token", out.client_token);
  read_texts(fields, "command", out.definition.command);
  fields.flag("shell", out.definition.shell);
  fields.text("workdir", out.definition.workdir);
  if (const json::value* environment = fields.find("environment")) {
    if (environment->is_object()) {
      for (const auto& [name, setting] : environment->get_object()) {
        if (!setting.is_string()) fields.complain("environment", "holds a value that is not text");
        if (setting.is_string()) out.definition.environment.emplace_back(name, setting.get_string());
      }
    } else {
      fields.complain("environment", "is not an object of texts");
    }
  }
  std::string kind;
  fields.text("item_kind", kind);
  if (kind == "json") out.definition.items = ItemKind::json;
  if (!kind.empty() && kind != "json" && kind != "text")
    fields.complain("item_kind", "is neither \"text\" nor \"json\"");
  read_items(fields, out);
  read_limits(fields, out.definition.limits);
  read_policy(fields, out.policy);
  if (const json::value* require = fields.find("require")) {
    if (auto labels = labels_from_json(json::serialize(*require))) {
      out.require = std::move(*labels);
    } else {
      fields.complain("require", labels.error().message);
    }
  }
  if (out.definition.command.empty())
    fields.complain("command", "is missing: a list of words, such as [\"./process\", \"{}\"]");
  if (auto done = fields.done(); !done) return pass(done);
  return out;
}

std::string submission_to_json(const Submission& submission) {
  const Definition& definition = submission.definition;
  json::object out;
  if (!submission.name.empty()) out["name"] = submission.name;
  if (!submission.client_token.empty()) out["client_token"] = submission.client_token;
  json::array command;
  for (const std::string& word : definition.command) command.emplace_back(word);
  out["command"] = std::move(command);
  if (definition.shell) out["shell"] = true;
  if (!definition.workdir.empty()) out["workdir"] = definition.workdir;
  json::object environment;
  for (const auto& [name, value] : definition.environment) environment[name] = value;
  if (!environment.empty()) out["environment"] = std::move(environment);
  if (definition.items == ItemKind::json) out["item_kind"] = "json";
  if (const auto* numbers = std::get_if<NumberItems>(&submission.items)) {
    out["range"] = json::array{numbers->first, numbers->last};
  } else if (const auto* manifest = std::get_if<ManifestId>(&submission.items)) {
    out["manifest"] = manifest->value;
  } else {
    json::array items;
    for (const std::string& item : std::get<std::vector<std::string>>(submission.items)) items.emplace_back(item);
    out["items"] = std::move(items);
  }
  const ItemLimits& limits = definition.limits;
  if (limits.memory_bytes > 0) out["memory"] = concat(limits.memory_bytes, "B");
  out["log_limit"] = concat(limits.log_bytes, "B");  // none is not the usual
  if (limits.milli_cpus > 0) out["cpus"] = static_cast<double>(limits.milli_cpus) / 1000;
  if (limits.processes > 0) out["pids"] = limits.processes;
  if (!submission.require.empty()) out["require"] = json::parse(labels_to_json(submission.require));
  const Policy& policy = submission.policy;
  const auto duration = [&](const char* name, std::int64_t ms, std::int64_t usual) {
    if (ms != usual) out[name] = concat(ms, "ms");
  };
  if (policy.max_tries > 1) out["retries"] = policy.max_tries - 1;
  duration("timeout", policy.timeout_ms, 0);
  duration("grace", policy.grace_ms, Policy{}.grace_ms);
  duration("retry_delay", policy.retry_delay_ms, 0);
  if (policy.max_failures != Policy::kNoLimit) out["max_failures"] = policy.max_failures;
  if (policy.lost_limit != Policy{}.lost_limit) out["lost_limit"] = policy.lost_limit;
  if (!policy.rules.empty()) out["rules"] = json::parse(rules_to_json(policy.rules));
  return json::serialize(out);
}

}  // namespace drover

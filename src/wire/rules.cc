#include "wire/rules.h"

#include <boost/json.hpp>

#include "base/text.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::string_view kAction = "action";

}  // namespace

std::string rules_to_json(const std::vector<ExitRule>& rules) {
  json::array out;
  for (const ExitRule& rule : rules) {
    json::object one;
    if (!rule.on_status_reason.empty()) one["onStatusReason"] = rule.on_status_reason;
    if (!rule.on_reason.empty()) one["onReason"] = rule.on_reason;
    if (!rule.on_exit_code.empty()) one["onExitCode"] = rule.on_exit_code;
    one[kAction] = rule.action == RuleAction::retry ? "RETRY" : "EXIT";
    out.push_back(std::move(one));
  }
  return json::serialize(out);
}

Result<std::vector<ExitRule>> rules_from_json(std::string_view text) {
  const auto bad = [](const std::string& why) { return fail(ErrorCode::bad_input, "exit rules: " + why); };
  // A reason is whatever a program said: bytes.
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::error_code error;
  const json::value value = json::parse(text, error, {}, options);
  if (error || !value.is_array()) return bad("not a JSON list");
  std::vector<ExitRule> rules;
  for (const json::value& one : value.get_array()) {
    if (!one.is_object()) return bad("a rule is not an object");
    ExitRule rule;
    for (const auto& [key, field] : one.get_object()) {
      if (!field.is_string()) return bad("'" + std::string(key) + "' is not a string");
      const std::string content(field.get_string());
      if (key == "onStatusReason") {
        rule.on_status_reason = content;
      } else if (key == "onReason") {
        rule.on_reason = content;
      } else if (key == "onExitCode") {
        rule.on_exit_code = content;
      } else if (key == kAction && is_same_but_for_case(content, "retry")) {
        rule.action = RuleAction::retry;
      } else if (key == kAction && is_same_but_for_case(content, "exit")) {
        rule.action = RuleAction::exit;
      } else {
        return bad("'" + std::string(key) + "' with the value '" + content + "' is unknown");
      }
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace drover

#include "wire/fleet_rules.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <limits>

#include "base/name.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/body_fields.h"
#include "wire/document.h"
#include "wire/labels.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::int64_t kMostMachines = 1'000'000;
constexpr std::int64_t kMostSeconds = 30 * 86'400;
constexpr std::int64_t kMostCount = 1'000'000'000'000;
constexpr std::int64_t kMostTime = std::int64_t{1} << 53;  // milliseconds since the epoch
constexpr std::size_t kMostAlarms = 20;
constexpr const char* kNoSteps = R"(has an alarm without steps, such as "steps": [{"lower": 0, "value": 1}])";

constexpr std::array kPolicyNames = {std::pair(ScalingPolicy::demand, "demand"), std::pair(ScalingPolicy::step, "step"),
                                     std::pair(ScalingPolicy::backlog, "backlog"),
                                     std::pair(ScalingPolicy::fixed, "fixed")};
constexpr std::array kComparisonNames = {std::pair(Comparison::at_least, ">="), std::pair(Comparison::above, ">"),
                                         std::pair(Comparison::at_most, "<="), std::pair(Comparison::below, "<")};
constexpr std::array kAdjustmentNames = {std::pair(Adjustment::exact, "exact"), std::pair(Adjustment::change, "change"),
                                         std::pair(Adjustment::percent, "percent")};

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value) {
  return std::ranges::find(names, value, [](const auto& it) { return it.first; })->second;
}

template <class Names>
std::vector<std::string_view> words_of(const Names& names) {
  std::vector<std::string_view> out;
  for (const auto& [value, name] : names) out.emplace_back(name);
  return out;
}

template <class Names>
auto value_in(const Names& names, std::string_view name) {
  return std::ranges::find(names, name, [](const auto& it) { return std::string_view(it.second); })->first;
}

json::value number_or_null(const std::optional<std::int64_t>& bound) {
  return bound ? json::value(*bound) : json::value(nullptr);
}

json::array alarms_to_json(const std::vector<StepAlarm>& alarms) {
  json::array out;
  for (const StepAlarm& alarm : alarms) {
    json::array steps;
    for (const ScalingStep& it : alarm.steps) {
      steps.push_back({{"lower", number_or_null(it.lower)}, {"upper", number_or_null(it.upper)}, {"value", it.value}});
    }
    out.push_back({{"when", name_in(kComparisonNames, alarm.comparison)},
                   {"threshold", alarm.threshold},
                   {"adjust", name_in(kAdjustmentNames, alarm.adjustment)},
                   {"min_magnitude", alarm.min_magnitude},
                   {"steps", std::move(steps)}});
  }
  return out;
}

/// EC2's rules: one interval after the other, without gaps; only the ends may be open, and not both of one step.
std::string check_steps(std::vector<ScalingStep>& steps) {
  if (steps.empty()) return kNoSteps;
  std::ranges::sort(steps, {},
                    [](const ScalingStep& it) { return it.lower.value_or(std::numeric_limits<std::int64_t>::min()); });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ScalingStep& step = steps[i];
    if (!step.lower && !step.upper) return "has a step without a bound: give it 'lower' or 'upper'";
    if (step.lower && step.upper && *step.lower >= *step.upper) {
      return concat("has a step whose lower bound ", *step.lower, " is not below its upper bound ", *step.upper);
    }
    if (i == 0) continue;
    const ScalingStep& before = steps[i - 1];
    if (!before.upper || !step.lower || *before.upper > *step.lower) return "has steps that overlap";
    if (*before.upper < *step.lower)
      return concat("has a gap between its steps, from ", *before.upper, " to ", *step.lower);
  }
  return {};
}

std::string read_bound(const json::object& step, const char* name, std::optional<std::int64_t>& out) {
  const json::value* value = step.if_contains(name);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_int64()) return concat("has a step whose '", name, "' is not a whole number");
  out = value->get_int64();
  return {};
}

std::string read_steps(const json::value& value, std::vector<ScalingStep>& out) {
  if (!value.is_array()) return "has an alarm whose 'steps' are not a list";
  for (const json::value& it : value.get_array()) {
    if (!it.is_object()) return "has a step that is not an object such as {\"lower\": 0, \"value\": 1}";
    ScalingStep step;
    for (const auto& [name, bound] : it.get_object()) {
      if (name != "lower" && name != "upper" && name != "value") {
        return concat("has a step with the unknown field '", utf8(std::string_view(name)), "'");
      }
    }
    if (auto wrong = read_bound(it.get_object(), "lower", step.lower); !wrong.empty()) return wrong;
    if (auto wrong = read_bound(it.get_object(), "upper", step.upper); !wrong.empty()) return wrong;
    const json::value* change = it.get_object().if_contains("value");
    if (change == nullptr) return "has a step without a 'value'";
    if (!change->is_int64() || change->get_int64() < -kMostMachines || change->get_int64() > kMostMachines) {
      return concat("has a step whose 'value' is not a whole number from ", -kMostMachines, " to ", kMostMachines);
    }
    step.value = change->get_int64();
    out.push_back(step);
  }
  return check_steps(out);
}

std::string read_alarm(const json::object& object, StepAlarm& out) {
  std::string when(name_in(kComparisonNames, out.comparison));
  std::string adjust(name_in(kAdjustmentNames, out.adjustment));
  std::string wrong_steps = kNoSteps;
  BodyFields fields;
  fields.add("when", BodyFields::one_of(words_of(kComparisonNames), when));
  fields.add("threshold", BodyFields::whole(0, kMostCount, out.threshold));
  fields.add("adjust", BodyFields::one_of(words_of(kAdjustmentNames), adjust));
  fields.add("min_magnitude", BodyFields::whole(0, kMostMachines, out.min_magnitude));
  fields.add("steps", [&](const json::value& value) {
    wrong_steps = read_steps(value, out.steps);
    return std::string();
  });
  if (auto read = fields.read(object); !read) return concat("has an invalid alarm: ", read.error().message);
  out.comparison = value_in(kComparisonNames, when);
  out.adjustment = value_in(kAdjustmentNames, adjust);
  return wrong_steps;
}

std::string read_alarms(const json::value& value, std::vector<StepAlarm>& out) {
  if (!value.is_array()) return "must be a list of alarms";
  if (value.get_array().size() > kMostAlarms) return concat("has more than ", kMostAlarms, " alarms");
  out.clear();
  for (const json::value& it : value.get_array()) {
    if (!it.is_object()) return "has an alarm that is not an object";
    if (auto wrong = read_alarm(it.get_object(), out.emplace_back()); !wrong.empty()) return wrong;
  }
  return {};
}

std::string read_labels(const json::value& value, Labels& out) {
  if (!value.is_object()) return "must be an object of labels, such as {\"zone\": \"a\"}";
  out.clear();
  for (const auto& [name, text] : value.get_object()) {
    if (!text.is_string()) {
      return concat("has the label '", utf8(std::string_view(name)), "' whose value is not a string: put it in quotes");
    }
    if (!is_valid_label(name, std::string_view(text.get_string()))) {
      return concat("has the invalid label '", utf8(std::string_view(name)), "': ", kLabelCharacters);
    }
    out.emplace(std::string(name), std::string(text.get_string()));
  }
  return {};
}

BodyFields::Read name_or_nothing(std::string& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_string() || (!value.get_string().empty() && !is_valid_name(std::string_view(value.get_string())))) {
      return "must be a name";
    }
    out = std::string(value.get_string());
    return {};
  };
}

BodyFields::Read seconds(std::int64_t least, std::int64_t& out_ms) {
  return [least, &out_ms](const json::value& value) -> std::string {
    std::int64_t number = 0;
    if (!BodyFields::whole(least, kMostSeconds, number)(value).empty()) {
      return concat("must be a whole number of seconds from ", least, " to ", kMostSeconds);
    }
    out_ms = 1000 * number;
    return {};
  };
}

Result<void> check_policy(const FleetRules& rules) {
  const auto refuse = [](std::string message, std::string next) {
    return fail(ErrorCode::bad_input, std::move(message), std::move(next));
  };
  if (rules.least > rules.most) {
    return refuse(concat("'least' (", rules.least, ") is greater than 'most' (", rules.most, ")"),
                  "lower 'least' or raise 'most'");
  }
  if (rules.most_milli_cpus > 0 && rules.least_milli_cpus > rules.most_milli_cpus) {
    return refuse(concat("'least_cpus' (", rules.least_milli_cpus / 1000, ") is greater than 'most_cpus' (",
                         rules.most_milli_cpus / 1000, ")"),
                  "lower 'least_cpus' or raise 'most_cpus'");
  }
  if (rules.least_milli_cpus > 0 && rules.policy != ScalingPolicy::demand) {
    return refuse(concat("'least_cpus' cannot be combined with policy '", name_in(kPolicyNames, rules.policy), "'"),
                  "set 'least', a number of machines, or use policy 'demand'");
  }
  if (!rules.stream.empty() && !rules.queue.empty()) {
    return refuse("'stream' cannot be combined with 'queue'", "a policy looks at one of them: remove the other");
  }
  if (rules.policy == ScalingPolicy::step && rules.alarms.empty()) {
    return refuse(
        "policy 'step' requires 'alarms'",
        R"(add, for example, "alarms": [{"when": ">=", "threshold": 1, "steps": [{"lower": 0, "value": 1}]}])");
  }
  if (rules.policy == ScalingPolicy::backlog && (rules.items_per_machine == 0) == (rules.seconds_per_machine == 0)) {
    return refuse("policy 'backlog' requires either 'items_per_machine' or 'seconds_per_machine'", "set one of them");
  }
  if (rules.policy == ScalingPolicy::backlog && rules.seconds_per_machine > 0 && !rules.stream.empty()) {
    return refuse("'seconds_per_machine' cannot be combined with 'stream': how long a message takes is not known",
                  "use 'items_per_machine'");
  }
  if (rules.policy == ScalingPolicy::fixed && (rules.desired < rules.least || rules.desired > rules.most)) {
    return refuse(
        concat("'desired' (", rules.desired, ") must be from 'least' (", rules.least, ") to 'most' (", rules.most, ")"),
        "set 'desired' to a number between them");
  }
  return {};
}

}  // namespace

json::object fleet_rules_to_json(const FleetRules& it) {
  json::object labels;
  for (const auto& [name, value] : it.labels) labels[name] = value;
  return {{"provider", it.provider},
          {"command", it.command},
          {"least", it.least},
          {"most", it.most},
          {"most_cpus", it.most_milli_cpus / 1000},
          {"least_cpus", it.least_milli_cpus / 1000},
          {"start_cpus", it.start_milli_cpus / 1000},
          {"start_until_ms", it.start_until_ms},
          {"spot", it.spot},
          {"on_demand", it.on_demand},
          {"bid_percent", it.bid_percent},
          {"shapes", json::array(it.shapes.begin(), it.shapes.end())},
          {"labels", std::move(labels)},
          {"policy", name_in(kPolicyNames, it.policy)},
          {"stream", it.stream},
          {"queue", it.queue},
          {"alarms", alarms_to_json(it.alarms)},
          {"items_per_machine", it.items_per_machine},
          {"seconds_per_machine", it.seconds_per_machine},
          {"desired", it.desired},
          {"warm_up_s", it.warm_up_ms / 1000},
          {"idle_s", it.idle_ms / 1000},
          {"period_s", it.period_ms / 1000},
          {"join_within_s", it.join_ms / 1000},
          {"launches_per_minute", it.launches_per_minute}};
}

Result<FleetRules> fleet_rules_from_json(std::string_view text) {
  FleetRules rules;
  std::string policy(name_in(kPolicyNames, rules.policy));
  BodyFields fields;
  fields.add("provider",
             BodyFields::one_of({"local", "kubernetes", "slurm", "ec2", "gce", "command", "none"}, rules.provider));
  fields.add("command", name_or_nothing(rules.command));
  fields.add("least", BodyFields::whole(0, kMostMachines, rules.least));
  fields.add("most", BodyFields::whole(0, kMostMachines, rules.most));
  fields.add("most_cpus", BodyFields::whole(0, 100 * kMostMachines, [&](std::int64_t cpus) {
               rules.most_milli_cpus = 1000 * static_cast<std::uint64_t>(cpus);
             }));
  fields.add("least_cpus", BodyFields::whole(0, 100 * kMostMachines, [&](std::int64_t cpus) {
               rules.least_milli_cpus = 1000 * static_cast<std::uint64_t>(cpus);
             }));
  fields.add("start_cpus", BodyFields::whole(0, 100 * kMostMachines, [&](std::int64_t cpus) {
               rules.start_milli_cpus = 1000 * static_cast<std::uint64_t>(cpus);
             }));
  fields.add("start_until_ms", BodyFields::whole(0, kMostTime, rules.start_until_ms));
  fields.add("spot", BodyFields::flag(rules.spot));
  fields.add("on_demand", BodyFields::flag(rules.on_demand));
  fields.add("bid_percent", BodyFields::whole(1, 1000, rules.bid_percent));
  fields.add("shapes", BodyFields::names(rules.shapes));
  fields.add("labels", [&](const json::value& value) { return read_labels(value, rules.labels); });
  fields.add("policy", BodyFields::one_of(words_of(kPolicyNames), policy));
  fields.add("stream", name_or_nothing(rules.stream));
  fields.add("queue", name_or_nothing(rules.queue));
  fields.add("alarms", [&](const json::value& value) { return read_alarms(value, rules.alarms); });
  fields.add("items_per_machine", BodyFields::whole(0, kMostCount, rules.items_per_machine));
  fields.add("seconds_per_machine", BodyFields::whole(0, kMostSeconds, rules.seconds_per_machine));
  fields.add("desired", BodyFields::whole(0, kMostMachines, rules.desired));
  fields.add("warm_up_s", seconds(0, rules.warm_up_ms));
  fields.add("idle_s", seconds(0, rules.idle_ms));
  fields.add("period_s", seconds(0, rules.period_ms));
  fields.add("join_within_s", seconds(1, rules.join_ms));
  fields.add("launches_per_minute", BodyFields::whole(0, kMostMachines, rules.launches_per_minute));
  if (auto read = fields.read(text, "the fleet"); !read) return pass(read);
  rules.policy = value_in(kPolicyNames, policy);
  if ((rules.provider == "command") != !rules.command.empty()) {
    return fail(
        ErrorCode::bad_input,
        rules.command.empty() ? "provider 'command' requires 'command'" : "'command' requires provider 'command'",
        rules.command.empty()
            ? "set 'command' to a NAME that the server was started with: drover server --fleet-command NAME=PROGRAM"
            : "set 'provider' to 'command', or remove 'command'");
  }
  if (auto checked = check_policy(rules); !checked) return pass(checked);
  return rules;
}

Result<FleetRules> fleet_rules_from_request(std::string_view body) {
  if (const auto node = node_from_json(body)) {  // what is not JSON is refused below
    if (const auto repeated = repeated_fields(*node); !repeated.empty()) {
      return fail(ErrorCode::bad_input, concat("field '", utf8(repeated.front().path), "' appears twice"),
                  "keep one of them");
    }
  }
  auto rules = fleet_rules_from_json(body);
  if (!rules) return pass(rules);
  for (const char* name : {"fleet", "market", "shape"}) {
    if (rules->labels.contains(name)) {
      return fail(ErrorCode::bad_input,
                  concat("field 'labels' sets the label '", name, "', which Drover sets on every machine of a fleet"),
                  "use another name for the label");
    }
  }
  return rules;
}

std::string kind_name(const FleetRules& rules) {
  return rules.provider == "command" ? concat("command ", rules.command) : rules.provider;
}

FleetSpec fleet_spec(const std::string& name, const FleetRules& rules) {
  return {.name = name,
          .text = json::serialize(fleet_rules_to_json(rules)),
          .provider = kind_name(rules),
          .most = rules.most,
          .most_milli_cpus = rules.most_milli_cpus,
          .join_ms = rules.join_ms};
}

}  // namespace drover

#include "wire/aws/policy_conditions.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "wire/aws/policy_values.h"

namespace drover::aws {

struct ConditionOperator {
  enum class Sense : std::uint8_t {
    any_matches,
    none_matches,
    absent,  // "true": the key must be absent; "false": it must be present
  };

  std::string_view name;
  Sense sense;
  Comparison comparison;
  Wildcards wildcards;
};

namespace {

using Sense = ConditionOperator::Sense;

// IAM makes no difference between ArnEquals and ArnLike.
constexpr auto kConditionOperators = std::to_array<ConditionOperator>({
    {"ArnEquals", Sense::any_matches, Comparison::arn, Wildcards::expanded},
    {"ArnLike", Sense::any_matches, Comparison::arn, Wildcards::expanded},
    {"ArnNotEquals", Sense::none_matches, Comparison::arn, Wildcards::expanded},
    {"ArnNotLike", Sense::none_matches, Comparison::arn, Wildcards::expanded},
    {"Bool", Sense::any_matches, Comparison::ignoring_case, Wildcards::literal},
    {"Null", Sense::absent, Comparison::ignoring_case, Wildcards::literal},
    {"StringEquals", Sense::any_matches, Comparison::exact, Wildcards::literal},
    {"StringEqualsIgnoreCase", Sense::any_matches, Comparison::ignoring_case, Wildcards::literal},
    {"StringLike", Sense::any_matches, Comparison::exact, Wildcards::expanded},
    {"StringNotEquals", Sense::none_matches, Comparison::exact, Wildcards::literal},
    {"StringNotEqualsIgnoreCase", Sense::none_matches, Comparison::ignoring_case, Wildcards::literal},
    {"StringNotLike", Sense::none_matches, Comparison::exact, Wildcards::expanded},
});

constexpr std::string_view kIfExists = "IfExists";

/// What the name of the operator says. The key and its values are still to be filled in.
Result<Condition> condition_operator(const std::string& name) {
  for (const std::string_view prefix : {"ForAnyValue:", "ForAllValues:"}) {
    if (!name.starts_with(prefix)) continue;
    return bad_policy(
        concat("condition operator ", quoted_value(name), " compares sets of values, which is not supported"),
        "use the operator without its prefix, on a key that has one value");
  }
  Condition condition{.operator_name = name};
  std::string_view base = name;
  if (base.ends_with(kIfExists)) {
    base.remove_suffix(kIfExists.size());
    condition.missing = Condition::Missing::is_fine;
  }
  const auto* found = std::ranges::find(kConditionOperators, base, &ConditionOperator::name);
  if (found == kConditionOperators.end()) return condition;
  if (found->sense == Sense::absent && condition.missing == Condition::Missing::is_fine) return condition;
  condition.test = found;
  return condition;
}

Match any_value_matches(const Condition& condition, const std::vector<std::string>& given,
                        const RequestContext& context) {
  Match all = Match::no;
  for (const Pattern& pattern : condition.values) {
    for (const std::string& text : given) {
      const Match match = pattern.matches(text, condition.test->comparison, context);
      if (match == Match::yes) return match;
      if (match == Match::unknown) all = match;
    }
  }
  return all;
}

}  // namespace

Result<std::vector<Condition>> conditions_from(const Node& node, Variables variables) {
  std::vector<Condition> conditions;
  auto read = each_field("Condition", node, [&](const std::string& name, const Node& keys) -> Result<void> {
    const auto one = condition_operator(name);
    if (!one) return std::unexpected(one.error());
    const Wildcards wildcards = one->test != nullptr ? one->test->wildcards : Wildcards::literal;
    return each_field(
        concat("Condition ", quoted_value(name)), keys,
        [&](const std::string& key, const Node& values) -> Result<void> {
          const std::string element = concat("Condition ", quoted_value(name), ", key ", quoted_value(key));
          if (key.empty())
            return bad_policy(concat(element, ": the key is empty"), "name a condition key, such as aws:SourceArn");
          auto texts = scalar_or_list(element, values);
          if (!texts) return pass(texts);
          Condition condition = *one;
          condition.key = key;
          for (const std::string& text : *texts) {
            if (condition.test != nullptr && condition.test->sense == Sense::absent && text != "true" &&
                text != "false") {
              return bad_policy(concat(element, " has the value ", quoted_value(text)),
                                "write true if the key must be absent, or false if it must be present");
            }
            condition.values.emplace_back(text, wildcards, variables);
          }
          conditions.push_back(std::move(condition));
          return {};
        });
  });
  if (!read) return pass(read);
  return conditions;
}

Match test_condition(const Condition& condition, const RequestContext& context) {
  if (condition.test == nullptr) return Match::unknown;
  const auto given = context.find(condition.key);
  const bool is_absent = given == context.end() || given->second.empty();
  if (condition.test->sense == Sense::absent) {
    return any_value_matches(condition, {is_absent ? "true" : "false"}, context);
  }
  const bool is_negated = condition.test->sense == Sense::none_matches;
  if (is_absent) return is_negated || condition.missing == Condition::Missing::is_fine ? Match::yes : Match::no;
  const Match match = any_value_matches(condition, given->second, context);
  if (!is_negated) return match == Match::yes ? Match::yes : Match::no;
  if (match == Match::unknown) return match;
  return match == Match::yes ? Match::no : Match::yes;
}

std::string supported_operators() {
  std::string names;
  for (const ConditionOperator& one : kConditionOperators) names += concat(names.empty() ? "" : ", ", one.name);
  return names;
}

}  // namespace drover::aws

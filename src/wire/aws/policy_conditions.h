// The Condition element of a policy's statement: one table of operators, read and tested.
#pragma once

#include <string>
#include <vector>

#include "wire/aws/pattern.h"
#include "wire/document.h"

namespace drover::aws {

struct ConditionOperator;

/// One key of one operator. All conditions of a statement must hold.
struct Condition {
  enum class Missing : std::uint8_t { fails, is_fine };

  std::string operator_name;                // as written
  const ConditionOperator* test = nullptr;  // none: an operator that is not supported
  Missing missing = Missing::fails;         // is_fine: ...IfExists
  std::string key;
  std::vector<Pattern> values;
};

/// Refuses ForAnyValue: and ForAllValues:. An operator that is not supported is accepted, but tests as `unknown`.
Result<std::vector<Condition>> conditions_from(const Node& node, Variables variables);

Match test_condition(const Condition& condition, const RequestContext& context);

/// "ArnEquals, ArnLike, ...", for messages.
std::string supported_operators();

}  // namespace drover::aws

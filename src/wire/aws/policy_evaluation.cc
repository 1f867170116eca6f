#include "wire/aws/policy_evaluation.h"

#include <algorithm>

#include "base/text.h"
#include "wire/aws/policy_values.h"

namespace drover::aws {
namespace {

Match match_list(const PatternList& list, std::string_view text, Comparison comparison, const RequestContext& context) {
  Match any = Match::no;
  for (const Pattern& pattern : list.patterns) {
    const Match match = pattern.matches(text, comparison, context);
    if (match == Match::unknown) any = match;
    if (match != Match::yes) continue;
    any = match;
    break;
  }
  // A variable without a value matches nothing.
  if (list.listing == Listing::only_these) return any == Match::yes ? Match::yes : Match::no;
  // But that does not make it known that the resource is another one.
  if (any == Match::unknown) return any;
  return any == Match::yes ? Match::no : Match::yes;
}

Named principal_match(const PolicyStatement& statement, const Principal& caller) {
  if (!statement.principals) return Named::itself;
  const Named named = named_in(*statement.principals, caller);
  if (statement.principal_listing == Listing::only_these) return named;
  return named == Named::no ? Named::itself : Named::no;
}

/// Whether the statement is about this request, and how it names the caller.
Named applies(const PolicyStatement& statement, const AccessRequest& request) {
  const Unknown unknown = statement.effect == StatementEffect::deny ? Unknown::is_yes : Unknown::is_no;
  const Named named = principal_match(statement, request.principal);
  if (named == Named::no) return named;
  const auto is_listed_as = [&](const PatternList& list, std::string_view text, Comparison comparison) {
    return holds(match_list(list, text, comparison, request.context), unknown);
  };
  if (!is_listed_as(statement.actions, request.action, Comparison::ignoring_case)) return Named::no;
  if (statement.resources && !is_listed_as(*statement.resources, request.resource, Comparison::arn_of_any_region))
    return Named::no;
  const bool all_hold = std::ranges::all_of(statement.conditions, [&](const Condition& condition) {
    return holds(test_condition(condition, request.context), unknown);
  });
  return all_hold ? named : Named::no;
}

}  // namespace

std::string_view to_string(Decision decision) {
  switch (decision) {
    case Decision::implicit_deny: return "implicit deny";
    case Decision::allowed: return "allowed";
    case Decision::explicit_deny: return "explicit deny";
  }
  return "";
}

std::string DecidingStatement::name() const {
  return sid.empty() ? concat("statement ", statement + 1) : concat("statement ", quoted_value(sid));
}

Evaluation evaluate(const std::vector<const PolicyDocument*>& policies, const AccessRequest& request) {
  Evaluation result;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    const auto& statements = policies[p]->statements;
    for (std::size_t s = 0; s < statements.size(); ++s) {
      const PolicyStatement& statement = statements[s];
      const bool is_deny = statement.effect == StatementEffect::deny;
      if (!is_deny && result.named == Named::itself) continue;
      const Named named = applies(statement, request);
      if (is_deny && named != Named::no) {
        return {Decision::explicit_deny, Named::no, DecidingStatement{p, s, statement.sid}};
      }
      if (named > result.named) result = {Decision::allowed, named, DecidingStatement{p, s, statement.sid}};
    }
  }
  return result;
}

}  // namespace drover::aws

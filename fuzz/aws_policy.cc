// A policy document and a request: a letter for the kind, then lines with action, resource, caller, condition key and
// value, then the document.
#include <algorithm>

#include "fuzzed.h"
#include "wire/aws/policy_evaluation.h"

namespace drover {
namespace {

std::string take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string line(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

void check_decision(const aws::PolicyDocument& document, const aws::AccessRequest& request) {
  const aws::Evaluation evaluation = aws::evaluate({&document}, request);
  const bool is_decided = evaluation.decision != aws::Decision::implicit_deny;
  DROVER_CHECK(evaluation.decided_by.has_value() == is_decided, "only a statement decides");
  if (is_decided) {
    const aws::PolicyStatement& decider = document.statements.at(evaluation.decided_by->statement);
    const bool is_allow = decider.effect == aws::StatementEffect::allow;
    DROVER_CHECK(is_allow == (evaluation.decision == aws::Decision::allowed), "a statement decides what it says");
    DROVER_CHECK(
        !is_allow || std::ranges::all_of(decider.conditions, [](const auto& one) { return one.test != nullptr; }),
        "what is not supported never allows");
  }

  aws::PolicyDocument reversed = document;
  std::ranges::reverse(reversed.statements);
  DROVER_CHECK(aws::evaluate({&reversed}, request).decision == evaluation.decision, "order does not matter");

  static const auto deny = aws::policy_from_json(R"({"Statement":{"Effect":"Deny","Action":"*","Resource":"*"}})",
                                                 aws::PolicyKind::identity);
  DROVER_CHECK(aws::evaluate({&document, &*deny}, request).decision == aws::Decision::explicit_deny, "a deny wins");
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  Choices choices(bytes);
  const auto kind = static_cast<aws::PolicyKind>(choices.below(3));
  std::string_view rest = choices.rest();
  aws::AccessRequest request;
  request.action = take_line(rest);
  request.resource = take_line(rest);
  request.principal.arn = take_line(rest);
  request.principal.account = "111122223333";
  const std::string key = take_line(rest);
  request.context = {{key, {take_line(rest)}}, {"aws:username", {"ann"}}};

  const auto document = aws::policy_from_json(rest, kind);
  if (!document) {
    DROVER_CHECK(!document.error().message.empty() && !document.error().next.empty(), "a refusal has a reason");
    return;
  }
  DROVER_CHECK(!document->statements.empty(), "a document says something");
  check_decision(*document, request);
}

}  // namespace drover

// IAM's policy documents: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/aws/pattern.h"
#include "wire/aws/policy_conditions.h"
#include "wire/aws/policy_principals.h"

namespace drover::aws {

inline constexpr std::size_t kMostPolicyBytes = 20'480;
inline constexpr std::size_t kMostStatements = 200;

/// Where a document is used decides which elements it has.
enum class PolicyKind : std::uint8_t {
  identity,  // attached to a user or role, which is its principal: Resource, but no Principal
  resource,  // of a bucket or queue: Resource and Principal
  trust,     // of a role, who may assume it: Principal, but no Resource
};

enum class StatementEffect : std::uint8_t { allow, deny };

/// Whether an element names what a statement is about (Action), or all that it is not about (NotAction).
enum class Listing : std::uint8_t { only_these, all_but_these };

struct PatternList {
  Listing listing = Listing::only_these;
  std::vector<Pattern> patterns;
};

struct PolicyStatement {
  std::string sid;  // may be empty
  StatementEffect effect = StatementEffect::allow;
  PatternList actions;
  std::optional<PatternList> resources;     // none in a trust policy: any
  std::optional<PrincipalList> principals;  // none in an identity policy: the user or role that has it
  Listing principal_listing = Listing::only_these;
  std::vector<Condition> conditions;
};

struct PolicyDocument {
  std::string id;
  std::vector<PolicyStatement> statements;
};

/// The error's message is fit for MalformedPolicyDocument: it names the statement, the element and the reason.
Result<PolicyDocument> policy_from_json(std::string_view text, PolicyKind kind);

/// Condition operators in the document that are not supported, each once. A statement with one never allows, and
/// denies as if the condition held; an API can refuse the document instead.
std::vector<std::string> unsupported_operators(const PolicyDocument& document);

}  // namespace drover::aws

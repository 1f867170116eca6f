// The Principal and NotPrincipal elements of a policy's statement.
#pragma once

#include <string>
#include <vector>

#include "wire/aws/access_request.h"
#include "wire/document.h"

namespace drover::aws {

struct PrincipalList {
  enum class Everyone : std::uint8_t { no, yes };

  Everyone everyone = Everyone::no;  // "*": anonymous callers and services too
  std::vector<std::string> accounts;
  std::vector<std::string> arns;  // of users, roles and sessions
  std::vector<std::string> services;
  std::vector<std::string> canonical_users;
};

/// How a list names the caller, the weakest first. `by_account`: it names only the account, whose own policies
/// then decide who may use the permission.
enum class Named : std::uint8_t { no, by_account, itself };

/// `element` is "Principal" or "NotPrincipal".
Result<PrincipalList> principals_from(std::string_view element, const Node& node);

Named named_in(const PrincipalList& list, const Principal& caller);

}  // namespace drover::aws

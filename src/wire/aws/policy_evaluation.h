// Whether policies allow a request. A statement that denies it wins over all that allow it; without either it is
// denied.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/aws/policy.h"

namespace drover::aws {

enum class Decision : std::uint8_t { implicit_deny, allowed, explicit_deny };

std::string_view to_string(Decision decision);

/// The first statement that led to the decision; both numbers are counted from 0.
struct DecidingStatement {
  std::size_t policy = 0;
  std::size_t statement = 0;
  std::string sid;

  /// "statement 'ReadLogs'", or "statement 2" if it has no Sid.
  std::string name() const;
};

struct Evaluation {
  Decision decision = Decision::implicit_deny;
  /// How the statement that allowed it names the caller. With `by_account`, AWS also requires an identity policy of
  /// the caller that allows the action. A statement that names the caller itself takes precedence.
  Named named = Named::no;
  std::optional<DecidingStatement> decided_by;  // none with implicit_deny
};

/// Takes identity and resource policies alike. A statement without principals applies to the caller, so `policies` must
/// not hold identity policies of anyone else. Where AWS requires that two parties allow a request (a role's trust
/// policy and the caller's policies; a bucket of another account), evaluate the policies of each party separately.
Evaluation evaluate(const std::vector<const PolicyDocument*>& policies, const AccessRequest& request);

}  // namespace drover::aws

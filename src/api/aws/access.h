// What a caller with a session may do: a job's attempt while it runs, or someone who has assumed a role. The role's
// policies decide. An attempt without a role, or with one that was never created here, may use objects, streams and
// logs like a key with scope 'submit', and nothing else. To pass a role on takes no permission, but a Deny of
// iam:PassRole holds. A resource may have a policy of its own, such as a queue: it can let sessions in that their
// role does not, and what it denies is denied to everyone, keys included.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/aws/account.h"
#include "api/aws/fault.h"
#include "keys/caller.h"
#include "ports/backend.h"
#include "wire/aws/access_request.h"
#include "wire/aws/policy.h"

namespace drover::aws {

/// What is asked for. All resources must be allowed.
struct Wish {
  Protocol protocol = Protocol::json;
  std::string_view service;  // "batch"
  std::string action;        // "batch:SubmitJob"
  std::vector<std::string> resources;
  std::vector<std::string> passed_roles;            // names or ARNs, that somebody gets by this; must not be denied
  std::optional<Action> needs;                      // of a key
  const PolicyDocument* resource_policy = nullptr;  // of the resource, which is one; null: it has none
  bool is_encrypted = false;                        // the connection
  RequestContext conditions = {};                   // what else policies may ask about: "s3:prefix"
};

class Access {
 public:
  Access(Backend& backend, const Account& account) : backend_(backend), account_(account) {}

  /// Waits for disks where the caller has a session, or is a job's. The fault says why not. What a key may do its scope
  /// has said; here only the resource's policy can deny it.
  std::expected<void, Fault> check(const Caller& caller, const Wish& wish) const;

  /// Of the caller's session; empty: it has none that is known here.
  Result<std::string> role_arn_of(const Caller& caller) const;

  /// How AWS's APIs call this caller.
  std::string arn_of(const Caller& caller) const;

 private:
  /// Of the caller's session; empty: it has none that is known here.
  Result<std::string> role_of(const Caller& caller) const;
  Result<std::string> arn_of_role(const std::string& name_or_arn) const;
  Result<JobView> job_of(const Uuid& uuid) const;
  Result<bool> is_running(const Uuid& of, const Token& attempt) const;
  std::expected<void, Fault> check_role(const Caller& caller, const std::string& role, const Wish& wish) const;
  std::expected<void, Fault> check_denied(const Caller& caller, const Wish& wish) const;

  Backend& backend_;
  const Account& account_;
};

/// The kind of the documents of roles that were deleted.
inline constexpr std::string_view kFormerRoles = "iam.former-role";

/// The name of a role in its ARN, or the name itself.
std::string role_name_in(std::string_view arn);

}  // namespace drover::aws

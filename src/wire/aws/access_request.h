// A request as policies see it: who wants to do what to which resource, and what else is known about it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drover::aws {

inline char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Names of condition keys are compared without regard to case.
struct ConditionKeyOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return std::ranges::lexicographical_compare(a, b, {}, ascii_lower, ascii_lower);
  }
};

/// The values of condition keys such as aws:SourceArn. A key without values counts as absent.
using RequestContext = std::map<std::string, std::vector<std::string>, ConditionKeyOrder>;

/// Who sent the request. All fields are empty for an anonymous caller.
struct Principal {
  std::string arn;             // of the user, or of the session of a role
  std::string role_arn;        // of the role, if the caller has a session of one
  std::string account;         // twelve digits
  std::string service;         // such as s3.amazonaws.com, if a service sent it for itself
  std::string canonical_user;  // S3's name for the account
};

struct AccessRequest {
  std::string action;    // such as s3:GetObject
  std::string resource;  // an ARN; empty for what has none, such as a role that is assumed
  Principal principal;
  RequestContext context;
};

}  // namespace drover::aws

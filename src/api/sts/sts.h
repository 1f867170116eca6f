// The Security Token Service: who a caller is, and credentials that are valid for a while.
#pragma once

#include "api/aws/account.h"
#include "api/aws/aws_api.h"
#include "keys/key_ring.h"

namespace drover::aws {

class StsApi : public AwsApi {
 public:
  /// The ring outlives it.
  StsApi(Backend& backend, const Account& account, const KeyRing& keys, std::function<std::int64_t()> now_ms);

 protected:
  std::vector<std::string> resources(const Call& call) const override;

 private:
  Outcome get_caller_identity(const Call& call) const;
  Outcome get_session_token(const Call& call) const;
  Outcome assume_role(const Call& call) const;
  /// Whether the role trusts the caller.
  /// Whether the caller's key can be given a session at all.
  static std::expected<void, Fault> check_giver(const Call& call);
  std::expected<void, Fault> check_trust(const Call& call, const boost::json::object& role) const;
  boost::json::object new_session(AwsSession session, std::int64_t seconds) const;

  const KeyRing& keys_;
  const std::function<std::int64_t()> now_ms_;
};

}  // namespace drover::aws

// The Security Token Service: who a caller is.
#pragma once

#include "api/aws/account.h"
#include "api/aws/aws_api.h"

namespace drover::aws {

class StsApi : public AwsApi {
 public:
  StsApi(Backend& backend, const Account& account);

 private:
  Outcome get_caller_identity(const Call& call) const;

  const Account& account_;
};

}  // namespace drover::aws

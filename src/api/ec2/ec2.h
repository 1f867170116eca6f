// EC2, as far as those need it who set up AWS Batch: a default network with subnets and a security group, which are
// always there, and images that are kept by name. No machine is launched from them.
#pragma once

#include <vector>

#include "api/aws/account.h"
#include "api/aws/aws_api.h"
#include "api/aws/documents.h"

namespace drover::aws {

class Ec2Api : public AwsApi {
 public:
  Ec2Api(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms);

 private:
  /// What is described, and how it is chosen.
  struct Kind {
    std::string_view list;  // the member of the answer
    std::string_view ids;   // the member of the request that chooses by id
    std::string_view id;    // the member of a resource
    std::string_view not_found;
    std::vector<std::pair<std::string_view, std::string_view>> filters;  // a filter, and the member that it is about
  };
  static Outcome choose(const Kind& kind, const Call& call, boost::json::array all);

  Documents images() const { return {backend().ledger(), "ec2.image"}; }
  boost::json::array zones(const Call& call) const;
  boost::json::array vpcs() const;
  boost::json::array subnets(const Call& call) const;
  boost::json::array security_groups() const;
  EditOutcome create_image(const Call& call);
  Outcome describe_images(const Call& call);

  const std::function<std::int64_t()> now_ms_;
};

}  // namespace drover::aws

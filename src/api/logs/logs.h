// CloudWatch Logs over the logs that there are: the group of AWS Batch's jobs, with a stream for each attempt.
#pragma once

#include "api/aws/account.h"
#include "api/aws/aws_api.h"
#include "api/logs/log_page.h"
#include "api/logs/stream_name.h"

namespace drover::aws {

class LogsApi : public AwsApi {
 public:
  LogsApi(Backend& backend, const Account& account);

 private:
  void get_events(const Call& call, Answered answered);
  Outcome describe_groups(const Call& call);
  Outcome describe_streams(const Call& call);
  boost::json::object stream_json(const Call& call, const Job& job, const Attempt& attempt) const;

  const Account& account_;
};

}  // namespace drover::aws

#include "api/sts/sts.h"

extern "C" const char drover_sts_operations_begin[];
extern "C" const char drover_sts_operations_end[];

namespace drover::aws {

StsApi::StsApi(Backend& backend, const Account& account)
    : AwsApi(backend,
             {.service = "sts",
              .protocol = Protocol::query,
              .bad_input = "ValidationError",
              .xml_namespace = "https://sts.amazonaws.com/doc/2011-06-15/"},
             {drover_sts_operations_begin, drover_sts_operations_end}),
      account_(account) {
  on_read("GetCallerIdentity", std::nullopt, [this](const Call& call) { return get_caller_identity(call); });
}

Outcome StsApi::get_caller_identity(const Call& call) const {
  const Caller& caller = call.asker.caller;
  if (caller.job) {
    return boost::json::object{
        {"UserId", concat(caller.key_id, ":", caller.job->text())},
        {"Account", account_.id},
        {"Arn", account_.arn("sts", "", concat("assumed-role/drover-job/", caller.job->text()))}};
  }
  return boost::json::object{{"UserId", caller.key_id},
                             {"Account", account_.id},
                             {"Arn", account_.arn("iam", "", concat("user/", call.asker.owner()))}};
}

}  // namespace drover::aws

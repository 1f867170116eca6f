// CloudWatch Logs over the logs that there are: the group of AWS Batch's jobs, with a stream for each attempt. Groups
// and streams of other names can be made, and stay empty.
#pragma once

#include "api/aws/account.h"
#include "api/aws/aws_api.h"
#include "api/aws/documents.h"
#include "api/logs/log_page.h"
#include "api/logs/stream_name.h"

namespace drover::aws {

class FilterPage;

class LogsApi : public AwsApi {
 public:
  LogsApi(Backend& backend, const Account& account, std::function<std::int64_t()> now_ms);

 protected:
  std::vector<std::string> resources(const Call& call) const override;

 private:
  friend class FilterPage;
  template <class T>
  using Found = std::expected<T, Fault>;

  // logs.cc
  void get_events(const Call& call, Answered answered);
  Outcome describe_streams(const Call& call);
  Outcome describe_sorted_streams(const Call& call);
  boost::json::object stream_json(const Call& call, const Job& job, const Attempt& attempt) const;
  /// What an attempt has printed by now, as LogLines takes it. `take` returns false: the rest is not needed. `done` is
  /// called once, at the end.
  void read_attempt(const Asker& asker, const JobView& view, const TaskName& task,
                    std::function<bool(std::string_view)> take, std::move_only_function<void(Found<void>)> done);

  // log_groups.cc
  void serve_groups();
  Documents groups() const { return {backend().ledger(), "logs.group"}; }
  Documents streams() const { return {backend().ledger(), "logs.stream"}; }
  /// The group of jobs is there without having been made.
  Found<Stored> find_group(const std::string& name) const;
  Found<Stored> group_of(const Call& call) const;
  EditOutcome create_group(const Call& call);
  EditOutcome delete_group(const Call& call);
  EditOutcome create_stream(const Call& call);
  EditOutcome delete_stream(const Call& call);
  EditOutcome change_group(const Call& call, const std::function<void(boost::json::object& group)>& change) const;
  EditOutcome put_retention(const Call& call);
  EditOutcome tag(const Call& call);
  EditOutcome untag(const Call& call);
  Outcome list_tags(const Call& call);
  Outcome describe_groups(const Call& call);
  Outcome describe_made_streams(const Call& call, const std::string& group);

  // filter_page.cc
  void filter_events(const Call& call, Answered answered);

  const std::function<std::int64_t()> now_ms_;
};

/// The name of the group in "arn:aws:logs:REGION:ACCOUNT:log-group:NAME", perhaps with ":*" after it. Empty: there is
/// none.
std::string group_in_arn(std::string_view arn);

/// "The specified log group does not exist."
std::unexpected<Fault> no_such_log(std::string_view what);

}  // namespace drover::aws

// AWS Batch: compute environments, job queues, job definitions, scheduling policies and jobs, over the same records
// that the native API shows and changes.
//
//   compute environment   a fleet, and a document with what AWS's clients said of it
//   job queue             a queue; its document has the order of its environments and its scheduling policy
//   job definition        a definition whose text is a native job, with the properties as they were registered
//   job                   a job: with one item a single one, with more an array
#pragma once

#include "api/aws/account.h"
#include "api/aws/aws_api.h"
#include "api/aws/documents.h"
#include "api/batch/environment_fleet.h"
#include "api/batch/job_view.h"
#include "api/job_submitter.h"

namespace drover::aws {

class BatchApi : public AwsApi {
 public:
  BatchApi(Backend& backend, const Account& account, ManagedMachines machines, std::function<std::int64_t()> now_ms);

 protected:
  std::vector<std::string> resources(const Call& call) const override;
  std::vector<std::string> passed_roles(const Call& call) const override;

 private:
  using Object = boost::json::object;
  template <class T>
  using Found = std::expected<T, Fault>;

  void serve_environments();
  void serve_queues();
  void serve_policies();

  Documents environments() const { return {backend().ledger(), "batch.environment"}; }
  Documents queue_documents() const { return {backend().ledger(), "batch.queue"}; }
  Documents policies() const { return {backend().ledger(), "batch.policy"}; }

  // batch_environments.cc
  EditOutcome create_environment(const Call& call);
  EditOutcome update_environment(const Call& call);
  Result<ManagedMachines> machines_for(const std::string& environment);
  EditOutcome delete_environment(const Call& call);
  Outcome describe_environments(const Call& call);
  Found<Stored> find_environment(const std::string& reference) const;

  // batch_queues.cc
  EditOutcome create_queue(const Call& call);
  EditOutcome update_queue(const Call& call);
  EditOutcome delete_queue(const Call& call);
  Outcome describe_queues(const Call& call);
  Found<std::vector<Queue>> all_queues() const;
  /// Null if there is none.
  Found<std::unique_ptr<Queue>> find_queue(const std::string& name) const;
  Found<Object> queue_json(const Call& call, const Queue& queue) const;
  std::expected<void, Fault> take_settings(const Call& call, Queue& queue, Object& document) const;

  // batch_policies.cc
  EditOutcome create_policy(const Call& call);
  EditOutcome update_policy(const Call& call);
  EditOutcome delete_policy(const Call& call);
  Outcome describe_policies(const Call& call);
  Outcome list_policies(const Call& call);
  Found<Stored> find_policy(const std::string& arn) const;

  // batch_definitions.cc
  void serve_definitions();
  void register_definition(const Call& call, Answered answered);
  void deregister_definition(const Call& call, Answered answered);
  Outcome describe_definitions(const Call& call);
  Found<NamedDefinition> find_definition(const std::string& reference) const;
  std::string definition_arn(const std::string& region, const std::string& name, std::uint64_t revision) const;
  Found<Object> definition_json(const Call& call, const NamedDefinition& definition) const;

  // batch_submit.cc
  void serve_submit();
  void submit(const Call& call, Answered answered);
  Found<Submission> submission_of(const Call& call) const;
  std::expected<void, Fault> take_share(const Call& call, Object& job) const;
  Found<std::string> instance_role(const std::string& queue) const;

  // batch_jobs.cc
  void serve_jobs();
  Outcome describe_jobs(const Call& call);
  void cancel(const Call& call, Answered answered);
  void stop(const Call& call, bool spares_running, Answered answered);
  std::optional<JobView> find_job(const BatchJobId& id) const;
  Found<Object> job_json(const Call& call, const BatchJobId& id, const JobView& view) const;

  // batch_list.cc
  void serve_lists();
  Outcome list_jobs(const Call& call);
  Outcome list_children(const Call& call);
  Object summary_json(const Call& call, const JobView& view) const;
  Object child_json(const Call& call, const Job& job, const ItemView& item, std::string_view status) const;

  // batch_tags.cc
  void serve_tags();
  Documents tags() const { return {backend().ledger(), "batch.tags"}; }
  Found<Object> own_tags(const Call& call, const std::string& resource) const;
  Found<Stored> tags_of(const Call& call) const;
  std::expected<void, Fault> may_tag(const Call& call) const;
  EditOutcome tag(const Call& call);
  EditOutcome untag(const Call& call);
  /// Of a resource that is deleted: the next one of its name has tags of its own.
  std::expected<void, Fault> drop_tags(const std::string& resource, std::vector<SetDocuments::Change>& changes) const;
  std::expected<void, Fault> show_tags(const std::string& resource, Object& shown) const;

  const ManagedMachines machines_;
  const std::function<std::int64_t()> now_ms_;
  JobSubmitter submitter_;
};

/// "NAME" or "arn:…:job-queue/NAME".
std::string name_in(std::string_view reference);
/// "job-queue/NAME" of an ARN; empty if the text is not an ARN.
std::string resource_in(std::string_view arn);
/// Letters, digits, '_' and '-', not beginning with '_' or '-'.
bool is_batch_name(std::string_view name);
/// "ClientException" with a message.
std::unexpected<Fault> client_error(std::string message);
/// A page of everything that there is, or what was asked for by name: then all of it.
Outcome batch_page(const boost::json::object& input, std::string_view member, boost::json::array list);

}  // namespace drover::aws

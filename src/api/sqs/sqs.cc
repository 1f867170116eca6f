#include "api/sqs/sqs.h"

#include <algorithm>

#include "api/sqs/queue_policy.h"
#include "api/sqs/sqs_fault.h"
#include "base/units.h"

extern "C" const char drover_sqs_operations_begin[];
extern "C" const char drover_sqs_operations_end[];

namespace drover::aws {

namespace json = boost::json;

namespace {

/// So often a change is tried again that others came before.
constexpr int kMostQueueEdits = 20;
/// A batch has at most 1 MiB, and a form may escape every byte of it.
constexpr std::uint64_t kMostRequestBytes = std::uint64_t{4} << 20;

/// An admin can always repair a policy that denies everything.
bool is_repair(std::string_view operation) {
  return operation == "SetQueueAttributes" || operation == "GetQueueAttributes" || operation == "RemovePermission" ||
         operation == "DeleteQueue";
}

}  // namespace

SqsApi::SqsApi(Backend& backend, const Account& account, MessageExchange& messages,
               std::function<std::int64_t()> now_ms)
    : AwsApi(backend, account,
             {.service = "sqs",
              .protocol = Protocol::json,
              .bad_input = "InvalidParameterValue",
              .target = "AmazonSQS.",
              .xml_namespace = "http://queue.amazonaws.com/doc/2012-11-05/",
              .also_query = true,
              .waits_for_disks = false,
              .most_bytes = kMostRequestBytes,
              .log = LogRequests::failures,
              .json = {.type = "application/x-amz-json-1.0",
                       .fault_type = "application/x-amz-json-1.0",
                       .fault_prefix = "com.amazonaws.sqs#",
                       .names_query_codes = true}},
             {drover_sqs_operations_begin, drover_sqs_operations_end}),
      messages_(messages),
      now_ms_(std::move(now_ms)) {
  serve_queues();
  serve_messages();
}

void SqsApi::serve_queues() {
  on("CreateQueue", Action::submit,
     [this](const Call& call, Answered answered) { create_queue(call, std::move(answered), kMostQueueEdits); });
  on_read("ListQueues", Action::read, [this](const Call& call) { return list_queues(call); });
  on_read("ListDeadLetterSourceQueues", Action::read,
          [this](const Call& call) { return list_dead_letter_sources(call); });
  on_read("GetQueueUrl", Action::read, [this](const Call& call) { return get_url(call); });
  on_read("ListQueueTags", Action::read, [this](const Call& call) { return list_tags(call); });
  on("GetQueueAttributes", Action::read,
     [this](const Call& call, Answered answered) { get_attributes(call, std::move(answered)); });
  on("DeleteQueue", Action::submit,
     [this](const Call& call, Answered answered) { delete_queue(call, std::move(answered)); });
  on("PurgeQueue", Action::submit,
     [this](const Call& call, Answered answered) { purge_queue(call, std::move(answered)); });
  const auto edits = [this](Found<void> (SqsApi::*change)(const Call&, StreamSpec&) const) {
    return [this, change](const Call& call, Answered answered) {
      edit(
          call, [this, change](const Call& it, StreamSpec& queue) { return (this->*change)(it, queue); },
          std::move(answered), kMostQueueEdits);
    };
  };
  on("SetQueueAttributes", Action::submit, edits(&SqsApi::set_queue_attributes));
  on("TagQueue", Action::submit, edits(&SqsApi::tag));
  on("UntagQueue", Action::submit, edits(&SqsApi::untag));
  on("AddPermission", Action::submit, edits(&SqsApi::add_permission));
  on("RemovePermission", Action::submit, edits(&SqsApi::remove_permission));
}

void SqsApi::serve_messages() {
  const auto by = [this](void (SqsApi::*answer)(const Call&, Answered)) {
    return [this, answer](const Call& call, Answered answered) { (this->*answer)(call, std::move(answered)); };
  };
  on("SendMessage", Action::submit, by(&SqsApi::send_one));
  on("SendMessageBatch", Action::submit, by(&SqsApi::send_batch));
  on("ReceiveMessage", Action::submit, by(&SqsApi::receive));
  on("DeleteMessage", Action::submit, by(&SqsApi::delete_one));
  on("DeleteMessageBatch", Action::submit, by(&SqsApi::delete_batch));
  on("ChangeMessageVisibility", Action::submit, by(&SqsApi::change_one));
  on("ChangeMessageVisibilityBatch", Action::submit, by(&SqsApi::change_batch));
}

std::vector<std::string> SqsApi::resources(const Call& call) const {
  if (call.operation->name == "ListQueues") return {"*"};
  return {account().arn("sqs", call.region, queue_name(call))};
}

// Batches need the permission of what they are made of.
std::string SqsApi::action_name(const Call& call) const {
  std::string_view name = call.operation->name;
  if (name.ends_with("Batch")) name.remove_suffix(std::string_view("Batch").size());
  return concat("sqs:", name);
}

std::shared_ptr<const PolicyDocument> SqsApi::resource_policy(const Call& call) const {
  const Caller& caller = call.asker.caller;
  if (!caller.has_session() && caller.scope == Scope::admin && is_repair(call.operation->name)) return nullptr;
  const std::string name = queue_name(call);
  const Queue queue = name.empty() ? nullptr : backend().find_stream(name);
  return queue ? queue_policy(*queue) : nullptr;
}

Fault SqsApi::bad_input(Protocol /*protocol*/, const BadInput& why) const {
  if (!why.is_missing) return sqs_fault(SqsError::bad_parameter, why.text());
  if (why.member == "Entries") {
    return sqs_fault(SqsError::empty_batch, "There should be at least one entry in the request.");
  }
  return missing(why.member).error();
}

// Older clients send a request to the queue's own address.
void SqsApi::add_parameters(const HttpHead& head, QueryPairs& pairs) const {
  const bool has_url = std::ranges::any_of(pairs, [](const auto& it) { return it.first == "QueueUrl"; });
  if (head.path != "/" && !has_url) pairs.emplace_back("QueueUrl", head.path);
}

std::string SqsApi::queue_name(const Call& call) const {
  if (const json::value* owner = call.input.if_contains("QueueOwnerAWSAccountId")) {
    if (owner->get_string() != account().id) return {};
  }
  if (const json::value* name = call.input.if_contains("QueueName")) return std::string(name->get_string());
  const json::value* url = call.input.if_contains("QueueUrl");
  if (url == nullptr) return {};
  const std::string_view text = url->get_string();
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view before = text.substr(0, slash);
  const std::string_view owner = before.substr(std::min(before.rfind('/') + 1, before.size()));
  return owner == account().id ? std::string(text.substr(slash + 1)) : std::string();
}

SqsApi::Found<SqsApi::Queue> SqsApi::queue_of(const Call& call) const {
  const std::string name = queue_name(call);
  if (Queue found = name.empty() ? nullptr : backend().find_stream(name)) return found;
  return std::unexpected(fault_for(call.protocol, {ErrorCode::not_found, {}, {}}));
}

std::string SqsApi::url_of(const Call& call, std::string_view queue) const {
  return concat(call.origin, "/", account().id, "/", queue);
}

Fault SqsApi::fault_for(Protocol protocol, const Error& error) const {
  if (error.code == ErrorCode::not_found) {
    return sqs_fault(SqsError::no_such_queue, concat("The specified queue does not exist",
                                                     protocol == Protocol::query ? " for this wsdl version." : "."));
  }
  if (error.code == ErrorCode::in_use) return sqs_fault(SqsError::over_limit, error.message);
  if (error.code == ErrorCode::bad_input) return sqs_fault(SqsError::bad_parameter, error.message);
  return fault_of(protocol, "InvalidParameterValue", error);
}

void SqsApi::command(const Call& call, Command command, Answered answered) {
  backend().post(std::move(command),
                 [this, protocol = call.protocol,
                  later = std::make_shared<Answered>(std::move(answered))](const Result<Effect>& effect) {
                   if (!effect) return (*later)(std::unexpected(fault_for(protocol, effect.error())));
                   (*later)(json::object());
                 });
}

}  // namespace drover::aws

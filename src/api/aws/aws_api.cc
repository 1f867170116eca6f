#include "api/aws/aws_api.h"

#include <algorithm>

#include "api/aws/scope.h"
#include "base/check.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "ports/entropy.h"
#include "wire/aws/output.h"

namespace drover::aws {
namespace {

Model parsed(std::string_view operations) {
  auto model = Model::parse(operations);
  DROVER_CHECK(model.has_value(), "the operations of a service are described as wire/aws/model.h says");
  return std::move(*model);
}

/// "v1/tags/{resourceArn}": what stands for the placeholders goes to `others`.
bool fits(const std::vector<std::string>& segments, const std::string& path, QueryPairs& others) {
  const auto wanted = path_segments(path);
  if (!wanted || wanted->size() != segments.size()) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& it = (*wanted)[i];
    if (it.starts_with('{') && it.ends_with('}')) {
      others.emplace_back(it.substr(1, it.size() - 2), segments[i]);
    } else if (it != segments[i]) {
      return false;
    }
  }
  return true;
}

/// So often a change is tried again that others came before.
constexpr int kMostEdits = 20;

bool is_of_signature(std::string_view parameter) {
  return parameter.starts_with("X-Amz-");
}

}  // namespace

AwsApi::AwsApi(Backend& backend, const Account& account, About about, std::string_view operations)
    : backend_(backend), account_(account), access_(backend, account), about_(about), model_(parsed(operations)) {}

void AwsApi::on(std::string_view operation, std::optional<Action> action, Handle handle) {
  DROVER_CHECK(model_.find(operation) != nullptr, "an operation that has a handler is described");
  handlers_[std::string(operation)] = {action, std::move(handle)};
}

void AwsApi::on_read(std::string_view operation, std::optional<Action> action,
                     std::function<Outcome(const Call&)> handle) {
  on(operation, action, [handle = std::move(handle)](const Call& call, Answered answered) { answered(handle(call)); });
}

void AwsApi::on_edit(std::string_view operation, std::optional<Action> action,
                     std::function<EditOutcome(const Call&)> handle) {
  on(operation, action, [this, handle = std::move(handle)](Call call, Answered answered) {
    try_edit(handle, std::make_shared<Call>(std::move(call)), std::move(answered), kMostEdits);
  });
}

void AwsApi::try_edit(std::function<EditOutcome(const Call&)> handle, std::shared_ptr<Call> call, Answered answered,
                      int more_times) {
  auto made = handle(*call);
  if (!made) return answered(std::unexpected(std::move(made.error())));
  auto edit = std::make_shared<Edit>(std::move(*made));
  auto later = std::make_shared<Answered>(std::move(answered));
  if (edit->changes.empty()) return command_rest(edit, 0, later);
  backend_.post(SetDocuments{std::move(edit->changes)}, [this, handle = std::move(handle), call = std::move(call), edit,
                                                         later, more_times](const Result<Effect>& effect) {
    if (effect) return command_rest(edit, 0, later);
    if (effect.error().code != ErrorCode::conflict || more_times == 0) {
      return (*later)(std::unexpected(fault(effect.error())));
    }
    backend_.later(call->asker.holder, [this, handle, call, later, more_times] {
      try_edit(handle, call, std::move(*later), more_times - 1);
    });
  });
}

void AwsApi::command_rest(const std::shared_ptr<Edit>& edit, std::size_t from,
                          const std::shared_ptr<Answered>& answered) {
  if (from == edit->then.size()) return (*answered)(std::move(edit->output));
  Command command = std::move(edit->then[from]);
  backend_.post(std::move(command), [this, edit, from, answered](const Result<Effect>& effect) {
    if (!effect) return (*answered)(std::unexpected(fault(effect.error())));
    command_rest(edit, from + 1, answered);
  });
}

// By the service that the signature is for. One that is not signed is nobody's, unless it is in the words of this API.
bool AwsApi::owns(const HttpHead& head) const {
  const std::string service = signed_service(head);
  if (!service.empty()) return service == about_.service;
  if (about_.protocol == Protocol::rest_json) return find_by_path(head).has_value();
  const std::string* target = head.header("X-Amz-Target");
  return !about_.target.empty() && target != nullptr && target->starts_with(about_.target);
}

Result<AwsApi::Found> AwsApi::find_by_path(const HttpHead& head) const {
  const auto segments = path_segments(head.path);
  for (const auto& [name, operation] : model_.operations()) {
    Found found{&operation, {}};
    if (!segments || operation.method != head.method || !fits(*segments, operation.path, found.others)) continue;
    const auto pairs = query_pairs(head.query);
    if (!pairs) return fail(ErrorCode::bad_input, "malformed query string");
    std::ranges::copy_if(*pairs, std::back_inserter(found.others),
                         [](const auto& it) { return !is_of_signature(it.first); });
    return found;
  }
  return fail(ErrorCode::not_found, concat("no operation is at ", head.method, " ", utf8(head.path)));
}

Result<AwsApi::Found> AwsApi::find_by_target(const HttpHead& head) const {
  const std::string* target = head.header("X-Amz-Target");
  if (target == nullptr) return fail(ErrorCode::bad_input, "the header X-Amz-Target is missing");
  const std::string_view name = std::string_view(*target).substr(std::min(about_.target.size(), target->size()));
  const Operation* operation = target->starts_with(about_.target) ? model_.find(name) : nullptr;
  if (operation == nullptr) return fail(ErrorCode::not_found, concat("there is no operation ", utf8(*target)));
  return Found{operation, {}};
}

Protocol AwsApi::protocol_of(const HttpHead& head) const {
  return about_.also_query && head.header("X-Amz-Target") == nullptr ? Protocol::query : about_.protocol;
}

std::expected<ServiceCall, HttpResponse> AwsApi::resolve(const HttpHead& head) {
  ServiceCall call{.needs = Permission{.action = std::nullopt,
                                       .what = concat("use the service ", about_.service),
                                       .judges_sessions = true},
                   .most_bytes = about_.most_bytes,
                   .log = about_.log,
                   .handle = {}};
  std::optional<Found> known;
  if (const Protocol protocol = protocol_of(head); protocol == Protocol::rest_json || protocol == Protocol::json) {
    auto found = protocol == Protocol::json ? find_by_target(head) : find_by_path(head);
    if (!found) {
      return std::unexpected(
          answer_fault(protocol, {"UnknownOperationException", found.error().message, 404, "InvalidAction"}));
    }
    const auto& action = handlers_.at(found->operation->name).action;
    if (!action || *action == Action::read) call.log = LogRequests::failures;
    known = std::move(*found);
  }
  call.handle = [this, known = std::move(known)](HttpRequest request, HttpReply reply, Asker asker) {
    handle(known, std::move(request), std::move(reply), std::move(asker));
  };
  return call;
}

void AwsApi::handle(const std::optional<Found>& found, HttpRequest request, HttpReply reply, Asker asker) {
  const Protocol protocol = protocol_of(request.head);
  const auto bad = [&](const BadInput& why) { reply.send(answer_fault(protocol, bad_input(protocol, why))); };
  if (found) {
    auto input = read_json_input(*found->operation->input, request.body, found->others);
    if (!input) return bad(input.error());
    return run(*found->operation, std::move(*input), request.head, std::move(reply), std::move(asker));
  }
  auto pairs = query_pairs(request.head.method == "GET" ? request.head.query : request.body);
  if (!pairs) return bad({{}, "malformed parameters"});
  std::string action;
  for (const auto& [name, value] : *pairs) {
    if (name == "Action") action = value;
  }
  const Operation* operation = model_.find(action);
  if (operation == nullptr) {
    return reply.send(
        answer_fault(protocol, {"InvalidAction", concat("there is no operation '", utf8(action), "'"), 400}));
  }
  std::erase_if(*pairs, [](const auto& it) {
    return it.first == "Action" || it.first == "Version" || is_of_signature(it.first);
  });
  add_parameters(request.head, *pairs);
  auto input =
      read_query_input(*operation->input, *pairs, protocol == Protocol::ec2 ? QueryDialect::ec2 : QueryDialect::query);
  if (!input) return bad(input.error());
  run(*operation, std::move(*input), request.head, std::move(reply), std::move(asker));
}

void AwsApi::run(const Operation& operation, boost::json::object input, const HttpHead& head, HttpReply reply,
                 Asker asker) {
  const auto found = handlers_.find(operation.name);
  DROVER_CHECK(found != handlers_.end(), "an operation that is described has a handler");
  const Handler& handler = found->second;
  if (!asker.caller.has_session() && handler.action && !asker.caller.may(*handler.action)) {
    return reply.send(error(head, 403,
                            {ErrorCode::denied,
                             concat("a key with scope '", to_string(asker.caller.scope),
                                    "' is not authorized to perform ", about_.service, ":", operation.name),
                             {}}));
  }
  if (!about_.takes_session_tokens && asker.caller.is_temporary && !asker.caller.has_session()) {
    return reply.send(error(head, 403,
                            {ErrorCode::denied,
                             concat("a session of GetSessionToken is not authorized to perform ", about_.service, ":",
                                    operation.name, "; use the key itself"),
                             {}}));
  }
  const std::string* host = head.header("Host");
  auto call = std::make_shared<Call>(
      Call{.operation = &operation,
           .input = std::move(input),
           .asker = std::move(asker),
           .region = signed_region(head),
           .origin = concat(head.encrypted ? "https://" : "http://", host == nullptr ? "localhost" : *host),
           .protocol = protocol_of(head)});
  const auto shared = std::make_shared<HttpReply>(std::move(reply));
  // What a session may do is in the ledger, and so is the role of a job.
  const Caller& caller = call->asker.caller;
  if (!about_.waits_for_disks && !caller.has_session() && !caller.job) {
    return carry_out(handler, std::move(*call), shared);
  }
  const Holder holder = call->asker.holder;
  backend_.later(holder, [this, &handler, call, shared] { carry_out(handler, std::move(*call), shared); });
}

void AwsApi::carry_out(const Handler& handler, Call call, const std::shared_ptr<HttpReply>& reply) {
  if (auto allowed = check_access(call, handler); !allowed) {
    return reply->send(answer_fault(call.protocol, allowed.error()));
  }
  call.resume = resume_of(reply);
  call.when_client_leaves = [weak = std::weak_ptr(reply)](std::function<void()> leave) {
    if (const auto it = weak.lock()) it->when_peer_leaves(std::move(leave));
  };
  const Operation& asked = *call.operation;
  const Protocol protocol = call.protocol;
  handler.handle(std::move(call), [this, &asked, protocol, reply](const Outcome& outcome) {
    reply->send(response(protocol, asked, outcome));
  });
}

std::expected<void, Fault> AwsApi::check_access(const Call& call, const Handler& handler) const {
  const Caller& caller = call.asker.caller;
  const std::shared_ptr<const PolicyDocument> policy = resource_policy(call);
  if (!policy && !caller.has_session()) return {};
  return access_.check(caller, {.protocol = call.protocol,
                                .service = about_.service,
                                .action = action_name(call),
                                .resources = resources(call),
                                .passed_roles = passed_roles(call),
                                .needs = handler.action,
                                .resource_policy = policy.get(),
                                .is_encrypted = call.is_encrypted()});
}

HttpResponse AwsApi::response(Protocol protocol, const Operation& operation, const Outcome& outcome) const {
  if (!outcome) return answer_fault(protocol, outcome.error());
  const std::string request_id = random_uuid().text();
  HttpResponse out{.status = 200, .headers = {{"x-amzn-RequestId", request_id}}, .body = {}};
  switch (protocol) {
    case Protocol::rest_json:
    case Protocol::json:
      out.headers.push_back(
          {"Content-Type", std::string(protocol == Protocol::json ? about_.json.type : "application/json")});
      out.body = json_output(*operation.output, *outcome);
      return out;
    case Protocol::query: out.body = query_output(operation, *outcome, about_.xml_namespace, request_id); break;
    case Protocol::ec2: out.body = ec2_output(operation, *outcome, about_.xml_namespace, request_id); break;
  }
  out.headers.push_back({"Content-Type", "text/xml"});
  return out;
}

Fault AwsApi::bad_input(Protocol /*protocol*/, const BadInput& why) const {
  return {std::string(about_.bad_input), why.text(), 400};
}

HttpResponse AwsApi::answer_fault(Protocol protocol, const Fault& fault) const {
  return fault_response(protocol, fault, random_uuid().text(), about_.json);
}

HttpResponse AwsApi::error(const HttpHead& head, int /*status*/, const Error& error) const {
  const Protocol protocol = protocol_of(head);
  return answer_fault(protocol, fault_of(protocol, about_.bad_input, error));
}

HttpResponse AwsApi::refuse(const HttpHead& head, const Refusal& refusal) const {
  if (!refusal.signature) return error(head, 403, refusal.error);
  const Protocol protocol = protocol_of(head);
  return answer_fault(protocol, signature_fault(protocol, *refusal.signature));
}

}  // namespace drover::aws

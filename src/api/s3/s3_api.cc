#include "api/s3/s3_api.h"

#include <array>

#include "api/aws/scope.h"
#include "api/s3/s3_answers.h"
#include "api/s3/s3_body.h"
#include "api/s3/s3_bucket_key.h"
#include "api/s3/s3_fault.h"
#include "api/s3/s3_headers.h"
#include "base/text.h"
#include "base/units.h"

namespace drover::aws {
namespace {

constexpr std::uint64_t kLargestPut = std::uint64_t{5} << 30;
constexpr std::uint64_t kLargestSmallBody = std::uint64_t{1} << 20;
/// A thousand keys, or ten thousand parts, in XML.
constexpr std::uint64_t kLargestList = std::uint64_t{8} << 20;

/// What lists are asked for is known to policies.
RequestContext conditions_of(const S3Request& request) {
  RequestContext out;
  if (request.row->level != S3Level::bucket || request.row->changes) return out;
  for (const std::string_view name : {"prefix", "delimiter", "max-keys"}) {
    if (auto value = request.parameter(name)) out[concat("s3:", name)] = {std::move(*value)};
  }
  return out;
}

}  // namespace

void S3Api::Call::refuse(const Fault& fault) {
  reply.send(s3_response(fault, head));
}

void S3Api::Call::refuse(const BucketError& error) {
  HttpResponse out = s3_response(s3_fault(error), head);
  if (!error.marker.empty()) {
    out.headers.push_back({"x-amz-delete-marker", "true"});
    out.headers.push_back({"x-amz-version-id", error.marker});
  }
  reply.send(std::move(out));
}

bool S3Api::owns(const HttpHead& head) const {
  return signed_service(head) == kS3;
}

HttpResponse S3Api::error(const HttpHead& head, int /*status*/, const Error& error) const {
  return s3_response(s3_fault(error), head);
}

HttpResponse S3Api::refuse(const HttpHead& head, const Refusal& refusal) const {
  return s3_response(s3_fault(refusal), head);
}

std::expected<ServiceCall, HttpResponse> S3Api::resolve(const HttpHead& head) {
  auto request = read_s3_request(head);
  if (!request) return std::unexpected(s3_response(request.error(), head));
  const S3OperationRow& row = *request->row;
  const bool has_list =
      row.operation == S3Operation::delete_objects || row.operation == S3Operation::complete_multipart_upload;
  ServiceCall call{.needs = Permission{.action = row.changes ? Action::submit : Action::read,
                                       .what = concat("use S3's ", row.name),
                                       .judges_sessions = true,
                                       .judges_grants = true},
                   .most_bytes = has_list ? kLargestList : kLargestSmallBody,
                   .log = row.changes ? LogRequests::all : LogRequests::failures,
                   .handle = {}};
  if (row.takes_data) {
    call.sink = std::make_unique<S3Body>(
        buckets_.begin_data(row.operation == S3Operation::upload_part ? Placement::file : Placement::anywhere),
        wanted_checksums(head));
    call.most_bytes = kLargestPut;
  }
  const std::string* length = head.header("Content-Length");
  if (length != nullptr && parse_number(*length).value_or(0) > call.most_bytes) {
    const Fault too_long = row.takes_data
                               ? Fault{"EntityTooLarge", "Your proposed upload exceeds the maximum allowed size", 400}
                               : Fault{"MaxMessageLengthExceeded", "Your request was too large.", 400};
    return std::unexpected(s3_response(too_long, head));
  }
  call.handle = [this, request = std::move(*request)](HttpRequest http, HttpReply reply, Asker asker) mutable {
    handle(std::move(request), std::move(http), std::move(reply), std::move(asker));
  };
  return call;
}

void S3Api::handle(S3Request request, HttpRequest http, HttpReply reply, Asker asker) {
  std::string region = signed_region(http.head);
  auto call = std::make_shared<Call>(
      Asked{.request = std::move(request), .head = std::move(http.head), .asker = std::move(asker)}, std::move(reply));
  call->body = std::move(http.body);
  call->sink = std::move(http.sink);
  call->region = std::move(region);
  const Caller& caller = call->asker.caller;
  // An object that was sent waits for no disk itself: the store answers when it is durable.
  const bool waits = !call->request.row->takes_data || caller.has_session() || caller.job.has_value();
  if (!waits) return carry_out(call);
  backend_.later(call->asker.holder, [this, call] { carry_out(call); });
}

std::optional<HttpResponse> S3Api::judge(const HttpHead& head, const Asker& asker, HttpBodySink* sink) {
  auto request = read_s3_request(head);
  if (!request) return s3_response(request.error(), head);
  if (asker.caller.grant) {
    const auto allowed = check_bucket_key(asker.caller, *request);
    return allowed ? std::nullopt : std::optional(s3_response(allowed.error(), head));
  }
  const std::string* length = head.header("Content-Length");
  const bool is_small = length != nullptr && parse_number(*length).value_or(0) <= kLargestSmallBody;
  if (sink == nullptr || is_small) return std::nullopt;
  // A session's policies are read beside a large body, which ends if they do not allow it. They are asked once more
  // when it is there.
  const S3Gate gate = std::make_shared<std::atomic<bool>>(true);
  static_cast<S3Body*>(sink)->obey(gate);
  auto asked = std::make_shared<const Asked>(Asked{.request = std::move(*request), .head = head, .asker = asker});
  backend_.later(asker.holder, [this, gate, asked = std::move(asked)] {
    if (!check_access(*asked)) *gate = false;
  });
  return std::nullopt;
}

std::expected<void, Fault> S3Api::check_access(const Asked& asked) const {
  return check_access(asked, policy_action(asked.request), asked.request.bucket, asked.request.key);
}

std::expected<void, Fault> S3Api::check_access(const Asked& asked, const std::string& action, const std::string& bucket,
                                               const std::string& key) const {
  const Caller& caller = asked.asker.caller;
  if (caller.grant) return check_bucket_key(caller, asked.request, action, bucket, key);
  if (!caller.has_session()) return {};
  std::string resource = "*";
  if (!bucket.empty()) resource = concat("arn:aws:s3:::", bucket, key.empty() ? "" : "/", key);
  auto allowed = access_.check(caller, {.protocol = Protocol::query,
                                        .service = kS3,
                                        .action = action,
                                        .resources = {std::move(resource)},
                                        .passed_roles = {},
                                        .needs = asked.request.row->changes ? Action::submit : Action::read,
                                        .resource_policy = nullptr,
                                        .is_encrypted = asked.head.encrypted,
                                        .conditions = conditions_of(asked.request)});
  if (!allowed && allowed.error().status < 500) allowed.error() = {"AccessDenied", allowed.error().message, 403};
  return allowed;
}

std::expected<void, Fault> S3Api::check_extras(const Call& call) const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kRights{
      {{"x-amz-tagging", "s3:PutObjectTagging"}, {"x-amz-acl", "s3:PutObjectAcl"}}};
  for (const auto& [header, action] : kRights) {
    if (call.head.header(header) == nullptr) continue;
    auto allowed = check_access(call, std::string(action), call.request.bucket, call.request.key);
    if (!allowed) return allowed;
  }
  return {};
}

BucketAnswered<void> S3Api::done(const CallPointer& call, int status) {
  return [call, status](const BucketResult<void>& outcome) {
    if (!outcome) return call->refuse(outcome.error());
    call->reply.send(s3_answer(status));
  };
}

void S3Api::carry_out(const CallPointer& call) {
  // Each key of a multi-delete is looked at by itself.
  if (call->request.operation() != S3Operation::delete_objects) {
    if (auto allowed = check_access(*call); !allowed) return call->refuse(allowed.error());
  }
  const std::string* owner = call->head.header("x-amz-expected-bucket-owner");
  if (owner != nullptr && *owner != account_.id) return call->refuse(Fault{"AccessDenied", "Access Denied", 403});
  if (call->request.row->level == S3Level::object) return carry_out_on_object(call);
  carry_out_on_bucket(call);
}

void S3Api::carry_out_on_bucket(const CallPointer& call) {
  using Op = S3Operation;
  switch (call->request.operation()) {
    case Op::list_buckets: return list_buckets(*call);
    case Op::create_bucket: return create_bucket(call);
    case Op::head_bucket: return head_bucket(*call);
    case Op::delete_bucket: return delete_bucket(call);
    case Op::get_bucket_location: return get_location(*call);
    case Op::list_objects:
    case Op::list_objects_v2: return list_objects(*call);
    case Op::list_object_versions: return list_versions(*call);
    case Op::list_multipart_uploads: return list_uploads(*call);
    case Op::delete_objects: return delete_objects(call);
    case Op::get_bucket_versioning: return get_versioning(*call);
    case Op::put_bucket_versioning: return put_versioning(call);
    case Op::get_bucket_notification: return get_notification(*call);
    case Op::put_bucket_notification: return put_notification(call);
    case Op::get_bucket_tagging: return get_tagging(*call);
    case Op::put_bucket_tagging: return put_tagging(call);
    case Op::delete_bucket_tagging: return delete_setting(call, "tagging");
    case Op::get_bucket_policy:
    case Op::get_bucket_policy_status: return get_policy(*call);
    case Op::put_bucket_policy: return put_policy(call);
    case Op::delete_bucket_policy: return delete_setting(call, "policy");
    case Op::get_bucket_cors: return get_cors(*call);
    case Op::put_bucket_cors: return put_cors(call);
    case Op::delete_bucket_cors: return delete_setting(call, "cors");
    case Op::get_bucket_acl: return get_acl(*call);
    case Op::put_bucket_acl: return put_acl(call);
    default: return get_unset(*call);
  }
}

void S3Api::carry_out_on_object(const CallPointer& call) {
  using Op = S3Operation;
  switch (call->request.operation()) {
    case Op::put_object: return put_object(call);
    case Op::copy_object: return copy_object(call);
    case Op::get_object:
    case Op::head_object: return get_object(*call);
    case Op::delete_object: return delete_object(call);
    case Op::get_object_attributes: return get_attributes(*call);
    case Op::get_object_tagging: return get_tagging(*call);
    case Op::put_object_tagging:
    case Op::delete_object_tagging: return put_tagging(call);
    case Op::get_object_acl: return get_acl(*call);
    case Op::put_object_acl: return put_acl(call);
    case Op::create_multipart_upload: return begin_upload(call);
    case Op::upload_part: return upload_part(call);
    case Op::upload_part_copy: return upload_part_copy(call);
    case Op::complete_multipart_upload: return complete_upload(call);
    case Op::abort_multipart_upload: return abort_upload(call);
    case Op::list_parts: return list_parts(*call);
    default: return get_unset(*call);
  }
}

}  // namespace drover::aws

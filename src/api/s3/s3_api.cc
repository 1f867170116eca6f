#include "api/s3/s3_api.h"

#include <unistd.h>

#include <algorithm>

#include "api/aws/scope.h"
#include "api/s3/s3_body.h"
#include "api/s3/s3_conditions.h"
#include "api/s3/s3_fault.h"
#include "api/s3/s3_headers.h"
#include "api/s3/s3_lists.h"
#include "base/entropy.h"
#include "base/text.h"
#include "wire/aws/output.h"
#include "wire/aws/times.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

constexpr std::uint64_t kLargestPut = std::uint64_t{5} << 30;
constexpr std::uint64_t kLargestSmallBody = std::uint64_t{1} << 20;
constexpr std::size_t kCopiedAtOnce = std::size_t{1} << 20;
constexpr std::string_view kRegionOfNone = "us-east-1";

HttpResponse answer(int status = 200) {
  return {.status = status, .headers = {{"x-amz-request-id", random_uuid().text()}}, .body = {}};
}

HttpResponse xml(std::string body) {
  HttpResponse out = answer();
  out.headers.push_back({"Content-Type", "application/xml"});
  out.body = std::move(body);
  return out;
}

std::string quoted(const std::string& etag) {
  return concat("\"", etag, "\"");
}

Result<std::string> read_part(const Descriptor& file, std::uint64_t offset, std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.get(), out.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno_error(errno, "an object"));
    if (got == 0) return fail(ErrorCode::damaged, "an object is shorter than it was");
    done += static_cast<std::size_t>(got);
  }
  return out;
}

BucketResult<ObjectContent> without_bytes(BucketResult<StoredObject> object) {
  if (!object) return std::unexpected(std::move(object.error()));
  return ObjectContent{.object = std::move(*object), .pieces = {}};
}

Result<void> copy_into(NewData& data, const ObjectContent& from) {
  for (const ObjectContent::Piece& piece : from.pieces) {
    if (!piece.file) {
      if (auto added = data.add(piece.bytes); !added) return added;
      continue;
    }
    for (std::uint64_t at = 0; at < piece.size; at += kCopiedAtOnce) {
      auto bytes = read_part(piece.file, at, std::min<std::uint64_t>(kCopiedAtOnce, piece.size - at));
      if (!bytes) return pass(bytes);
      if (auto added = data.add(*bytes); !added) return added;
    }
  }
  return data.finish();
}

/// "/bucket/key" or "bucket/key", escaped. Empty: it is neither.
std::pair<std::string, std::string> read_source(std::string_view header) {
  header = header.substr(0, header.find("?versionId="));
  if (header.starts_with('/')) header.remove_prefix(1);
  const auto decoded = percent_decoded(header);
  if (!decoded) return {};
  const std::size_t slash = decoded->find('/');
  if (slash == std::string::npos) return {};
  return {decoded->substr(0, slash), decoded->substr(slash + 1)};
}

/// If-None-Match: * and If-Match on a PUT.
std::expected<void, Fault> read_put_conditions(const HttpHead& head, PutObject& put) {
  if (const std::string* none = head.header("If-None-Match")) {
    if (*none != "*") {
      return std::unexpected(Fault{"NotImplemented", "If-None-Match of a PUT can only be *", 501});
    }
    put.only_if_new = true;
  }
  if (const std::string* match = head.header("If-Match")) {
    std::string_view etag = *match;
    if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) etag = etag.substr(1, etag.size() - 2);
    put.only_if_etag = std::string(etag);
  }
  return {};
}

}  // namespace

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
  const bool reads = only_reads(request->operation);
  ServiceCall call{.needs = Permission{.action = reads ? Action::read : Action::submit,
                                       .what = concat("use S3's ", to_string(request->operation)),
                                       .judges_sessions = true},
                   .most_bytes = kLargestSmallBody,
                   .log = reads ? LogRequests::failures : LogRequests::all,
                   .handle = {}};
  if (request->operation == S3Operation::put_object) {
    auto data = buckets_.begin_data();
    if (!data) return std::unexpected(s3_response(s3_fault(data.error()), head));
    call.sink = std::make_unique<S3Body>(std::move(*data), wanted_checksums(head));
    call.most_bytes = kLargestPut;
  }
  call.handle = [this, request = std::move(*request)](HttpRequest http, HttpReply reply, Asker asker) mutable {
    handle(std::move(request), std::move(http), std::move(reply), std::move(asker));
  };
  return call;
}

void S3Api::handle(S3Request request, HttpRequest http, HttpReply reply, Asker asker) {
  std::string region = signed_region(http.head);
  auto call = std::make_shared<Call>(Call{.request = std::move(request),
                                          .head = std::move(http.head),
                                          .sink = std::move(http.sink),
                                          .asker = std::move(asker),
                                          .region = std::move(region),
                                          .reply = std::move(reply)});
  const Caller& caller = call->asker.caller;
  // What changes something waits for no disk itself: the store answers when it is durable.
  const S3Operation operation = call->request.operation;
  const bool waits =
      only_reads(operation) || operation == S3Operation::copy_object || caller.has_session() || caller.job.has_value();
  if (!waits) return carry_out(call);
  backend_.later(call->asker.holder, [this, call] { carry_out(call); });
}

std::expected<void, Fault> S3Api::check_access(const Call& call) const {
  const S3Request& request = call.request;
  return check_access(call, request.operation, request.bucket, request.key);
}

std::expected<void, Fault> S3Api::check_access(const Call& call, S3Operation operation, const std::string& bucket,
                                               const std::string& key) const {
  const Caller& caller = call.asker.caller;
  if (!caller.has_session()) return {};
  std::string resource = "*";
  if (!bucket.empty()) resource = concat("arn:aws:s3:::", bucket, key.empty() ? "" : "/", key);
  auto allowed = access_.check(caller, {.protocol = Protocol::query,
                                        .service = kS3,
                                        .action = policy_action(operation),
                                        .resources = {std::move(resource)},
                                        .passed_roles = {},
                                        .needs = only_reads(operation) ? Action::read : Action::submit,
                                        .resource_policy = nullptr,
                                        .is_encrypted = call.head.encrypted});
  if (!allowed && allowed.error().status < 500) allowed.error() = {"AccessDenied", allowed.error().message, 403};
  return allowed;
}

void S3Api::carry_out(const CallPointer& call) {
  using Op = S3Operation;
  if (auto allowed = check_access(*call); !allowed) {
    return call->reply.send(s3_response(allowed.error(), call->head));
  }
  switch (call->request.operation) {
    case Op::list_buckets: return list_buckets(*call);
    case Op::create_bucket: return create_bucket(call);
    case Op::head_bucket: return head_bucket(*call);
    case Op::delete_bucket: return delete_bucket(call);
    case Op::get_bucket_location: return get_location(*call);
    case Op::list_objects:
    case Op::list_objects_v2: return list_objects(*call);
    case Op::put_object: return put_object(call);
    case Op::copy_object: return copy_object(call);
    case Op::get_object:
    case Op::head_object: return get_object(*call);
    case Op::delete_object: return delete_object(call);
  }
}

void S3Api::list_buckets(Call& call) {
  const auto buckets = buckets_.list_buckets();
  if (!buckets) return call.reply.send(s3_response(s3_fault(buckets.error()), call.head));
  call.reply.send(xml(buckets_xml(*buckets, account_.id)));
}

void S3Api::create_bucket(const CallPointer& call) {
  if (!is_bucket_name(call->request.bucket)) {
    return call->reply.send(s3_response({"InvalidBucketName", "The specified bucket is not valid.", 400}, call->head));
  }
  buckets_.create_bucket(
      {.name = call->request.bucket, .region = call->region, .owner = call->asker.caller.key_id, .created_ms = 0},
      [call](const BucketResult<void>& created) {
        if (!created) return call->reply.send(s3_response(s3_fault(created.error()), call->head));
        HttpResponse out = answer();
        out.headers.push_back({"Location", concat("/", call->request.bucket)});
        call->reply.send(std::move(out));
      });
}

void S3Api::head_bucket(Call& call) {
  const auto found = buckets_.bucket(call.request.bucket);
  if (!found) return call.reply.send(s3_response(s3_fault(found.error()), call.head));
  HttpResponse out = answer();
  out.headers.push_back({"x-amz-bucket-region", found->region});
  call.reply.send(std::move(out));
}

void S3Api::get_location(Call& call) {
  const auto found = buckets_.bucket(call.request.bucket);
  if (!found) return call.reply.send(s3_response(s3_fault(found.error()), call.head));
  const std::string region = found->region == kRegionOfNone ? "" : found->region;
  call.reply.send(
      xml(concat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LocationConstraint ",
                 "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">", xml_text(region), "</LocationConstraint>")));
}

void S3Api::delete_bucket(const CallPointer& call) {
  buckets_.delete_bucket(call->request.bucket, [call](const BucketResult<void>& deleted) {
    if (!deleted) return call->reply.send(s3_response(s3_fault(deleted.error()), call->head));
    call->reply.send(answer(204));
  });
}

void S3Api::list_objects(Call& call) {
  const auto question = read_list_request(call.request);
  if (!question) return call.reply.send(s3_response(question.error(), call.head));
  auto page = buckets_.list(call.request.bucket, *question);
  if (!page) return call.reply.send(s3_response(s3_fault(page.error()), call.head));
  if (question->most == 0) page->is_cut = false;
  call.reply.send(xml(objects_xml(call.request, *question, *page, account_.id)));
}

void S3Api::put_object(const CallPointer& call) {
  auto& body = static_cast<S3Body&>(*call->sink);
  const std::optional<Error>& trouble = body.error();
  if (trouble) return call->reply.send(s3_response(s3_fault(*trouble), call->head));
  if (!body.is_whole()) {
    return call->reply.send(s3_response(
        {"IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header", 400},
        call->head));
  }
  auto sums = check_checksums(call->head, body.checksums());
  if (!sums) return call->reply.send(s3_response(sums.error(), call->head));
  PutObject put{.bucket = call->request.bucket,
                .key = call->request.key,
                .etag = hex(body.checksums().at(ChecksumKind::md5)),
                .headers = kept_headers(call->head)};
  if (auto read = read_put_conditions(call->head, put); !read) {
    return call->reply.send(s3_response(read.error(), call->head));
  }
  put.headers.insert(put.headers.end(), sums->begin(), sums->end());
  buckets_.put(std::move(put), body.release(), [call, sums = std::move(*sums)](const BucketResult<StoredObject>& done) {
    if (!done) return call->reply.send(s3_response(s3_fault(done.error()), call->head));
    HttpResponse out = answer();
    out.headers.push_back({"ETag", quoted(done->etag)});
    for (const auto& [name, value] : sums) out.headers.push_back({name, value});
    call->reply.send(std::move(out));
  });
}

void S3Api::get_object(Call& call) {
  const bool is_head = call.request.operation == S3Operation::head_object;
  const auto refuse = [&](const Fault& fault) { call.reply.send(s3_response(fault, call.head)); };
  auto content = is_head ? without_bytes(buckets_.head(call.request.bucket, call.request.key))
                         : buckets_.open(call.request.bucket, call.request.key);
  if (!content) return refuse(s3_fault(content.error()));
  const StoredObject& object = content->object;
  if (auto holds = check_conditions(call.head, object); !holds) {
    HttpResponse out = s3_response(holds.error(), call.head);
    if (holds.error().status == 304) out.headers.push_back({"ETag", quoted(object.etag)});
    return call.reply.send(std::move(out));
  }
  const auto range = read_range(call.head, object.size);
  if (!range) return refuse(range.error());
  const ByteRange part = range->value_or(ByteRange{0, object.size});
  HttpResponse out = answer(*range ? 206 : 200);
  std::ranges::move(object_headers(object, call.request, call.head), std::back_inserter(out.headers));
  if (*range) {
    out.headers.push_back(
        {"Content-Range", concat("bytes ", part.first, "-", part.first + part.size - 1, "/", object.size)});
  }
  if (is_head) {
    out.headers.push_back({"Content-Length", std::to_string(part.size)});
    return call.reply.send(std::move(out));
  }
  if (content->pieces.empty()) return call.reply.send(std::move(out));
  ObjectContent::Piece& piece = content->pieces.front();
  if (piece.file) return call.reply.send(std::move(out), HttpFilePart{std::move(piece.file), part.first, part.size});
  out.body = piece.bytes.substr(part.first, part.size);
  call.reply.send(std::move(out));
}

void S3Api::copy_object(const CallPointer& call) {
  const auto refuse = [&](const Fault& fault) { call->reply.send(s3_response(fault, call->head)); };
  const auto [bucket, key] = read_source(*call->head.header("x-amz-copy-source"));
  if (bucket.empty() || key.empty()) {
    return refuse({"InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey"});
  }
  const std::string* directive = call->head.header("x-amz-metadata-directive");
  const bool replaces = directive != nullptr && *directive == "REPLACE";
  if (!replaces && bucket == call->request.bucket && key == call->request.key) {
    return refuse({"InvalidRequest",
                   "This copy request is illegal because it is trying to copy an object to itself without changing the "
                   "object's metadata, storage class, website redirect location or encryption attributes."});
  }
  if (auto allowed = check_access(*call, S3Operation::get_object, bucket, key); !allowed) {
    return refuse(allowed.error());
  }
  auto source = buckets_.open(bucket, key);
  if (!source) return refuse(s3_fault(source.error()));
  auto data = buckets_.begin_data();
  if (!data) return refuse(s3_fault(data.error()));
  if (auto copied = copy_into(**data, *source); !copied) return refuse(s3_fault(copied.error()));
  PutObject put{.bucket = call->request.bucket,
                .key = call->request.key,
                .etag = source->object.etag,
                .headers = replaces ? kept_headers(call->head) : source->object.headers};
  buckets_.put(std::move(put), std::move(*data), [call](const BucketResult<StoredObject>& done) {
    if (!done) return call->reply.send(s3_response(s3_fault(done.error()), call->head));
    call->reply.send(
        xml(concat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<CopyObjectResult ",
                   "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><LastModified>", iso_time(done->modified_ms),
                   "</LastModified><ETag>&quot;", done->etag, "&quot;</ETag></CopyObjectResult>")));
  });
}

void S3Api::delete_object(const CallPointer& call) {
  buckets_.remove(call->request.bucket, call->request.key, [call](const BucketResult<bool>& removed) {
    if (!removed) return call->reply.send(s3_response(s3_fault(removed.error()), call->head));
    call->reply.send(answer(204));
  });
}

}  // namespace drover::aws

#include "objects/s3_store.h"

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "objects/stated_checksum.h"
#include "wire/aws/s3_replies.h"
#include "wire/aws/signing.h"
#include "wire/aws/signing_time.h"
#include "wire/base64.h"
#include "wire/checksums.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr int kMostTries = 8;
constexpr std::int64_t kShortestPauseMs = 100;
constexpr std::int64_t kLongestPauseMs = 10'000;
constexpr std::int64_t kLongestCallMs = std::int64_t{30} * 60 * 1000;
// Services that take long over a request send blanks meanwhile.
constexpr std::int64_t kLongestStallMs = 120'000;
constexpr std::uint64_t kMostParts = 10'000;
constexpr std::string_view kMeta = "x-amz-meta-";

std::string md5_of(std::string_view bytes) {
  Checksums sums({ChecksumKind::md5});
  sums.add(bytes);
  return sums.finish().at(ChecksumKind::md5);
}

std::string unquoted(std::string_view etag) {
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

std::string header_of(const HttpResponse& answer, std::string_view name) {
  const std::string* found = answer.header(name);
  return found == nullptr ? std::string() : *found;
}

ObjectInfo info_from(const std::string& key, const HttpResponse& answer) {
  ObjectInfo out{.key = key, .etag = unquoted(header_of(answer, "ETag")), .type = header_of(answer, "Content-Type")};
  out.size = parse_number(header_of(answer, "Content-Length")).value_or(0);
  out.modified_ms = aws::parse_signing_time(header_of(answer, "Last-Modified")).value_or(0);
  for (const HttpHeader& it : answer.headers) {
    const std::string name = in_small_letters(it.name);
    if (name.starts_with(kMeta)) out.metadata.emplace_back(name.substr(kMeta.size()), it.value);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> headers_for(const ObjectInfo& object) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!object.type.empty()) out.emplace_back("content-type", object.type);
  for (const auto& [name, value] : object.metadata) out.emplace_back(concat(kMeta, name), value);
  return out;
}

/// The checksum of all of an object, if its store states one that can be compared.
std::string checksum_in(const HttpResponse& answer) {
  for (const ChecksumKind kind :
       {ChecksumKind::crc64nvme, ChecksumKind::crc32c, ChecksumKind::crc32, ChecksumKind::sha256, ChecksumKind::sha1}) {
    const std::string stated = header_of(answer, concat("x-amz-checksum-", checksum_name(kind)));
    if (stated.empty() || stated.contains('-')) continue;  // that of parts is not that of the bytes
    if (const auto sum = from_base64(stated)) return stated_checksum(kind, *sum);
  }
  const std::string etag = unquoted(header_of(answer, "ETag"));
  const bool is_md5 = etag.size() == 32 && std::ranges::all_of(etag, [](char c) { return hex_value(c) >= 0; });
  if (!is_md5 || !header_of(answer, "x-amz-server-side-encryption-aws-kms-key-id").empty()) return {};
  return concat(checksum_name(ChecksumKind::md5), ":", etag);
}

Error error_from(const HttpResponse& answer, const std::string& what) {
  const aws::S3Error said = aws::read_s3_error(answer.body);
  const std::string words = said.code.empty() ? concat("HTTP status ", answer.status)
                                              : concat(said.code, said.message.empty() ? "" : ": ", said.message);
  ErrorCode code = ErrorCode::io;
  if (answer.status == 404) code = ErrorCode::not_found;
  if (answer.status == 401 || answer.status == 403) code = ErrorCode::denied;
  if (answer.status == 409 || answer.status == 412) code = ErrorCode::conflict;
  if (answer.status == 400) code = ErrorCode::bad_input;
  if (answer.status == 429 || answer.status >= 500) code = ErrorCode::unreachable;
  std::string next;
  if (code == ErrorCode::not_found) next = "check the names of the bucket and the key";
  if (code == ErrorCode::denied) next = "use a key or role that may do this, and check its secret";
  if (code == ErrorCode::unreachable) next = "retry later";
  if (said.code == "BucketNotEmpty") next = "remove its objects first";
  return {code, concat(what, ": ", words), std::move(next)};
}

/// What may pass.
bool is_passing(const Result<HttpResponse>& outcome) {
  if (!outcome) {
    const ErrorCode code = outcome.error().code;
    return code == ErrorCode::unreachable || code == ErrorCode::io || code == ErrorCode::timeout;
  }
  if (outcome->status == 429 || outcome->status >= 500) return outcome->status != 501;
  return outcome->status == 400 && aws::read_s3_error(outcome->body).code == "RequestTimeout";
}

bool is_stale_key(const Result<HttpResponse>& outcome) {
  if (!outcome || outcome->status < 400 || outcome->status >= 404) return false;
  const std::string code = aws::read_s3_error(outcome->body).code;
  return code == "ExpiredToken" || code == "InvalidToken" || code == "TokenRefreshRequired";
}

std::string query_text(QueryPairs pairs) {
  std::ranges::sort(pairs);
  std::string out;
  for (const auto& [name, value] : pairs) {
    out += concat(out.empty() ? "" : "&", percent_encoded(name), "=", percent_encoded(value));
  }
  return out;
}

std::string host_of(std::string_view endpoint) {
  return std::string(endpoint.substr(endpoint.find("://") + 3));
}

}  // namespace

std::string S3Store::name() const {
  return concat("s3://", place_.bucket);
}

std::string S3Store::path_of(const std::string& key) const {
  std::string out = concat("/", place_.bucket);
  if (key.empty()) return out;
  std::string_view rest = key;
  while (true) {
    const std::size_t slash = rest.find('/');
    out += concat("/", percent_encoded(rest.substr(0, slash)));
    if (slash == std::string_view::npos) return out;
    rest.remove_prefix(slash + 1);
  }
}

Result<HttpResponse> S3Store::ask_once(const Ask& ask, bool was_refused) {
  auto credentials = outside_.credentials(was_refused);
  if (!credentials) return pass(credentials);
  const std::string path = path_of(ask.key);
  const std::string query = query_text(ask.query);
  HttpCall call{.method = ask.method,
                .path = query.empty() ? path : concat(path, "?", query),
                .headers = {},
                .body = ask.body,
                .body_source = {},
                .take = ask.take,
                .take_status = ask.take ? 206 : 0,
                .stall_ms = kLongestStallMs,
                .deadline_ms = kLongestCallMs};
  std::vector<std::pair<std::string, std::string>> headers = ask.headers;
  if (!credentials->id.empty()) {
    headers.emplace_back("host", host_of(place_.endpoint));
    const bool is_private = place_.endpoint.starts_with("https://");
    const std::string payload = is_private ? "UNSIGNED-PAYLOAD" : hex(sha256(ask.body));
    headers.emplace_back("x-amz-content-sha256", payload);
    std::vector<aws::Header> seen;
    seen.reserve(headers.size());
    for (const auto& [name, value] : headers) seen.push_back({name, value});
    const aws::Request request{.method = ask.method, .path = path, .query = query, .headers = seen};
    auto added = aws::sign(
        request, {.access_key_id = credentials->id, .secret = credentials->secret, .session_token = credentials->token},
        {.region = place_.region, .service = aws::kS3}, payload, outside_.now_ms());
    std::ranges::move(added, std::back_inserter(headers));
  }
  for (auto& [name, value] : headers) call.headers.push_back({std::move(name), std::move(value)});
  return outside_.http->call(call);
}

Result<HttpResponse> S3Store::ask(const Ask& ask) {
  const std::string what = concat(name(), ask.key.empty() ? "" : "/", ask.key);
  std::int64_t pause_ms = kShortestPauseMs;
  Random random(static_cast<std::uint64_t>(outside_.now_ms()));
  bool was_refused = false;
  for (int tries = 1;; ++tries) {
    auto outcome = ask_once(ask, was_refused);
    if (outcome && outcome->status >= 200 && outcome->status < 300) {
      // An answer that was begun early may still turn out to be a failure.
      if (ask.method == "GET" || aws::read_s3_error(outcome->body).code.empty()) return outcome;
      outcome->status = 500;
    }
    was_refused = is_stale_key(outcome) && !was_refused;
    if (tries == kMostTries || (!was_refused && !is_passing(outcome))) {
      if (outcome) return std::unexpected(error_from(*outcome, what));
      outcome.error().message = concat(what, ": ", outcome.error().message);
      return outcome;
    }
    if (was_refused) continue;
    outside_.sleep(pause_ms - static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(pause_ms / 2))));
    pause_ms = std::min(pause_ms * 2, kLongestPauseMs);
  }
}

Result<ObjectInfo> S3Store::head(const std::string& key) {
  auto answer = ask({.method = "HEAD", .key = key, .headers = {{"x-amz-checksum-mode", "ENABLED"}}});
  if (!answer) return pass(answer);
  ObjectInfo out = info_from(key, *answer);
  out.checksum = checksum_in(*answer);
  return out;
}

// Asked for first, as it says how large the object is, and what its bytes are to be compared with.
Result<ObjectInfo> S3Store::get(const std::string& key, const ObjectRange& range,
                                const std::function<Result<void>(std::string_view)>& take) {
  auto found = head(key);
  if (!found) return pass(found);
  ObjectInfo& info = *found;
  if (range.offset > info.size || range.size.value_or(0) > info.size - range.offset) {
    return fail(ErrorCode::bad_input, concat(name(), "/", key, " has ", info.size, " bytes, and more were asked for"));
  }
  const bool is_whole = range.offset == 0 && range.size.value_or(info.size) == info.size;
  ChecksumCheck check(is_whole ? info.checksum : std::string());
  std::uint64_t taken = 0;
  auto got =
      get_rest(info, {range.offset, range.size.value_or(info.size - range.offset)}, taken, [&](std::string_view bytes) {
        check.add(bytes);
        return take(bytes);
      });
  if (!got) return pass(got);
  if (!check.finish()) {
    return fail(ErrorCode::damaged, concat(name(), "/", key, " was damaged on its way: its checksum differs"));
  }
  return std::move(info);
}

// A body that breaks off is asked for again from where it did, as long as the object is the same.
Result<void> S3Store::get_rest(const ObjectInfo& info, const ObjectRange& range, std::uint64_t& taken,
                               const std::function<Result<void>(std::string_view)>& take) {
  const std::uint64_t wanted = range.size.value_or(0);
  std::optional<Error> refused;  // by whoever takes it
  const auto take_some = [&](std::string_view bytes) -> Result<void> {
    if (bytes.size() > wanted - taken) return fail(ErrorCode::damaged, "more came than was asked for");
    auto done = take(bytes);
    if (!done) refused = done.error();
    taken += bytes.size();
    return done;
  };
  for (int tries = 1; taken < wanted; ++tries) {
    const std::uint64_t before = taken;
    Ask ask{.key = info.key, .take = take_some};  // of a part: the whole object would begin elsewhere
    ask.headers.emplace_back("range", concat("bytes=", range.offset + taken, "-", range.offset + wanted - 1));
    if (!info.etag.empty()) ask.headers.emplace_back("if-match", concat("\"", info.etag, "\""));
    auto answer = ask_once(ask, false);
    if (refused) return std::unexpected(std::move(*refused));
    if (answer && answer->status == 206 && taken == wanted) return {};
    if (answer && answer->status == 412) {
      return fail(ErrorCode::conflict, concat(name(), "/", info.key, " was replaced while it was read"));
    }
    if (answer && answer->status >= 200 && answer->status < 300) {
      return fail(ErrorCode::damaged, concat(name(), "/", info.key, ": the store does not give parts of objects"));
    }
    if (tries >= kMostTries || (taken == before && !is_passing(answer))) {
      if (answer) return std::unexpected(error_from(*answer, concat(name(), "/", info.key)));
      answer.error().message = concat(name(), "/", info.key, ": ", answer.error().message);
      return pass(answer);
    }
    if (taken > before) tries = 0;  // it goes on
    outside_.sleep(kShortestPauseMs << std::min(tries, 6));
  }
  return {};
}

Result<ListPage> S3Store::list(const ListQuestion& question) {
  Ask ask{.query = {{"list-type", "2"}, {"encoding-type", "url"}, {"max-keys", std::to_string(question.most)}}};
  if (!question.prefix.empty()) ask.query.emplace_back("prefix", question.prefix);
  if (!question.delimiter.empty()) ask.query.emplace_back("delimiter", question.delimiter);
  if (!question.after.empty()) ask.query.emplace_back("continuation-token", question.after);
  auto answer = this->ask(ask);
  if (!answer) return pass(answer);
  auto read = aws::read_list_answer(answer->body);
  if (!read) return pass(read);
  ListPage out{.objects = {}, .prefixes = std::move(read->prefixes), .next = std::move(read->next)};
  for (auto& it : read->objects) {
    out.objects.push_back(
        {.key = std::move(it.key), .size = it.size, .modified_ms = it.modified_ms, .etag = std::move(it.etag)});
  }
  return out;
}

Result<ObjectInfo> S3Store::put(const ObjectInfo& object, const ObjectBytes& bytes) {
  if (bytes.size > kPart) return put_parts(object, bytes);
  auto whole = bytes.read(0, bytes.size);
  if (!whole) return pass(whole);
  return put_whole(object, *whole);
}

Result<ObjectInfo> S3Store::put_whole(const ObjectInfo& object, const std::string& bytes) {
  Ask ask{.method = "PUT", .key = object.key, .headers = headers_for(object), .body = bytes};
  ask.headers.emplace_back("content-md5", base64(md5_of(bytes)));
  auto answer = this->ask(ask);
  if (!answer) return pass(answer);
  ObjectInfo out = object;
  out.size = bytes.size();
  out.etag = unquoted(header_of(*answer, "ETag"));
  return out;
}

Result<ObjectInfo> S3Store::put_parts(const ObjectInfo& object, const ObjectBytes& bytes) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  const std::uint64_t least = (bytes.size + kMostParts - 1) / kMostParts;
  const std::uint64_t part = std::max(kPart, (least + kStep - 1) / kStep * kStep);
  auto upload = begin_upload(object);
  if (!upload) return pass(upload);
  const auto give_up = [&](Error error) {
    (void)abort_upload(object.key, *upload);  // the first error is the one to tell
    return std::unexpected(std::move(error));
  };
  std::vector<UploadedPart> parts;
  for (std::uint64_t at = 0; at < bytes.size; at += part) {
    auto piece = bytes.read(at, std::min(part, bytes.size - at));
    if (!piece) return give_up(std::move(piece.error()));
    auto sent = upload_part(object.key, *upload, static_cast<std::uint32_t>(parts.size() + 1), *piece);
    if (!sent) return give_up(std::move(sent.error()));
    parts.push_back(std::move(*sent));
  }
  auto done = complete_upload(object.key, *upload, parts);
  if (!done) return give_up(std::move(done.error()));
  done->size = bytes.size;
  done->type = object.type;
  done->metadata = object.metadata;
  return done;
}

Result<void> S3Store::remove(const std::string& key) {
  auto answer = ask({.method = "DELETE", .key = key});
  if (!answer && answer.error().code != ErrorCode::not_found) return pass(answer);
  return {};
}

Result<ObjectInfo> S3Store::copy(const std::string& from, const std::string& to) {
  auto answer = ask({.method = "PUT", .key = to, .headers = {{"x-amz-copy-source", path_of(from)}}});
  if (!answer) return pass(answer);
  return head(to);
}

Result<std::string> S3Store::begin_upload(const ObjectInfo& object) {
  auto answer = ask({.method = "POST", .key = object.key, .query = {{"uploads", ""}}, .headers = headers_for(object)});
  if (!answer) return pass(answer);
  std::string id = aws::read_element(answer->body, "UploadId");
  if (id.empty()) return fail(ErrorCode::damaged, concat(name(), "/", object.key, ": the store gave no upload id"));
  return id;
}

Result<UploadedPart> S3Store::upload_part(const std::string& key, const std::string& upload, std::uint32_t number,
                                          const std::string& bytes) {
  auto answer = ask({.method = "PUT",
                     .key = key,
                     .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                     .headers = {{"content-md5", base64(md5_of(bytes))}},
                     .body = bytes});
  if (!answer) return pass(answer);
  return UploadedPart{number, unquoted(header_of(*answer, "ETag"))};
}

Result<ObjectInfo> S3Store::complete_upload(const std::string& key, const std::string& upload,
                                            const std::vector<UploadedPart>& parts) {
  std::string body = "<CompleteMultipartUpload>";
  for (const UploadedPart& it : parts) {
    body += concat("<Part><PartNumber>", it.number, "</PartNumber><ETag>&quot;", it.etag, "&quot;</ETag></Part>");
  }
  auto answer =
      ask({.method = "POST", .key = key, .query = {{"uploadId", upload}}, .body = body + "</CompleteMultipartUpload>"});
  if (!answer) return pass(answer);
  return ObjectInfo{.key = key, .etag = aws::read_element(answer->body, "ETag")};
}

Result<void> S3Store::abort_upload(const std::string& key, const std::string& upload) {
  auto answer = ask({.method = "DELETE", .key = key, .query = {{"uploadId", upload}}});
  if (!answer && answer.error().code != ErrorCode::not_found) return pass(answer);
  return {};
}

Result<std::vector<S3Store::Bucket>> S3Store::list_buckets() {
  auto answer = ask({});
  if (!answer) return pass(answer);
  auto read = aws::read_bucket_list(answer->body);
  if (!read) return pass(read);
  std::vector<Bucket> out;
  for (auto& it : *read) out.push_back({std::move(it.name), it.created_ms});
  return out;
}

Result<void> S3Store::create_bucket() {
  auto answer = ask({.method = "PUT"});
  if (!answer) return pass(answer);
  return {};
}

Result<void> S3Store::delete_bucket() {
  auto answer = ask({.method = "DELETE"});
  if (!answer) return pass(answer);
  return {};
}

}  // namespace drover

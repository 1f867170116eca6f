#include "objects/http_store.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "wire/aws/signing_time.h"

namespace drover {
namespace {

constexpr int kMostTries = 6;
constexpr int kMostRedirections = 10;
constexpr std::int64_t kFirstPauseMs = 200;
constexpr std::int64_t kLongestStallMs = 120'000;
constexpr std::int64_t kLongestCallMs = std::int64_t{30} * 60 * 1000;

std::string text_in_header(const HttpResponse& answer, std::string_view name) {
  const std::string* found = answer.header(name);
  return found == nullptr ? std::string() : *found;
}

bool may_pass(const Result<HttpResponse>& outcome) {
  if (outcome) return outcome->status == 429 || outcome->status == 408 || outcome->status >= 500;
  const ErrorCode code = outcome.error().code;
  return code == ErrorCode::unreachable || code == ErrorCode::io || code == ErrorCode::timeout;
}

bool is_redirection(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::unexpected<Error> status_error(int status, const std::string& url) {
  ErrorCode code = ErrorCode::io;
  if (status == 404 || status == 410) code = ErrorCode::not_found;
  if (status == 401 || status == 403) code = ErrorCode::denied;
  if (status == 429 || status >= 500) code = ErrorCode::unreachable;
  std::string next = "check the URL";
  if (code == ErrorCode::denied) next = "use a URL that can be read without a login, such as a presigned one";
  if (code == ErrorCode::unreachable) next = "retry later";
  return fail(code, concat(url, ": HTTP status ", status), std::move(next));
}

ObjectInfo described(const std::string& key, const HttpResponse& answer) {
  ObjectInfo out{.key = key, .etag = text_in_header(answer, "ETag"), .type = text_in_header(answer, "Content-Type")};
  out.size = parse_number(text_in_header(answer, "Content-Length")).value_or(0);
  out.modified_ms = aws::parse_signing_time(text_in_header(answer, "Last-Modified")).value_or(0);
  return out;
}

/// "bytes 5-9/10" → 10. 0: it says none.
std::uint64_t whole_size(std::string_view content_range) {
  const std::size_t slash = content_range.rfind('/');
  if (slash == std::string_view::npos) return 0;
  return parse_number(content_range.substr(slash + 1)).value_or(0);
}

/// "bytes 5-9/10" → 5.
std::optional<std::uint64_t> first_byte(std::string_view content_range) {
  take_until(content_range, ' ');
  const auto number = parse_number(take_until(content_range, '-'));
  return number ? std::optional(*number) : std::nullopt;
}

std::unexpected<Error> no_parts(const std::string& url) {
  return fail(ErrorCode::bad_method, concat(url, ": the server does not send parts of files"), "get all of it");
}

std::unexpected<Error> read_only(const std::string& base) {
  return fail(ErrorCode::bad_method, concat(base, " can only be read: a web server keeps no objects"),
              "write to s3://BUCKET/KEY or to a file");
}

}  // namespace

std::string HttpStore::url_of(const std::string& key) const {
  return concat(base_, "/", key);
}

void HttpStore::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  if (http_) http_->abort();
}

Result<void> HttpStore::speak_to(const std::string& base) {
  if (http_ && http_base_ == base) return {};
  auto made = outside_.http(base);
  if (!made) return pass(made);
  const std::lock_guard lock(mutex_);
  http_ = std::move(*made);
  http_base_ = base;
  if (aborted_) http_->abort();
  return {};
}

Result<HttpStore::Place> HttpStore::redirected(const Place& from, std::string to) {
  to = to.substr(0, to.find('#'));
  if (to.starts_with("//")) to = concat(from.base.substr(0, from.base.find("//")), to);
  if (to.starts_with('/')) return Place{from.base, to};
  if (!to.contains("://")) {
    const std::string path = from.path.substr(0, from.path.find('?'));
    return Place{from.base, concat(path.substr(0, path.rfind('/') + 1), to)};
  }
  const bool is_private = to.starts_with("https://");
  if (!is_private && !(to.starts_with("http://") && from.base.starts_with("http://"))) {
    return fail(ErrorCode::denied, concat(from.base, " redirects to '", to, "', which is not followed"),
                "use the URL that it leads to");
  }
  const std::size_t end = std::min(to.find_first_of("/?", to.find("://") + 3), to.size());
  const std::string path = to.substr(end);
  return Place{to.substr(0, end), path.starts_with('/') ? path : concat("/", path)};
}

Result<HttpResponse> HttpStore::call(HttpCall call, Place& place) {
  call.stall_ms = kLongestStallMs;
  for (int turns = 0; turns < kMostRedirections; ++turns) {
    if (auto ready = speak_to(place.base); !ready) return pass(ready);
    call.path = place.path;
    auto answer = http_->call(call);
    if (!answer || !is_redirection(answer->status)) return answer;
    auto next = redirected(place, text_in_header(*answer, "Location"));
    if (!next) return pass(next);
    place = std::move(*next);
  }
  return fail(ErrorCode::io, concat(place.base, " redirects more than ", kMostRedirections, " times"),
              "use the URL that it leads to");
}

Result<HttpResponse> HttpStore::call_patiently(const HttpCall& request, Place& place) {
  for (int tries = 1;; ++tries) {
    auto answer = call(request, place);
    if (tries == kMostTries || !may_pass(answer)) return answer;
    outside_.sleep(kFirstPauseMs << tries);
  }
}

Result<ObjectInfo> HttpStore::head(const std::string& key) {
  Place place{base_, concat("/", key)};
  auto answer = call_patiently({.method = "HEAD"}, place);
  if (!answer) return pass(answer);
  if (answer->status == 200) return described(key, *answer);
  // A URL that is signed for GET alone is refused for HEAD.
  place = {base_, concat("/", key)};
  auto first = call_patiently({.headers = {{"Range", "bytes=0-0"}},
                               .take = [](std::string_view) { return Result<void>(); },
                               .take_status = 206},
                              place);
  if (!first && first.error().code == ErrorCode::bad_method) return ObjectInfo{.key = key, .etag = {}};  // size unknown
  if (!first) return pass(first);
  if (first->status != 206 && first->status != 200) return status_error(first->status, url_of(key));
  ObjectInfo out = described(key, *first);
  if (first->status == 206) out.size = whole_size(text_in_header(*first, "Content-Range"));
  return out;
}

Result<ObjectInfo> HttpStore::get(const std::string& key, const ObjectRange& range,
                                  const std::function<Result<void>(std::string_view)>& take) {
  auto about = head(key);
  if (!about) return pass(about);
  // A server that makes its answer as it goes does not say how long it will be.
  const bool knows_size = about->size > 0;
  if (knows_size && (range.offset > about->size || range.size.value_or(0) > about->size - range.offset)) {
    return fail(ErrorCode::bad_input, concat(url_of(key), " has ", about->size, " bytes, and more were asked for"));
  }
  const bool is_part = range.offset > 0 || range.size;
  const std::uint64_t wanted = range.size.value_or(about->size - std::min(range.offset, about->size));
  const bool has_strong_tag = !about->etag.empty() && !about->etag.starts_with("W/");
  const bool can_resume = has_strong_tag && knows_size;
  if (is_part && !knows_size) return no_parts(url_of(key));
  if (knows_size && wanted == 0) return about;
  std::uint64_t taken = 0;
  std::optional<Error> refused;
  Place place{base_, concat("/", key)};
  for (int tries = 1;; ++tries) {
    const std::uint64_t before = taken;
    const bool asks_part = is_part || taken > 0;
    // Bytes of the whole file are not those that were asked for.
    HttpCall request{.take_status = asks_part ? 206 : 200, .deadline_ms = kLongestCallMs};
    if (asks_part) {
      request.headers.push_back({"Range", concat("bytes=", range.offset + taken, "-", range.offset + wanted - 1)});
      if (has_strong_tag) request.headers.push_back({"If-Match", about->etag});
    }
    request.take = [&](std::string_view bytes) -> Result<void> {
      if (knows_size && bytes.size() > wanted - taken) return fail(ErrorCode::damaged, "more came than was asked for");
      auto done = take(bytes);
      if (!done) refused = done.error();
      taken += bytes.size();
      return done;
    };
    auto answer = call(request, place);
    if (refused) return std::unexpected(std::move(*refused));
    if (answer && answer->status == 412) {
      return fail(ErrorCode::conflict, concat(url_of(key), " was replaced while it was read"));
    }
    if (!answer && answer.error().code == ErrorCode::bad_method) return no_parts(url_of(key));
    if (answer && answer->status == 206 &&
        first_byte(text_in_header(*answer, "Content-Range")) != range.offset + before) {
      return fail(ErrorCode::damaged, concat(url_of(key), ": the server sent another part than was asked for"),
                  "try again");
    }
    const bool is_answered = answer && answer->status == (asks_part ? 206 : 200);
    if (is_answered && (!knows_size || taken == wanted)) {
      about->size = std::max(about->size, taken);
      return about;
    }
    if (answer && asks_part && answer->status == 200) return no_parts(url_of(key));
    const bool may_continue = taken == 0 || can_resume;
    if (tries >= kMostTries || !may_continue || (taken == before && !may_pass(answer))) {
      if (answer && answer->status >= 300) return status_error(answer->status, url_of(key));
      if (answer) return fail(ErrorCode::io, concat(url_of(key), ": the body ended early"));
      answer.error().message = concat(url_of(key), ": ", answer.error().message);
      return pass(answer);
    }
    if (taken > before) tries = 0;
    outside_.sleep(kFirstPauseMs << std::min(tries, kMostTries));
  }
}

Result<ListPage> HttpStore::list(const ListQuestion& /*question*/) {
  return fail(ErrorCode::bad_method, concat(base_, " cannot be listed: HTTP has no lists of files"),
              "name each file, or put their URLs into a file, one per line");
}
Result<ObjectInfo> HttpStore::put(const ObjectInfo& /*object*/, const ObjectBytes& /*bytes*/) {
  return read_only(base_);
}
Result<void> HttpStore::remove(const std::string& /*key*/) {
  return read_only(base_);
}
Result<ObjectInfo> HttpStore::copy(const std::string& /*from*/, const std::string& /*to*/) {
  return read_only(base_);
}
Result<std::string> HttpStore::begin_upload(const ObjectInfo& /*object*/) {
  return read_only(base_);
}
Result<UploadedPart> HttpStore::upload_part(const std::string& /*key*/, const std::string& /*upload*/,
                                            std::uint32_t /*number*/, const std::string& /*bytes*/) {
  return read_only(base_);
}
Result<ObjectInfo> HttpStore::complete_upload(const std::string& /*key*/, const std::string& /*upload*/,
                                              const std::vector<UploadedPart>& /*parts*/) {
  return read_only(base_);
}
Result<void> HttpStore::abort_upload(const std::string& /*key*/, const std::string& /*upload*/) {
  return read_only(base_);
}

}  // namespace drover

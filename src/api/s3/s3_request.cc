#include "api/s3/s3_request.h"

#include <algorithm>
#include <array>

#include "api/s3/s3_fault.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/aws/bucket_name.h"

namespace drover::aws {
namespace {

/// Headers by which an object would be kept in a way that is not here: to overlook one would be to promise it.
constexpr std::array<std::string_view, 4> kOtherHeaders{"x-amz-grant-", "x-amz-object-lock-",
                                                        "x-amz-server-side-encryption", "x-amz-write-offset-bytes"};
constexpr std::array<std::string_view, 7> kCannedAcls{
    "private",       "public-read",       "public-read-write",        "authenticated-read",
    "aws-exec-read", "bucket-owner-read", "bucket-owner-full-control"};
/// Names of this machine below which a bucket's name may stand, besides those that begin with "s3.".
constexpr std::array<std::string_view, 2> kOwnHosts{"localhost", "localhost.localdomain"};

std::unexpected<Fault> refused(std::string code, std::string message, int status) {
  return std::unexpected(Fault{std::move(code), std::move(message), status});
}

std::unexpected<Fault> not_here(std::string_view what) {
  return refused("NotImplemented",
                 concat("A header or query you provided implies functionality that is not implemented: ", what), 501);
}

/// Of signatures, and what SDKs add for their own logs.
bool is_for_all(std::string_view parameter) {
  constexpr std::array<std::string_view, 15> kForAll{"x-id",
                                                     "AWSAccessKeyId",
                                                     "Signature",
                                                     "Expires",
                                                     "X-Amz-Algorithm",
                                                     "X-Amz-Credential",
                                                     "X-Amz-Date",
                                                     "X-Amz-Expires",
                                                     "X-Amz-Signature",
                                                     "X-Amz-SignedHeaders",
                                                     "X-Amz-Security-Token",
                                                     "X-Amz-Content-Sha256",
                                                     "x-amz-user-agent",
                                                     "x-amz-sdk-checksum-algorithm",
                                                     "x-amz-checksum-mode"};
  return std::ranges::any_of(kForAll, [&](std::string_view it) { return is_same_but_for_case(it, parameter); });
}

bool is_listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    if (take_until(list, ' ') == name) return true;
  }
  return false;
}

std::expected<const S3OperationRow*, Fault> find_operation(const HttpHead& head, const S3Request& request) {
  const S3Level level = request.bucket.empty() ? S3Level::service
                        : request.key.empty()  ? S3Level::bucket
                                               : S3Level::object;
  const bool is_copy = head.header("x-amz-copy-source") != nullptr;
  const auto names = [&](const S3OperationRow& row) {
    return row.level == level && (row.selector.empty() || request.parameter(row.selector));
  };
  const auto can_be = [&](const S3OperationRow& row) {
    return names(row) && row.method == head.method && (!row.is_copy || is_copy);
  };
  const auto rows = s3_operations();
  const auto found = std::ranges::find_if(rows, can_be);
  for (const auto& [name, value] : request.query) {
    if (is_for_all(name)) continue;
    const bool is_known = found != rows.end() && (found->selector == name || is_listed(found->parameters, name));
    if (!is_known) return not_here(name);
  }
  if (found != rows.end()) return &*found;
  return refused("MethodNotAllowed", "The specified method is not allowed against this resource.", 405);
}

std::expected<void, Fault> check_headers(const HttpHead& head) {
  for (const HttpHeader& it : head.headers) {
    const std::string name = in_small_letters(it.name);
    const auto begins = [&](std::string_view other) { return name.starts_with(other); };
    if (std::ranges::any_of(kOtherHeaders, begins)) return not_here(name);
    if (name == "x-amz-bucket-object-lock-enabled" && !is_same_but_for_case(it.value, "false")) return not_here(name);
    if (name == "x-amz-acl" && std::ranges::find(kCannedAcls, it.value) == kCannedAcls.end()) {
      return refused("InvalidArgument", concat("Invalid x-amz-acl: ", it.value), 400);
    }
  }
  return {};
}

}  // namespace

std::string policy_action(const S3Request& request) {
  const bool is_of_version = request.version() && request.row->level == S3Level::object;
  std::string_view action = request.row->action;
  for (const std::string_view what : {"Tagging", "Acl"}) {
    if (is_of_version && action.ends_with(what)) {
      return concat("s3:", action.substr(0, action.size() - what.size()), "Version", what);
    }
  }
  const bool has_own = action.ends_with("Object");
  return concat("s3:", action, is_of_version && has_own ? "Version" : "");
}

std::optional<std::string> S3Request::parameter(std::string_view name) const {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? std::nullopt : std::optional(found->second);
}

std::string bucket_of_host(std::string_view host) {
  host = host.substr(0, host.find(':'));
  const std::size_t dot = host.find(".s3.");
  if (dot != std::string_view::npos) return std::string(host.substr(0, dot));
  for (const std::string_view it : kOwnHosts) {
    if (host.size() > it.size() + 1 && host.ends_with(it) && host[host.size() - it.size() - 1] == '.') {
      const std::string_view bucket = host.substr(0, host.size() - it.size() - 1);
      return bucket == "s3" ? "" : std::string(bucket);
    }
  }
  return {};
}

std::expected<S3Request, Fault> read_s3_request(const HttpHead& head) {
  S3Request out;
  const auto bad_uri = [] { return refused("InvalidURI", "Couldn't parse the specified URI.", 400); };
  auto query = query_pairs(head.query);
  if (!query || !head.path.starts_with('/')) return bad_uri();
  out.query = std::move(*query);
  const std::string* host = head.header("Host");
  out.bucket = host == nullptr ? std::string() : bucket_of_host(*host);
  std::string_view rest = std::string_view(head.path).substr(1);
  if (out.bucket.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    auto bucket = percent_decoded(rest.substr(0, slash));
    if (!bucket) return bad_uri();
    out.bucket = std::move(*bucket);
    rest = slash == rest.size() ? std::string_view() : rest.substr(slash + 1);
  }
  auto key = percent_decoded(rest);
  if (!key || utf8(out.bucket) != out.bucket) return bad_uri();
  out.key = std::move(*key);
  if (auto checked = check_key(out.key); !checked) return std::unexpected(std::move(checked.error()));
  if (out.bucket.empty() && !out.key.empty()) {
    return refused("InvalidBucketName", "The specified bucket is not valid.", 400);
  }
  if (out.version() == "") return std::unexpected(empty_version());
  if (auto checked = check_headers(head); !checked) return std::unexpected(std::move(checked.error()));
  auto row = find_operation(head, out);
  if (!row) return std::unexpected(std::move(row.error()));
  out.row = *row;
  return out;
}

std::expected<void, Fault> check_key(std::string_view key) {
  if (utf8(key) != key) return refused("InvalidURI", "Couldn't parse the specified URI.", 400);
  if (key.size() > kLongestObjectKey) return refused("KeyTooLongError", "Your key is too long", 400);
  return {};
}

}  // namespace drover::aws

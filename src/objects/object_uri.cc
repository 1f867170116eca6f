#include "objects/object_uri.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "wire/aws/bucket_name.h"

namespace drover {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::string_view kFile = "file://";
constexpr std::array<std::string_view, 2> kHttp{"http://", "https://"};

std::unexpected<Error> invalid(std::string_view text, std::string_view why, std::string next) {
  return fail(ErrorCode::bad_input, concat("invalid object URI '", text, "': ", why), std::move(next));
}

Result<ObjectUri> parse_s3(std::string_view text) {
  std::string_view rest = text.substr(kS3.size());
  const std::string_view bucket = take_until(rest, '/');
  if (bucket.empty() && !rest.empty()) return invalid(text, "it names no bucket", "write s3://BUCKET/KEY");
  if (!bucket.empty() && !aws::is_bucket_name(bucket)) {
    return invalid(text, concat("'", bucket, "' is not a valid bucket name"),
                   "bucket names have 3 to 63 lowercase letters, digits, '-' and '.'");
  }
  if (rest.size() > aws::kLongestObjectKey)
    return invalid(text, "the key is longer than 1,024 bytes", "use a shorter key");
  return ObjectUri{ObjectUri::Scheme::s3, std::string(bucket), std::string(rest)};
}

Result<ObjectUri> parse_file(std::string_view text) {
  const std::string_view path = text.substr(kFile.size());
  if (!path.starts_with('/')) return invalid(text, "the path is not absolute", "write file:///PATH");
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = take_until(rest, '/');
    if (name == "." || name == "..")
      return invalid(text, "the path contains '.' or '..'", "write the path without them");
  }
  const std::size_t slash = path.rfind('/');
  return ObjectUri{ObjectUri::Scheme::file, std::string(slash == 0 ? "/" : path.substr(0, slash)),
                   std::string(path.substr(slash + 1))};
}

Result<ObjectUri> parse_http(std::string_view text) {
  const std::size_t host = text.find("://") + 3;
  const std::size_t slash = std::min(text.find('/', host), text.size());
  if (slash == host) return invalid(text, "it names no host", "write https://HOST/PATH");
  if (text.substr(host, slash - host).contains('@')) {
    return invalid(text, "user names and passwords in URLs are not supported", "remove USER:PASSWORD@");
  }
  const std::string_view key = slash < text.size() ? text.substr(slash + 1) : std::string_view();
  return ObjectUri{ObjectUri::Scheme::http, std::string(text.substr(0, slash)),
                   std::string(key.substr(0, key.find('#')))};
}

}  // namespace

std::string ObjectUri::text() const {
  switch (scheme) {
    case Scheme::s3: return concat(kS3, store, key.empty() ? "" : "/", key);
    case Scheme::file: return concat(kFile, store == "/" ? "" : store, "/", key);
    case Scheme::http: return concat(store, "/", key);
  }
  return {};
}

bool looks_like_object_uri(std::string_view text) {
  return text.starts_with(kS3) || text.starts_with(kFile) ||
         std::ranges::any_of(kHttp, [&](std::string_view it) { return text.starts_with(it); });
}

Result<ObjectUri> parse_object_uri(std::string_view text) {
  if (text.contains('\0')) return fail(ErrorCode::bad_input, "an object URI cannot contain a NUL byte");
  if (text.starts_with(kS3)) return parse_s3(text);
  if (text.starts_with(kFile)) return parse_file(text);
  if (looks_like_object_uri(text)) return parse_http(text);
  return invalid(text, "the scheme is not supported", "write s3://BUCKET/KEY, file:///PATH or https://HOST/PATH");
}

bool matches_glob(std::string_view pattern, std::string_view key) {
  // Where to continue if what follows the last `*` or `**` does not match: there it takes one more character.
  struct Retry {
    std::size_t pattern = std::string_view::npos;
    std::size_t key = 0;
  };
  Retry star;
  Retry double_star;
  std::size_t p = 0;
  std::size_t k = 0;
  while (k < key.size() || p < pattern.size()) {
    if (p < pattern.size() && pattern.substr(p).starts_with("**")) {
      p += 2;
      double_star = {p, k};
      star = {};
      continue;
    }
    if (p < pattern.size() && pattern[p] == '*') {
      star = {++p, k};
      continue;
    }
    if (p < pattern.size() && k < key.size() && (pattern[p] == key[k] || (pattern[p] == '?' && key[k] != '/'))) {
      ++p;
      ++k;
      continue;
    }
    if (star.pattern != std::string_view::npos && star.key < key.size() && key[star.key] != '/') {
      p = star.pattern;
      k = ++star.key;
      continue;
    }
    if (double_star.pattern != std::string_view::npos && double_star.key < key.size()) {
      p = double_star.pattern;
      k = ++double_star.key;
      star = {};
      continue;
    }
    return false;
  }
  return true;
}

bool is_glob(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

std::string_view literal_prefix(std::string_view pattern) {
  return pattern.substr(0, pattern.find_first_of("*?"));
}

}  // namespace drover

#include "keys/bucket_grant.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/aws/bucket_name.h"

namespace drover {
namespace {

constexpr std::array<std::pair<BucketAccess, std::string_view>, 3> kAccessNames{
    {{BucketAccess::read, "read"}, {BucketAccess::write, "write"}, {BucketAccess::read_write, "read-write"}}};

}  // namespace

std::string_view to_string(BucketAccess access) {
  const auto* found = std::ranges::find(kAccessNames, access, &std::pair<BucketAccess, std::string_view>::first);
  DROVER_CHECK(found != kAccessNames.end(), "every access has a name");
  return found->second;
}

Result<BucketAccess> parse_bucket_access(std::string_view text) {
  const auto* found = std::ranges::find(kAccessNames, text, &std::pair<BucketAccess, std::string_view>::second);
  if (found != kAccessNames.end()) return found->first;
  return fail(ErrorCode::bad_input, concat("unknown access '", utf8(text), "'"),
              "choose one of read, write, read-write");
}

std::string BucketGrant::words() const {
  return concat(to_string(access), " access to objects of the bucket '", bucket, "'",
                prefix.empty() ? "" : concat(" with the prefix '", prefix, "'"));
}

Result<void> check_bucket_grant(const BucketGrant& grant) {
  if (!aws::is_bucket_name(grant.bucket)) {
    return fail(ErrorCode::bad_input, concat("'", utf8(grant.bucket), "' is not a valid bucket name"),
                "use 3 to 63 lower-case letters, digits, dots and hyphens");
  }
  const bool has_control = std::ranges::any_of(grant.prefix, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!has_control && utf8(grant.prefix) == grant.prefix && grant.prefix.size() <= aws::kLongestObjectKey) return {};
  return fail(ErrorCode::bad_input,
              concat("a prefix must be a single line of UTF-8 text of at most ", aws::kLongestObjectKey, " bytes"),
              "choose a shorter prefix, without control characters");
}

}  // namespace drover

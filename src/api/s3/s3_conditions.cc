#include "api/s3/s3_conditions.h"

#include <algorithm>

#include "api/s3/s3_answers.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/aws/signing_time.h"

namespace drover::aws {
namespace {

/// Whether the object was changed after that time, which has no fractions of a second. Nothing: it is no time.
std::optional<bool> is_newer(const StoredObject& object, const std::string& time) {
  const auto ms = parse_signing_time(time);
  if (!ms) return std::nullopt;
  return object.modified_ms / 1000 > *ms / 1000;
}

std::unexpected<Fault> unchanged() {
  return std::unexpected(Fault{"NotModified", "Not Modified", 304});
}

std::unexpected<Fault> does_not_hold() {
  return std::unexpected(
      Fault{"PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412});
}

}  // namespace

std::expected<std::optional<ByteRange>, Fault> read_range(const HttpHead& head, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const std::string* header = head.header("Range");
  if (header == nullptr || !header->starts_with(kUnit) || header->contains(',')) return std::nullopt;
  const std::string_view range = trimmed(std::string_view(*header).substr(kUnit.size()));
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_number(range.substr(0, dash));
  const auto last = parse_number(range.substr(dash + 1));
  const Fault nothing{"InvalidRange", "The requested range is not satisfiable", 416};
  if (dash == 0) {
    if (!last) return std::nullopt;
    const std::uint64_t wanted = std::min(*last, size);
    if (wanted == 0) return std::unexpected(nothing);
    return ByteRange{size - wanted, wanted};
  }
  const bool has_last = dash + 1 < range.size();
  if (!first || (has_last && (!last || *last < *first))) return std::nullopt;
  if (*first >= size) return std::unexpected(nothing);
  const std::uint64_t end = has_last ? std::min(*last, size - 1) : size - 1;
  return ByteRange{*first, end - *first + 1};
}

bool names_etag(std::string_view list, std::string_view etag) {
  while (!list.empty()) {
    std::string_view one = trimmed(take_until(list, ','));
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (without_quotes(one) == etag) return true;
  }
  return false;
}

std::expected<void, Fault> read_put_conditions(const HttpHead& head, PutObject& put) {
  if (const std::string* none = head.header("If-None-Match")) {
    if (*none != "*") {
      return std::unexpected(Fault{"NotImplemented", "If-None-Match of a PUT can only be *", 501});
    }
    put.only_if_new = true;
  }
  if (const std::string* match = head.header("If-Match")) put.only_if_etag = without_quotes(*match);
  return {};
}

// A copy answers 412 whichever of them does not hold.
std::expected<void, Fault> check_source_conditions(const HttpHead& head, const StoredObject& source) {
  constexpr std::string_view kBegin = "x-amz-copy-source-if-";
  HttpHead as_read;
  for (const HttpHeader& it : head.headers) {
    const std::string name = in_small_letters(it.name);
    if (name.starts_with(kBegin)) as_read.headers.push_back({concat("If-", name.substr(kBegin.size())), it.value});
  }
  if (check_conditions(as_read, source)) return {};
  return does_not_hold();
}

// As RFC 9110 orders them: a condition on the ETag makes one on the time count for nothing.
std::expected<void, Fault> check_conditions(const HttpHead& head, const StoredObject& object) {
  if (const std::string* match = head.header("If-Match")) {
    if (!names_etag(*match, object.etag)) return does_not_hold();
  } else if (const std::string* unmodified = head.header("If-Unmodified-Since")) {
    if (is_newer(object, *unmodified).value_or(false)) return does_not_hold();
  }
  if (const std::string* none = head.header("If-None-Match")) {
    if (names_etag(*none, object.etag)) return unchanged();
  } else if (const std::string* modified = head.header("If-Modified-Since")) {
    if (!is_newer(object, *modified).value_or(true)) return unchanged();
  }
  return {};
}

}  // namespace drover::aws

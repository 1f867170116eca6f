#include "api/s3/s3_headers.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "wire/aws/times.h"
#include "wire/base64.h"

namespace drover::aws {
namespace {

constexpr std::string_view kMeta = "x-amz-meta-";
constexpr std::string_view kChecksum = "x-amz-checksum-";
constexpr std::string_view kAcl = "x-amz-acl";
constexpr std::array<std::string_view, 8> kKept{"cache-control",
                                                "content-disposition",
                                                "content-encoding",
                                                "content-language",
                                                "content-type",
                                                "expires",
                                                kAcl,
                                                "x-amz-website-redirect-location"};
constexpr std::array<std::string_view, 9> kClasses{"STANDARD",     "REDUCED_REDUNDANCY",  "STANDARD_IA",
                                                   "ONEZONE_IA",   "INTELLIGENT_TIERING", "GLACIER",
                                                   "DEEP_ARCHIVE", "GLACIER_IR",          "EXPRESS_ONEZONE"};
constexpr std::size_t kMostMetadata = 2048;
constexpr std::size_t kLongestTagName = 128;
constexpr std::size_t kLongestTagValue = 256;
/// A signed GET may ask for other headers than the object has: "response-content-type".
constexpr std::array<std::string_view, 6> kReplaceable{"cache-control",    "content-disposition", "content-encoding",
                                                       "content-language", "content-type",        "expires"};

struct NamedChecksum {
  ChecksumKind kind;
  std::string_view name;  // behind "x-amz-checksum-"
  std::string_view words;
};
constexpr std::array<NamedChecksum, 5> kChecksums{{{ChecksumKind::crc32, "crc32", "CRC32"},
                                                   {ChecksumKind::crc32c, "crc32c", "CRC32C"},
                                                   {ChecksumKind::crc64nvme, "crc64nvme", "CRC64NVME"},
                                                   {ChecksumKind::sha1, "sha1", "SHA1"},
                                                   {ChecksumKind::sha256, "sha256", "SHA256"}}};

/// What is left of "gzip,aws-chunked" when the body was unpacked: that was only how it came.
std::string without_chunking(std::string_view encodings) {
  std::string out;
  while (!encodings.empty()) {
    const std::string_view one = trimmed(take_until(encodings, ','));
    if (one.empty() || is_same_but_for_case(one, "aws-chunked")) continue;
    if (!out.empty()) out += ",";
    out += one;
  }
  return out;
}

}  // namespace

std::expected<ObjectHeaders, Fault> kept_headers(const HttpHead& head) {
  ObjectHeaders out;
  std::size_t metadata = 0;
  for (const HttpHeader& it : head.headers) {
    const std::string name = in_small_letters(it.name);
    if (!name.starts_with(kMeta) && std::ranges::find(kKept, name) == kKept.end()) continue;
    if (name.starts_with(kMeta)) metadata += name.size() - kMeta.size() + it.value.size();
    if (metadata > kMostMetadata) {
      return std::unexpected(
          Fault{"MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size", 400});
    }
    std::string value = name == "content-encoding" ? without_chunking(it.value) : it.value;
    if (!value.empty() || name.starts_with(kMeta)) out.emplace_back(name, std::move(value));
  }
  return out;
}

std::expected<std::string, Fault> storage_class_of(const HttpHead& head) {
  const std::string* stated = head.header("x-amz-storage-class");
  if (stated == nullptr || *stated == "STANDARD") return std::string();
  if (std::ranges::find(kClasses, *stated) == kClasses.end()) {
    return std::unexpected(Fault{"InvalidStorageClass", "The storage class you specified is not valid", 400});
  }
  return *stated;
}

std::expected<std::string, Fault> tags_text(const std::vector<std::pair<std::string, std::string>>& tags,
                                            std::size_t most) {
  const auto bad = [](std::string why) { return std::unexpected(Fault{"InvalidTag", std::move(why), 400}); };
  if (tags.size() > most) {
    return std::unexpected(Fault{"BadRequest", concat("Object tags cannot be greater than ", most), 400});
  }
  std::string out;
  std::set<std::string_view> names;
  for (const auto& [name, value] : tags) {
    if (name.empty() || name.size() > kLongestTagName) return bad("The TagKey you have provided is invalid");
    if (value.size() > kLongestTagValue) return bad("The TagValue you have provided is invalid");
    if (!names.insert(name).second) return bad("Cannot provide multiple Tags with the same key");
    out += concat(out.empty() ? "" : "&", percent_encoded(name), "=", percent_encoded(value));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> tags_from(std::string_view text) {
  return query_pairs(text).value_or(QueryPairs());
}

std::expected<std::string, Fault> tags_of(const HttpHead& head) {
  const std::string* stated = head.header("x-amz-tagging");
  if (stated == nullptr) return std::string();
  const auto pairs = query_pairs(*stated);
  if (!pairs) {
    return std::unexpected(
        Fault{"InvalidArgument", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded", 400});
  }
  return tags_text(*pairs);
}

std::optional<ChecksumKind> checksum_kind(std::string_view name) {
  const auto found =
      std::ranges::find_if(kChecksums, [&](const NamedChecksum& it) { return is_same_but_for_case(it.name, name); });
  return found == kChecksums.end() ? std::nullopt : std::optional(found->kind);
}

std::expected<void, Fault> check_small_body(const HttpHead& head, std::string_view body) {
  Checksums sums(wanted_checksums(head));
  sums.add(body);
  auto checked = check_checksums(head, sums.finish());
  if (!checked) return std::unexpected(std::move(checked.error()));
  return {};
}

std::vector<ChecksumKind> wanted_checksums(const HttpHead& head) {
  std::vector<ChecksumKind> out{ChecksumKind::md5};
  const std::string* trailer = head.header("x-amz-trailer");
  for (const NamedChecksum& it : kChecksums) {
    const std::string name = concat(kChecksum, it.name);
    const bool follows = trailer != nullptr && is_same_but_for_case(trimmed(*trailer), name);
    if (follows || head.header(name) != nullptr) out.push_back(it.kind);
  }
  return out;
}

std::expected<ObjectHeaders, Fault> check_checksums(const HttpHead& head,
                                                    const std::map<ChecksumKind, std::string>& found) {
  if (const std::string* stated = head.header("Content-MD5")) {
    const auto md5 = from_base64(*stated);
    if (!md5 || md5->size() != 16) {
      return std::unexpected(Fault{"InvalidDigest", "The Content-MD5 you specified was invalid.", 400});
    }
    if (*md5 != found.at(ChecksumKind::md5)) {
      return std::unexpected(Fault{"BadDigest", "The Content-MD5 you specified did not match what we received.", 400});
    }
  }
  if (const std::string* trailer = head.header("x-amz-trailer")) {
    const std::string name = in_small_letters(trimmed(*trailer));
    if (name.starts_with(kChecksum) && head.header(name) == nullptr) {
      return std::unexpected(
          Fault{"MalformedTrailerError", concat("The request announced ", name, " and did not send it."), 400});
    }
  }
  ObjectHeaders out;
  for (const NamedChecksum& it : kChecksums) {
    const std::string name = concat(kChecksum, it.name);
    const std::string* stated = head.header(name);
    if (stated == nullptr) continue;
    const auto sum = found.find(it.kind);
    const std::string computed = sum == found.end() ? "" : base64(sum->second);
    if (*stated != computed) {
      return std::unexpected(
          Fault{"BadDigest", concat("The ", it.words, " you specified did not match the calculated checksum."), 400});
    }
    out.emplace_back(name, computed);
  }
  return out;
}

std::vector<HttpHeader> object_headers(const StoredObject& object, const S3Request& request, const HttpHead& head,
                                       bool is_part) {
  std::vector<HttpHeader> out{{"Last-Modified", http_time(object.modified_ms)},
                              {"ETag", concat("\"", object.etag, "\"")},
                              {"Accept-Ranges", "bytes"}};
  const std::string* mode = head.header("x-amz-checksum-mode");
  const bool shows_checksums = mode != nullptr && is_same_but_for_case(*mode, "ENABLED") && !is_part;
  if (!object.storage_class.empty()) out.push_back({"x-amz-storage-class", object.storage_class});
  if (!object.tags.empty()) {
    out.push_back({"x-amz-tagging-count", std::to_string(1 + std::ranges::count(object.tags, '&'))});
  }
  bool has_type = false;
  for (const auto& [name, value] : object.headers) {
    if ((name.starts_with(kChecksum) && !shows_checksums) || name == kAcl) continue;
    if (name == "x-amz-storage-class") continue;  // kept here by the first version of the index
    if (std::ranges::find(kReplaceable, name) != kReplaceable.end() && request.parameter(concat("response-", name))) {
      continue;
    }
    has_type = has_type || name == "content-type";
    out.push_back({name, value});
  }
  for (const std::string_view name : kReplaceable) {
    const auto value = request.parameter(concat("response-", name));
    if (!value) continue;
    has_type = has_type || name == "content-type";
    out.push_back({std::string(name), *value});
  }
  if (!has_type) out.push_back({"content-type", "binary/octet-stream"});
  return out;
}

}  // namespace drover::aws

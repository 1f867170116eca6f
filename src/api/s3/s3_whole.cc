#include "api/s3/s3_whole.h"

#include <algorithm>
#include <map>
#include <optional>

#include "api/s3/s3_headers.h"
#include "base/text.h"
#include "wire/base64.h"
#include "wire/checksums.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

constexpr std::uint64_t kSmallestPart = std::uint64_t{5} << 20;
constexpr std::uint64_t kLargestObject = std::uint64_t{5} << 40;
constexpr std::string_view kAlgorithm = "x-amz-checksum-algorithm";
constexpr std::string_view kType = "x-amz-checksum-type";

std::unexpected<Fault> bad_request(std::string message) {
  return std::unexpected(Fault{"InvalidRequest", std::move(message), 400});
}

std::unexpected<Fault> bad_digest(std::string message) {
  return std::unexpected(Fault{"BadDigest", std::move(message), 400});
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string out;
  for (; text.size() >= 2; text.remove_prefix(2)) {
    const int high = hex_value(text[0]);
    const int low = hex_value(text[1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

const std::string* find(const ObjectHeaders& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &ObjectHeaders::value_type::first);
  return found == headers.end() ? nullptr : &found->second;
}

bool is_crc(ChecksumKind kind) {
  return kind <= ChecksumKind::crc64nvme;
}

std::string sum_of(ChecksumKind kind, std::string_view bytes) {
  Checksums sums({kind});
  sums.add(bytes);
  return sums.finish().at(kind);
}

/// Of the whole, in base64; nothing: not all parts have one.
std::optional<std::string> whole_sum(ChecksumKind kind, const std::string& header, bool is_full,
                                     const std::vector<const StoredPart*>& parts) {
  std::string all;
  std::string full;
  for (const StoredPart* it : parts) {
    const std::string* text = find(it->headers, header);
    const auto sum = text == nullptr ? std::nullopt : from_base64(*text);
    if (!sum) return std::nullopt;
    all += *sum;
    if (is_full) full = full.empty() ? *sum : combined_crc(kind, full, *sum, it->size);
  }
  if (is_full) return base64(full);
  return concat(base64(sum_of(kind, all)), "-", parts.size());
}

}  // namespace

std::expected<ObjectHeaders, Fault> upload_checksum(const HttpHead& head) {
  const std::string* algorithm = head.header(kAlgorithm);
  const std::string* type = head.header(kType);
  if (algorithm == nullptr) {
    if (type == nullptr) return ObjectHeaders();
    return bad_request("The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.");
  }
  const auto kind = checksum_kind(*algorithm);
  if (!kind) return bad_request("Checksum algorithm provided is unsupported. Please try again with a supported one.");
  const std::string usual = *kind == ChecksumKind::crc64nvme ? "FULL_OBJECT" : "COMPOSITE";
  const std::string stated = type == nullptr ? usual : *type;
  const bool is_full = stated == "FULL_OBJECT";
  if ((!is_full && stated != "COMPOSITE") || (is_full && !is_crc(*kind)) ||
      (!is_full && *kind == ChecksumKind::crc64nvme)) {
    return bad_request(concat("The ", stated, " checksum type cannot be used with the ", in_small_letters(*algorithm),
                              " checksum algorithm."));
  }
  return ObjectHeaders{{std::string(kAlgorithm), in_small_letters(*algorithm)}, {std::string(kType), stated}};
}

std::expected<WholeObject, Fault> whole_object(const Upload& upload, const CompleteRequest& request,
                                               const std::vector<StoredPart>& there, const HttpHead& head) {
  std::map<std::uint64_t, const StoredPart*> by_number;
  for (const StoredPart& it : there) by_number[it.number] = &it;
  std::vector<const StoredPart*> parts;
  std::string digests;
  std::uint64_t last = 0;
  std::uint64_t size = 0;
  for (const CompleteRequest::Part& it : request.parts) {
    if (it.number <= last) {
      return std::unexpected(Fault{"InvalidPartOrder",
                                   "The list of parts was not in ascending order. The parts list must be specified in "
                                   "order by part number.",
                                   400});
    }
    last = it.number;
    const auto found = by_number.find(it.number);
    const auto digest = found == by_number.end() ? std::nullopt : from_hex(found->second->etag);
    if (!digest || found->second->etag != it.etag) {
      return std::unexpected(Fault{"InvalidPart",
                                   "One or more of the specified parts could not be found. The part may not have been "
                                   "uploaded, or the specified entity tag may not match the part's entity tag.",
                                   400});
    }
    for (const auto& [name, value] : it.checksums) {
      const std::string* sum = find(found->second->headers, concat("x-amz-checksum-", name));
      if (sum != nullptr && *sum != value) {
        return std::unexpected(
            Fault{"InvalidPart", concat("The checksum of part ", it.number, " does not match."), 400});
      }
    }
    if (it.number != request.parts.back().number && found->second->size < kSmallestPart) {
      return std::unexpected(
          Fault{"EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size", 400});
    }
    size += found->second->size;
    if (size > kLargestObject) {
      return std::unexpected(
          Fault{"EntityTooLarge", "Your proposed upload exceeds the maximum allowed object size.", 400});
    }
    parts.push_back(found->second);
    digests += *digest;
  }
  WholeObject out{.etag = concat(hex(sum_of(ChecksumKind::md5, digests)), "-", parts.size()),
                  .headers = upload.object.headers};
  const std::string* algorithm = find(upload.object.headers, kAlgorithm);
  const std::string* type = find(upload.object.headers, kType);
  const auto kind = algorithm == nullptr ? std::nullopt : checksum_kind(*algorithm);
  std::erase_if(out.headers, [&](const auto& it) { return it.first == kAlgorithm; });
  if (!kind) return out;
  const std::string header = concat("x-amz-checksum-", *algorithm);
  const auto sum = whole_sum(*kind, header, type != nullptr && *type == "FULL_OBJECT", parts);
  const std::string* stated = head.header(header);
  if (stated != nullptr && sum && *stated != *sum) {
    return bad_digest(concat("The ", *algorithm, " you specified did not match the calculated checksum."));
  }
  if (sum) {
    out.headers.emplace_back(header, *sum);
  } else {
    std::erase_if(out.headers, [&](const auto& it) { return it.first == kType; });
  }
  return out;
}

}  // namespace drover::aws

#include "api/s3/s3_lists.h"

#include <algorithm>

#include "api/s3/s3_answers.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/aws/output.h"
#include "wire/aws/times.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

constexpr std::uint64_t kMostKeys = 1000;
constexpr std::uint64_t kMostParts = 10'000;

std::string person_xml(std::string_view role, const std::string& id) {
  return concat("<", role, ">", xml_tag("ID", id), xml_tag("DisplayName", id), "</", role, ">");
}

std::string class_of(const std::string& storage_class) {
  return xml_tag("StorageClass", storage_class.empty() ? "STANDARD" : storage_class);
}

std::string etag_xml(const std::string& etag) {
  return concat("<ETag>&quot;", xml_text(etag), "&quot;</ETag>");
}

/// Keys as they stand in the list: XML cannot carry all of them, so that clients ask for escapes.
class KeyText {
 public:
  explicit KeyText(const S3Request& request) : escapes_(request.parameter("encoding-type") == "url") {}

  std::string operator()(std::string_view key) const {
    if (!escapes_) return xml_text(key);
    std::string out;
    for (std::size_t at = 0; at <= key.size();) {
      const std::size_t slash = std::min(key.find('/', at), key.size());
      out += percent_encoded(key.substr(at, slash - at));
      if (slash < key.size()) out += '/';
      at = slash + 1;
    }
    return out;
  }
  bool escapes() const { return escapes_; }

 private:
  bool escapes_;
};

std::unexpected<Fault> bad_argument(std::string message) {
  return std::unexpected(Fault{"InvalidArgument", std::move(message), 400});
}

/// How many are asked for, and that keys are written in a way that is known here.
std::expected<std::uint64_t, Fault> read_most(const S3Request& request, std::string_view name) {
  if (const auto encoding = request.parameter("encoding-type"); encoding && !encoding->empty() && *encoding != "url") {
    return bad_argument("Invalid Encoding Method specified in Request");
  }
  const auto most = request.parameter(name);
  if (!most || most->empty()) return kMostKeys;
  const auto number = parse_number(*most);
  if (!number) return bad_argument(concat("Provided ", name, " not an integer or within integer range"));
  return std::min(*number, kMostKeys);
}

/// Where a page of versions goes on, as text that stays true when versions are deleted.
std::string marker_of(std::uint64_t sequence) {
  return concat("from-", sequence);
}

std::string prefixes_xml(const std::vector<std::string>& prefixes, const KeyText& key_text) {
  std::string out;
  for (const std::string& it : prefixes) {
    out += concat("<CommonPrefixes><Prefix>", key_text(it), "</Prefix></CommonPrefixes>");
  }
  return out;
}

}  // namespace

std::expected<BucketQuestion, Fault> read_buckets_request(const S3Request& request) {
  BucketQuestion out{.prefix = request.parameter("prefix").value_or(""),
                     .region = request.parameter("bucket-region").value_or(""),
                     .after = request.parameter("continuation-token").value_or("")};
  if (const auto most = request.parameter("max-buckets")) {
    const auto number = parse_number(*most);
    if (!number || *number < 1 || *number > out.most) return bad_argument("Argument max-buckets must be 1 to 10000");
    out.most = *number;
  }
  return out;
}

std::string buckets_xml(std::vector<Bucket> buckets, const BucketQuestion& question, const std::string& owner) {
  std::erase_if(buckets, [&](const Bucket& it) {
    return !it.name.starts_with(question.prefix) || it.name <= question.after ||
           (!question.region.empty() && it.region != question.region);
  });
  const bool is_cut = buckets.size() > question.most;
  if (is_cut) buckets.resize(question.most);
  std::string out =
      concat(kXmlBegin, "<ListAllMyBucketsResult", kXmlNamespace, ">", person_xml("Owner", owner), "<Buckets>");
  for (const Bucket& it : buckets) {
    out += concat("<Bucket>", xml_tag("Name", it.name), xml_tag("CreationDate", iso_time(it.created_ms)),
                  xml_tag("BucketRegion", it.region), "</Bucket>");
  }
  out += "</Buckets>";
  if (is_cut) out += xml_tag("ContinuationToken", buckets.back().name);
  if (!question.prefix.empty()) out += xml_tag("Prefix", question.prefix);
  return out + "</ListAllMyBucketsResult>";
}

std::expected<ObjectQuestion, Fault> read_list_request(const S3Request& request) {
  const auto most = read_most(request, "max-keys");
  if (!most) return std::unexpected(most.error());
  ObjectQuestion out{.prefix = request.parameter("prefix").value_or(""),
                     .delimiter = request.parameter("delimiter").value_or(""),
                     .after = {},
                     .most = *most};
  if (request.operation() == S3Operation::list_objects) {
    out.after = request.parameter("marker").value_or("");
    return out;
  }
  out.after = request.parameter("start-after").value_or("");
  if (const auto token = request.parameter("continuation-token")) {
    auto after = from_base64url(*token);
    if (!after || after->empty()) return bad_argument("The continuation token provided is incorrect");
    out.after = std::move(*after);
  }
  return out;
}

std::string objects_xml(const S3Request& request, const ObjectQuestion& question, const ObjectPage& page,
                        const std::string& owner) {
  const KeyText key_text(request);
  const bool is_v2 = request.operation() == S3Operation::list_objects_v2;
  const bool names_owner = !is_v2 || request.parameter("fetch-owner") == "true";
  std::string out = concat(kXmlBegin, "<ListBucketResult", kXmlNamespace, ">", xml_tag("Name", request.bucket),
                           "<Prefix>", key_text(question.prefix), "</Prefix>");
  if (is_v2) {
    out += xml_tag("KeyCount", std::to_string(page.objects.size() + page.prefixes.size()));
    if (const auto token = request.parameter("continuation-token")) out += xml_tag("ContinuationToken", *token);
    if (page.is_cut) out += xml_tag("NextContinuationToken", base64url(page.last));
    if (const auto after = request.parameter("start-after"))
      out += concat("<StartAfter>", key_text(*after), "</StartAfter>");
  } else {
    out += concat("<Marker>", key_text(question.after), "</Marker>");
    if (page.is_cut) out += concat("<NextMarker>", key_text(page.last), "</NextMarker>");
  }
  out += xml_tag("MaxKeys", std::to_string(question.most));
  if (!question.delimiter.empty()) out += concat("<Delimiter>", key_text(question.delimiter), "</Delimiter>");
  if (key_text.escapes()) out += "<EncodingType>url</EncodingType>";
  out += xml_tag("IsTruncated", page.is_cut ? "true" : "false");
  for (const StoredObject& it : page.objects) {
    out += concat("<Contents><Key>", key_text(it.key), "</Key>", xml_tag("LastModified", iso_time(it.modified_ms)),
                  etag_xml(it.etag), xml_tag("Size", std::to_string(it.size)),
                  names_owner ? person_xml("Owner", owner) : "", class_of(it.storage_class), "</Contents>");
  }
  return out + prefixes_xml(page.prefixes, key_text) + "</ListBucketResult>";
}

std::expected<ObjectQuestion, Fault> read_versions_request(const S3Request& request) {
  const auto most = read_most(request, "max-keys");
  if (!most) return std::unexpected(most.error());
  ObjectQuestion out{.prefix = request.parameter("prefix").value_or(""),
                     .delimiter = request.parameter("delimiter").value_or(""),
                     .after = request.parameter("key-marker").value_or(""),
                     .most = *most};
  if (const auto version = request.parameter("version-id-marker"); version && !version->empty()) {
    constexpr std::string_view kFrom = "from-";
    const auto sequence = parse_number(std::string_view(*version).substr(std::min(kFrom.size(), version->size())));
    if (!version->starts_with(kFrom) || !sequence) return bad_argument("Invalid version id specified");
    out.after_sequence = *sequence;
  }
  return out;
}

std::string versions_xml(const S3Request& request, const ObjectQuestion& question, const VersionPage& page,
                         const std::string& owner) {
  const KeyText key_text(request);
  std::string out =
      concat(kXmlBegin, "<ListVersionsResult", kXmlNamespace, ">", xml_tag("Name", request.bucket), "<Prefix>",
             key_text(question.prefix), "</Prefix><KeyMarker>", key_text(question.after), "</KeyMarker>",
             xml_tag("VersionIdMarker", request.parameter("version-id-marker").value_or("")));
  if (page.is_cut) {
    out += concat("<NextKeyMarker>", key_text(page.last_key), "</NextKeyMarker>");
    if (page.last_sequence > 0) out += xml_tag("NextVersionIdMarker", marker_of(page.last_sequence));
  }
  out += xml_tag("MaxKeys", std::to_string(question.most));
  if (!question.delimiter.empty()) out += concat("<Delimiter>", key_text(question.delimiter), "</Delimiter>");
  if (key_text.escapes()) out += "<EncodingType>url</EncodingType>";
  out += xml_tag("IsTruncated", page.is_cut ? "true" : "false");
  for (const auto& [it, is_newest] : page.versions) {
    const std::string_view name = it.is_marker ? "DeleteMarker" : "Version";
    out += concat("<", name, "><Key>", key_text(it.key), "</Key>", xml_tag("VersionId", it.version),
                  xml_tag("IsLatest", is_newest ? "true" : "false"), xml_tag("LastModified", iso_time(it.modified_ms)));
    if (!it.is_marker) {
      out += concat(etag_xml(it.etag), xml_tag("Size", std::to_string(it.size)), class_of(it.storage_class));
    }
    out += concat(person_xml("Owner", owner), "</", name, ">");
  }
  return out + prefixes_xml(page.prefixes, key_text) + "</ListVersionsResult>";
}

std::expected<UploadQuestion, Fault> read_uploads_request(const S3Request& request) {
  const auto most = read_most(request, "max-uploads");
  if (!most) return std::unexpected(most.error());
  return UploadQuestion{.prefix = request.parameter("prefix").value_or(""),
                        .delimiter = request.parameter("delimiter").value_or(""),
                        .after = request.parameter("key-marker").value_or(""),
                        .after_id = request.parameter("upload-id-marker").value_or(""),
                        .most = *most};
}

std::string uploads_xml(const S3Request& request, const UploadQuestion& question, const UploadPage& page,
                        const std::string& owner) {
  const KeyText key_text(request);
  std::string out =
      concat(kXmlBegin, "<ListMultipartUploadsResult", kXmlNamespace, ">", xml_tag("Bucket", request.bucket),
             "<KeyMarker>", key_text(question.after), "</KeyMarker>", xml_tag("UploadIdMarker", question.after_id),
             "<Prefix>", key_text(question.prefix), "</Prefix>");
  if (page.is_cut) {
    out += concat("<NextKeyMarker>", key_text(page.last_key), "</NextKeyMarker>",
                  xml_tag("NextUploadIdMarker", page.last_id));
  }
  out += xml_tag("MaxUploads", std::to_string(question.most));
  if (!question.delimiter.empty()) out += concat("<Delimiter>", key_text(question.delimiter), "</Delimiter>");
  if (key_text.escapes()) out += "<EncodingType>url</EncodingType>";
  out += xml_tag("IsTruncated", page.is_cut ? "true" : "false");
  for (const Upload& it : page.uploads) {
    out += concat("<Upload><Key>", key_text(it.object.key), "</Key>", xml_tag("UploadId", it.id),
                  person_xml("Initiator", owner), person_xml("Owner", owner), class_of(it.object.storage_class),
                  xml_tag("Initiated", iso_time(it.begun_ms)), "</Upload>");
  }
  return out + prefixes_xml(page.prefixes, key_text) + "</ListMultipartUploadsResult>";
}

std::expected<PartQuestion, Fault> read_parts_request(const S3Request& request) {
  const auto most = read_most(request, "max-parts");
  if (!most) return std::unexpected(most.error());
  PartQuestion out{.most = *most};
  if (const auto after = request.parameter("part-number-marker"); after && !after->empty()) {
    const auto number = parse_number(*after);
    if (!number || *number > kMostParts) return bad_argument("Provided part-number-marker is not a part number");
    out.after = static_cast<std::uint32_t>(*number);
  }
  return out;
}

std::string parts_xml(const S3Request& request, const PartQuestion& question, const Upload& upload,
                      std::vector<StoredPart> parts, const std::string& owner) {
  const bool is_cut = parts.size() > question.most && question.most > 0;
  if (parts.size() > question.most) parts.resize(question.most);
  std::string out = concat(kXmlBegin, "<ListPartsResult", kXmlNamespace, ">", xml_tag("Bucket", request.bucket),
                           "<Key>", KeyText(request)(request.key), "</Key>", xml_tag("UploadId", upload.id),
                           xml_tag("PartNumberMarker", std::to_string(question.after)));
  if (is_cut && !parts.empty()) out += xml_tag("NextPartNumberMarker", std::to_string(parts.back().number));
  out += concat(xml_tag("MaxParts", std::to_string(question.most)), xml_tag("IsTruncated", is_cut ? "true" : "false"));
  for (const StoredPart& it : parts) {
    out += concat("<Part>", xml_tag("PartNumber", std::to_string(it.number)),
                  xml_tag("LastModified", iso_time(it.modified_ms)), etag_xml(it.etag),
                  xml_tag("Size", std::to_string(it.size)), checksums_xml(it.headers), "</Part>");
  }
  return concat(out, person_xml("Initiator", owner), person_xml("Owner", owner), class_of(upload.object.storage_class),
                "</ListPartsResult>");
}

std::string deleted_xml(const DeleteRequest::One& one, const std::expected<Removed, Fault>& removed) {
  const std::string version = one.version ? xml_tag("VersionId", *one.version) : std::string();
  if (!removed) {
    return concat("<Error>", xml_tag("Key", one.key), version, xml_tag("Code", removed.error().code),
                  xml_tag("Message", removed.error().message), "</Error>");
  }
  std::string out = concat("<Deleted>", xml_tag("Key", one.key), version);
  if (removed->is_marker) {
    out += concat("<DeleteMarker>true</DeleteMarker>", xml_tag("DeleteMarkerVersionId", removed->version));
  }
  return out + "</Deleted>";
}

std::string checksums_xml(const ObjectHeaders& headers) {
  constexpr std::string_view kBegin = "x-amz-checksum-";
  std::string out;
  for (const auto& [name, value] : headers) {
    if (!name.starts_with(kBegin)) continue;
    std::string sum = name.substr(kBegin.size());
    if (sum == "algorithm") continue;
    std::ranges::transform(sum, sum.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    out += xml_tag(sum == "TYPE" ? "ChecksumType" : concat("Checksum", sum), value);
  }
  return out;
}

}  // namespace drover::aws

#include "api/s3/s3_lists.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "wire/aws/output.h"
#include "wire/aws/times.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

constexpr std::uint64_t kMostKeys = 1000;
constexpr std::string_view kBegin = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
constexpr std::string_view kNamespace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

std::string tag(std::string_view name, std::string_view text) {
  return concat("<", name, ">", xml_text(text), "</", name, ">");
}

std::string owner_xml(const std::string& owner) {
  return concat("<Owner>", tag("ID", owner), tag("DisplayName", owner), "</Owner>");
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

}  // namespace

std::string buckets_xml(const std::vector<Bucket>& buckets, const std::string& owner) {
  std::string out = concat(kBegin, "<ListAllMyBucketsResult", kNamespace, ">", owner_xml(owner), "<Buckets>");
  for (const Bucket& it : buckets) {
    out += concat("<Bucket>", tag("Name", it.name), tag("CreationDate", iso_time(it.created_ms)), "</Bucket>");
  }
  return out + "</Buckets></ListAllMyBucketsResult>";
}

std::expected<ObjectQuestion, Fault> read_list_request(const S3Request& request) {
  ObjectQuestion out{.prefix = request.parameter("prefix").value_or(""),
                     .delimiter = request.parameter("delimiter").value_or(""),
                     .after = {},
                     .most = kMostKeys};
  if (const auto encoding = request.parameter("encoding-type"); encoding && !encoding->empty() && *encoding != "url") {
    return bad_argument("Invalid Encoding Method specified in Request");
  }
  if (const auto most = request.parameter("max-keys"); most && !most->empty()) {
    const auto number = parse_number(*most);
    if (!number) return bad_argument("Provided max-keys not an integer or within integer range");
    out.most = std::min(*number, kMostKeys);
  }
  if (request.operation == S3Operation::list_objects) {
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
  const bool is_v2 = request.operation == S3Operation::list_objects_v2;
  const bool names_owner = !is_v2 || request.parameter("fetch-owner") == "true";
  std::string out = concat(kBegin, "<ListBucketResult", kNamespace, ">", tag("Name", request.bucket), "<Prefix>",
                           key_text(question.prefix), "</Prefix>");
  if (is_v2) {
    out += tag("KeyCount", std::to_string(page.objects.size() + page.prefixes.size()));
    if (const auto token = request.parameter("continuation-token")) out += tag("ContinuationToken", *token);
    if (page.is_cut) out += tag("NextContinuationToken", base64url(page.last));
    if (const auto after = request.parameter("start-after"))
      out += concat("<StartAfter>", key_text(*after), "</StartAfter>");
  } else {
    out += concat("<Marker>", key_text(question.after), "</Marker>");
    if (page.is_cut) out += concat("<NextMarker>", key_text(page.last), "</NextMarker>");
  }
  out += tag("MaxKeys", std::to_string(question.most));
  if (!question.delimiter.empty()) out += concat("<Delimiter>", key_text(question.delimiter), "</Delimiter>");
  if (key_text.escapes()) out += "<EncodingType>url</EncodingType>";
  out += tag("IsTruncated", page.is_cut ? "true" : "false");
  for (const StoredObject& it : page.objects) {
    out += concat("<Contents><Key>", key_text(it.key), "</Key>", tag("LastModified", iso_time(it.modified_ms)),
                  "<ETag>&quot;", xml_text(it.etag), "&quot;</ETag>", tag("Size", std::to_string(it.size)),
                  names_owner ? owner_xml(owner) : "", "<StorageClass>STANDARD</StorageClass></Contents>");
  }
  for (const std::string& it : page.prefixes) {
    out += concat("<CommonPrefixes><Prefix>", key_text(it), "</Prefix></CommonPrefixes>");
  }
  return out + "</ListBucketResult>";
}

}  // namespace drover::aws

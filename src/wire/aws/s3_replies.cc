#include "wire/aws/s3_replies.h"

#include <pugixml.hpp>

#include "base/text.h"
#include "base/units.h"
#include "base/url.h"
#include "wire/aws/times.h"

namespace drover::aws {
namespace {

using Node = pugi::xml_node;

constexpr unsigned kHow = pugi::parse_default | pugi::parse_ws_pcdata_single;

std::string text(const Node& node, const char* name) {
  return node.child(name).text().get();
}

std::string unquoted(std::string etag) {
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) return etag.substr(1, etag.size() - 2);
  return etag;
}

Result<std::string> unescaped(std::string key) {
  // A space is written as a plus sign by some.
  for (char& c : key) {
    if (c == '+') c = ' ';
  }
  auto out = percent_decoded(key);
  if (!out) return fail(ErrorCode::damaged, concat("the store's list has a key that cannot be read: ", key));
  return std::move(*out);
}

}  // namespace

S3Error read_s3_error(std::string_view xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), kHow, pugi::encoding_utf8)) return {};
  const Node root = document.child("Error");
  return {.code = text(root, "Code"), .message = text(root, "Message")};
}

std::string read_element(std::string_view xml, std::string_view name) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size(), kHow, pugi::encoding_utf8)) return {};
  return unquoted(text(document.document_element(), std::string(name).c_str()));
}

Result<std::vector<NamedBucket>> read_bucket_list(std::string_view xml) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(xml.data(), xml.size(), kHow, pugi::encoding_utf8);
  const Node root = document.child("ListAllMyBucketsResult");
  if (!parsed || !root) return fail(ErrorCode::damaged, "the store's list of buckets cannot be read");
  std::vector<NamedBucket> out;
  for (const Node it : root.child("Buckets").children("Bucket")) {
    out.push_back({text(it, "Name"), parse_iso_time(text(it, "CreationDate")).value_or(0)});
  }
  return out;
}

Result<ListAnswer> read_list_answer(std::string_view xml) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(xml.data(), xml.size(), kHow, pugi::encoding_utf8);
  const Node root = document.child("ListBucketResult");
  if (!parsed || !root) return fail(ErrorCode::damaged, "the store's list cannot be read");
  const bool is_escaped = text(root, "EncodingType") == "url";
  const auto key_from = [&](std::string key) -> Result<std::string> {
    return is_escaped ? unescaped(std::move(key)) : Result<std::string>(std::move(key));
  };
  ListAnswer out;
  for (const Node it : root.children("Contents")) {
    auto key = key_from(text(it, "Key"));
    if (!key) return pass(key);
    const auto size = parse_number(text(it, "Size"));
    const auto modified_ms = parse_iso_time(text(it, "LastModified"));
    if (!size || !modified_ms) return fail(ErrorCode::damaged, concat("the store's list has no size for ", *key));
    out.objects.push_back({std::move(*key), *size, *modified_ms, unquoted(text(it, "ETag"))});
  }
  for (const Node it : root.children("CommonPrefixes")) {
    auto prefix = key_from(text(it, "Prefix"));
    if (!prefix) return pass(prefix);
    out.prefixes.push_back(std::move(*prefix));
  }
  if (text(root, "IsTruncated") == "true") {
    out.next = text(root, "NextContinuationToken");
    if (out.next.empty()) return fail(ErrorCode::damaged, "the store's list is cut off and does not say where");
  }
  return out;
}

}  // namespace drover::aws

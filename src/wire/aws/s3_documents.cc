#include "wire/aws/s3_documents.h"

#include <algorithm>
#include <array>
#include <memory>
#include <pugixml.hpp>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace drover::aws {
namespace {

using Node = pugi::xml_node;

std::unexpected<Error> malformed(std::string message) {
  return fail(ErrorCode::bad_input, std::move(message));
}

/// A name without its namespace: "s3:Key" is "Key".
std::string_view name_of(const Node& node) {
  std::string_view name = node.name();
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
  return name;
}

bool is_element(const Node& node) {
  return node.type() == pugi::node_element;
}

/// A document whose entities are never expanded, so that it takes no more memory than its bytes.
class Document {
 public:
  static Result<Document> read(std::string_view xml, std::string_view root) {
    Document out;
    const auto parsed = out.document_->load_buffer(xml.data(), xml.size(), kHow, pugi::encoding_utf8);
    if (!parsed) return malformed(concat("the XML cannot be read: ", parsed.description()));
    out.root_ = out.document_->document_element();
    if (name_of(out.root_) != root) return malformed(concat("the XML is no <", root, ">"));
    return out;
  }
  const Node& root() const { return root_; }

 private:
  static constexpr unsigned kHow = pugi::parse_default | pugi::parse_ws_pcdata_single;

  Document() : document_(std::make_unique<pugi::xml_document>()) {}
  std::unique_ptr<pugi::xml_document> document_;
  Node root_;
};

Node child(const Node& node, std::string_view name) {
  for (const Node it : node.children()) {
    if (is_element(it) && name_of(it) == name) return it;
  }
  return {};
}

std::string text(const Node& node) {
  return node.text().get();
}

std::string without_quotes(std::string text) {
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) return text.substr(1, text.size() - 2);
  return text;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kChecksums{{{"ChecksumCRC32", "crc32"},
                                                                                   {"ChecksumCRC32C", "crc32c"},
                                                                                   {"ChecksumCRC64NVME", "crc64nvme"},
                                                                                   {"ChecksumSHA1", "sha1"},
                                                                                   {"ChecksumSHA256", "sha256"}}};

Result<NotificationRequest::Queue> queue_from(const Node& node) {
  NotificationRequest::Queue out{.id = text(child(node, "Id")), .arn = text(child(node, "Queue"))};
  for (const Node it : node.children()) {
    if (name_of(it) == "Event") out.events.push_back(text(it));
  }
  if (out.arn.empty() || out.events.empty()) return malformed("a QueueConfiguration needs a Queue and an Event");
  std::set<std::string> named;
  for (const Node rule : child(child(node, "Filter"), "S3Key").children()) {
    if (!is_element(rule)) continue;
    if (name_of(rule) != "FilterRule") return malformed(concat("a filter has no <", name_of(rule), ">"));
    const std::string name = in_small_letters(text(child(rule, "Name")));
    if (name != "prefix" && name != "suffix") return malformed("filter rule name must be either prefix or suffix");
    if (!named.insert(name).second) return malformed("a filter has one prefix and one suffix at most");
    (name == "prefix" ? out.prefix : out.suffix) = text(child(rule, "Value"));
  }
  return out;
}

}  // namespace

Result<DeleteRequest> read_delete_request(std::string_view xml) {
  auto document = Document::read(xml, "Delete");
  if (!document) return pass(document);
  DeleteRequest out;
  for (const Node it : document->root().children()) {
    if (name_of(it) == "Quiet") out.is_quiet = text(it) == "true";
    if (name_of(it) != "Object") continue;
    DeleteRequest::One one{.key = text(child(it, "Key")), .version = {}, .etag = {}};
    if (one.key.empty()) return malformed("an object has no Key");
    if (const Node version = child(it, "VersionId")) one.version = text(version);
    if (const Node etag = child(it, "ETag")) one.etag = without_quotes(text(etag));
    out.objects.push_back(std::move(one));
  }
  if (out.objects.empty()) return malformed("no object is named");
  return out;
}

Result<CompleteRequest> read_complete_request(std::string_view xml) {
  auto document = Document::read(xml, "CompleteMultipartUpload");
  if (!document) return pass(document);
  CompleteRequest out;
  for (const Node it : document->root().children()) {
    if (name_of(it) != "Part") continue;
    const auto number = parse_number(text(child(it, "PartNumber")));
    if (!number) return malformed("a part has no PartNumber");
    CompleteRequest::Part part{.number = *number, .etag = without_quotes(text(child(it, "ETag"))), .checksums = {}};
    if (part.etag.empty()) return malformed(concat("part ", *number, " has no ETag"));
    for (const auto& [element, name] : kChecksums) {
      if (const Node sum = child(it, element)) part.checksums.emplace_back(name, text(sum));
    }
    out.parts.push_back(std::move(part));
  }
  if (out.parts.empty()) return malformed("no part is named");
  return out;
}

Result<Tags> read_tagging(std::string_view xml) {
  auto document = Document::read(xml, "Tagging");
  if (!document) return pass(document);
  const Node set = child(document->root(), "TagSet");
  if (!set) return malformed("a Tagging needs a TagSet");
  Tags out;
  for (const Node it : set.children()) {
    if (name_of(it) != "Tag") continue;
    out.emplace_back(text(child(it, "Key")), text(child(it, "Value")));
  }
  return out;
}

Result<std::string> read_versioning(std::string_view xml) {
  auto document = Document::read(xml, "VersioningConfiguration");
  if (!document) return pass(document);
  if (text(child(document->root(), "MfaDelete")) == "Enabled") return malformed("MfaDelete is not implemented");
  std::string status = text(child(document->root(), "Status"));
  if (status != "Enabled" && status != "Suspended") return malformed("Status must be Enabled or Suspended");
  return status;
}

Result<std::string> read_location(std::string_view xml) {
  if (xml.empty()) return std::string();
  auto document = Document::read(xml, "CreateBucketConfiguration");
  if (!document) return pass(document);
  return text(child(document->root(), "LocationConstraint"));
}

Result<NotificationRequest> read_notification(std::string_view xml) {
  auto document = Document::read(xml, "NotificationConfiguration");
  if (!document) return pass(document);
  NotificationRequest out;
  for (const Node it : document->root().children()) {
    if (!is_element(it)) continue;
    if (name_of(it) != "QueueConfiguration") {
      out.other = name_of(it);
      continue;
    }
    auto queue = queue_from(it);
    if (!queue) return pass(queue);
    out.queues.push_back(std::move(*queue));
  }
  return out;
}

Result<void> check_cors(std::string_view xml) {
  constexpr std::size_t kMostRules = 100;
  auto document = Document::read(xml, "CORSConfiguration");
  if (!document) return pass(document);
  std::size_t rules = 0;
  for (const Node it : document->root().children()) {
    if (name_of(it) != "CORSRule") continue;
    ++rules;
    if (!child(it, "AllowedMethod") || !child(it, "AllowedOrigin")) {
      return malformed("a CORSRule needs an AllowedMethod and an AllowedOrigin");
    }
  }
  if (rules == 0 || rules > kMostRules) return malformed("a CORS configuration has 1 to 100 rules");
  return {};
}

Result<std::string> canned_acl_of(std::string_view xml) {
  auto document = Document::read(xml, "AccessControlPolicy");
  if (!document) return pass(document);
  bool reads = false;
  bool writes = false;
  for (const Node it : child(document->root(), "AccessControlList").children()) {
    if (name_of(it) != "Grant") continue;
    const std::string group = text(child(child(it, "Grantee"), "URI"));
    const std::string permission = text(child(it, "Permission"));
    if (group.empty()) {
      if (permission != "FULL_CONTROL") return malformed("this grant is not that of a canned ACL");
      continue;
    }
    if (!group.ends_with("/AllUsers")) return malformed("this grant is not that of a canned ACL");
    reads = reads || permission == "READ";
    writes = writes || permission == "WRITE";
  }
  if (writes && !reads) return malformed("this grant is not that of a canned ACL");
  return std::string(writes ? "public-read-write" : reads ? "public-read" : "private");
}

}  // namespace drover::aws

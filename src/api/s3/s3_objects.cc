// Objects: put, got, copied and deleted.
#include <algorithm>

#include "api/s3/s3_answers.h"
#include "api/s3/s3_api.h"
#include "api/s3/s3_body.h"
#include "api/s3/s3_conditions.h"
#include "api/s3/s3_fault.h"
#include "api/s3/s3_headers.h"
#include "api/s3/s3_lists.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/aws/times.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

/// "/bucket/key" or "bucket/key", escaped, perhaps with a version. An empty bucket: it is none of them.
ObjectName read_source(std::string_view header) {
  constexpr std::string_view kVersion = "?versionId=";
  ObjectName out;
  if (const std::size_t at = header.find(kVersion); at != std::string_view::npos) {
    out.version = std::string(header.substr(at + kVersion.size()));
    header = header.substr(0, at);
  }
  if (header.starts_with('/')) header.remove_prefix(1);
  const auto decoded = percent_decoded(header);
  if (!decoded) return {};
  const std::size_t slash = decoded->find('/');
  if (slash == std::string::npos) return {};
  out.bucket = decoded->substr(0, slash);
  out.key = decoded->substr(slash + 1);
  return out;
}

/// The pieces of a body, from the first of them that has bytes of the range.
class Pieces {
 public:
  Pieces(std::vector<ObjectContent::Piece> pieces, ByteRange range) : left_(range.size) {
    for (ObjectContent::Piece& it : pieces) {
      const std::uint64_t skipped = std::min(range.first, it.size);
      range.first -= skipped;
      it.offset += skipped;
      it.size = std::min(it.size - skipped, range.size);
      range.size -= it.size;
      if (it.size > 0) pieces_.push_back(std::move(it));
    }
  }

  static Result<HttpFilePart> next(const std::shared_ptr<Pieces>& all) {
    ObjectContent::Piece& piece = all->pieces_.at(all->next_++);
    auto file = piece.open();
    if (!file) return pass(file);
    all->left_ -= piece.size;
    HttpFilePart out{std::move(*file), piece.offset, piece.size};
    out.size_behind = all->left_;
    if (out.size_behind > 0) out.next = [all] { return next(all); };
    return out;
  }

 private:
  std::vector<ObjectContent::Piece> pieces_;
  std::size_t next_ = 0;
  std::uint64_t left_;
};

/// The bytes of a part, by its number.
std::expected<std::optional<ByteRange>, Fault> part_range(const S3Request& request, const StoredObject& object) {
  const auto stated = request.parameter("partNumber");
  if (!stated) return std::nullopt;
  const auto number = parse_number(*stated);
  const std::size_t parts = std::max<std::size_t>(1, object.part_sizes.size());
  if (!number || *number < 1 || *number > parts) {
    return std::unexpected(Fault{"InvalidPartNumber", "The requested partnumber is not satisfiable", 416});
  }
  if (object.part_sizes.empty()) return ByteRange{0, object.size};
  ByteRange out;
  for (std::uint64_t i = 0; i + 1 < *number; ++i) out.first += object.part_sizes[i];
  out.size = object.part_sizes[*number - 1];
  return out;
}

}  // namespace

std::expected<ObjectHeaders, Fault> S3Api::check_body(const Call& call, S3Body& body) const {
  if (const std::optional<Error>& trouble = body.error()) return std::unexpected(s3_fault(*trouble));
  const std::string* decoded = call.head.header("x-amz-decoded-content-length");
  if (!body.is_whole() || (decoded != nullptr && parse_number(*decoded).value_or(body.size()) != body.size())) {
    return std::unexpected(Fault{
        "IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header", 400});
  }
  return check_checksums(call.head, body.checksums());
}

void S3Api::put_object(const CallPointer& call) {
  auto& body = static_cast<S3Body&>(*call->sink);
  auto sums = check_body(*call, body);
  if (!sums) return call->refuse(sums.error());
  auto kept = kept_headers(call->head);
  if (!kept) return call->refuse(kept.error());
  PutObject put{.bucket = call->request.bucket,
                .key = call->request.key,
                .etag = hex(body.checksums().at(ChecksumKind::md5)),
                .headers = std::move(*kept),
                .cause = call->cause()};
  auto storage_class = storage_class_of(call->head);
  if (!storage_class) return call->refuse(storage_class.error());
  put.storage_class = std::move(*storage_class);
  auto tags = tags_of(call->head);
  if (!tags) return call->refuse(tags.error());
  put.tags = std::move(*tags);
  if (auto allowed = check_extras(*call); !allowed) return call->refuse(allowed.error());
  if (auto read = read_put_conditions(call->head, put); !read) return call->refuse(read.error());
  put.headers.insert(put.headers.end(), sums->begin(), sums->end());
  buckets_.put(std::move(put), body.release(), [call, sums = std::move(*sums)](const BucketResult<StoredObject>& done) {
    if (!done) return call->refuse(done.error());
    HttpResponse out = s3_answer();
    out.headers.push_back({"ETag", quoted(done->etag)});
    for (const auto& [name, value] : sums) out.headers.push_back({name, value});
    add_version(out, *done);
    call->reply.send(std::move(out));
  });
}

void S3Api::get_object(Call& call) {
  const bool is_head = call.request.operation() == S3Operation::head_object;
  BucketResult<ObjectContent> content;
  if (is_head) {
    auto head = buckets_.head(call.object());
    if (!head) return call.refuse(head.error());
    content = ObjectContent{.object = std::move(*head), .bytes = {}, .pieces = {}};
  } else {
    content = buckets_.open(call.object());
    if (!content) return call.refuse(content.error());
  }
  const StoredObject& object = content->object;
  if (auto holds = check_conditions(call.head, object); !holds) {
    HttpResponse out = s3_response(holds.error(), call.head);
    if (holds.error().status == 304) out.headers.push_back({"ETag", quoted(object.etag)});
    return call.reply.send(std::move(out));
  }
  auto range = part_range(call.request, object);
  if (range && !*range) range = read_range(call.head, object.size);
  if (!range) return call.refuse(range.error());
  const ByteRange part = range->value_or(ByteRange{0, object.size});
  HttpResponse out = s3_answer(*range ? 206 : 200);
  std::ranges::move(object_headers(object, call.request, call.head, range->has_value()),
                    std::back_inserter(out.headers));
  add_version(out, object, call.request.version().has_value());
  if (!object.part_sizes.empty() && call.request.parameter("partNumber")) {
    out.headers.push_back({"x-amz-mp-parts-count", std::to_string(object.part_sizes.size())});
  }
  if (*range && part.size > 0) {
    out.headers.push_back(
        {"Content-Range", concat("bytes ", part.first, "-", part.first + part.size - 1, "/", object.size)});
  }
  if (is_head) {
    out.headers.push_back({"Content-Length", std::to_string(part.size)});
    return call.reply.send(std::move(out));
  }
  if (content->pieces.empty() || part.size == 0) {
    out.body = content->bytes.substr(std::min<std::uint64_t>(part.first, content->bytes.size()), part.size);
    return call.reply.send(std::move(out));
  }
  auto first = Pieces::next(std::make_shared<Pieces>(std::move(content->pieces), part));
  if (!first) return call.refuse(s3_fault(first.error()));
  call.reply.send(std::move(out), std::move(*first));
}

std::expected<std::pair<CopySource, StoredObject>, Fault> S3Api::find_source(const Call& call) const {
  ObjectName name = read_source(*call.head.header("x-amz-copy-source"));
  if (name.bucket.empty() || name.key.empty()) {
    return std::unexpected(
        Fault{"InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey", 400});
  }
  const std::string action = name.version ? "s3:GetObjectVersion" : "s3:GetObject";
  if (auto allowed = check_access(call, action, name.bucket, name.key); !allowed) {
    return std::unexpected(std::move(allowed.error()));
  }
  if (name.version && name.version->empty()) return std::unexpected(empty_version());
  auto object = buckets_.head(name);
  if (!object) return std::unexpected(s3_fault(object.error()));
  if (auto holds = check_source_conditions(call.head, *object); !holds) {
    return std::unexpected(std::move(holds.error()));
  }
  return std::pair(CopySource{.name = std::move(name), .sequence = object->sequence}, std::move(*object));
}

void S3Api::copy_object(const CallPointer& call) {
  auto found = find_source(*call);
  if (!found) return call->refuse(found.error());
  auto& [source, object] = *found;
  const std::string* directive = call->head.header("x-amz-metadata-directive");
  const bool replaces = directive != nullptr && *directive == "REPLACE";
  const std::string* tagging = call->head.header("x-amz-tagging-directive");
  const bool is_same = source.name.bucket == call->request.bucket && source.name.key == call->request.key;
  auto storage_class = storage_class_of(call->head);
  if (!storage_class) return call->refuse(storage_class.error());
  const bool has_class = call->head.header("x-amz-storage-class") != nullptr;
  if (!replaces && is_same && !source.name.version && (!has_class || *storage_class == object.storage_class)) {
    return call->refuse(
        Fault{"InvalidRequest",
              "This copy request is illegal because it is trying to copy an object to itself without changing the "
              "object's metadata, storage class, website redirect location or encryption attributes.",
              400});
  }
  auto kept = kept_headers(call->head);
  if (!kept) return call->refuse(kept.error());
  PutObject put{.bucket = call->request.bucket,
                .key = call->request.key,
                .etag = object.etag,
                .headers = replaces ? std::move(*kept) : object.headers,
                .storage_class = std::move(*storage_class),
                .tags = object.tags,
                .cause = call->cause(),
                .event = "ObjectCreated:Copy"};
  // An ACL is never copied.
  std::erase_if(put.headers, [](const auto& it) { return it.first == "x-amz-acl"; });
  if (const std::string* acl = call->head.header("x-amz-acl")) put.headers.emplace_back("x-amz-acl", *acl);
  if (auto allowed = check_extras(*call); !allowed) return call->refuse(allowed.error());
  if (replaces) {
    std::ranges::copy_if(object.headers, std::back_inserter(put.headers),
                         [](const auto& it) { return it.first.starts_with("x-amz-checksum-"); });
  }
  if (tagging != nullptr && *tagging == "REPLACE") {
    auto tags = tags_of(call->head);
    if (!tags) return call->refuse(tags.error());
    put.tags = std::move(*tags);
  }
  if (auto read = read_put_conditions(call->head, put); !read) return call->refuse(read.error());
  const std::string sums = checksums_xml(put.headers);
  const std::string source_version = object.version;
  buckets_.copy(
      std::move(source), std::move(put), [call, sums, source_version](const BucketResult<StoredObject>& done) {
        if (!done) return call->refuse(done.error());
        HttpResponse out = xml_answer("CopyObjectResult", concat(xml_tag("LastModified", iso_time(done->modified_ms)),
                                                                 "<ETag>&quot;", done->etag, "&quot;</ETag>", sums));
        add_version(out, *done);
        if (source_version != kNullVersion) {
          out.headers.push_back({"x-amz-copy-source-version-id", source_version});
        }
        call->reply.send(std::move(out));
      });
}

void S3Api::delete_object(const CallPointer& call) {
  RemoveObject remove{.name = call->object(), .cause = call->cause()};
  if (const std::string* match = call->head.header("If-Match")) remove.only_if_etag = without_quotes(*match);
  buckets_.remove(std::move(remove), [call](const BucketResult<Removed>& removed) {
    if (!removed) return call->refuse(removed.error());
    HttpResponse out = s3_answer(204);
    if (!removed->version.empty()) out.headers.push_back({"x-amz-version-id", removed->version});
    if (removed->is_marker) out.headers.push_back({"x-amz-delete-marker", "true"});
    call->reply.send(std::move(out));
  });
}

void S3Api::get_attributes(Call& call) {
  const auto object = buckets_.head(call.object());
  if (!object) return call.refuse(object.error());
  std::string wanted;
  for (const HttpHeader& it : call.head.headers) {
    if (is_same_but_for_case(it.name, "x-amz-object-attributes")) wanted += concat(wanted.empty() ? "" : ",", it.value);
  }
  std::string content;
  for (std::string_view rest = wanted; !rest.empty();) {
    const std::string_view one = trimmed(take_until(rest, ','));
    if (one == "ETag") content += xml_tag("ETag", object->etag);
    if (one == "ObjectSize") content += xml_tag("ObjectSize", std::to_string(object->size));
    if (one == "StorageClass") {
      content += xml_tag("StorageClass", object->storage_class.empty() ? "STANDARD" : object->storage_class);
    }
    if (one == "Checksum") {
      const std::string sums = checksums_xml(object->headers);
      if (!sums.empty()) content += concat("<Checksum>", sums, "</Checksum>");
    }
    if (one == "ObjectParts" && !object->part_sizes.empty()) {
      content +=
          concat("<ObjectParts>", xml_tag("PartsCount", std::to_string(object->part_sizes.size())), "</ObjectParts>");
    }
  }
  HttpResponse out = xml_answer("GetObjectAttributesResponse", content);
  out.headers.push_back({"Last-Modified", http_time(object->modified_ms)});
  add_version(out, *object, call.request.version().has_value());
  call.reply.send(std::move(out));
}

}  // namespace drover::aws

// Objects that come in parts.
#include <unistd.h>

#include <algorithm>

#include "api/s3/s3_answers.h"
#include "api/s3/s3_api.h"
#include "api/s3/s3_body.h"
#include "api/s3/s3_conditions.h"
#include "api/s3/s3_fault.h"
#include "api/s3/s3_headers.h"
#include "api/s3/s3_lists.h"
#include "api/s3/s3_whole.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/aws/times.h"
#include "wire/base64.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

constexpr std::uint64_t kMostParts = 10'000;
constexpr std::uint64_t kReadAtOnce = std::uint64_t{1} << 20;
/// Of one part in a turn, then others have theirs.
constexpr std::uint64_t kReadInTurn = std::uint64_t{64} << 20;
constexpr std::uint64_t kLargestPart = std::uint64_t{5} << 30;

std::expected<std::uint32_t, Fault> part_number(const S3Request& request) {
  const auto number = parse_number(request.parameter("partNumber").value_or(""));
  if (!number || *number < 1 || *number > kMostParts) {
    return std::unexpected(
        Fault{"InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive", 400});
  }
  return static_cast<std::uint32_t>(*number);
}

/// "bytes=0-99" of a source, which must have all of it.
std::expected<void, Fault> read_source_range(const HttpHead& head, std::uint64_t size, CopySource& source) {
  constexpr std::string_view kUnit = "bytes=";
  const std::string* stated = head.header("x-amz-copy-source-range");
  if (stated == nullptr) return {};
  std::string_view text = *stated;
  const bool has_unit = text.starts_with(kUnit);
  text.remove_prefix(has_unit ? kUnit.size() : 0);
  const auto first = parse_number(take_until(text, '-'));
  const auto last = parse_number(text);
  if (!has_unit || !first || !last || *last < *first || *last >= size) {
    return std::unexpected(
        Fault{"InvalidArgument", concat("Range specified is not valid for source object of size: ", size), 400});
  }
  source.offset = *first;
  source.size = *last - *first + 1;
  return {};
}

/// The checksum that the upload's object is to have; empty: it was not said.
std::string wanted_sum(const Upload& upload) {
  for (const auto& [name, value] : upload.object.headers) {
    if (name == "x-amz-checksum-algorithm") return value;
  }
  return {};
}

}  // namespace

void S3Api::begin_upload(const CallPointer& call) {
  auto kept = kept_headers(call->head);
  if (!kept) return call->refuse(kept.error());
  NewUpload upload{.bucket = call->request.bucket,
                   .key = call->request.key,
                   .headers = std::move(*kept),
                   .owner = call->asker.caller.key_id};
  auto storage_class = storage_class_of(call->head);
  if (!storage_class) return call->refuse(storage_class.error());
  upload.storage_class = std::move(*storage_class);
  auto tags = tags_of(call->head);
  if (!tags) return call->refuse(tags.error());
  upload.tags = std::move(*tags);
  if (auto allowed = check_extras(*call); !allowed) return call->refuse(allowed.error());
  auto sums = upload_checksum(call->head);
  if (!sums) return call->refuse(sums.error());
  upload.headers.insert(upload.headers.end(), sums->begin(), sums->end());
  buckets_.begin_upload(std::move(upload), [call, sums = std::move(*sums)](const BucketResult<std::string>& id) {
    if (!id) return call->refuse(id.error());
    HttpResponse out = xml_answer(
        "InitiateMultipartUploadResult",
        concat(xml_tag("Bucket", call->request.bucket), xml_tag("Key", call->request.key), xml_tag("UploadId", *id)));
    for (const auto& [name, value] : sums) {
      std::string shown = value;
      std::ranges::transform(shown, shown.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      out.headers.push_back({name, std::move(shown)});
    }
    call->reply.send(std::move(out));
  });
}

void S3Api::upload_part(const CallPointer& call) {
  const auto number = part_number(call->request);
  if (!number) return call->refuse(number.error());
  auto& body = static_cast<S3Body&>(*call->sink);
  auto sums = check_body(*call, body);
  if (!sums) return call->refuse(sums.error());
  StoredPart part{.number = *number, .etag = hex(body.checksums().at(ChecksumKind::md5)), .headers = *sums};
  buckets_.put_part(call->upload(), std::move(part), body.release(), [call](const BucketResult<StoredPart>& done) {
    if (!done) return call->refuse(done.error());
    HttpResponse out = s3_answer();
    out.headers.push_back({"ETag", quoted(done->etag)});
    for (const auto& [name, value] : done->headers) out.headers.push_back({name, value});
    call->reply.send(std::move(out));
  });
}

/// A part that is made of another object, while its bytes are read for its ETag.
struct S3Api::PartCopy {
  CallPointer call;
  StoredPart part;
  CopySource source;
  ObjectContent content;
  std::string algorithm;  // of the checksum that is taken beside MD5; empty: none is
  Checksums sums;
  std::unique_ptr<NewData> data = {};  // of a small source, which is copied: parts have files
  std::size_t piece = 0;
  std::uint64_t skip = 0;  // of what follows
  std::uint64_t left = 0;
  Descriptor file = {};
  std::uint64_t at = 0;  // in the file
  std::uint64_t in_piece = 0;

  /// Some of it. An error, or nothing is left.
  Result<void> read_some();
};

Result<void> S3Api::PartCopy::read_some() {
  std::string bytes;
  for (std::uint64_t done = 0; left > 0 && done < kReadInTurn;) {
    if (in_piece == 0) {
      ObjectContent::Piece& next = content.pieces.at(piece++);
      const std::uint64_t skipped = std::min(skip, next.size);
      skip -= skipped;
      in_piece = std::min(next.size - skipped, left);
      at = next.offset + skipped;
      if (in_piece == 0) continue;
      auto opened = next.open();
      if (!opened) return pass(opened);
      file = std::move(*opened);
    }
    bytes.resize(std::min(in_piece, kReadAtOnce));
    const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno_error(errno, "an object"));
    if (got == 0) return fail(ErrorCode::damaged, "an object is shorter than it was");
    const auto size = static_cast<std::uint64_t>(got);
    sums.add(std::string_view(bytes).substr(0, size));
    at += size;
    in_piece -= size;
    left -= size;
    done += size;
  }
  return {};
}

void S3Api::upload_part_copy(const CallPointer& call) {
  const auto number = part_number(call->request);
  if (!number) return call->refuse(number.error());
  const auto upload = buckets_.upload(call->upload());
  if (!upload) return call->refuse(upload.error());
  auto found = find_source(*call);
  if (!found) return call->refuse(found.error());
  auto& [source, object] = *found;
  if (auto read = read_source_range(call->head, object.size, source); !read) return call->refuse(read.error());
  const std::uint64_t size = source.size.value_or(object.size);
  if (size > kLargestPart) {
    return call->refuse(Fault{"InvalidRequest",
                              "The specified copy source is larger than the maximum allowable size for a copy source: "
                              "5368709120",
                              400});
  }
  auto content = buckets_.open(source.name);
  if (!content) return call->refuse(content.error());
  if (content->object.sequence != source.sequence) {
    return call->refuse(BucketError{BucketFault::source_changed, {}});
  }
  std::vector<ChecksumKind> kinds{ChecksumKind::md5};
  std::string algorithm = wanted_sum(*upload);
  if (const auto kind = checksum_kind(algorithm)) kinds.push_back(*kind);
  auto copy = std::make_shared<PartCopy>(PartCopy{.call = call,
                                                  .part = {.number = *number},
                                                  .source = std::move(source),
                                                  .content = std::move(*content),
                                                  .algorithm = std::move(algorithm),
                                                  .sums = Checksums(kinds)});
  copy->skip = copy->source.offset;
  copy->left = size;
  if (copy->content.pieces.empty()) {
    const std::string_view bytes = std::string_view(copy->content.bytes).substr(copy->skip, size);
    copy->data = buckets_.begin_data(Placement::file);
    auto kept = copy->data->add(bytes);
    if (kept) kept = copy->data->finish();
    if (!kept) return call->refuse(s3_fault(kept.error()));
    copy->sums.add(bytes);
    copy->left = 0;
  }
  read_on(copy);
}

// In turns, so that others who read from disks are not kept waiting by gigabytes.
void S3Api::read_on(const std::shared_ptr<PartCopy>& copy) {
  const CallPointer& call = copy->call;
  if (call->reply.peer_is_gone()) return call->refuse(Fault{"RequestTimeout", "The client has left.", 400});
  if (auto read = copy->read_some(); !read) return call->refuse(s3_fault(read.error()));
  if (copy->left > 0) return backend_.later(call->asker.holder, [this, copy] { read_on(copy); });
  const auto sums = copy->sums.finish();
  copy->part.etag = hex(sums.at(ChecksumKind::md5));
  for (const auto& [kind, sum] : sums) {
    if (kind != ChecksumKind::md5) {
      copy->part.headers.emplace_back(concat("x-amz-checksum-", copy->algorithm), base64(sum));
    }
  }
  auto answered = [call](const BucketResult<StoredPart>& done) {
    if (!done) return call->refuse(done.error());
    call->reply.send(
        xml_answer("CopyPartResult", concat(xml_tag("LastModified", iso_time(done->modified_ms)), "<ETag>&quot;",
                                            done->etag, "&quot;</ETag>", checksums_xml(done->headers))));
  };
  if (copy->data) return buckets_.put_part(call->upload(), copy->part, std::move(copy->data), std::move(answered));
  buckets_.copy_part(call->upload(), copy->part, copy->source, std::move(answered));
}

void S3Api::complete_upload(const CallPointer& call) {
  auto request = read_complete_request(call->body);
  if (!request) return call->refuse(malformed_xml(request.error()));
  const auto upload = buckets_.upload(call->upload());
  // One that was completed before has no parts any more; the store knows what became of it.
  const bool is_over = !upload && upload.error().fault == BucketFault::no_such_upload;
  if (!upload && !is_over) return call->refuse(upload.error());
  CompleteUpload complete{
      .upload = call->upload(), .parts = {}, .object = {.bucket = call->request.bucket, .key = call->request.key}};
  if (upload) {
    const auto there = buckets_.parts(call->upload(), 0, kMostParts);
    if (!there) return call->refuse(there.error());
    auto whole = whole_object(*upload, *request, *there, call->head);
    if (!whole) return call->refuse(whole.error());
    complete.object.etag = std::move(whole->etag);
    complete.object.headers = std::move(whole->headers);
    complete.object.storage_class = upload->object.storage_class;
    complete.object.tags = upload->object.tags;
  }
  for (const CompleteRequest::Part& it : request->parts) {
    complete.parts.emplace_back(static_cast<std::uint32_t>(it.number), it.etag);
  }
  complete.object.cause = call->cause();
  complete.object.event = "ObjectCreated:CompleteMultipartUpload";
  if (auto read = read_put_conditions(call->head, complete.object); !read) return call->refuse(read.error());
  buckets_.complete_upload(std::move(complete), [call](const BucketResult<StoredObject>& done) {
    if (!done) return call->refuse(done.error());
    const std::string* host = call->head.header("Host");
    HttpResponse out = xml_answer("CompleteMultipartUploadResult",
                                  concat(xml_tag("Location", concat(call->head.encrypted ? "https://" : "http://",
                                                                    host == nullptr ? "" : *host, call->head.path)),
                                         xml_tag("Bucket", call->request.bucket), xml_tag("Key", call->request.key),
                                         "<ETag>&quot;", done->etag, "&quot;</ETag>", checksums_xml(done->headers)));
    add_version(out, *done);
    call->reply.send(std::move(out));
  });
}

void S3Api::abort_upload(const CallPointer& call) {
  buckets_.abort_upload(call->upload(), done(call, 204));
}

void S3Api::list_parts(Call& call) {
  const auto question = read_parts_request(call.request);
  if (!question) return call.refuse(question.error());
  const auto upload = buckets_.upload(call.upload());
  if (!upload) return call.refuse(upload.error());
  auto parts = buckets_.parts(call.upload(), question->after, question->most + 1);
  if (!parts) return call.refuse(parts.error());
  call.reply.send(xml_answer(parts_xml(call.request, *question, *upload, std::move(*parts), account_.id)));
}

}  // namespace drover::aws

// Buckets, and lists of what is in them.
#include <atomic>

#include "api/s3/s3_answers.h"
#include "api/s3/s3_api.h"
#include "api/s3/s3_fault.h"
#include "api/s3/s3_headers.h"
#include "api/s3/s3_lists.h"
#include "base/text.h"
#include "wire/aws/bucket_name.h"
#include "wire/aws/s3_documents.h"

namespace drover::aws {
namespace {

constexpr std::string_view kRegionOfNone = "us-east-1";
constexpr std::size_t kMostDeletes = 1000;

}  // namespace

void S3Api::list_buckets(Call& call) {
  auto buckets = buckets_.list_buckets();
  if (!buckets) return call.refuse(s3_fault(buckets.error()));
  const auto page = read_buckets_request(call.request);
  if (!page) return call.refuse(page.error());
  call.reply.send(xml_answer(buckets_xml(std::move(*buckets), *page, account_.id)));
}

void S3Api::create_bucket(const CallPointer& call) {
  if (!is_bucket_name(call->request.bucket)) {
    return call->refuse(Fault{"InvalidBucketName", "The specified bucket is not valid.", 400});
  }
  auto region = read_location(call->body);
  if (!region) return call->refuse(malformed_xml(region.error()));
  if (region->empty()) *region = call->region;
  const std::string* acl = call->head.header("x-amz-acl");
  buckets_.create_bucket(
      {.name = call->request.bucket, .region = std::move(*region), .owner = call->asker.caller.key_id},
      [this, call, acl = acl == nullptr ? std::string() : *acl](const BucketResult<void>& created) {
        if (!created) return call->refuse(created.error());
        HttpResponse out = s3_answer();
        out.headers.push_back({"Location", concat("/", call->request.bucket)});
        if (acl.empty()) return call->reply.send(std::move(out));
        buckets_.set_setting(call->request.bucket, "acl", acl,
                             [call, out = std::move(out)](const BucketResult<void>& set) mutable {
                               if (!set) return call->refuse(set.error());
                               call->reply.send(std::move(out));
                             });
      });
}

void S3Api::head_bucket(Call& call) {
  const auto found = buckets_.bucket(call.request.bucket);
  if (!found) return call.refuse(found.error());
  HttpResponse out = s3_answer();
  out.headers.push_back({"x-amz-bucket-region", found->region});
  call.reply.send(std::move(out));
}

void S3Api::get_location(Call& call) {
  const auto found = buckets_.bucket(call.request.bucket);
  if (!found) return call.refuse(found.error());
  call.reply.send(xml_answer("LocationConstraint", found->region == kRegionOfNone ? "" : xml_text(found->region)));
}

void S3Api::delete_bucket(const CallPointer& call) {
  buckets_.delete_bucket(call->request.bucket, done(call, 204));
}

void S3Api::list_objects(Call& call) {
  const auto question = read_list_request(call.request);
  if (!question) return call.refuse(question.error());
  auto page = buckets_.list(call.request.bucket, *question);
  if (!page) return call.refuse(page.error());
  if (question->most == 0) page->is_cut = false;
  call.reply.send(xml_answer(objects_xml(call.request, *question, *page, account_.id)));
}

void S3Api::list_versions(Call& call) {
  const auto question = read_versions_request(call.request);
  if (!question) return call.refuse(question.error());
  auto page = buckets_.list_versions(call.request.bucket, *question);
  if (!page) return call.refuse(page.error());
  if (question->most == 0) page->is_cut = false;
  call.reply.send(xml_answer(versions_xml(call.request, *question, *page, account_.id)));
}

void S3Api::list_uploads(Call& call) {
  const auto question = read_uploads_request(call.request);
  if (!question) return call.refuse(question.error());
  auto page = buckets_.list_uploads(call.request.bucket, *question);
  if (!page) return call.refuse(page.error());
  if (question->most == 0) page->is_cut = false;
  call.reply.send(xml_answer(uploads_xml(call.request, *question, *page, account_.id)));
}

// All of them are asked for at once, and the last one that is answered answers.
void S3Api::delete_objects(const CallPointer& call) {
  if (auto checked = check_small_body(call->head, call->body); !checked) return call->refuse(checked.error());
  auto request = read_delete_request(call->body);
  if (!request) return call->refuse(malformed_xml(request.error()));
  if (request->objects.size() > kMostDeletes) {
    return call->refuse(malformed_xml({ErrorCode::bad_input, "more than 1000 keys are named", {}}));
  }
  if (const auto bucket = buckets_.bucket(call->request.bucket); !bucket) return call->refuse(bucket.error());
  struct Deletes {
    std::vector<DeleteRequest::One> objects;
    std::vector<std::string> answers;
    std::atomic<std::size_t> left = 0;
    bool is_quiet = false;
  };
  auto all = std::make_shared<Deletes>();
  all->objects = std::move(request->objects);
  all->answers.resize(all->objects.size());
  all->left = all->objects.size();
  all->is_quiet = request->is_quiet;
  const auto answer = [call, all](std::size_t i, const std::expected<Removed, Fault>& removed) {
    const DeleteRequest::One& one = all->objects[i];
    if (!removed || !all->is_quiet) all->answers[i] = deleted_xml(one, removed);
    if (--all->left > 0) return;
    std::string content;
    for (const std::string& it : all->answers) content += it;
    call->reply.send(xml_answer("DeleteResult", content));
  };
  for (std::size_t i = 0; i < all->objects.size(); ++i) {
    const DeleteRequest::One& one = all->objects[i];
    const std::string action = one.version ? "s3:DeleteObjectVersion" : "s3:DeleteObject";
    auto allowed = check_key(one.key);
    if (allowed && one.version && one.version->empty()) allowed = std::unexpected(empty_version());
    if (allowed) allowed = check_access(*call, action, call->request.bucket, one.key);
    if (!allowed) {
      answer(i, std::unexpected(allowed.error()));
      continue;
    }
    buckets_.remove(
        {.name = {call->request.bucket, one.key, one.version}, .only_if_etag = one.etag, .cause = call->cause()},
        [answer, i](const BucketResult<Removed>& removed) {
          if (removed) return answer(i, *removed);
          answer(i, std::unexpected(s3_fault(removed.error())));
        });
  }
}

}  // namespace drover::aws

// S3 over the server's own buckets. s3_request.h says what a request asks for; this carries it out.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/aws/access.h"
#include "api/aws/account.h"
#include "api/s3/s3_request.h"
#include "api/service.h"
#include "ports/backend.h"
#include "ports/buckets.h"
#include "ports/entropy.h"
#include "wire/aws/s3_documents.h"

namespace drover::aws {

class S3Body;

class S3Api : public Service {
 public:
  S3Api(Backend& backend, const Account& account, Buckets& buckets)
      : backend_(backend), account_(account), access_(backend, account), buckets_(buckets) {}

  bool owns(const HttpHead& head) const override;
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;
  std::optional<HttpResponse> judge(const HttpHead& head, const Asker& asker, HttpBodySink* sink) override;
  HttpResponse error(const HttpHead& head, int status, const Error& error) const override;
  HttpResponse refuse(const HttpHead& head, const Refusal& refusal) const override;

 private:
  /// What is asked for, and by whom.
  struct Asked {
    S3Request request;
    HttpHead head;
    Asker asker;
  };
  /// A request whose body is there, until it is answered.
  struct Call : Asked {
    Call(Asked asked, HttpReply to) : Asked(std::move(asked)), reply(std::move(to)) {}

    std::string body;
    std::unique_ptr<HttpBodySink> sink;
    std::string region;
    HttpReply reply;

    void refuse(const Fault& fault);
    void refuse(const BucketError& error);
    ObjectName object() const { return {request.bucket, request.key, request.version()}; }
    UploadName upload() const { return {request.bucket, request.key, request.parameter("uploadId").value_or("")}; }
    EventCause cause() const { return {asker.caller.key_id, head.peer, random_uuid().text()}; }
  };
  using CallPointer = std::shared_ptr<Call>;

  void handle(S3Request request, HttpRequest http, HttpReply reply, Asker asker);
  /// What a caller with a session may do is in the ledger; what a key for one bucket may do its grant says.
  std::expected<void, Fault> check_access(const Asked& asked) const;
  std::expected<void, Fault> check_access(const Asked& asked, const std::string& action, const std::string& bucket,
                                          const std::string& key) const;
  /// Tags and ACLs that come with an object take rights of their own.
  std::expected<void, Fault> check_extras(const Call& call) const;
  void carry_out(const CallPointer& call);
  void carry_out_on_bucket(const CallPointer& call);
  void carry_out_on_object(const CallPointer& call);
  /// Answers without a body when it is done.
  static BucketAnswered<void> done(const CallPointer& call, int status = 200);

  // s3_buckets.cc. Those that only read wait for disks.
  void list_buckets(Call& call);
  void create_bucket(const CallPointer& call);
  void head_bucket(Call& call);
  void delete_bucket(const CallPointer& call);
  void get_location(Call& call);
  void list_objects(Call& call);
  void list_versions(Call& call);
  void list_uploads(Call& call);
  void delete_objects(const CallPointer& call);

  // s3_settings.cc
  void get_versioning(Call& call);
  void put_versioning(const CallPointer& call);
  void get_notification(Call& call);
  void put_notification(const CallPointer& call);
  void get_tagging(Call& call);
  void put_tagging(const CallPointer& call);
  void get_policy(Call& call);
  void put_policy(const CallPointer& call);
  void get_cors(Call& call);
  void put_cors(const CallPointer& call);
  void get_acl(Call& call);
  void put_acl(const CallPointer& call);
  void get_unset(Call& call);
  void delete_setting(const CallPointer& call, std::string kind);
  /// Where events go, if the queue exists and lets S3 send to it.
  std::expected<EventRule, Fault> rule_from(const std::string& bucket, const NotificationRequest::Queue& queue) const;
  /// Nothing: it was answered that there is none, with this fault.
  std::optional<std::string> setting(Call& call, const std::string& kind, const Fault& unset);

  // s3_objects.cc
  void put_object(const CallPointer& call);
  void get_object(Call& call);
  void copy_object(const CallPointer& call);
  void delete_object(const CallPointer& call);
  void get_attributes(Call& call);

  // s3_uploads.cc
  void begin_upload(const CallPointer& call);
  void upload_part(const CallPointer& call);
  struct PartCopy;
  void upload_part_copy(const CallPointer& call);
  void read_on(const std::shared_ptr<PartCopy>& copy);
  void complete_upload(const CallPointer& call);
  void abort_upload(const CallPointer& call);
  void list_parts(Call& call);

  /// What the body brought, if it is as its head says.
  std::expected<ObjectHeaders, Fault> check_body(const Call& call, S3Body& body) const;
  /// The object that a copy is made of; the fault says why it cannot be.
  std::expected<std::pair<CopySource, StoredObject>, Fault> find_source(const Call& call) const;

  Backend& backend_;
  const Account& account_;
  const Access access_;
  Buckets& buckets_;
};

}  // namespace drover::aws

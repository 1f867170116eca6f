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

namespace drover::aws {

class S3Api : public Service {
 public:
  S3Api(Backend& backend, const Account& account, Buckets& buckets)
      : backend_(backend), account_(account), access_(backend, account), buckets_(buckets) {}

  bool owns(const HttpHead& head) const override;
  std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) override;
  HttpResponse error(const HttpHead& head, int status, const Error& error) const override;
  HttpResponse refuse(const HttpHead& head, const Refusal& refusal) const override;

 private:
  /// A request whose body is there, until it is answered.
  struct Call {
    S3Request request;
    HttpHead head;
    std::unique_ptr<HttpBodySink> sink;
    Asker asker;
    std::string region;
    HttpReply reply;
  };
  using CallPointer = std::shared_ptr<Call>;

  void handle(S3Request request, HttpRequest http, HttpReply reply, Asker asker);
  /// What a caller with a session may do is in the ledger.
  std::expected<void, Fault> check_access(const Call& call) const;
  std::expected<void, Fault> check_access(const Call& call, S3Operation operation, const std::string& bucket,
                                          const std::string& key) const;
  void carry_out(const CallPointer& call);

  // These wait for disks.
  void list_buckets(Call& call);
  void head_bucket(Call& call);
  void get_location(Call& call);
  void list_objects(Call& call);
  void get_object(Call& call);
  void copy_object(const CallPointer& call);

  // These do not.
  void create_bucket(const CallPointer& call);
  void delete_bucket(const CallPointer& call);
  void put_object(const CallPointer& call);
  void delete_object(const CallPointer& call);

  Backend& backend_;
  const Account& account_;
  const Access access_;
  Buckets& buckets_;
};

}  // namespace drover::aws

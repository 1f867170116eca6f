#include "wire/aws/sigv4.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "wire/aws/request_fixture.h"
#include "wire/aws/signing.h"
#include "wire/aws/signing_time.h"

namespace drover::aws {
namespace {

using enum SignatureFault;

constexpr std::int64_t kVerifiedMs = 1'794'704'197'000;
constexpr std::string_view kManualsSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// A PUT to a service with this x-amz-content-sha256.
OwnedRequest put(std::string_view service, std::string_view payload) {
  OwnedRequest request{.method = "PUT", .path = "/bucket/key", .headers = {{"Host", "h"}}, .body = "hello"};
  if (service != kS3) request.header("X-Amz-Content-Sha256") = payload;
  const NewHeaders added = sign(request.view(), {"AKID", "secret"}, {"us-east-1", service}, payload, kVerifiedMs);
  request.headers.insert(request.headers.end(), added.begin(), added.end());
  return request;
}

HeadOutcome outcome_of(OwnedRequest request) {
  static SigningKeyCache cache;  // a pending signature refers to it
  const Request view = request.view();
  return verify_head(view, read_signature(view).value(), "secret", kVerifiedMs, cache).value();
}

TEST(SignatureVersion4, TheExampleOfTheManualVerifies) {
  const OwnedRequest request{
      .query = "Action=ListUsers&Version=2010-05-08",
      .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
                  {"Host", "iam.amazonaws.com"},
                  {"X-Amz-Date", "20150830T123600Z"},
                  {"Authorization",
                   "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
                   "SignedHeaders=content-type;host;x-amz-date, "
                   "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"}}};
  EXPECT_EQ(fault_of(request, "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", *parse_signing_time("20150830T123600Z")),
            std::nullopt);
}

TEST(SignatureVersion4, TheManualsStreamVerifies) {
  OwnedRequest request{
      .method = "PUT",
      .path = "/examplebucket/chunkObject.txt",
      .headers = {{"Host", "s3.amazonaws.com"},
                  {"x-amz-date", "20130524T000000Z"},
                  {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                  {"x-amz-content-sha256", std::string(kSignedChunks)},
                  {"Content-Encoding", "aws-chunked"},
                  {"x-amz-decoded-content-length", "66560"},
                  {"Content-Length", "66824"},
                  {"Authorization",
                   "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                   "SignedHeaders=content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;"
                   "x-amz-decoded-content-length;x-amz-storage-class,"
                   "Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"}}};
  SigningKeyCache cache;
  const Request view = request.view();
  auto head = std::get<VerifiedHead>(
      verify_head(view, read_signature(view).value(), kManualsSecret, *parse_signing_time("20130524T000000Z"), cache)
          .value());
  EXPECT_EQ(head.payload, PayloadForm::signed_chunks);
  EXPECT_EQ(head.chunks.value().sign_chunk(sha256(std::string(65536, 'a'))),
            "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
}

TEST(SignatureVersion4, EveryFormOfABodyIsTold) {
  using enum PayloadForm;
  const std::pair<std::string_view, PayloadForm> forms[] = {{kUnsignedPayload, unsigned_body},
                                                            {kSignedChunks, signed_chunks},
                                                            {kSignedChunksAndTrailer, signed_chunks_and_trailer},
                                                            {kUnsignedChunksAndTrailer, unsigned_chunks_and_trailer}};
  for (const auto& [text, form] : forms) {
    const auto head = std::get<VerifiedHead>(outcome_of(put(kS3, text)));
    EXPECT_EQ(head.payload, form);
    EXPECT_EQ(head.chunks.has_value(), form == signed_chunks || form == signed_chunks_and_trailer);
    EXPECT_TRUE(head.check_body(sha256("whatever")));
  }
  const auto head = std::get<VerifiedHead>(outcome_of(put(kS3, hex(sha256("hello")))));
  EXPECT_EQ(head.payload, hashed);
  EXPECT_TRUE(head.check_body(sha256("hello")));
  EXPECT_EQ(head.check_body(sha256("jello")).error().fault, body_mismatch);
}

TEST(SignatureVersion4, WithoutAWordOnTheBodyItsDigestIsAwaited) {
  OwnedRequest request{.method = "POST", .headers = {{"Host", "h"}}, .body = "{}"};
  const NewHeaders added =
      sign(request.view(), {"AKID", "secret"}, {"us-east-1", "batch"}, hex(sha256("{}")), kVerifiedMs);
  request.headers.insert(request.headers.end(), added.begin(), added.end());
  const auto pending = std::get<PendingSignature>(outcome_of(request));
  EXPECT_TRUE(pending.check_body(sha256("{}")));
  EXPECT_EQ(pending.check_body(sha256("{ }")).error().fault, mismatch);
}

TEST(SignatureVersion4, OnlyS3TakesBodiesThatAreNoService) {
  EXPECT_EQ(fault_of(put("batch", hex(sha256("hello"))), "secret", kVerifiedMs), std::nullopt);
  for (const std::string_view text : {kUnsignedPayload, kSignedChunks, kUnsignedChunksAndTrailer}) {
    EXPECT_EQ(fault_of(put(kS3, text), "secret", kVerifiedMs), std::nullopt);
    EXPECT_EQ(fault_of(put("batch", text), "secret", kVerifiedMs), mismatch);
  }
}

TEST(SignatureVersion4, AnUnknownFormOfABodyIsRefused) {
  for (const std::string_view text : {"", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "unsigned-payload", "abc"}) {
    EXPECT_EQ(fault_of(put(kS3, text), "secret", kVerifiedMs), bad_body_hash) << text;
  }
}

TEST(SignatureVersion4, OnlyKeysThatVerifiedAreKept) {
  SigningKeyCache cache;
  const OwnedRequest request = put(kS3, kUnsignedPayload);
  const SigningScope scope{"20261115", "us-east-1", "s3"};
  const auto kept = [&](const char* secret) {
    return cache.find(SigningKeyCache::name_of("AKID", secret, scope)) != nullptr;
  };
  EXPECT_TRUE(verify(request, "wrong", kVerifiedMs, cache));
  EXPECT_FALSE(kept("wrong"));
  EXPECT_FALSE(verify(request, "secret", kVerifiedMs, cache));
  EXPECT_TRUE(kept("secret"));
  EXPECT_FALSE(verify(request, "secret", kVerifiedMs, cache));
  EXPECT_TRUE(verify(request, "wrong", kVerifiedMs, cache));
}

TEST(SignatureVersion4, SaysWhatTimeItIs) {
  SigningKeyCache cache;
  EXPECT_EQ(verify(put(kS3, kUnsignedPayload), "secret", kVerifiedMs + 3'600'000, cache).value().message,
            "Signature expired: 20261115T005637Z is now earlier than 20261115T014137Z (20261115T015637Z - 15 min.)");
}

}  // namespace
}  // namespace drover::aws

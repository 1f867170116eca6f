#include "wire/aws/signing.h"

#include <gtest/gtest.h>

#include "wire/aws/request_fixture.h"

namespace drover::aws {
namespace {

using enum SignatureFault;

constexpr std::int64_t kNowMs = 1'794'704'197'000;
constexpr Credentials kCredentials{"AKID", "secret", "token/+="};

OwnedRequest unsigned_request() {
  return {.method = "PUT",
          .path = "/bucket/a%20b/c~%C3%A9",
          .query = "partNumber=1&b=%2F&a=x%20y&a",
          .headers = {{"Host", "example.com:8750"},
                      {"User-Agent", "drover"},
                      {"Content-Type", "text/plain; charset=utf-8"},
                      {"X-Amz-Meta-K", "v w"}},
          .body = "hello"};
}

OwnedRequest signed_request(std::string_view service) {
  OwnedRequest request = unsigned_request();
  const NewHeaders added =
      sign(request.view(), kCredentials, {"eu-central-1", service}, hex(sha256(request.body)), kNowMs);
  request.headers.insert(request.headers.end(), added.begin(), added.end());
  return request;
}

OwnedRequest presigned_request(std::string_view service) {
  OwnedRequest request = unsigned_request();
  request.remove_header("User-Agent");
  request.body = "";
  request.query = presign(request.view(), kCredentials, {"eu-central-1", service}, 3600, kNowMs);
  return request;
}

/// Every byte of a text that the request has, changed in its lowest bit.
void expect_each_byte_counts(OwnedRequest& request, std::string& text, std::size_t from = 0) {
  for (std::size_t i = from; i < text.size(); ++i) {
    text[i] = static_cast<char>(text[i] ^ 1);
    EXPECT_TRUE(fault_of(request, "secret", kNowMs)) << "byte " << i << " of " << text;
    text[i] = static_cast<char>(text[i] ^ 1);
  }
  EXPECT_EQ(fault_of(request, "secret", kNowMs), std::nullopt);
}

void expect_all_bytes_count(OwnedRequest request) {
  expect_each_byte_counts(request, request.method);
  expect_each_byte_counts(request, request.path);
  expect_each_byte_counts(request, request.query);
  for (auto& [name, value] : request.headers) {
    if (name == "User-Agent") continue;
    expect_each_byte_counts(request, name);
    // Whose key it is, the caller has to know: the signature covers the rest of the credential.
    expect_each_byte_counts(request, value, name == "Authorization" ? value.find('/') : 0);
  }
}

TEST(Signing, WhatIsSignedVerifies) {
  for (const char* service : {"s3", "batch"}) {
    EXPECT_EQ(fault_of(signed_request(service), "secret", kNowMs), std::nullopt);
    EXPECT_EQ(fault_of(presigned_request(service), "secret", kNowMs), std::nullopt);
    EXPECT_EQ(fault_of(presigned_request(service), "secret", kNowMs + 3'600'000), std::nullopt);
    EXPECT_EQ(fault_of(presigned_request(service), "secret", kNowMs + 3'600'001), expired);
  }
}

TEST(Signing, EveryByteThatIsSignedCounts) {
  for (const char* service : {"s3", "batch"}) {
    expect_all_bytes_count(signed_request(service));
    expect_all_bytes_count(presigned_request(service));
  }
}

TEST(Signing, TheBodyOfAPresignedRequestIsOpenInS3Only) {
  OwnedRequest request = presigned_request("s3");
  request.body = "x";
  EXPECT_EQ(fault_of(request, "secret", kNowMs), std::nullopt);
  request = presigned_request("sts");
  request.body = "x";
  EXPECT_EQ(fault_of(request, "secret", kNowMs), mismatch);
}

TEST(Signing, AddsOnlyWhatTheServiceNeeds) {
  OwnedRequest request{.headers = {{"Host", "h"}}};
  const auto names = [&](const Credentials& credentials, const char* service) {
    std::string out;
    for (const auto& [name, value] : sign(request.view(), credentials, {"r", service}, hex(sha256("")), kNowMs)) {
      out += name + " ";
    }
    return out;
  };
  EXPECT_EQ(names({"AKID", "secret"}, "batch"), "X-Amz-Date Authorization ");
  EXPECT_EQ(names(kCredentials, "s3"), "X-Amz-Date X-Amz-Content-Sha256 X-Amz-Security-Token Authorization ");
}

TEST(Signing, ASessionTokenIsSigned) {
  OwnedRequest request = signed_request("s3");
  EXPECT_EQ(read_signature(request.view()).value().session_token, "token/+=");
  request.remove_header("X-Amz-Security-Token");
  EXPECT_EQ(fault_of(request, "secret", kNowMs), mismatch);
  request = presigned_request("s3");
  EXPECT_EQ(read_signature(request.view()).value().session_token, "token/+=");
}

}  // namespace
}  // namespace drover::aws

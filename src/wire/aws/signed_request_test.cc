#include "wire/aws/signed_request.h"

#include <gtest/gtest.h>

#include "wire/aws/request_fixture.h"

namespace drover::aws {
namespace {

using enum SignatureFault;

const std::string kScope = "/20261115/us-east-1/batch/aws4_request";
const std::string kPresigned =
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20261115%2Fus-east-1%2Fs3%2Faws4_request"
    "&X-Amz-Date=20261115T005637Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host%3Bx-amz-acl&X-Amz-Signature=abc";

SignatureResult<SignedRequest> with_authorization(const std::string& authorization,
                                                  const std::string& date = "20261115T005637Z") {
  OwnedRequest request{.headers = {{"Authorization", authorization}, {"X-Amz-Date", date}}};
  return read_signature(request.view());
}

std::optional<SignatureFault> fault_in(const SignatureResult<SignedRequest>& read) {
  return read ? std::nullopt : std::optional(read.error().fault);
}

SignatureResult<SignedRequest> with_query(const std::string& query) {
  OwnedRequest request{.query = query};
  return read_signature(request.view());
}

std::string without(std::string query, std::string_view name) {
  const std::size_t at = query.find(name);
  return query.erase(at, query.find('&', at) - at + 1);
}

TEST(SignedRequest, IsReadFromTheHeader) {
  OwnedRequest request{.headers = {{"authorization", "AWS4-HMAC-SHA256  Credential=AKID" + kScope +
                                                         " ,SignedHeaders=host;x-amz-date,\tSignature=abc"},
                                   {"x-amz-date", " 20261115T005637Z"},
                                   {"X-AMZ-Security-Token", "token=="}}};
  const auto read = read_signature(request.view()).value();
  EXPECT_EQ(read.kind, SignatureKind::v4_header);
  EXPECT_EQ(read.access_key_id, "AKID");
  EXPECT_EQ(read.date, "20261115T005637Z");
  EXPECT_EQ(read.signed_at_ms, 1'794'704'197'000);
  EXPECT_EQ(read.scope.region, "us-east-1");
  EXPECT_EQ(read.scope.service, "batch");
  EXPECT_EQ(read.signed_headers, "host;x-amz-date");
  EXPECT_EQ(read.signature, "abc");
  EXPECT_EQ(read.session_token, "token==");
}

TEST(SignedRequest, ADateHeaderWillDo) {
  OwnedRequest request{
      .headers = {{"Authorization", "AWS4-HMAC-SHA256 Credential=AKID" + kScope + ",SignedHeaders=date,Signature=a"},
                  {"Date", "Sun, 15 Nov 2026 00:56:37 GMT"}}};
  EXPECT_EQ(read_signature(request.view()).value().date, "20261115T005637Z");
  request.remove_header("Date");
  EXPECT_EQ(read_signature(request.view()).error().message,
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.");
}

TEST(SignedRequest, IsReadFromTheQuery) {
  const auto read = with_query("a=b&" + kPresigned + "&X-Amz-Security-Token=t%2B%3D").value();
  EXPECT_EQ(read.kind, SignatureKind::v4_query);
  EXPECT_EQ(read.access_key_id, "AKID");
  EXPECT_EQ(read.scope.text(), "20261115/us-east-1/s3/aws4_request");
  EXPECT_EQ(read.expires_at_ms, 1'794'704'257'000);
  EXPECT_EQ(read.signed_headers, "host;x-amz-acl");
  EXPECT_EQ(read.session_token, "t+=");
}

TEST(SignedRequest, Version2IsReadFromTheQuery) {
  const auto read =
      with_query("AWSAccessKeyId=AKID&Signature=a%2Bb%3D&Expires=1794704270&x-amz-security-token=t").value();
  EXPECT_EQ(read.kind, SignatureKind::v2_query);
  EXPECT_EQ(read.access_key_id, "AKID");
  EXPECT_EQ(read.signature, "a+b=");
  EXPECT_EQ(read.expires_at_ms, 1'794'704'270'000);
  EXPECT_EQ(read.scope.service, "s3");
  EXPECT_EQ(read.session_token, "t");
}

TEST(SignedRequest, WithoutASignatureIsMissing) {
  EXPECT_EQ(fault_in(with_query("Expires=1&Signature=x&a=%zz")), missing);
  EXPECT_EQ(fault_in(with_authorization("")), missing);
}

TEST(SignedRequest, OtherMechanismsAreUnsupported) {
  for (const char* text :
       {"Bearer abc", "AWS AKID:signature", "AWS4-ECDSA-P256-SHA256 Credential=a", "AWS4-HMAC-SHA256x Credential=a"}) {
    EXPECT_EQ(fault_in(with_authorization(text)), unsupported) << text;
  }
}

TEST(SignedRequest, TwoMechanismsAreAmbiguous) {
  OwnedRequest request{.query = kPresigned, .headers = {{"Authorization", "AWS4-HMAC-SHA256 Credential=a"}}};
  EXPECT_EQ(fault_in(read_signature(request.view())), ambiguous);
  EXPECT_EQ(fault_in(with_query(kPresigned + "&AWSAccessKeyId=AKID")), ambiguous);
}

TEST(SignedRequest, AMalformedHeaderIsIncomplete) {
  const std::string headers = ", SignedHeaders=host";
  const std::string signature = ", Signature=abc";
  const std::string start = "AWS4-HMAC-SHA256 Credential=";
  ASSERT_TRUE(with_authorization(start + "AKID" + kScope + headers + signature));
  for (const std::string& text :
       {std::string("AWS4-HMAC-SHA256"), start + headers + signature, start + "AKID" + kScope + signature,
        start + "AKID" + kScope + headers, start + "AKID" + kScope + headers + signature + signature,
        start + "AKID" + kScope + headers + signature + ", Other=x", start + kScope + headers + signature,
        start + "AKID/" + kScope + headers + signature, start + "AK ID" + kScope + headers + signature,
        start + std::string(129, 'A') + kScope + headers + signature,
        start + "AKID/20261115//batch/aws4_request" + headers + signature,
        start + "AKID/20261115/us-east-1/batch/aws4" + headers + signature,
        start + "AKID" + kScope + ", SignedHeaders=Host" + signature,
        start + "AKID" + kScope + ", SignedHeaders=x-a;host" + signature,
        start + "AKID" + kScope + ", SignedHeaders=host;host" + signature,
        start + "AKID" + kScope + ", SignedHeaders=;host" + signature,
        start + "AKID" + kScope + ", SignedHeaders=host;" + signature}) {
    EXPECT_EQ(fault_in(with_authorization(text)), incomplete) << text;
  }
  EXPECT_EQ(fault_in(with_authorization(start + "AKID" + kScope + headers + signature, "yesterday")), incomplete);
  EXPECT_EQ(with_authorization(start + "AKID" + kScope + headers + signature, "20261116T005637Z").error().fault,
            mismatch);
  EXPECT_EQ(
      with_authorization(start + headers).error().message,
      "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' parameter.");
}

TEST(SignedRequest, AMalformedQueryIsRefused) {
  ASSERT_TRUE(with_query(kPresigned));
  for (const char* name :
       {"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders"}) {
    EXPECT_EQ(fault_in(with_query(without(kPresigned, name))), bad_query) << name;
  }
  for (const char* more : {"&X-Amz-Date=20261115T005637Z", "&X%2DAmz%2DSignature=abc", "&%zz=1"}) {
    EXPECT_EQ(fault_in(with_query(kPresigned + more)), bad_query) << more;
  }
  const std::string rest = without(kPresigned, "X-Amz-Expires");
  EXPECT_EQ(fault_in(with_query(rest + "&X-Amz-Expires=604801")), bad_query);
  EXPECT_EQ(with_query(rest + "&X-Amz-Expires=-1").error().message, "X-Amz-Expires should be a number");
  EXPECT_TRUE(with_query(rest + "&X-Amz-Expires=604800"));
  for (const char* query : {"AWSAccessKeyId=AKID", "AWSAccessKeyId=AKID&Signature=x", "AWSAccessKeyId=AKID&Expires=1",
                            "AWSAccessKeyId=AKID&Signature=x&Expires=01", "AWSAccessKeyId=AKID&Signature=x&Expires=x",
                            "AWSAccessKeyId=AKID&Signature=x&Expires=99999999999999999999",
                            "AWSAccessKeyId=AKID&Signature=x&Expires=1&Expires=2"}) {
    EXPECT_EQ(fault_in(with_query(query)), bad_query) << query;
  }
}

}  // namespace
}  // namespace drover::aws

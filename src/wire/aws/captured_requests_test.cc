// Requests that AWS's own clients sent, with what they signed: all verify, and none does once it is changed.
#include <boost/json.hpp>

#include <fstream>

#include "wire/aws/canonical_request.h"
#include "wire/aws/request_fixture.h"
#include "wire/base64.h"

namespace drover::aws {
namespace {

namespace json = boost::json;
using enum SignatureFault;

struct Capture {
  std::string kind;
  std::string canonical;
  std::string secret;
  OwnedRequest request;
  std::int64_t at_ms = 0;  // a time at which it is valid

  bool is_v4() const { return kind != "v2-query"; }
  bool is_header() const { return kind == "v4-header"; }
  std::optional<SignatureFault> fault(const OwnedRequest& changed) const { return fault_of(changed, secret, at_ms); }
};

std::string text_of(const json::value& value, const char* name) {
  return std::string(value.at(name).as_string());
}

std::vector<Capture> captures() {
  std::ifstream file(DROVER_TEST_DATA "/sigv4_vectors.jsonl");
  std::vector<Capture> out;
  for (std::string line; std::getline(file, line);) {
    const json::value value = json::parse(line);
    Capture capture{text_of(value, "kind"), text_of(value, "canonical"), text_of(value, "secret"), {}};
    OwnedRequest& request = capture.request;
    request.method = text_of(value, "method");
    request.path = text_of(value, "target");
    if (const std::size_t at = request.path.find('?'); at != std::string::npos) {
      request.query = request.path.substr(at + 1);
      request.path.resize(at);
    }
    for (const auto& [name, values] : value.at("headers").as_object()) {
      for (const json::value& one : values.as_array()) request.headers.emplace_back(name, one.as_string());
    }
    request.body = from_base64(text_of(value, "body_b64")).value();
    const auto signature = read_signature(request.view()).value();
    capture.at_ms = signature.kind == SignatureKind::v4_header ? signature.signed_at_ms : signature.expires_at_ms;
    out.push_back(std::move(capture));
  }
  return out;
}

/// What is done to a copy of each, and what must be said of it.
void expect_each(const auto& change, const auto& expected) {
  std::size_t number = 0;
  for (const Capture& capture : captures()) {
    SCOPED_TRACE(number++);
    OwnedRequest changed = capture.request;
    change(capture, changed);
    EXPECT_EQ(capture.fault(changed), expected(capture)) << capture.canonical;
  }
  EXPECT_EQ(number, 38);
}

TEST(CapturedRequests, AllVerify) {
  expect_each([](const Capture&, OwnedRequest&) {}, [](const Capture&) { return std::nullopt; });
}

TEST(CapturedRequests, TheirCanonicalTextIsTheClients) {
  SigningKeyCache cache;
  for (Capture& capture : captures()) {
    const Request request = capture.request.view();
    const auto signature = read_signature(request).value();
    if (!capture.is_v4()) {
      EXPECT_EQ(v2_string_to_sign(request, signature), capture.canonical);
      continue;
    }
    const std::string head =
        canonical_head(request, signature.scope.service, canonical_query(request.query).value(),
                       canonical_headers(request.headers, signature.signed_headers).text, signature.signed_headers);
    const bool is_presigned = signature.kind == SignatureKind::v4_query;
    EXPECT_EQ(head + (is_presigned ? std::string(kUnsignedPayload) : hex(sha256(capture.request.body))),
              capture.canonical);
  }
}

TEST(CapturedRequests, TheBodyCounts) {
  expect_each([](const Capture&, OwnedRequest& request) { request.body += 'x'; },
              [](const Capture& capture) -> std::optional<SignatureFault> {
                if (!capture.is_header()) return std::nullopt;
                return capture.canonical.contains("x-amz-content-sha256") ? body_mismatch : mismatch;
              });
}

TEST(CapturedRequests, TheStatedDigestCounts) {
  for (const Capture& capture : captures()) {
    OwnedRequest request = capture.request;
    if (!capture.canonical.contains("x-amz-content-sha256")) continue;
    request.header("x-amz-content-sha256").front() ^= 1;
    EXPECT_EQ(capture.fault(request), mismatch);
    request.header("x-amz-content-sha256") = kUnsignedPayload;
    EXPECT_EQ(capture.fault(request), mismatch);
    request.header("x-amz-content-sha256") = "x";
    EXPECT_EQ(capture.fault(request), bad_body_hash);
  }
}

TEST(CapturedRequests, TheHostCounts) {
  expect_each([](const Capture&, OwnedRequest& request) { request.header("host") = "127.0.0.2:5400"; },
              [](const Capture& capture) { return capture.is_v4() ? std::optional(mismatch) : std::nullopt; });
}

TEST(CapturedRequests, ASignedHeaderMustBeSent) {
  expect_each([](const Capture&, OwnedRequest& request) { request.remove_header("host"); },
              [](const Capture& capture) { return capture.is_v4() ? std::optional(mismatch) : std::nullopt; });
}

TEST(CapturedRequests, NoHeaderOfAmazonsIsAdded) {
  expect_each([](const Capture&, OwnedRequest& request) { request.header("X-Amz-Copy-Source") = "/other/key"; },
              [](const Capture& capture) { return capture.is_v4() ? headers_not_signed : mismatch; });
}

TEST(CapturedRequests, OtherHeadersMayBeAdded) {
  expect_each([](const Capture&, OwnedRequest& request) { request.header("X-Forwarded-For") = "10.0.0.1"; },
              [](const Capture&) { return std::nullopt; });
}

TEST(CapturedRequests, TheQueryCounts) {
  expect_each(
      [](const Capture&, OwnedRequest& request) { request.query += request.query.empty() ? "acl=x" : "&acl=x"; },
      [](const Capture&) { return mismatch; });
}

TEST(CapturedRequests, ThePathCounts) {
  expect_each([](const Capture&, OwnedRequest& request) { request.path += "x"; },
              [](const Capture&) { return mismatch; });
  expect_each([](const Capture&, OwnedRequest& request) { request.path = "/other/.." + request.path; },
              [](const Capture&) { return mismatch; });
}

TEST(CapturedRequests, TheMethodCounts) {
  expect_each([](const Capture&, OwnedRequest& request) { request.method = "PATCH"; },
              [](const Capture&) { return mismatch; });
}

TEST(CapturedRequests, TheSecretCounts) {
  for (const Capture& capture : captures()) {
    for (const char* secret : {"", "Secret", "secret "}) {
      EXPECT_EQ(fault_of(capture.request, secret, capture.at_ms), mismatch);
    }
  }
}

TEST(CapturedRequests, TheSignatureCounts) {
  expect_each(
      [](const Capture& capture, OwnedRequest& request) {
        std::string& text = capture.is_header() ? request.header("authorization") : request.query;
        const std::size_t at = text.find("Signature=") + 10;
        text[at] = text[at] == 'a' ? 'b' : 'a';
      },
      [](const Capture&) { return mismatch; });
}

TEST(CapturedRequests, TheTimeCounts) {
  constexpr std::int64_t kMinuteMs = 60'000;
  for (const Capture& capture : captures()) {
    const auto at = [&](std::int64_t offset_ms) {
      return fault_of(capture.request, capture.secret, capture.at_ms + offset_ms);
    };
    if (capture.is_header()) {
      EXPECT_EQ(at(15 * kMinuteMs), std::nullopt);
      EXPECT_EQ(at(15 * kMinuteMs + 1), skewed);
      EXPECT_EQ(at(-15 * kMinuteMs), std::nullopt);
      EXPECT_EQ(at(-15 * kMinuteMs - 1), skewed);
    } else {
      EXPECT_EQ(at(1), expired);
      EXPECT_EQ(at(-60 * kMinuteMs), capture.is_v4() ? std::optional(not_yet_valid) : std::nullopt);
    }
  }
}

TEST(CapturedRequests, TheirDateCannotBeReplaced) {
  expect_each(
      [](const Capture& capture, OwnedRequest& request) {
        if (capture.is_header()) {
          request.header("x-amz-date").replace(9, 6, "010000");
        } else if (capture.is_v4()) {
          request.query.replace(request.query.find("X-Amz-Date=") + 20, 6, "005652");
        } else {
          request.query.replace(request.query.find("Expires=") + 8, 10, "1794709999");
        }
      },
      [](const Capture&) { return mismatch; });
}

TEST(CapturedRequests, SpacesAfterCommasCanBeOmitted) {
  for (const Capture& capture : captures()) {
    if (!capture.is_header()) continue;
    OwnedRequest request = capture.request;
    std::string& text = request.header("authorization");
    while (text.contains(", ")) text.erase(text.find(", ") + 1, 1);
    EXPECT_EQ(capture.fault(request), std::nullopt);
  }
}

TEST(CapturedRequests, TheHostMustBeSigned) {
  for (const Capture& capture : captures()) {
    if (!capture.is_header()) continue;
    OwnedRequest request = capture.request;
    std::string& text = request.header("authorization");
    text.erase(text.find("host;"), 5);
    SigningKeyCache cache;
    const auto error = verify(request, capture.secret, capture.at_ms, cache).value();
    EXPECT_EQ(error.fault, headers_not_signed);
    EXPECT_EQ(error.headers_not_signed, "host");
  }
}

}  // namespace
}  // namespace drover::aws

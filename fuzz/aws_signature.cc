// A request that claims to be signed as AWS's clients do: "METHOD PATH?QUERY", lines of headers, a blank line, a body.
#include "fuzzed.h"
#include "wire/aws/canonical_request.h"
#include "wire/aws/signing.h"
#include "wire/aws/sigv2.h"
#include "wire/aws/sigv4.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr std::string_view kSecret = "b2d1c0f6a7e94f5c8d3e";  // no seed is signed with it

/// Whether the body and the head are what the signature says, at the best of times.
bool is_authentic(const aws::Request& request, const aws::SignedRequest& signature, std::string_view body) {
  static aws::SigningKeyCache cache(10);
  if (signature.kind == aws::SignatureKind::v2_query) {
    return aws::verify_v2(request, signature, kSecret, signature.expires_at_ms).has_value();
  }
  const auto outcome = aws::verify_head(request, signature, kSecret, signature.signed_at_ms, cache);
  return outcome && std::visit([&](const auto& it) { return it.check_body(sha256(body)).has_value(); }, *outcome);
}

bool is_signed_by_us(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
  return !name.empty() && name.find_first_not_of(kLetters) == std::string_view::npos &&
         std::is_neq(aws::compare_names(name.substr(0, 6), "x-amz-")) &&
         std::is_neq(aws::compare_names(name, "authorization"));
}

/// The same request, signed by us, with headers that we would send.
void sign_and_verify(aws::Request request, std::string_view service, std::string_view body) {
  std::vector<aws::Header> headers = {{"Host", "localhost"}};
  for (const aws::Header& header : request.headers) {
    if (is_signed_by_us(header.name)) headers.push_back(header);
  }
  request.headers = headers;
  const auto found = aws::read_signature(request);
  const bool is_unsigned = !found && found.error().fault == aws::SignatureFault::missing;
  if (!is_unsigned || !aws::canonical_query(request.query)) return;

  const aws::NewHeaders added =
      aws::sign(request, {"AKID", kSecret}, {"us-east-1", service}, hex(sha256(body)), 1'794'704'197'000);
  for (const auto& [name, value] : added) headers.push_back({name, value});
  request.headers = headers;
  const auto signature = aws::read_signature(request);
  DROVER_CHECK(signature && is_authentic(request, *signature, body), "what we sign verifies");
  DROVER_CHECK(!is_authentic(request, *signature, std::string(body) + "x"), "the body counts");
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  std::string_view first = take_until(bytes, '\n');
  aws::Request request{.method = take_until(first, ' '), .path = take_until(first, '?'), .query = first};
  std::vector<aws::Header> headers;
  while (!bytes.empty()) {
    std::string_view line = take_until(bytes, '\n');
    if (line.empty()) break;
    const std::string_view name = take_until(line, ':');
    headers.push_back({name, line});
  }
  request.headers = headers;

  if (const auto signature = aws::read_signature(request)) {
    DROVER_CHECK(!signature->access_key_id.empty(), "a signature names a key");
    DROVER_CHECK(!is_authentic(request, *signature, bytes), "nobody guesses a signature");
  }
  sign_and_verify(request, aws::kS3, bytes);
  sign_and_verify(request, "batch", bytes);
}

}  // namespace drover

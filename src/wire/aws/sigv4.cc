#include "wire/aws/sigv4.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/url.h"
#include "wire/aws/canonical_request.h"
#include "wire/aws/signing_time.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

using enum SignatureFault;

SignatureResult<void> check_time(const SignedRequest& signature, std::int64_t now_ms) {
  const std::int64_t earliest_ms = now_ms - kMostSkewMs;
  const std::int64_t latest_ms = now_ms + kMostSkewMs;
  if (signature.kind == SignatureKind::v4_query) {
    if (signature.signed_at_ms > latest_ms) return refuse(not_yet_valid, "Request is not valid yet");
    if (signature.expires_at_ms < now_ms) return refuse(expired, "Request has expired");
    return {};
  }
  if (signature.signed_at_ms < earliest_ms) {
    return refuse(skewed, concat("Signature expired: ", signature.date, " is now earlier than ",
                                 signing_time(earliest_ms), " (", signing_time(now_ms), " - 15 min.)"));
  }
  if (signature.signed_at_ms > latest_ms) {
    return refuse(skewed, concat("Signature not yet current: ", signature.date, " is still later than ",
                                 signing_time(latest_ms), " (", signing_time(now_ms), " + 15 min.)"));
  }
  return {};
}

/// What the head says of the body. Nothing: no word, and the signature covers the body's digest.
std::optional<std::string> stated_payload(const Request& request, const SignedRequest& signature) {
  if (signature.kind == SignatureKind::v4_query && signature.scope.service == kS3) {
    if (const auto pairs = query_pairs(request.query)) {
      const auto found = std::ranges::find(*pairs, "X-Amz-Content-Sha256", &std::pair<std::string, std::string>::first);
      if (found != pairs->end()) return found->second;
    }
    return std::string(trimmed(find_header(request, "x-amz-content-sha256").value_or(kUnsignedPayload)));
  }
  if (const auto header = find_header(request, "x-amz-content-sha256")) return std::string(trimmed(*header));
  return std::nullopt;
}

/// Nothing if the text is not one of them.
std::optional<PayloadForm> payload_form(std::string_view text) {
  if (text == kUnsignedPayload) return PayloadForm::unsigned_body;
  if (text == kSignedChunks) return PayloadForm::signed_chunks;
  if (text == kSignedChunksAndTrailer) return PayloadForm::signed_chunks_and_trailer;
  if (text == kUnsignedChunksAndTrailer) return PayloadForm::unsigned_chunks_and_trailer;
  const bool is_digest = text.size() == 64 && std::ranges::all_of(text, [](char c) { return hex_value(c) >= 0; });
  return is_digest ? std::optional(PayloadForm::hashed) : std::nullopt;
}

}  // namespace

SignatureResult<void> VerifiedHead::check_body(std::string_view sha256) const {
  if (payload == PayloadForm::hashed && hex(sha256) != body_sha256) {
    return refuse(body_mismatch, "The provided 'x-amz-content-sha256' header does not match what was computed.");
  }
  return {};
}

PendingSignature::PendingSignature(const SignedRequest& signature, std::string_view secret, std::string canonical_head,
                                   SigningKeyCache& cache)
    : canonical_head_(std::move(canonical_head)),
      date_(signature.date),
      scope_(signature.scope),
      signature_(signature.signature),
      cache_(&cache),
      name_in_cache_(SigningKeyCache::name_of(signature.access_key_id, secret, signature.scope)),
      key_(cache.find(name_in_cache_)) {
  is_in_cache_ = key_ != nullptr;
  if (!is_in_cache_) key_ = std::make_shared<SigningKey>(secret, scope_);
}

std::string PendingSignature::canonical_request(std::string_view payload) const {
  return concat(canonical_head_, payload);
}

SignatureResult<void> PendingSignature::check_payload(std::string_view payload) const {
  const std::string computed = key_->sign(string_to_sign(date_, scope_, canonical_request(payload)));
  if (!equal_in_constant_time(computed, signature_)) return refuse(mismatch, std::string(kSignatureMismatch));
  if (!is_in_cache_) cache_->keep(name_in_cache_, key_);
  return {};
}

SignatureResult<void> PendingSignature::check_body(std::string_view sha256) const {
  return check_payload(hex(sha256));
}

SignatureResult<HeadOutcome> verify_head(const Request& request, const SignedRequest& signature,
                                         std::string_view secret, std::int64_t now_ms, SigningKeyCache& cache) {
  DROVER_CHECK(signature.kind != SignatureKind::v2_query, "a signature of version 2");
  if (auto in_time = check_time(signature, now_ms); !in_time) return std::unexpected(std::move(in_time.error()));

  CanonicalHeaders headers = canonical_headers(request.headers, signature.signed_headers);
  // Otherwise the holder of a presigned URL could turn a PUT into a copy from elsewhere.
  if (!headers.not_signed.empty()) {
    return std::unexpected(SignatureError{headers_not_signed,
                                          "There were headers present in the request which were not signed",
                                          std::move(headers.not_signed)});
  }
  if (!headers.missing.empty()) {
    return refuse(mismatch, concat(kSignatureMismatch, " Signed headers that were not sent: ", headers.missing));
  }
  const auto query = canonical_query(request.query);
  if (!query) return refuse(mismatch, concat(kSignatureMismatch, " The query has a malformed escape."));

  PendingSignature pending(
      signature, secret,
      canonical_head(request, signature.scope.service, *query, headers.text, signature.signed_headers), cache);
  const auto payload = stated_payload(request, signature);
  if (!payload) return pending;
  const auto form = payload_form(*payload);
  if (!form) {
    return refuse(bad_body_hash,
                  concat("x-amz-content-sha256 must be ", kUnsignedPayload, ", ", kSignedChunks, ", ",
                         kSignedChunksAndTrailer, ", ", kUnsignedChunksAndTrailer, " or a valid sha256 value."));
  }
  // Only S3 has bodies that the signature does not cover.
  if (signature.scope.service != kS3 && *form != PayloadForm::hashed)
    return refuse(mismatch, std::string(kSignatureMismatch));
  if (auto checked = pending.check_payload(*payload); !checked) return std::unexpected(std::move(checked.error()));

  VerifiedHead out{.payload = *form};
  if (*form == PayloadForm::hashed) out.body_sha256 = in_small_letters(*payload);
  if (*form == PayloadForm::signed_chunks || *form == PayloadForm::signed_chunks_and_trailer) {
    out.chunks.emplace(pending.key(), signature.date, signature.scope, signature.signature);
  }
  return out;
}

}  // namespace drover::aws

// Verifies signature version 4. The head alone decides where it says what stands for the body; where it does not, the
// signature covers the body's SHA-256, and the verification is completed when that is known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "wire/aws/chunk_signer.h"
#include "wire/aws/signed_request.h"

namespace drover::aws {

/// How far a request's time may be from the server's.
inline constexpr std::int64_t kMostSkewMs = 15 * 60 * 1000;

/// What an x-amz-content-sha256 can say besides a digest.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
inline constexpr std::string_view kSignedChunks = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
inline constexpr std::string_view kSignedChunksAndTrailer = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
inline constexpr std::string_view kUnsignedChunksAndTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

enum class PayloadForm {
  hashed,                       // the head has the body's SHA-256
  unsigned_body,                // any body
  signed_chunks,                // aws-chunked, each chunk signed
  signed_chunks_and_trailer,    // and a signed trailer
  unsigned_chunks_and_trailer,  // aws-chunked, with a checksum in the trailer
};

/// The head is authentic. The body is still to be held against it, in the way that `payload` says.
struct VerifiedHead {
  PayloadForm payload = PayloadForm::hashed;
  std::string body_sha256 = {};            // where the body is hashed: 64 hexadecimal digits, small letters
  std::optional<ChunkSigner> chunks = {};  // where chunks are signed

  /// Any body is accepted where none is hashed. The digest is 32 bytes.
  [[nodiscard]] SignatureResult<void> check_body(std::string_view sha256) const;
};

/// A signature that covers the body's SHA-256, which is not known yet. Independent of the request it came from; the
/// cache must outlive it.
class PendingSignature {
 public:
  PendingSignature(const SignedRequest& signature, std::string_view secret, std::string canonical_head,
                   SigningKeyCache& cache);

  /// The digest is 32 bytes.
  [[nodiscard]] SignatureResult<void> check_body(std::string_view sha256) const;
  /// `payload` is the last line of the canonical request.
  [[nodiscard]] SignatureResult<void> check_payload(std::string_view payload) const;
  std::string canonical_request(std::string_view payload) const;
  const std::shared_ptr<const SigningKey>& key() const { return key_; }

 private:
  std::string canonical_head_;
  std::string date_;
  SigningScope scope_;
  std::string signature_;
  SigningKeyCache* cache_;
  std::string name_in_cache_;
  bool is_in_cache_ = false;
  std::shared_ptr<const SigningKey> key_;
};

using HeadOutcome = std::variant<VerifiedHead, PendingSignature>;

/// `signature` is what read_signature() found, of a kind of version 4; `secret` belongs to its access key. Whether its
/// session token is valid is for the caller to check.
[[nodiscard]] SignatureResult<HeadOutcome> verify_head(const Request& request, const SignedRequest& signature,
                                                       std::string_view secret, std::int64_t now_ms,
                                                       SigningKeyCache& cache);

}  // namespace drover::aws

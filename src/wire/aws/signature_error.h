// Why a signed request is refused. AWS's services name the same reason differently: the service that answers maps it to
// the code and the form of its protocol.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace drover::aws {

enum class SignatureFault {
  missing,      // not signed: MissingAuthenticationToken; S3 AccessDenied
  unsupported,  // an Authorization of another kind: S3 InvalidRequest
  ambiguous,    // signed in two ways: InvalidArgument
  incomplete,   // IncompleteSignature; S3 AuthorizationHeaderMalformed
  bad_query,    // AuthorizationQueryParametersError
  unknown_key,  // InvalidClientTokenId, UnrecognizedClientException; S3 InvalidAccessKeyId. For those who know keys
  mismatch,     // SignatureDoesNotMatch; JSON services InvalidSignatureException
  headers_not_signed,  // S3 AccessDenied; others as mismatch
  skewed,              // S3 RequestTimeTooSkewed; others as mismatch, or RequestExpired
  expired,             // a presigned URL: AccessDenied
  expired_token,       // a session's, or a key that has expired: ExpiredToken. For those who know keys
  not_yet_valid,       // a presigned URL: AccessDenied
  bad_body_hash,       // x-amz-content-sha256 is malformed: InvalidArgument
  bad_chunks,          // an aws-chunked body is malformed: S3 IncompleteBody
  body_mismatch,       // S3 XAmzContentSHA256Mismatch; others as mismatch
};

struct SignatureError {
  SignatureFault fault = SignatureFault::mismatch;
  std::string message;             // AWS's words
  std::string headers_not_signed;  // with that fault: "x-amz-acl, x-amz-meta-a"
};

inline constexpr std::string_view kSignatureMismatch =
    "The request signature we calculated does not match the signature you provided. Check your key and signing method.";

template <class T>
using SignatureResult = std::expected<T, SignatureError>;

inline std::unexpected<SignatureError> refuse(SignatureFault fault, std::string message) {
  return std::unexpected(SignatureError{fault, std::move(message), {}});
}

}  // namespace drover::aws

#include "api/s3/s3_fault.h"

#include "base/text.h"
#include "base/utf8.h"
#include "ports/entropy.h"
#include "wire/aws/output.h"

namespace drover::aws {
namespace {

Fault signature_fault(const SignatureError& error) {
  switch (error.fault) {
    case SignatureFault::missing:
    case SignatureFault::expired:
    case SignatureFault::not_yet_valid:
    case SignatureFault::headers_not_signed: return {"AccessDenied", error.message, 403};
    case SignatureFault::unsupported: return {"InvalidRequest", error.message, 400};
    case SignatureFault::ambiguous:
    case SignatureFault::bad_body_hash: return {"InvalidArgument", error.message, 400};
    case SignatureFault::incomplete: return {"AuthorizationHeaderMalformed", error.message, 400};
    case SignatureFault::bad_query: return {"AuthorizationQueryParametersError", error.message, 400};
    case SignatureFault::unknown_key:
      return {"InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", 403};
    case SignatureFault::mismatch: return {"SignatureDoesNotMatch", error.message, 403};
    case SignatureFault::skewed:
      return {"RequestTimeTooSkewed", "The difference between the request time and the current time is too large.",
              403};
    case SignatureFault::expired_token: return {"ExpiredToken", "The provided token has expired.", 400};
    case SignatureFault::bad_chunks: return {"IncompleteBody", error.message, 400};
    case SignatureFault::body_mismatch: return {"XAmzContentSHA256Mismatch", error.message, 400};
  }
  return {"AccessDenied", error.message, 403};
}

}  // namespace

HttpResponse s3_response(const Fault& fault, const HttpHead& head) {
  const std::string id = random_uuid().text();
  HttpResponse out{.status = fault.status, .headers = {{"x-amz-request-id", id}}, .body = {}};
  if (head.method == "HEAD" || fault.status == 304) return out;
  out.headers.push_back({"Content-Type", "application/xml"});
  out.body = concat(R"(<?xml version="1.0" encoding="UTF-8"?>)", "\n<Error><Code>", fault.code, "</Code><Message>",
                    xml_text(fault.message), "</Message><Resource>", xml_text(head.path), "</Resource><RequestId>", id,
                    "</RequestId></Error>");
  return out;
}

Fault s3_fault(const BucketError& error) {
  switch (error.fault) {
    case BucketFault::no_such_bucket: return {"NoSuchBucket", "The specified bucket does not exist", 404};
    case BucketFault::bucket_exists:
      return {"BucketAlreadyOwnedByYou",
              "Your previous request to create the named bucket succeeded and you already own it.", 409};
    case BucketFault::bucket_not_empty: return {"BucketNotEmpty", "The bucket you tried to delete is not empty", 409};
    case BucketFault::no_such_key: return {"NoSuchKey", "The specified key does not exist.", 404};
    case BucketFault::no_such_version: return {"NoSuchVersion", "The specified version does not exist.", 404};
    case BucketFault::is_marker:
      return {"MethodNotAllowed", "The specified method is not allowed against this resource.", 405};
    case BucketFault::no_such_upload:
      return {"NoSuchUpload",
              "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted "
              "or completed.",
              404};
    case BucketFault::no_such_part:
      return {"InvalidPart",
              "One or more of the specified parts could not be found. The part may not have been uploaded, or the "
              "specified entity tag may not match the part's entity tag.",
              400};
    case BucketFault::source_changed:
      return {"SlowDown", "The source of this copy is being replaced. Please try again.", 503};
    case BucketFault::too_many_pieces: return {"InvalidRequest", error.error.message, 400};
    case BucketFault::precondition_failed:
      return {"PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412};
    case BucketFault::trouble: break;
  }
  return s3_fault(error.error);
}

Fault s3_fault(const Error& error) {
  const std::string message = error.next.empty() ? error.message : concat(error.message, "; ", error.next);
  switch (error.code) {
    case ErrorCode::denied: return {"AccessDenied", message, 403};
    case ErrorCode::bad_input:
    case ErrorCode::conflict:
    case ErrorCode::not_found: return {"InvalidRequest", message, 400};
    case ErrorCode::bad_method:
      return {"MethodNotAllowed", "The specified method is not allowed against this resource.", 405};
    case ErrorCode::no_space:
    case ErrorCode::stopped:
    case ErrorCode::in_use:
    case ErrorCode::timeout:
    case ErrorCode::unreachable: return {"ServiceUnavailable", message, 503};
    default: return {"InternalError", message, 500};
  }
}

Fault empty_version() {
  return {"InvalidArgument", "Version id cannot be the empty string", 400};
}

Fault malformed_xml(const Error& error) {
  return {"MalformedXML",
          concat("The XML you provided was not well-formed or did not validate against our published schema: ",
                 error.message),
          400};
}

Fault s3_fault(const Refusal& refusal) {
  return refusal.signature ? signature_fault(*refusal.signature) : s3_fault(refusal.error);
}

}  // namespace drover::aws

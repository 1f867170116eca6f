#include "api/aws/fault.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "base/utf8.h"
#include "wire/aws/output.h"

namespace drover::aws {
namespace {

bool is_json(Protocol protocol) {
  return protocol == Protocol::rest_json || protocol == Protocol::json;
}

/// The code of the protocols that write JSON, of those that write XML, and of EC2.
struct Codes {
  std::string_view json;
  std::string_view query;
  std::string_view ec2;
};

Codes codes_of(SignatureFault fault) {
  switch (fault) {
    case SignatureFault::missing:
      return {"MissingAuthenticationTokenException", "MissingAuthenticationToken", "AuthFailure"};
    case SignatureFault::unsupported:
    case SignatureFault::ambiguous:
    case SignatureFault::incomplete:
    case SignatureFault::bad_query:
    case SignatureFault::bad_body_hash:
    case SignatureFault::bad_chunks:
      return {"IncompleteSignatureException", "IncompleteSignature", "IncompleteSignature"};
    case SignatureFault::unknown_key: return {"UnrecognizedClientException", "InvalidClientTokenId", "AuthFailure"};
    case SignatureFault::mismatch:
    case SignatureFault::headers_not_signed:
    case SignatureFault::body_mismatch: return {"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure"};
    case SignatureFault::skewed: return {"InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired"};
    case SignatureFault::expired:
    case SignatureFault::expired_token:
    case SignatureFault::not_yet_valid: return {"ExpiredTokenException", "ExpiredToken", "RequestExpired"};
  }
  return {"AccessDeniedException", "AccessDenied", "UnauthorizedOperation"};
}

Fault fault_with(Protocol protocol, const Codes& codes, std::string message, int status) {
  const std::string_view code = is_json(protocol) ? codes.json : protocol == Protocol::ec2 ? codes.ec2 : codes.query;
  return {std::string(code), std::move(message), status, std::string(codes.query)};
}

}  // namespace

HttpResponse fault_response(Protocol protocol, const Fault& fault, std::string_view request_id,
                            const JsonStyle& style) {
  HttpResponse out{.status = fault.status, .headers = {{"x-amzn-RequestId", std::string(request_id)}}, .body = {}};
  const std::string& query_code = fault.query_code.empty() ? fault.code : fault.query_code;
  if (is_json(protocol)) {
    boost::json::object body{{"message", utf8(fault.message)}};
    if (protocol == Protocol::json) {
      body["__type"] = concat(style.fault_prefix, fault.code);
      if (fault.status < 500) out.status = 400;
    }
    out.headers.push_back({"Content-Type", std::string(style.fault_type)});
    out.headers.push_back({"x-amzn-errortype", fault.code});
    if (style.names_query_codes) {
      out.headers.push_back({"x-amzn-query-error", concat(query_code, fault.status < 500 ? ";Sender" : ";Receiver")});
    }
    out.body = boost::json::serialize(body);
    return out;
  }
  const std::string error = concat("<Code>", xml_text(protocol == Protocol::query ? query_code : fault.code),
                                   "</Code><Message>", xml_text(fault.message), "</Message>");
  out.headers.push_back({"Content-Type", "text/xml"});
  if (protocol == Protocol::ec2) {
    out.body = concat("<Response><Errors><Error>", error, "</Error></Errors><RequestID>", request_id,
                      "</RequestID></Response>");
  } else {
    out.body = concat("<ErrorResponse><Error><Type>", fault.status < 500 ? "Sender" : "Receiver", "</Type>", error,
                      "</Error><RequestId>", request_id, "</RequestId></ErrorResponse>");
  }
  return out;
}

Fault signature_fault(Protocol protocol, const SignatureError& error) {
  return fault_with(protocol, codes_of(error.fault), error.message, protocol == Protocol::json ? 400 : 403);
}

Fault fault_of(Protocol protocol, std::string_view bad_input, const Error& error) {
  const std::string message = error.next.empty() ? error.message : concat(error.message, "; ", error.next);
  switch (error.code) {
    case ErrorCode::denied:
      return fault_with(protocol, {"AccessDeniedException", "AccessDenied", "UnauthorizedOperation"}, message,
                        protocol == Protocol::json ? 400 : 403);
    case ErrorCode::bad_input:
    case ErrorCode::bad_method:
    case ErrorCode::not_found:
    case ErrorCode::conflict: return {std::string(bad_input), message, 400};
    case ErrorCode::no_space:
    case ErrorCode::stopped:
    case ErrorCode::in_use:
    case ErrorCode::timeout:
    case ErrorCode::unreachable:
      return fault_with(protocol, {"ServiceUnavailableException", "ServiceUnavailable", "Unavailable"}, message, 503);
    default: return fault_with(protocol, {"ServerException", "InternalFailure", "InternalError"}, message, 500);
  }
}

}  // namespace drover::aws

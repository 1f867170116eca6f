// What an AWS client is told when its request fails, and how each protocol says it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/http.h"
#include "wire/aws/signature_error.h"

namespace drover::aws {

enum class Protocol : std::uint8_t {
  rest_json,  // the operation is in the path
  json,       // in X-Amz-Target
  query,      // in the body: Action=…, answered in XML
  ec2,        // the same with other lists and errors
};

struct Fault {
  std::string code;  // "ClientException"
  std::string message;
  int status = 400;             // in JSON with X-Amz-Target, 400 for all that are the client's
  std::string query_code = {};  // in the Query protocol, of a service that has JSON as well; empty: the same
};

/// How a service writes JSON.
struct JsonStyle {
  std::string_view type = "application/x-amz-json-1.1";
  std::string_view fault_type = "application/json";
  std::string_view fault_prefix = {};  // before the code in __type: "com.amazonaws.sqs#"
  bool names_query_codes = false;      // in the header x-amzn-query-error
};

/// An answer in the form of the protocol.
HttpResponse fault_response(Protocol protocol, const Fault& fault, std::string_view request_id,
                            const JsonStyle& style = {});

/// A signature that is refused, as services of this protocol put it.
Fault signature_fault(Protocol protocol, const SignatureError& error);

/// An error of ours. `bad_input` is the service's code for a request that cannot be right.
Fault fault_of(Protocol protocol, std::string_view bad_input, const Error& error);

}  // namespace drover::aws

// How a request is signed, and by whom it claims to be: read from its head, before any key is looked up. Costs one pass
// over the headers and the query.
#pragma once

#include <cstdint>
#include <string>

#include "wire/aws/request.h"
#include "wire/aws/signature_error.h"
#include "wire/aws/signing_key.h"

namespace drover::aws {

enum class SignatureKind { v4_header, v4_query, v2_query };

struct SignedRequest {
  SignatureKind kind = SignatureKind::v4_header;
  std::string access_key_id;
  std::string date;                // "20261115T005637Z"; empty in version 2
  std::int64_t signed_at_ms = 0;   // what `date` says
  std::int64_t expires_at_ms = 0;  // of the forms in a query
  SigningScope scope;              // version 2 has only the service, which is S3
  std::string signed_headers;      // "host;x-amz-date": small letters, ascending, each once
  std::string signature;
  std::string session_token;  // empty: none
};

/// Verifies nothing yet.
[[nodiscard]] SignatureResult<SignedRequest> read_signature(const Request& request);

}  // namespace drover::aws

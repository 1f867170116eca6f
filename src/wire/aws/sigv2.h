// Verifies signature version 2 in a query, which older clients of S3 still make for presigned URLs. It covers the
// method, the path, the x-amz- headers and some parameters. It does not cover the host, and not the body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/aws/signed_request.h"

namespace drover::aws {

/// Whether the signature covers a query parameter of that name. One that it does not cover can be added by anybody who
/// has the URL: it must not select an operation.
bool is_covered_by_v2(std::string_view parameter);

/// What is signed. `bucket_of_host` is the bucket, if the host names it and not the path. Nothing: an escape is broken.
std::optional<std::string> v2_string_to_sign(const Request& request, const SignedRequest& signature,
                                             std::string_view bucket_of_host = {});

/// `signature` is what read_signature() found, of the kind v2_query; `secret` belongs to its access key.
[[nodiscard]] SignatureResult<void> verify_v2(const Request& request, const SignedRequest& signature,
                                              std::string_view secret, std::int64_t now_ms,
                                              std::string_view bucket_of_host = {});

}  // namespace drover::aws

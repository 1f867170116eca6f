// What a key for one bucket may do. Its grant is all there is: no policy adds to it.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "api/aws/fault.h"
#include "api/s3/s3_request.h"
#include "keys/caller.h"

namespace drover::aws {

/// Whether the caller's grant allows `action` ("s3:GetObject") on this object, which a copy's source or one key of a
/// multi-delete may name beside what the request itself does; without a key, on the bucket as the request says. Lists
/// are allowed below the grant's prefix.
std::expected<void, Fault> check_bucket_key(const Caller& caller, const S3Request& request, std::string_view action,
                                            const std::string& bucket, const std::string& key);

/// The same for all that the request's path and query name. A multi-delete names its keys in its body: they are still
/// to be looked at.
std::expected<void, Fault> check_bucket_key(const Caller& caller, const S3Request& request);

}  // namespace drover::aws

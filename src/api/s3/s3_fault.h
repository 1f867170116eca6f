// What S3's clients are told when a request fails.
#pragma once

#include <string>
#include <string_view>

#include "api/aws/fault.h"
#include "api/identity.h"
#include "ports/buckets.h"
#include "ports/http.h"

namespace drover::aws {

/// <Error>, without a body where the client expects none.
HttpResponse s3_response(const Fault& fault, const HttpHead& head);

Fault s3_fault(const BucketError& error);
Fault s3_fault(const Error& error);
Fault s3_fault(const Refusal& refusal);

Fault malformed_xml(const Error& error);
Fault empty_version();

}  // namespace drover::aws

// Which service and region a signature is for, as far as a look at the head tells. Nothing is verified here.
#pragma once

#include <string>
#include <string_view>

#include "ports/http.h"

namespace drover::aws {

/// "batch"; empty: it is not signed in a way that names a service. A signature of version 2 is for S3.
std::string signed_service(const HttpHead& head);
/// "us-east-1" if none is named.
std::string signed_region(const HttpHead& head);

}  // namespace drover::aws

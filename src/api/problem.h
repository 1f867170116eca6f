// Errors as RFC 9457 wants them: a JSON object with a stable code, the thing, the reason and the next step.
#pragma once

#include "base/result.h"
#include "ports/http.h"

namespace drover {

/// The status that fits the code.
int http_status(ErrorCode code);
HttpResponse problem(const Error& error);
/// The same, for a status that no code of ours stands for.
HttpResponse problem(int status, const Error& error);

}  // namespace drover

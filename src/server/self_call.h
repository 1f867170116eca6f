// GET /api/v1/self: what the server is, and who it takes the caller for. For everybody with a key.
#pragma once

#include <string>
#include <string_view>

#include "keys/caller.h"
#include "ports/http.h"

namespace drover {

bool is_self_call(const HttpHead& head);
HttpResponse self_answer(const Caller& caller, const std::string& version, std::int64_t now_ms);

}  // namespace drover

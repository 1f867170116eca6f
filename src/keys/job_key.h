// The key an attempt gets, so that code inside it reaches the server: good for its job alone, and for a short time. It
// is derived, never stored: the text says whose it is and until when, and a MAC says that the server wrote it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/uuid.h"
#include "base/words.h"
#include "keys/caller.h"
#include "keys/secret_text.h"

namespace drover {

SecretText make_job_key(const SecretText& server_secret, const Uuid& job, Token attempt, std::int64_t expires_ms);

/// Whether it claims to be a job's key.
bool looks_like_job_key(std::string_view text);

/// `denied` for what has expired or was not written with this secret.
Result<Caller> check_job_key(const SecretText& server_secret, std::string_view text, std::int64_t now_ms);

}  // namespace drover

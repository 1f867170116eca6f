// The key an attempt gets, so that code inside it reaches the server: good for its job alone, and for a short time. It
// is derived, never stored: the text says whose it is, through whom it was given and until when, and a MAC says that
// the server wrote it. All attempts of a job on one worker get the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/uuid.h"
#include "keys/caller.h"
#include "keys/secret_text.h"

namespace drover {

/// `giver` is the id of the key with which the worker asked for it.
SecretText make_job_key(const SecretText& server_secret, const Uuid& job, std::string_view giver,
                        std::int64_t expires_ms);

/// Whether it claims to be a job's key.
bool looks_like_job_key(std::string_view text);

/// `denied` for what has expired or was not written with this secret. The caller's key id is the giver's, which is for
/// whoever holds the ring to look up.
Result<Caller> check_job_key(const SecretText& server_secret, std::string_view text, std::int64_t now_ms);

}  // namespace drover

// How a worker gets its key: it is given one, has one from an earlier joining, joins with a token, or, where the
// server's folder is its own user's, is given one on the authority of the admin key in it.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/server_client.h"

namespace drover {

/// With a token: fetches the server's authority, checks its fingerprint against the token's, and only then sends the
/// token's secret, over a connection which that authority verifies. What it got is kept (0600) for the next start.
Result<ServerAccess> worker_access(const CommonFlags& common, const ServerFlags& flags, const std::string& join_token,
                                   const std::string& name);

}  // namespace drover

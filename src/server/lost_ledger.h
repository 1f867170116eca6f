#pragma once

#include <string>

#include "base/result.h"

namespace drover {

/// An error if a server's folder has keys or logs, but no ledger, or an empty one: it is not a new server's folder, and
/// must not be taken for one.
Result<void> check_for_lost_ledger(const std::string& server_folder);

}  // namespace drover

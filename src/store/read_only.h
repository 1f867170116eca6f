// Opening a ledger to read it, beside its writer or without one.
#pragma once

#include "sqlite/database.h"

namespace drover {

/// The schema has been checked.
Result<Database> open_read_only(const std::string& path);

}  // namespace drover

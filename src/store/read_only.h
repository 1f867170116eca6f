// Opening a ledger to read it, beside its writer or without one.
#pragma once

#include "store/sqlite_db.h"

namespace drover {

/// The schema has been checked.
Result<Database> open_read_only(const std::string& path);

}  // namespace drover

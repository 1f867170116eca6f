// The tables of the index of objects.
#pragma once

#include "base/result.h"
#include "sqlite/database.h"

namespace drover {

/// Makes the tables, or brings those of an older program up to date.
Result<void> make_index_tables(Database& db);

}  // namespace drover

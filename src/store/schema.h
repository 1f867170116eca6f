// The ledger's tables. They are an interface: people query them with `drover sql` or the sqlite3 shell.
#pragma once

#include "sqlite/database.h"

namespace drover {

/// Of the ledgers that this program writes.
extern const std::int64_t kSchemaVersion;

/// Makes the tables in an empty database; in another, checks that this version can read it.
Result<void> prepare_schema(Database& db);

/// The check alone, for readers.
Result<void> check_schema(Database& db);

}  // namespace drover

// The durable store: one SQLite file in WAL mode, every batch one transaction, synced before it counts.
#pragma once

#include <memory>
#include <string>

#include "ports/store.h"

namespace drover {

/// Told now and then while another program's write lock keeps a commit waiting.
using LockNotice = std::function<void(std::int64_t waited_ms)>;

/// Opens or makes the store. The caller holds the folder: there is one writing process. Its threads may write side by
/// side: a list that is read in takes turns with commits.
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, LockNotice notice = {});

/// Opens the read side, beside a writer or without one.
Result<std::unique_ptr<StoreReader>> open_sqlite_reader(const std::string& path);

}  // namespace drover

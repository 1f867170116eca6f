// A server's folder in one file, taken while it works: the ledger as it was at one moment, the logs that it refers to,
// and what other parts there are (ports/backup_part.h). Keys stay where they are: whoever gets hold of a backup can
// read the jobs, and can do nothing.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "ports/backup_part.h"

namespace drover {

struct Backup {
  std::uint64_t jobs = 0;
  std::uint64_t files = 0;  // of logs
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  // before packing
};

/// Writes `file`, a tar archive packed by zstd, from the server's folder below `root`. It is whole and durable when
/// this returns, and not there at all after an error. Needs room beside `file` for a copy of the ledger. What `part`
/// holds is taken before the ledger.
Result<Backup> write_backup(const std::string& root, const std::string& file, BackupPart* part = nullptr);

/// Makes the server's folder below `root`, where there is none, from what write_backup made. Nothing that was said to
/// the server that was saved is taken for said to this one: its numbers go on far beyond. `now_ms` is the wall clock's.
Result<Backup> restore_backup(const std::string& root, const std::string& file, std::int64_t now_ms,
                              BackupPart* part = nullptr);

}  // namespace drover

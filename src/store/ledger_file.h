// The file of a ledger that is open: whether its name still stands for it. SQLite goes on writing to a file that
// somebody has removed, and whatever it writes is gone when it is closed.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace drover {

class LedgerFile {
 public:
  /// As it is now. One that is not there is not watched.
  static LedgerFile at(const std::string& path);
  /// An error when the file, or the log beside it, was removed or replaced by another one.
  Result<void> check();

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;  // 0: not seen yet
    bool operator==(const Identity&) const = default;
  };
  static Identity identity_of(const std::string& path);

  std::string path_;
  Identity ledger_;
  Identity log_;
};

/// Whether there is no ledger at this path, or an empty file in its place.
bool is_ledger_missing(const std::string& path);

}  // namespace drover

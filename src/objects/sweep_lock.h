// Keeps the files of objects that nobody names any more from being removed: a backup, which is another process, may
// still have to copy them. It is a lock on their folder, so it ends with the process that has it.
#pragma once

#include <string>

#include "base/result.h"
#include "ports/descriptor.h"

namespace drover {

class SweepLock {
 public:
  /// Nothing is removed while it lives. Waits until a removal under way is done.
  static Result<SweepLock> keep_files(const std::string& folder);
  /// For who removes files; `in_use` while somebody keeps them.
  static Result<SweepLock> remove_files(const std::string& folder);

 private:
  explicit SweepLock(Descriptor folder) : folder_(std::move(folder)) {}
  static Result<SweepLock> take(const std::string& folder, int how);

  Descriptor folder_;
};

}  // namespace drover

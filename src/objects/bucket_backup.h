// The buckets of a server in its backup. A file that the index names never changes, so a copy of the index, and the
// files that it names, are all objects as they were at one moment. Until they are copied the server, which is another
// process, removes no file (SweepLock): what is deleted meanwhile keeps its space.
#pragma once

#include <optional>
#include <string>

#include "objects/bucket_index.h"
#include "objects/sweep_lock.h"
#include "ports/backup_part.h"

namespace drover {

class BucketBackup final : public BackupPart {
 public:
  Result<void> hold(const std::string& server_folder, const std::string& place) override;
  Result<void> add_files(const Add& add) override;
  bool owns(std::string_view name) const override;
  Result<void> make_folder(const std::string& server_folder, std::string_view name) override;
  Result<void> restored(const std::string& server_folder, std::int64_t now_ms) override;
  std::uint64_t count() const override { return objects_; }

 private:
  std::string folder_;             // of the server's buckets; empty: it has none
  std::string copy_;               // of the index
  std::optional<SweepLock> lock_;  // while files are copied
  std::uint64_t objects_ = 0;
};

}  // namespace drover

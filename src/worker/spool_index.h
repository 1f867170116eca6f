// Which attempts have ended here and are not known to the server, in a file beside their logs: a worker that is killed,
// or restarted while the server is away, reports them when it starts again.
//
// The file is a list of records: an attempt that has ended, with where its log is; and attempts that were told. Each
// has its length and a checksum, so that a torn end is noticed. It is rewritten when most of it is of no use any more,
// and emptied when all was told. It survives the death of the process as soon as it is written; sync() makes it survive
// that of the machine too, and is only worth its time while the server is away.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/lease.h"
#include "base/result.h"
#include "logs/record.h"
#include "worker/live_logs.h"

namespace drover {

/// An attempt that has ended, and its log.
struct SpooledAttempt {
  EndedAttempt ended;
  LogKey key;
  Bytes in_spool;       // the extents of its log here
  LiveLogs::Sent sent;  // of it, before the attempt ended
};

class SpoolIndex {
 public:
  /// Reads what an earlier process left in the folder, which must exist.
  static Result<std::unique_ptr<SpoolIndex>> open(const std::string& folder);
  ~SpoolIndex();
  SpoolIndex(const SpoolIndex&) = delete;
  SpoolIndex& operator=(const SpoolIndex&) = delete;

  /// What the earlier process left, and who it was.
  struct Found {
    WorkerId worker;
    std::uint64_t incarnation = 0;
    std::vector<SpooledAttempt> attempts;
  };
  const Found& found() const { return found_; }

  /// After an error the file is as it was.
  Result<void> add(WorkerId worker, std::uint64_t incarnation, const std::vector<SpooledAttempt>& attempts);
  Result<void> forget(const std::vector<Token>& told);
  /// May be called on another thread.
  Result<void> sync() const;

  bool empty() const { return records_.empty(); }

 private:
  /// Where the record of an attempt is in the file.
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };

  SpoolIndex(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Result<void> read();
  Result<void> append(const std::string& records);
  Result<void> rewrite();

  const std::string path_;
  int file_;
  std::uint64_t size_ = 0;
  std::uint64_t useful_ = 0;  // bytes of it
  std::map<Token, Place> records_;
  Found found_;
};

}  // namespace drover

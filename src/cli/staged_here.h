// What an item reads and writes, for an attempt of it on this machine: its object is downloaded, and its files stay
// here.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/recorded_item.h"
#include "objects/store_opener.h"
#include "worker/job_run.h"

namespace drover {

/// A folder of the attempt's own. It is removed with this, unless the attempt left files.
class StagedHere {
 public:
  /// Of an item that reads or writes objects.
  static Result<std::unique_ptr<StagedHere>> make(const RecordedItem& item, const StoreOpener& opener);
  ~StagedHere();
  StagedHere(const StagedHere&) = delete;
  StagedHere& operator=(const StagedHere&) = delete;

  const StagedItem& item() const { return item_; }
  const std::string& folder() const { return folder_; }
  /// Where it is in a container; a process sees it where it is.
  static const char* inside();
  /// Where the attempt leaves its files.
  std::string output() const { return folder_ + "/out"; }

 private:
  explicit StagedHere(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  StagedItem item_;
};

}  // namespace drover

// The bytes of objects that are too large for the index: a file each, by number. A file is whole and synced before the
// index names it; one that the index does not name is nobody's. Files of 4,096 numbers share a folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/descriptor.h"

namespace drover {

class DataFiles {
 public:
  /// Makes the folder if it is missing.
  static Result<DataFiles> open(std::string folder);

  const std::string& folder() const { return folder_; }
  /// Where a file is in that folder: "00000001/4097".
  static std::string name_of(std::uint64_t number);

  /// Makes durable places for files with these numbers.
  Result<void> prepare(std::uint64_t first, std::uint64_t end) const;
  Result<Descriptor> create(std::uint64_t number) const;
  /// What was written to it is durable.
  Result<void> keep(std::uint64_t number, const Descriptor& file) const;
  Result<Descriptor> read(std::uint64_t number) const;
  /// One that is not there is fine.
  Result<void> remove(std::uint64_t number) const;
  /// Removes each file with a number from `first` to below `end` that is not known. How many they were.
  Result<std::uint64_t> remove_orphans(std::uint64_t first, std::uint64_t end,
                                       const std::function<Result<bool>(std::uint64_t)>& is_known) const;

 private:
  explicit DataFiles(std::string folder) : folder_(std::move(folder)) {}
  std::string place(std::uint64_t number) const;
  std::string folder_of(std::uint64_t number) const;

  std::string folder_;
};

/// Returns when what names a folder has would survive a power cut.
Result<void> sync_folder(const std::string& path);

/// All of the bytes, however many calls it takes.
Result<void> write_all(int file, std::string_view bytes, std::string_view what);

}  // namespace drover

// What a backup of a server contains beside its ledger and its logs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// Some of the files in a server's folder, which know themselves what it takes to copy them while the server works.
class BackupPart {
 public:
  virtual ~BackupPart() = default;

  /// What is there now will be in the backup, and stays until this object is gone. `place` is a folder for copies.
  virtual Result<void> hold(const std::string& server_folder, const std::string& place) = 0;
  /// Takes a file, by its path now and its path in the server's folder.
  using Add = std::function<Result<void>(const std::string& path, const std::string& name)>;
  virtual Result<void> add_files(const Add& add) = 0;

  /// Whether a file of a backup is of this part. No other is restored.
  virtual bool owns(std::string_view name) const = 0;
  /// Before the first file of a folder is restored into it.
  virtual Result<void> make_folder(const std::string& server_folder, std::string_view name) = 0;
  /// All files are there: checks them, makes them durable, and parts them from the server that was saved. `now_ms` is
  /// the wall clock's.
  virtual Result<void> restored(const std::string& server_folder, std::int64_t now_ms) = 0;
  /// For people: how many there are of what they put in, once held or restored.
  virtual std::uint64_t count() const = 0;
};

}  // namespace drover

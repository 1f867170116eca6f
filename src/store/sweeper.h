// Deletes what nothing refers to any more, a few rows at a time, so that no commit waits long.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "sqlite/database.h"

namespace drover {

/// Whether anything was committed since the last sweep.
enum class Traffic : std::uint8_t { none, some };

/// The caller holds the lock of the store's writer during each call.
class Sweeper {
 public:
  explicit Sweeper(Database& db) : db_(db) {}

  /// Nobody has come yet, so whatever no job refers to never will be referred to.
  Result<void> sweep_at_open();
  /// As Store::drop_unused.
  Result<void> drop_unused(std::int64_t now_ms, std::int64_t unused_ms);
  /// As Store::drop_old_attempts.
  Result<bool> drop_old_attempts(std::int64_t ended_by_ms, std::uint64_t rows);
  /// The list is about to be used: the time for which it was unused starts over.
  void claim(ManifestId manifest) { unused_manifests_.erase(static_cast<std::int64_t>(manifest.value)); }
  /// Within a transaction. From then on nobody can refer to them; their chunks are swept.
  Result<void> delete_lists(const std::vector<std::int64_t>& manifests);
  /// About so many rows at most; whether there is more.
  Result<bool> sweep(std::uint64_t rows, Traffic traffic);

 private:
  using Unused = std::map<std::int64_t, std::int64_t>;  // which, and since when
  struct Rows {
    const char* table;
    const char* key;
  };
  struct OldAttempts {
    std::int64_t job = 0;
    std::int64_t item = 0;
  };

  Result<std::vector<std::int64_t>> unused_for(std::int64_t least_ms, std::int64_t now_ms, Unused& known,
                                               const char* which);
  Result<std::uint64_t> delete_some(const Rows& rows, const std::string& which, std::uint64_t most);
  Result<bool> sweep_jobs(std::uint64_t rows);
  Result<bool> sweep_lists(std::uint64_t rows);
  Result<bool> sweep_messages(std::uint64_t rows);
  Result<bool> sweep_sparse_blocks(std::uint64_t rows);
  Result<bool> sweep_streams(std::uint64_t rows);
  Result<bool> sweep_former_workers(std::uint64_t rows);
  Result<bool> sweep_events(std::uint64_t rows);
  Result<bool> give_pages_back(std::uint64_t pages);
  Result<void> shorten_file();

  Database& db_;
  Unused unused_manifests_, unused_definitions_;
  OldAttempts old_from_;                         // the next attempts that may be old
  std::optional<std::int64_t> kept_from_ms_;     // what ended before that goes, of jobs on streams
  std::size_t next_kind_ = 0;                    // of what is deleted: each has its turn
  std::optional<std::int64_t> sparse_from_ = 0;  // the next block to look at; nothing: all were looked at
  bool is_file_longer_ = false;                  // than its pages, because some were given back
};

}  // namespace drover

// What there is in the buckets: a SQLite file of its own, with one writer and any number of readers beside it. Small
// objects are in it whole; of others it knows the files that have their bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ports/buckets.h"
#include "sqlite/database.h"
#include "sqlite/idle_statements.h"

namespace drover {

/// Some of an object's bytes: a row of the index, or a file.
struct DataPlace {
  std::uint64_t number = 0;
  std::uint64_t size = 0;
  bool is_file = false;

  bool operator==(const DataPlace&) const = default;
};

struct BucketRow {
  std::int64_t number = 0;
  Bucket bucket;
};

struct ObjectRow {
  StoredObject object;
  std::vector<DataPlace> places;
};

class BucketIndex {
 public:
  /// Makes the file if it is missing.
  static Result<BucketIndex> open_writer(const std::string& path);
  static Result<BucketIndex> open_reader(const std::string& path);

  Result<std::vector<BucketRow>> buckets();
  Result<std::optional<BucketRow>> bucket(std::string_view name);
  Result<std::optional<ObjectRow>> object(std::int64_t bucket, std::string_view key);
  Result<bool> is_empty(std::int64_t bucket);
  Result<ObjectPage> list(std::int64_t bucket, const ObjectQuestion& question);
  Result<std::string> small_data(std::uint64_t number);
  Result<bool> has_file(std::uint64_t number);
  /// Larger than the number of any row.
  Result<std::uint64_t> next_small();
  struct FileNumbers {
    std::uint64_t settled = 1;  // see set_settled()
    std::uint64_t end = 1;      // see reserve_files()
  };
  Result<FileNumbers> file_numbers();
  /// Files that no object has any more, and that are still to be removed.
  Result<std::vector<std::uint64_t>> garbage(std::uint64_t most);

  // For the writer, within a transaction.

  template <class Work>
  Result<void> in_transaction(Work&& work) {
    return db_.in_transaction(std::forward<Work>(work));
  }
  Result<void> add_bucket(const Bucket& bucket);
  Result<void> remove_bucket(std::int64_t bucket);
  Result<void> put_object(std::int64_t bucket, const ObjectRow& row);
  Result<void> remove_object(std::int64_t bucket, std::string_view key);
  Result<void> add_small_data(std::uint64_t number, std::string_view bytes);
  Result<void> add_file(std::uint64_t number);
  /// Nobody has these bytes any more.
  Result<void> let_go(const std::vector<DataPlace>& places);
  /// These files of the garbage are gone.
  Result<void> forget_files(const std::vector<std::uint64_t>& numbers);

  /// All files with a number below this are known here, or gone.
  Result<void> set_settled(std::uint64_t number);
  /// Files may be made with numbers below this.
  Result<void> reserve_files(std::uint64_t end);

 private:
  explicit BucketIndex(Database db) : db_(std::move(db)), idle_(std::make_unique<IdleStatements>()) {}
  Result<IdleStatements::Lent> lend(std::string_view sql) { return idle_->lend(db_, sql); }

  Database db_;
  std::unique_ptr<IdleStatements> idle_;
};

}  // namespace drover

// What there is in the buckets: a SQLite file of its own, with one writer and any number of readers beside it. Small
// objects are in it whole; of others it knows the files that have their bytes. index_schema.cc has the tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ports/buckets.h"
#include "sqlite/database.h"
#include "sqlite/idle_statements.h"

namespace drover {

/// Some of an object's bytes: a row of the index, or a part of a file.
struct DataPlace {
  std::uint64_t number = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // in its file
  bool is_file = false;

  bool operator==(const DataPlace&) const = default;
};

struct BucketRow {
  std::int64_t number = 0;
  Bucket bucket;
};

struct ObjectRow {
  StoredObject object;
  std::vector<DataPlace> places = {};
  std::string upload = {};  // that it was made by
};

struct UploadRow {
  std::int64_t number = 0;
  Upload upload;
};

struct PartRow {
  StoredPart part;
  std::vector<DataPlace> places;
};

class BucketIndex {
 public:
  /// Makes the file if it is missing.
  static Result<BucketIndex> open_writer(const std::string& path);
  static Result<BucketIndex> open_reader(const std::string& path);

  // bucket_index.cc
  Result<std::vector<BucketRow>> buckets();
  Result<std::optional<BucketRow>> bucket(std::string_view name);
  Result<std::optional<std::string>> setting(std::int64_t bucket, std::string_view kind);
  Result<std::optional<ObjectRow>> object(std::int64_t bucket, std::string_view key);
  /// One that is not the current one.
  Result<std::optional<ObjectRow>> old_version(std::int64_t bucket, std::string_view key, std::string_view version);
  Result<std::optional<ObjectRow>> newest_old_version(std::int64_t bucket, std::string_view key);
  /// It has neither objects nor versions of any.
  Result<bool> is_empty(std::int64_t bucket);

  // index_lists.cc
  Result<ObjectPage> list(std::int64_t bucket, const ObjectQuestion& question);
  Result<VersionPage> list_versions(std::int64_t bucket, const ObjectQuestion& question);
  Result<UploadPage> list_uploads(std::int64_t bucket, const UploadQuestion& question);

  // index_uploads.cc
  Result<std::optional<UploadRow>> upload(std::int64_t bucket, std::string_view key, std::string_view id);
  Result<std::vector<PartRow>> parts(std::int64_t upload, std::uint32_t after, std::uint64_t most);
  Result<std::optional<PartRow>> part(std::int64_t upload, std::uint32_t number);
  /// Those of a bucket, or of any bucket that nobody has touched since.
  Result<std::vector<std::int64_t>> uploads_of(std::int64_t bucket, std::uint64_t most);
  Result<std::vector<std::int64_t>> uploads_before(std::int64_t touched_before_ms, std::uint64_t most);

  // index_files.cc
  Result<std::string> small_data(std::uint64_t number);
  Result<bool> has_file(std::uint64_t number);
  /// Larger than the number of any row.
  Result<std::uint64_t> next_small();
  struct FileNumbers {
    std::uint64_t settled = 1;  // see set_settled()
    std::uint64_t end = 1;      // see reserve_files()
  };
  Result<FileNumbers> file_numbers();
  Result<std::uint64_t> sequence_end();
  /// Files that no object has any more, and that are still to be removed.
  Result<std::vector<std::uint64_t>> garbage(std::uint64_t after, std::uint64_t most);

  // index_events.cc
  Result<std::vector<EventRule>> event_rules(std::int64_t bucket);
  Result<std::vector<ObjectEvent>> events(std::uint64_t after, std::uint64_t most);
  Result<std::uint64_t> feed();
  Result<void> renew_feed_if_all_told();

  // For the writer, within a transaction.

  template <class Work>
  Result<void> in_transaction(Work&& work) {
    return db_.in_transaction(std::forward<Work>(work));
  }
  Result<void> add_bucket(const Bucket& bucket);
  Result<void> remove_bucket(std::int64_t bucket);
  Result<void> set_versioning(std::int64_t bucket, Versioning versioning);
  Result<void> set_setting(std::int64_t bucket, std::string_view kind, const std::optional<std::string>& text);
  /// The current one; what was there is replaced.
  Result<void> put_object(std::int64_t bucket, const ObjectRow& row);
  Result<void> remove_object(std::int64_t bucket, std::string_view key);
  Result<void> add_old_version(std::int64_t bucket, const ObjectRow& row);
  Result<void> remove_old_version(std::int64_t bucket, std::string_view key, std::uint64_t sequence);

  Result<void> add_upload(std::int64_t bucket, const Upload& upload);
  /// With its parts, but for their bytes.
  Result<void> remove_upload(std::int64_t upload);
  Result<void> put_part(std::int64_t upload, const PartRow& row);

  Result<void> add_small_data(std::uint64_t number, std::string_view bytes);
  /// One place names it.
  Result<void> add_file(std::uint64_t number);
  /// One place more names each of these files.
  Result<void> share(const std::vector<DataPlace>& places);
  /// One place less names each. True: some of the files are garbage now.
  Result<bool> let_go(const std::vector<DataPlace>& places);
  /// These files of the garbage are gone.
  Result<void> forget_files(const std::vector<std::uint64_t>& numbers);
  /// All files with a number below this are known here, or gone.
  Result<void> set_settled(std::uint64_t number);
  /// Files may be made with numbers below this.
  Result<void> reserve_files(std::uint64_t end);
  Result<void> reserve_sequence(std::uint64_t end);

  Result<void> set_event_rules(std::int64_t bucket, const std::vector<EventRule>& rules);
  Result<void> add_event(const ObjectEvent& event);
  Result<void> forget_events(std::uint64_t up_to);

  // For backups, of a copy that nobody else has open but for copy_to(). index_backup.cc

  /// As it is at one moment, also beside a writer. There is no such file yet.
  Result<void> copy_to(const std::string& path);
  Result<void> check();
  Result<std::uint64_t> count_objects();
  Result<std::vector<std::uint64_t>> files_in_use(std::uint64_t after, std::uint64_t most);
  /// Its numbers go on far beyond those that the store which was saved may have given out since.
  Result<void> part_from_original(std::int64_t now_ms);

  // Outside of one.

  /// Gives so many pages that nothing uses back to the disk, at most. False: there are no more.
  Result<bool> shrink(std::uint64_t pages);

 private:
  explicit BucketIndex(Database db) : db_(std::move(db)), idle_(std::make_unique<IdleStatements>()) {}
  Result<IdleStatements::Lent> lend(std::string_view sql) { return idle_->lend(db_, sql); }
  Result<std::optional<ObjectRow>> object_row(IdleStatements::Lent& rows);
  Result<void> write_object(std::string_view sql, std::int64_t bucket, const ObjectRow& row);
  Result<std::vector<std::int64_t>> numbers_of(IdleStatements::Lent& rows);

  Database db_;
  std::unique_ptr<IdleStatements> idle_;
};

}  // namespace drover

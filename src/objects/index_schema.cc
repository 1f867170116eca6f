#include "objects/index_schema.h"

#include "base/text.h"

namespace drover {
namespace {

// objects: those that are there. versions: those that were replaced or deleted in buckets that keep them, and delete
// markers; the newest of a key first. Both have the same columns, so that a row can move. places: where the bytes are,
// one behind another: "s17:4096", row 17 of small_data; "f18:8388608@512", so many bytes of file 18, from its byte 512
// on. headers: "name: value" in lines. parts: their sizes. upload: the one that it was made by.
// files: all that are in their place and known, and how many places name each; garbage: those of them that none does.
// numbers: settled and end are BucketIndex::FileNumbers; sequence: none as high was used before the start; feed: what
// the numbers of events belong to.
constexpr const char* kTables = R"sql(
CREATE TABLE schema_version(version INTEGER NOT NULL);
CREATE TABLE numbers(
  settled INTEGER NOT NULL, end INTEGER NOT NULL, sequence INTEGER NOT NULL, feed INTEGER NOT NULL);
CREATE TABLE buckets(
  bucket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, region TEXT NOT NULL, owner TEXT NOT NULL,
  created_ms INTEGER NOT NULL, versioning INTEGER NOT NULL);
CREATE TABLE settings(
  bucket INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(bucket, kind)) WITHOUT ROWID;
CREATE TABLE objects(
  bucket INTEGER NOT NULL, key TEXT NOT NULL, sequence INTEGER NOT NULL, version TEXT NOT NULL,
  is_marker INTEGER NOT NULL, size INTEGER NOT NULL, modified_ms INTEGER NOT NULL, etag TEXT NOT NULL,
  class TEXT NOT NULL, headers TEXT NOT NULL, tags TEXT NOT NULL, parts TEXT NOT NULL, upload TEXT NOT NULL,
  places TEXT NOT NULL, PRIMARY KEY(bucket, key)) WITHOUT ROWID;
CREATE TABLE versions(
  bucket INTEGER NOT NULL, key TEXT NOT NULL, sequence INTEGER NOT NULL, version TEXT NOT NULL,
  is_marker INTEGER NOT NULL, size INTEGER NOT NULL, modified_ms INTEGER NOT NULL, etag TEXT NOT NULL,
  class TEXT NOT NULL, headers TEXT NOT NULL, tags TEXT NOT NULL, parts TEXT NOT NULL, upload TEXT NOT NULL,
  places TEXT NOT NULL, PRIMARY KEY(bucket, key, sequence DESC)) WITHOUT ROWID;
CREATE TABLE small_data(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE files(number INTEGER PRIMARY KEY, uses INTEGER NOT NULL);
CREATE TABLE garbage(number INTEGER PRIMARY KEY);
CREATE TABLE uploads(
  upload INTEGER PRIMARY KEY, id TEXT NOT NULL, bucket INTEGER NOT NULL, key TEXT NOT NULL,
  begun_ms INTEGER NOT NULL, touched_ms INTEGER NOT NULL, owner TEXT NOT NULL, class TEXT NOT NULL,
  headers TEXT NOT NULL, tags TEXT NOT NULL);
CREATE INDEX uploads_by_key ON uploads(bucket, key, upload);
CREATE INDEX uploads_by_age ON uploads(touched_ms);
CREATE TABLE parts(
  upload INTEGER NOT NULL, part INTEGER NOT NULL, size INTEGER NOT NULL, modified_ms INTEGER NOT NULL,
  etag TEXT NOT NULL, headers TEXT NOT NULL, places TEXT NOT NULL, PRIMARY KEY(upload, part)) WITHOUT ROWID;
CREATE TABLE event_rules(
  bucket INTEGER NOT NULL, place INTEGER NOT NULL, id TEXT NOT NULL, stream TEXT NOT NULL, target TEXT NOT NULL,
  events TEXT NOT NULL, prefix TEXT NOT NULL, suffix TEXT NOT NULL, PRIMARY KEY(bucket, place)) WITHOUT ROWID;
CREATE TABLE outbox(
  number INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, rule TEXT NOT NULL, event TEXT NOT NULL,
  bucket TEXT NOT NULL, region TEXT NOT NULL, owner TEXT NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL,
  etag TEXT NOT NULL, version TEXT NOT NULL, sequence INTEGER NOT NULL, time_ms INTEGER NOT NULL, who TEXT NOT NULL,
  peer TEXT NOT NULL, request TEXT NOT NULL);
)sql";
// Not zero, and one that SQLite's integers hold.
constexpr const char* kNumbers = "INSERT INTO numbers VALUES(1, 1, 1, (abs(random() / 2) | 1));";

/// From version 1, all of whose tables are made anew.
constexpr const char* kRenameOld = R"sql(
ALTER TABLE objects RENAME TO objects_1;
ALTER TABLE buckets RENAME TO buckets_1;
ALTER TABLE small_data RENAME TO small_data_1;
ALTER TABLE files RENAME TO files_1;
ALTER TABLE garbage RENAME TO garbage_1;
ALTER TABLE file_numbers RENAME TO file_numbers_1;
DROP TABLE schema_version;
)sql";
constexpr const char* kTakeOver = R"sql(
INSERT INTO numbers SELECT settled, end, 1, (abs(random() / 2) | 1) FROM file_numbers_1;
INSERT INTO buckets SELECT bucket, name, region, owner, created_ms, 0 FROM buckets_1;
INSERT INTO objects SELECT bucket, key, 0, 'null', 0, size, modified_ms, etag, '', headers, '', '', '', places
  FROM objects_1;
INSERT INTO small_data SELECT number, bytes FROM small_data_1;
INSERT INTO files SELECT number, 1 FROM files_1;
INSERT INTO garbage SELECT number FROM garbage_1;
DROP TABLE objects_1;
DROP TABLE buckets_1;
DROP TABLE small_data_1;
DROP TABLE files_1;
DROP TABLE garbage_1;
DROP TABLE file_numbers_1;
)sql";

constexpr std::int64_t kVersion = 2;

}  // namespace

Result<void> make_index_tables(Database& db) {
  if (auto set = db.run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"); !set)
    return set;
  return db.in_transaction([&]() -> Result<void> {
    const std::string note = concat("INSERT INTO schema_version VALUES(", kVersion, ");");
    auto tables = db.number("SELECT count(*) FROM sqlite_schema");
    if (!tables) return pass(tables);
    if (*tables == 0) return db.run(concat(kTables, kNumbers, note));
    auto version = db.number("SELECT version FROM schema_version");
    if (!version) return pass(version);
    if (*version == kVersion) return {};
    if (*version == 1) return db.run(concat(kRenameOld, kTables, kTakeOver, note));
    return fail(ErrorCode::newer_schema,
                concat(db.path(), " has the version ", *version, "; this program reads up to ", kVersion),
                "use a newer drover");
  });
}

}  // namespace drover

#include "objects/bucket_index.h"

#include "base/text.h"
#include "objects/index_schema.h"
#include "objects/row_text.h"

namespace drover {
namespace {

constexpr std::int64_t kLongestWaitMs = 60'000;
constexpr std::string_view kOfBuckets = "SELECT bucket, name, region, owner, created_ms, versioning FROM buckets";

BucketRow bucket_row(const Statement& row) {
  return {.number = row.number(0),
          .bucket = {.name = row.text(1),
                     .region = row.text(2),
                     .owner = row.text(3),
                     .created_ms = row.number(4),
                     .versioning = static_cast<Versioning>(row.number(5))}};
}

Result<Database> opened(const std::string& path, OpenMode mode) {
  auto db = Database::open(path, mode, [](std::int64_t waited_ms) { return waited_ms < kLongestWaitMs; });
  if (!db) return pass(db);
  if (auto set = db->run("PRAGMA cache_size = -16384"); !set) return pass(set);
  return db;
}

}  // namespace

Result<BucketIndex> BucketIndex::open_writer(const std::string& path) {
  auto db = opened(path, OpenMode::create);
  if (!db) return pass(db);
  if (auto made = make_index_tables(*db); !made) return pass(made);
  return BucketIndex(std::move(*db));
}

Result<BucketIndex> BucketIndex::open_reader(const std::string& path) {
  auto db = opened(path, OpenMode::read_only);
  if (!db) return pass(db);
  return BucketIndex(std::move(*db));
}

Result<std::vector<BucketRow>> BucketIndex::buckets() {
  auto rows = lend(concat(kOfBuckets, " ORDER BY name"));
  if (!rows) return pass(rows);
  std::vector<BucketRow> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) return out;
    out.push_back(bucket_row(*rows));
  }
}

Result<std::optional<BucketRow>> BucketIndex::bucket(std::string_view name) {
  auto rows = lend("SELECT bucket, name, region, owner, created_ms, versioning FROM buckets WHERE name = ?");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, name).step();
  if (!row) return pass(row);
  return *row ? std::optional(bucket_row(*rows)) : std::nullopt;
}

Result<std::optional<std::string>> BucketIndex::setting(std::int64_t bucket, std::string_view kind) {
  auto rows = lend("SELECT text FROM settings WHERE bucket = ? AND kind = ?");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, bucket).bind(2, kind).step();
  if (!row) return pass(row);
  return *row ? std::optional(rows->text(0)) : std::nullopt;
}

/// The next row, if there is one: key, sequence, version, is_marker, size, modified_ms, etag, class, headers, tags,
/// parts, upload, places.
Result<std::optional<ObjectRow>> BucketIndex::object_row(IdleStatements::Lent& rows) {
  auto row = rows.step();
  if (!row) return pass(row);
  if (!*row) return std::nullopt;
  ObjectRow out{.object = {.key = rows.text(0),
                           .size = natural(rows.number(4)),
                           .modified_ms = rows.number(5),
                           .etag = rows.text(6),
                           .headers = headers_from(rows.text(8)),
                           .storage_class = rows.text(7),
                           .tags = rows.text(9),
                           .version = rows.text(2),
                           .sequence = natural(rows.number(1)),
                           .part_sizes = numbers_from(rows.text(10)),
                           .is_marker = rows.number(3) != 0},
                .places = {},
                .upload = rows.text(11)};
  auto places = places_from(rows.text(12), out.object.key);
  if (!places) return pass(places);
  out.places = std::move(*places);
  return out;
}

Result<std::optional<ObjectRow>> BucketIndex::object(std::int64_t bucket, std::string_view key) {
  auto rows = lend(
      "SELECT key, sequence, version, is_marker, size, modified_ms, etag, class, headers, tags, parts, upload, places "
      "FROM objects WHERE bucket = ? AND key = ?");
  if (!rows) return pass(rows);
  rows->bind(1, bucket).bind(2, key);
  return object_row(*rows);
}

Result<std::optional<ObjectRow>> BucketIndex::old_version(std::int64_t bucket, std::string_view key,
                                                          std::string_view version) {
  auto rows = lend(
      "SELECT key, sequence, version, is_marker, size, modified_ms, etag, class, headers, tags, parts, upload, places "
      "FROM versions WHERE bucket = ? AND key = ? AND version = ?");
  if (!rows) return pass(rows);
  rows->bind(1, bucket).bind(2, key).bind(3, version);
  return object_row(*rows);
}

Result<std::optional<ObjectRow>> BucketIndex::newest_old_version(std::int64_t bucket, std::string_view key) {
  auto rows = lend(
      "SELECT key, sequence, version, is_marker, size, modified_ms, etag, class, headers, tags, parts, upload, places "
      "FROM versions WHERE bucket = ? AND key = ? ORDER BY sequence DESC LIMIT 1");
  if (!rows) return pass(rows);
  rows->bind(1, bucket).bind(2, key);
  return object_row(*rows);
}

Result<bool> BucketIndex::is_empty(std::int64_t bucket) {
  for (const std::string_view sql :
       {"SELECT 1 FROM objects WHERE bucket = ? LIMIT 1", "SELECT 1 FROM versions WHERE bucket = ? LIMIT 1"}) {
    auto rows = lend(sql);
    if (!rows) return pass(rows);
    auto row = rows->bind(1, bucket).step();
    if (!row) return pass(row);
    if (*row) return false;
  }
  return true;
}

Result<void> BucketIndex::add_bucket(const Bucket& bucket) {
  auto insert = lend("INSERT INTO buckets(name, region, owner, created_ms, versioning) VALUES(?, ?, ?, ?, ?)");
  if (!insert) return pass(insert);
  return insert->bind(1, std::string_view(bucket.name))
      .bind(2, std::string_view(bucket.region))
      .bind(3, std::string_view(bucket.owner))
      .bind(4, bucket.created_ms)
      .bind(5, static_cast<std::int64_t>(bucket.versioning))
      .run();
}

Result<void> BucketIndex::remove_bucket(std::int64_t bucket) {
  for (const std::string_view sql :
       {"DELETE FROM settings WHERE bucket = ?", "DELETE FROM event_rules WHERE bucket = ?",
        "DELETE FROM buckets WHERE bucket = ?"}) {
    auto remove = lend(sql);
    if (!remove) return pass(remove);
    if (auto done = remove->bind(1, bucket).run(); !done) return done;
  }
  return {};
}

Result<void> BucketIndex::set_versioning(std::int64_t bucket, Versioning versioning) {
  auto update = lend("UPDATE buckets SET versioning = ? WHERE bucket = ?");
  if (!update) return pass(update);
  return update->bind(1, static_cast<std::int64_t>(versioning)).bind(2, bucket).run();
}

Result<void> BucketIndex::set_setting(std::int64_t bucket, std::string_view kind,
                                      const std::optional<std::string>& text) {
  auto change = lend(text ? "INSERT OR REPLACE INTO settings(bucket, kind, text) VALUES(?, ?, ?)"
                          : "DELETE FROM settings WHERE bucket = ? AND kind = ?");
  if (!change) return pass(change);
  change->bind(1, bucket).bind(2, kind);
  if (text) change->bind(3, std::string_view(*text));
  return change->run();
}

Result<void> BucketIndex::write_object(std::string_view sql, std::int64_t bucket, const ObjectRow& row) {
  auto insert = lend(sql);
  if (!insert) return pass(insert);
  const StoredObject& object = row.object;
  return insert->bind(1, bucket)
      .bind(2, std::string_view(object.key))
      .bind(3, stored(object.sequence))
      .bind(4, std::string_view(object.version))
      .bind(5, std::int64_t{object.is_marker})
      .bind(6, stored(object.size))
      .bind(7, object.modified_ms)
      .bind(8, std::string_view(object.etag))
      .bind(9, std::string_view(object.storage_class))
      .bind(10, std::string_view(text_of(object.headers)))
      .bind(11, std::string_view(object.tags))
      .bind(12, std::string_view(text_of(object.part_sizes)))
      .bind(13, std::string_view(row.upload))
      .bind(14, std::string_view(text_of(row.places)))
      .run();
}

Result<void> BucketIndex::put_object(std::int64_t bucket, const ObjectRow& row) {
  return write_object("INSERT OR REPLACE INTO objects VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", bucket, row);
}

Result<void> BucketIndex::add_old_version(std::int64_t bucket, const ObjectRow& row) {
  return write_object("INSERT OR REPLACE INTO versions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", bucket, row);
}

Result<void> BucketIndex::remove_object(std::int64_t bucket, std::string_view key) {
  auto remove = lend("DELETE FROM objects WHERE bucket = ? AND key = ?");
  if (!remove) return pass(remove);
  return remove->bind(1, bucket).bind(2, key).run();
}

Result<void> BucketIndex::remove_old_version(std::int64_t bucket, std::string_view key, std::uint64_t sequence) {
  auto remove = lend("DELETE FROM versions WHERE bucket = ? AND key = ? AND sequence = ?");
  if (!remove) return pass(remove);
  return remove->bind(1, bucket).bind(2, key).bind(3, stored(sequence)).run();
}

}  // namespace drover

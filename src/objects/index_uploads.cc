// Objects that come in parts, before they are whole.
#include "base/text.h"
#include "objects/bucket_index.h"
#include "objects/row_text.h"

namespace drover {
namespace {

/// part, size, modified_ms, etag, headers, places.
Result<PartRow> part_row(const Statement& row) {
  PartRow out{.part = {.number = static_cast<std::uint32_t>(row.number(0)),
                       .size = natural(row.number(1)),
                       .modified_ms = row.number(2),
                       .etag = row.text(3),
                       .headers = headers_from(row.text(4))},
              .places = {}};
  auto places = places_from(row.text(5), concat("part ", out.part.number));
  if (!places) return pass(places);
  out.places = std::move(*places);
  return out;
}

}  // namespace

Result<std::optional<UploadRow>> BucketIndex::upload(std::int64_t bucket, std::string_view key, std::string_view id) {
  const auto number = sequence_in(id);
  if (!number) return std::nullopt;
  auto rows = lend(
      "SELECT id, begun_ms, owner, class, headers, tags FROM uploads WHERE upload = ? AND id = ? AND bucket = ? AND "
      "key = ?");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, stored(*number)).bind(2, id).bind(3, bucket).bind(4, key).step();
  if (!row) return pass(row);
  if (!*row) return std::nullopt;
  NewUpload object{.bucket = {},
                   .key = std::string(key),
                   .headers = headers_from(rows->text(4)),
                   .storage_class = rows->text(3),
                   .tags = rows->text(5),
                   .owner = rows->text(2)};
  return UploadRow{stored(*number), {.id = rows->text(0), .begun_ms = rows->number(1), .object = std::move(object)}};
}

Result<std::vector<PartRow>> BucketIndex::parts(std::int64_t upload, std::uint32_t after, std::uint64_t most) {
  auto rows = lend(
      "SELECT part, size, modified_ms, etag, headers, places FROM parts WHERE upload = ? AND part > ? ORDER BY part "
      "LIMIT ?");
  if (!rows) return pass(rows);
  rows->bind(1, upload).bind(2, std::int64_t{after}).bind(3, stored(most));
  std::vector<PartRow> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) return out;
    auto part = part_row(*rows);
    if (!part) return pass(part);
    out.push_back(std::move(*part));
  }
}

Result<std::optional<PartRow>> BucketIndex::part(std::int64_t upload, std::uint32_t number) {
  auto rows = lend("SELECT part, size, modified_ms, etag, headers, places FROM parts WHERE upload = ? AND part = ?");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, upload).bind(2, std::int64_t{number}).step();
  if (!row) return pass(row);
  if (!*row) return std::nullopt;
  auto part = part_row(*rows);
  if (!part) return pass(part);
  return std::move(*part);
}

Result<std::vector<std::int64_t>> BucketIndex::numbers_of(IdleStatements::Lent& rows) {
  std::vector<std::int64_t> out;
  while (true) {
    auto row = rows.step();
    if (!row) return pass(row);
    if (!*row) return out;
    out.push_back(rows.number(0));
  }
}

Result<std::vector<std::int64_t>> BucketIndex::uploads_of(std::int64_t bucket, std::uint64_t most) {
  auto rows = lend("SELECT upload FROM uploads WHERE bucket = ? LIMIT ?");
  if (!rows) return pass(rows);
  rows->bind(1, bucket).bind(2, stored(most));
  return numbers_of(*rows);
}

Result<std::vector<std::int64_t>> BucketIndex::uploads_before(std::int64_t touched_before_ms, std::uint64_t most) {
  auto rows = lend("SELECT upload FROM uploads WHERE touched_ms < ? ORDER BY touched_ms LIMIT ?");
  if (!rows) return pass(rows);
  rows->bind(1, touched_before_ms).bind(2, stored(most));
  return numbers_of(*rows);
}

Result<void> BucketIndex::add_upload(std::int64_t bucket, const Upload& upload) {
  auto insert = lend(
      "INSERT INTO uploads(upload, id, bucket, key, begun_ms, touched_ms, owner, class, headers, tags) VALUES(?1, ?2, "
      "?3, ?4, ?5, ?5, ?6, ?7, ?8, ?9)");
  if (!insert) return pass(insert);
  const NewUpload& object = upload.object;
  return insert->bind(1, stored(sequence_in(upload.id).value_or(0)))
      .bind(2, std::string_view(upload.id))
      .bind(3, bucket)
      .bind(4, std::string_view(object.key))
      .bind(5, upload.begun_ms)
      .bind(6, std::string_view(object.owner))
      .bind(7, std::string_view(object.storage_class))
      .bind(8, std::string_view(text_of(object.headers)))
      .bind(9, std::string_view(object.tags))
      .run();
}

Result<void> BucketIndex::remove_upload(std::int64_t upload) {
  for (const std::string_view sql : {"DELETE FROM parts WHERE upload = ?", "DELETE FROM uploads WHERE upload = ?"}) {
    auto remove = lend(sql);
    if (!remove) return pass(remove);
    if (auto done = remove->bind(1, upload).run(); !done) return done;
  }
  return {};
}

Result<void> BucketIndex::put_part(std::int64_t upload, const PartRow& row) {
  {
    auto insert = lend("INSERT OR REPLACE INTO parts VALUES(?, ?, ?, ?, ?, ?, ?)");
    if (!insert) return pass(insert);
    const StoredPart& part = row.part;
    auto done = insert->bind(1, upload)
                    .bind(2, std::int64_t{part.number})
                    .bind(3, stored(part.size))
                    .bind(4, part.modified_ms)
                    .bind(5, std::string_view(part.etag))
                    .bind(6, std::string_view(text_of(part.headers)))
                    .bind(7, std::string_view(text_of(row.places)))
                    .run();
    if (!done) return done;
  }
  auto update = lend("UPDATE uploads SET touched_ms = ? WHERE upload = ?");
  if (!update) return pass(update);
  return update->bind(1, row.part.modified_ms).bind(2, upload).run();
}

}  // namespace drover

#include "objects/bucket_index.h"

#include <charconv>

#include "base/text.h"
#include "wire/aws/request.h"

namespace drover {
namespace {

using aws::take_until;

constexpr std::int64_t kSchemaVersion = 1;
constexpr std::int64_t kLongestWaitMs = 60'000;

// objects.places: where the bytes are, one behind another: "s17:4096", row 17 of small_data; "f18:8388608", file 18.
// objects.headers: "name: value" in lines. files: all that are in their place and known; garbage: those of them that no
// object has any more. file_numbers: see BucketIndex::FileNumbers.
constexpr const char* kTables = R"sql(
CREATE TABLE schema_version(version INTEGER NOT NULL);
CREATE TABLE file_numbers(settled INTEGER NOT NULL, end INTEGER NOT NULL);
CREATE TABLE buckets(
  bucket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, region TEXT NOT NULL, owner TEXT NOT NULL,
  created_ms INTEGER NOT NULL);
CREATE TABLE objects(
  bucket INTEGER NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL, modified_ms INTEGER NOT NULL, etag TEXT NOT NULL,
  headers TEXT NOT NULL, places TEXT NOT NULL, PRIMARY KEY(bucket, key)) WITHOUT ROWID;
CREATE TABLE small_data(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE files(number INTEGER PRIMARY KEY);
CREATE TABLE garbage(number INTEGER PRIMARY KEY);
INSERT INTO schema_version VALUES(1);
INSERT INTO file_numbers VALUES(1, 1);
)sql";

std::string text_of(const std::vector<DataPlace>& places) {
  std::string out;
  for (const DataPlace& it : places) {
    out += concat(out.empty() ? "" : " ", it.is_file ? 'f' : 's', it.number, ":", it.size);
  }
  return out;
}

std::optional<DataPlace> place_from(std::string_view text) {
  if (text.empty() || (text[0] != 'f' && text[0] != 's')) return std::nullopt;
  DataPlace out{.is_file = text[0] == 'f'};
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data() + 1, end, out.number);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != ':') return std::nullopt;
  const auto size = std::from_chars(number.ptr + 1, end, out.size);
  if (size.ec != std::errc() || size.ptr != end) return std::nullopt;
  return out;
}

Result<std::vector<DataPlace>> places_from(std::string_view text, std::string_view key) {
  std::vector<DataPlace> out;
  while (!text.empty()) {
    const auto place = place_from(take_until(text, ' '));
    if (!place) return fail(ErrorCode::damaged, concat("the row of the object '", key, "' is damaged"));
    out.push_back(*place);
  }
  return out;
}

std::string text_of(const ObjectHeaders& headers) {
  std::string out;
  for (const auto& [name, value] : headers) out += concat(name, ": ", value, "\n");
  return out;
}

ObjectHeaders headers_from(std::string_view text) {
  ObjectHeaders out;
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) out.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

/// The smallest text that sorts after everything with this prefix; empty: nothing does.
std::string behind_all_with(std::string text) {
  while (!text.empty() && text.back() == '\xff') text.pop_back();
  if (!text.empty()) text.back() = static_cast<char>(text.back() + 1);
  return text;
}

/// What a key is shown as when it is not shown itself: the key up to the delimiter's end.
std::optional<std::string_view> prefix_for(std::string_view key, const ObjectQuestion& question) {
  if (question.delimiter.empty()) return std::nullopt;
  const std::size_t at = key.find(question.delimiter, question.prefix.size());
  if (at == std::string_view::npos) return std::nullopt;
  return key.substr(0, at + question.delimiter.size());
}

std::uint64_t natural(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

std::int64_t stored(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

BucketRow bucket_row(const Statement& row) {
  return {.number = row.number(0),
          .bucket = {.name = row.text(1), .region = row.text(2), .owner = row.text(3), .created_ms = row.number(4)}};
}

/// key, size, modified_ms, etag.
StoredObject listed_object(const Statement& row) {
  return {.key = row.text(0), .size = natural(row.number(1)), .modified_ms = row.number(2), .etag = row.text(3)};
}

Result<Database> opened(const std::string& path, OpenMode mode) {
  auto db = Database::open(path, mode, [](std::int64_t waited_ms) { return waited_ms < kLongestWaitMs; });
  if (!db) return pass(db);
  if (auto set = db->run("PRAGMA cache_size = -16384"); !set) return pass(set);
  return db;
}

Result<void> make_tables(Database& db) {
  if (auto set = db.run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"); !set)
    return set;
  return db.in_transaction([&]() -> Result<void> {
    auto tables = db.number("SELECT count(*) FROM sqlite_schema");
    if (!tables) return pass(tables);
    if (*tables == 0) return db.run(kTables);
    auto version = db.number("SELECT version FROM schema_version");
    if (!version) return pass(version);
    if (*version == kSchemaVersion) return {};
    return fail(ErrorCode::newer_schema,
                concat(db.path(), " has the version ", *version, "; this program reads up to ", kSchemaVersion),
                "use a newer drover");
  });
}

}  // namespace

Result<BucketIndex> BucketIndex::open_writer(const std::string& path) {
  auto db = opened(path, OpenMode::create);
  if (!db) return pass(db);
  if (auto made = make_tables(*db); !made) return pass(made);
  return BucketIndex(std::move(*db));
}

Result<BucketIndex> BucketIndex::open_reader(const std::string& path) {
  auto db = opened(path, OpenMode::read_only);
  if (!db) return pass(db);
  return BucketIndex(std::move(*db));
}

Result<std::vector<BucketRow>> BucketIndex::buckets() {
  auto rows = lend("SELECT bucket, name, region, owner, created_ms FROM buckets ORDER BY name");
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
  auto rows = lend("SELECT bucket, name, region, owner, created_ms FROM buckets WHERE name = ?");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, name).step();
  if (!row) return pass(row);
  return *row ? std::optional(bucket_row(*rows)) : std::nullopt;
}

Result<std::optional<ObjectRow>> BucketIndex::object(std::int64_t bucket, std::string_view key) {
  auto rows = lend("SELECT key, size, modified_ms, etag, headers, places FROM objects WHERE bucket = ? AND key = ?");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, bucket).bind(2, key).step();
  if (!row) return pass(row);
  if (!*row) return std::nullopt;
  ObjectRow out{.object = listed_object(*rows), .places = {}};
  out.object.headers = headers_from(rows->text(4));
  auto places = places_from(rows->text(5), key);
  if (!places) return pass(places);
  out.places = std::move(*places);
  return out;
}

Result<bool> BucketIndex::is_empty(std::int64_t bucket) {
  auto rows = lend("SELECT 1 FROM objects WHERE bucket = ? LIMIT 1");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, bucket).step();
  if (!row) return pass(row);
  return !*row;
}

// A prefix that is shown for many keys costs one step: the next one looks behind all of them.
Result<ObjectPage> BucketIndex::list(std::int64_t bucket, const ObjectQuestion& question) {
  ObjectPage out;
  std::string from = question.prefix;
  bool is_behind = false;  // `from` itself was there before
  if (question.after >= from) {
    const auto shown = prefix_for(question.after, question);
    const bool was_prefix = question.after.starts_with(question.prefix) && shown == question.after;
    from = was_prefix ? behind_all_with(question.after) : question.after;
    is_behind = !was_prefix;
    if (from.empty() && was_prefix) return out;
  }
  const auto count = [&] { return out.objects.size() + out.prefixes.size(); };
  while (true) {
    auto rows = lend(is_behind ? "SELECT key, size, modified_ms, etag FROM objects WHERE bucket = ? AND key > ? "
                                 "ORDER BY key"
                               : "SELECT key, size, modified_ms, etag FROM objects WHERE bucket = ? AND key >= ? "
                                 "ORDER BY key");
    if (!rows) return pass(rows);
    rows->bind(1, bucket).bind(2, std::string_view(from));
    std::optional<std::string> jumped_over;
    while (!jumped_over) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) return out;
      StoredObject object = listed_object(*rows);
      if (!object.key.starts_with(question.prefix)) return out;
      if (count() >= question.most) {
        out.is_cut = true;
        return out;
      }
      if (const auto shown = prefix_for(object.key, question)) {
        jumped_over = std::string(*shown);
        out.last = *jumped_over;
        out.prefixes.push_back(*jumped_over);
      } else {
        out.last = object.key;
        out.objects.push_back(std::move(object));
      }
    }
    from = behind_all_with(std::move(*jumped_over));
    is_behind = false;
    if (from.empty()) return out;
  }
}

Result<std::string> BucketIndex::small_data(std::uint64_t number) {
  auto rows = lend("SELECT bytes FROM small_data WHERE number = ?");
  if (!rows) return pass(rows);
  auto row = rows->bind(1, stored(number)).step();
  if (!row) return pass(row);
  if (!*row) return fail(ErrorCode::not_found, concat("data ", number, " is missing"));
  Cell cell = rows->cell(0);
  auto* bytes = std::get_if<Bytes>(&cell);
  if (bytes == nullptr) return fail(ErrorCode::damaged, concat("data ", number, " is damaged"));
  return std::move(bytes->value);
}

Result<std::uint64_t> BucketIndex::next_small() {
  auto largest = db_.number("SELECT max(number) FROM small_data");
  if (!largest) return pass(largest);
  return natural(*largest) + 1;
}

Result<BucketIndex::FileNumbers> BucketIndex::file_numbers() {
  auto rows = lend("SELECT settled, end FROM file_numbers");
  if (!rows) return pass(rows);
  auto row = rows->step();
  if (!row) return pass(row);
  if (!*row) return fail(ErrorCode::damaged, concat(db_.path(), " is damaged: file_numbers is empty"));
  return FileNumbers{.settled = natural(rows->number(0)), .end = natural(rows->number(1))};
}

Result<bool> BucketIndex::has_file(std::uint64_t number) {
  auto rows = lend("SELECT 1 FROM files WHERE number = ?");
  if (!rows) return pass(rows);
  return rows->bind(1, stored(number)).step();
}

Result<std::vector<std::uint64_t>> BucketIndex::garbage(std::uint64_t most) {
  auto rows = lend("SELECT number FROM garbage ORDER BY number LIMIT ?");
  if (!rows) return pass(rows);
  rows->bind(1, stored(most));
  std::vector<std::uint64_t> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) return out;
    out.push_back(natural(rows->number(0)));
  }
}

Result<void> BucketIndex::add_bucket(const Bucket& bucket) {
  auto insert = lend("INSERT INTO buckets(name, region, owner, created_ms) VALUES(?, ?, ?, ?)");
  if (!insert) return pass(insert);
  return insert->bind(1, std::string_view(bucket.name))
      .bind(2, std::string_view(bucket.region))
      .bind(3, std::string_view(bucket.owner))
      .bind(4, bucket.created_ms)
      .run();
}

Result<void> BucketIndex::remove_bucket(std::int64_t bucket) {
  auto remove = lend("DELETE FROM buckets WHERE bucket = ?");
  if (!remove) return pass(remove);
  return remove->bind(1, bucket).run();
}

Result<void> BucketIndex::put_object(std::int64_t bucket, const ObjectRow& row) {
  auto insert = lend(
      "INSERT OR REPLACE INTO objects(bucket, key, size, modified_ms, etag, headers, places) VALUES(?, ?, ?, ?, ?, ?, "
      "?)");
  if (!insert) return pass(insert);
  const StoredObject& object = row.object;
  return insert->bind(1, bucket)
      .bind(2, std::string_view(object.key))
      .bind(3, stored(object.size))
      .bind(4, object.modified_ms)
      .bind(5, std::string_view(object.etag))
      .bind(6, std::string_view(text_of(object.headers)))
      .bind(7, std::string_view(text_of(row.places)))
      .run();
}

Result<void> BucketIndex::remove_object(std::int64_t bucket, std::string_view key) {
  auto remove = lend("DELETE FROM objects WHERE bucket = ? AND key = ?");
  if (!remove) return pass(remove);
  return remove->bind(1, bucket).bind(2, key).run();
}

Result<void> BucketIndex::add_small_data(std::uint64_t number, std::string_view bytes) {
  auto insert = lend("INSERT INTO small_data(number, bytes) VALUES(?, ?)");
  if (!insert) return pass(insert);
  return insert->bind(1, stored(number)).bind_bytes(2, bytes).run();
}

Result<void> BucketIndex::add_file(std::uint64_t number) {
  auto insert = lend("INSERT INTO files(number) VALUES(?)");
  if (!insert) return pass(insert);
  return insert->bind(1, stored(number)).run();
}

Result<void> BucketIndex::let_go(const std::vector<DataPlace>& places) {
  for (const DataPlace& it : places) {
    auto change =
        lend(it.is_file ? "INSERT INTO garbage(number) VALUES(?)" : "DELETE FROM small_data WHERE number = ?");
    if (!change) return pass(change);
    if (auto done = change->bind(1, stored(it.number)).run(); !done) return done;
  }
  return {};
}

Result<void> BucketIndex::forget_files(const std::vector<std::uint64_t>& numbers) {
  for (const std::uint64_t number : numbers) {
    for (const std::string_view sql : {"DELETE FROM garbage WHERE number = ?", "DELETE FROM files WHERE number = ?"}) {
      auto remove = lend(sql);
      if (!remove) return pass(remove);
      if (auto done = remove->bind(1, stored(number)).run(); !done) return done;
    }
  }
  return {};
}

Result<void> BucketIndex::set_settled(std::uint64_t number) {
  auto update = lend("UPDATE file_numbers SET settled = ?");
  if (!update) return pass(update);
  return update->bind(1, stored(number)).run();
}

Result<void> BucketIndex::reserve_files(std::uint64_t end) {
  auto update = lend("UPDATE file_numbers SET end = max(end, ?)");
  if (!update) return pass(update);
  return update->bind(1, stored(end)).run();
}

}  // namespace drover

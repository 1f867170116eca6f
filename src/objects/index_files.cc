// What the index knows of bytes: those of small objects, and the files of others.
#include "base/text.h"
#include "objects/bucket_index.h"
#include "objects/row_text.h"

namespace drover {

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
  auto rows = lend("SELECT settled, end FROM numbers");
  if (!rows) return pass(rows);
  auto row = rows->step();
  if (!row) return pass(row);
  if (!*row) return fail(ErrorCode::damaged, concat(db_.path(), " is damaged: it has no row of numbers"));
  return FileNumbers{.settled = natural(rows->number(0)), .end = natural(rows->number(1))};
}

Result<std::uint64_t> BucketIndex::sequence_end() {
  auto end = db_.number("SELECT sequence FROM numbers");
  if (!end) return pass(end);
  return natural(*end);
}

Result<bool> BucketIndex::has_file(std::uint64_t number) {
  auto rows = lend("SELECT 1 FROM files WHERE number = ?");
  if (!rows) return pass(rows);
  return rows->bind(1, stored(number)).step();
}

Result<std::vector<std::uint64_t>> BucketIndex::garbage(std::uint64_t after, std::uint64_t most) {
  auto rows = lend("SELECT number FROM garbage WHERE number > ? ORDER BY number LIMIT ?");
  if (!rows) return pass(rows);
  rows->bind(1, stored(after)).bind(2, stored(most));
  std::vector<std::uint64_t> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) return out;
    out.push_back(natural(rows->number(0)));
  }
}

Result<void> BucketIndex::add_small_data(std::uint64_t number, std::string_view bytes) {
  auto insert = lend("INSERT INTO small_data(number, bytes) VALUES(?, ?)");
  if (!insert) return pass(insert);
  return insert->bind(1, stored(number)).bind_bytes(2, bytes).run();
}

Result<void> BucketIndex::add_file(std::uint64_t number) {
  auto insert = lend("INSERT INTO files(number, uses) VALUES(?, 1)");
  if (!insert) return pass(insert);
  return insert->bind(1, stored(number)).run();
}

Result<void> BucketIndex::share(const std::vector<DataPlace>& places) {
  for (const DataPlace& it : places) {
    auto update = lend("UPDATE files SET uses = uses + 1 WHERE number = ?");
    if (!update) return pass(update);
    if (auto done = update->bind(1, stored(it.number)).run(); !done) return done;
  }
  return {};
}

Result<bool> BucketIndex::let_go(const std::vector<DataPlace>& places) {
  bool made_garbage = false;
  for (const DataPlace& it : places) {
    if (!it.is_file) {
      auto remove = lend("DELETE FROM small_data WHERE number = ?");
      if (!remove) return pass(remove);
      if (auto done = remove->bind(1, stored(it.number)).run(); !done) return pass(done);
      continue;
    }
    {
      auto update = lend("UPDATE files SET uses = uses - 1 WHERE number = ?");
      if (!update) return pass(update);
      if (auto done = update->bind(1, stored(it.number)).run(); !done) return pass(done);
    }
    auto insert = lend("INSERT INTO garbage(number) SELECT number FROM files WHERE number = ? AND uses = 0");
    if (!insert) return pass(insert);
    if (auto done = insert->bind(1, stored(it.number)).run(); !done) return pass(done);
    made_garbage = made_garbage || db_.changes() > 0;
  }
  return made_garbage;
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
  auto update = lend("UPDATE numbers SET settled = ?");
  if (!update) return pass(update);
  return update->bind(1, stored(number)).run();
}

Result<void> BucketIndex::reserve_files(std::uint64_t end) {
  auto update = lend("UPDATE numbers SET end = max(end, ?)");
  if (!update) return pass(update);
  return update->bind(1, stored(end)).run();
}

Result<void> BucketIndex::reserve_sequence(std::uint64_t end) {
  auto update = lend("UPDATE numbers SET sequence = ?");
  if (!update) return pass(update);
  return update->bind(1, stored(end)).run();
}

Result<bool> BucketIndex::shrink(std::uint64_t pages) {
  constexpr std::int64_t kKept = 1024;  // free pages are used again first
  auto free = db_.number("PRAGMA freelist_count");
  if (!free) return pass(free);
  if (*free <= kKept) return false;
  if (auto done = db_.run(concat("PRAGMA incremental_vacuum(", pages, ")")); !done) return pass(done);
  auto left = db_.number("PRAGMA freelist_count");
  if (!left) return pass(left);
  if (*left > kKept && *left < *free) return true;
  // The file becomes shorter when SQLite copies its log into it.
  if (auto copied = db_.run("PRAGMA wal_checkpoint(PASSIVE)"); !copied) return pass(copied);
  return false;
}

}  // namespace drover

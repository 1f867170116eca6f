// What backups do with the index.
#include "base/text.h"
#include "objects/bucket_index.h"
#include "objects/row_text.h"

namespace drover {

Result<void> BucketIndex::copy_to(const std::string& path) {
  auto copy = db_.prepare("VACUUM INTO ?");
  if (!copy) return pass(copy);
  return copy->bind(1, std::string_view(path)).run();
}

Result<void> BucketIndex::check() {
  auto check = db_.prepare("PRAGMA quick_check(1)");
  if (!check) return pass(check);
  auto row = check->step();
  if (!row) return pass(row);
  if (*row && check->text(0) == "ok") return {};
  return fail(ErrorCode::damaged, concat(db_.path(), ": the index of objects in the backup is damaged"),
              "use another backup");
}

Result<std::uint64_t> BucketIndex::count_objects() {
  auto count = db_.number("SELECT count(*) FROM objects WHERE is_marker = 0");
  if (!count) return pass(count);
  return natural(*count);
}

Result<std::vector<std::uint64_t>> BucketIndex::files_in_use(std::uint64_t after, std::uint64_t most) {
  auto rows = lend("SELECT number FROM files WHERE number > ? AND uses > 0 ORDER BY number LIMIT ?");
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

// The ledger may be newer than the index and know events that the index has yet to number: none of them may be taken
// for one that comes later. Sequences stand in ids of versions and in events, which readers of the other server keep.
Result<void> BucketIndex::part_from_original(std::int64_t now_ms) {
  constexpr std::int64_t kFarBeyond = std::int64_t{1} << 32;
  const std::string beyond = concat(" + ", kFarBeyond, ", ", now_ms, ")");
  return db_.in_transaction([&] {
    return db_.run(concat("UPDATE numbers SET sequence = max(sequence", beyond,
                          ";"
                          "INSERT INTO sqlite_sequence(name, seq) SELECT 'outbox', 0 WHERE NOT EXISTS "
                          "(SELECT 1 FROM sqlite_sequence WHERE name = 'outbox');"
                          "UPDATE sqlite_sequence SET seq = max(seq",
                          beyond, " WHERE name = 'outbox'"));
  });
}

}  // namespace drover

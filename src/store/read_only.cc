#include "store/read_only.h"

#include <unistd.h>

#include "store/schema.h"

namespace drover {
namespace {

constexpr std::int64_t kPatienceMs = 10'000;

Result<Database> open_in(const std::string& path, OpenMode mode) {
  auto db = Database::open(path, mode, [](std::int64_t waited_ms) { return waited_ms < kPatienceMs; });
  if (!db) return db;
  if (auto known = check_schema(*db); !known) return pass(known);
  return db;
}

}  // namespace

Result<Database> open_read_only(const std::string& path) {
  auto db = open_in(path, OpenMode::read_only);
  const bool nothing_unmerged = ::access((path + "-wal").c_str(), F_OK) != 0;
  if (db || db.error().code != ErrorCode::read_only || !nothing_unmerged) return db;
  // A folder that cannot be written has no room for the files a reader shares with the writer.
  return open_in(path, OpenMode::frozen);
}

}  // namespace drover

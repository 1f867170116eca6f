#include "store/ledger_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "base/text.h"
#include "sqlite/database.h"

namespace drover {
namespace {

std::string log_of(const std::string& path) {
  return path + "-wal";
}

std::unexpected<Error> is_gone(const std::string& path) {
  return fail(ErrorCode::io,
              concat(path,
                     " was removed or replaced while in use: nothing can be recorded, and nothing has been "
                     "acknowledged since"),
              "restore it from a backup, then start again");
}

}  // namespace

LedgerFile::Identity LedgerFile::identity_of(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino};
}

LedgerFile LedgerFile::at(const std::string& path) {
  LedgerFile file;
  file.path_ = path;
  file.ledger_ = identity_of(path);
  file.log_ = identity_of(log_of(path));
  return file;
}

// The log comes with the first commit, if it is not there yet, and stays as long as the ledger is open.
Result<void> LedgerFile::check() {
  if (ledger_.inode == 0) return {};
  if (identity_of(path_) != ledger_) return is_gone(path_);
  const std::string log = log_of(path_);
  const Identity now = identity_of(log);
  if (log_.inode != 0 && now != log_) return is_gone(log);
  log_ = now;
  return {};
}

bool is_ledger_missing(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return errno == ENOENT;
  if (file.st_size == 0) return true;
  auto db = Database::open(path, OpenMode::read_only, [](std::int64_t) { return false; });
  if (!db) return false;  // whoever opens it says why
  const auto tables = db->number("SELECT count(*) FROM sqlite_schema", 1);
  return tables && *tables == 0;
}

}  // namespace drover

#include "store/backup.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/text.h"
#include "store/read_only.h"

namespace drover {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLedger = "drover.db";
constexpr const char* kLogs = "logs/";
constexpr std::size_t kPiece = std::size_t{256} << 10;

struct CloseWriter {
  void operator()(archive* it) const { archive_write_free(it); }
};
struct CloseReader {
  void operator()(archive* it) const { archive_read_free(it); }
};
struct FreeEntry {
  void operator()(archive_entry* it) const { archive_entry_free(it); }
};
using Writer = std::unique_ptr<archive, CloseWriter>;
using Reader = std::unique_ptr<archive, CloseReader>;

/// A file or folder that goes again unless it is kept.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) { remove(); }
  ~Temporary() { remove(); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const { return path_; }
  Result<void> become(const std::string& final_path) {
    if (::rename(path_.c_str(), final_path.c_str()) != 0) return std::unexpected(errno_error(errno, final_path));
    path_.clear();
    return {};
  }

 private:
  void remove() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  std::string path_;
};

class File {
 public:
  File(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

Result<void> sync(const std::string& path) {
  const File it(path, O_RDONLY);
  if (!it || ::fsync(it.get()) != 0) return std::unexpected(errno_error(errno, path));
  return {};
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

Error trouble(archive* it, const std::string& path) {
  const int number = archive_errno(it);
  if (number == ENOSPC) return errno_error(ENOSPC, path, "free some space, or write it elsewhere");
  const char* text = archive_error_string(it);
  return {ErrorCode::io, concat(path, ": ", text == nullptr ? "cannot be written or read" : text), {}};
}

Result<std::uint64_t> add_file(archive* out, const std::string& file, const std::string& path,
                               const std::string& name) {
  const File in(path, O_RDONLY);
  struct stat about{};
  if (!in || ::fstat(in.get(), &about) != 0) return std::unexpected(errno_error(errno, path));
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0600);
  archive_entry_set_size(entry.get(), about.st_size);
  archive_entry_set_mtime(entry.get(), about.st_mtime, 0);
  if (archive_write_header(out, entry.get()) != ARCHIVE_OK) return std::unexpected(trouble(out, file));
  // A segment that grows meanwhile is cut where it ended when we came: the ledger's copy refers to nothing behind that.
  std::vector<char> piece(kPiece);
  for (std::int64_t left = about.st_size; left > 0;) {
    const ssize_t got = ::read(in.get(), piece.data(), static_cast<std::size_t>(std::min<std::int64_t>(left, kPiece)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::unexpected(errno_error(got < 0 ? errno : EIO, path));
    if (archive_write_data(out, piece.data(), static_cast<std::size_t>(got)) < 0) {
      return std::unexpected(trouble(out, file));
    }
    left -= got;
  }
  return static_cast<std::uint64_t>(about.st_size);
}

Result<std::vector<std::string>> log_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(concat(folder, "/logs"), error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return std::unexpected(errno_error(error.value(), concat(folder, "/logs")));
  }
  std::ranges::sort(names);
  return names;
}

Result<std::uint64_t> checked_jobs(const std::string& ledger) {
  auto db = open_read_only(ledger);
  if (!db) return pass(db);
  auto check = db->prepare("PRAGMA quick_check(1)");
  if (!check) return pass(check);
  auto row = check->step();
  if (!row) return pass(row);
  if (!*row || check->text(0) != "ok") {
    return fail(ErrorCode::damaged, concat(ledger, ": the ledger in the backup is damaged"), "use another backup");
  }
  auto jobs = db->number("SELECT count(*) FROM jobs");
  if (!jobs) return pass(jobs);
  return static_cast<std::uint64_t>(*jobs);
}

Result<std::uint64_t> take_file(archive* in, const std::string& file, const std::string& path) {
  const File out(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!out) return std::unexpected(errno_error(errno, path));
  std::uint64_t size = 0;
  while (true) {
    std::array<char, 64 << 10> piece{};
    const la_ssize_t got = archive_read_data(in, piece.data(), piece.size());
    if (got == ARCHIVE_RETRY) continue;
    if (got < 0) return std::unexpected(trouble(in, file));
    if (got == 0) break;
    for (la_ssize_t at = 0; at < got;) {
      const ssize_t wrote = ::write(out.get(), piece.data() + at, static_cast<std::size_t>(got - at));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return std::unexpected(errno_error(errno, path));
      at += wrote;
    }
    size += static_cast<std::uint64_t>(got);
  }
  if (::fsync(out.get()) != 0) return std::unexpected(errno_error(errno, path));
  return size;
}

/// Nothing else is in a backup, and nothing else is taken out of one, wherever it says that it belongs.
bool is_ours(const std::string& name) {
  if (name == kLedger) return true;
  if (!name.starts_with(kLogs)) return false;
  const std::string rest = name.substr(std::string_view(kLogs).size());
  return !rest.empty() && rest.ends_with(".zst") &&
         std::ranges::all_of(rest.substr(0, rest.size() - 4), [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> pack(Backup& backup, const std::string& folder, const std::string& ledger, const std::string& file) {
  const Writer out(archive_write_new());
  archive_write_add_filter_zstd(out.get());
  archive_write_set_filter_option(out.get(), "zstd", "compression-level", "1");
  archive_write_set_format_pax_restricted(out.get());
  if (archive_write_open_filename(out.get(), file.c_str()) != ARCHIVE_OK) {
    return std::unexpected(trouble(out.get(), file));
  }
  auto added = add_file(out.get(), file, ledger, kLedger);
  if (!added) return pass(added);
  backup.bytes += *added;
  auto names = log_files(folder);
  if (!names) return pass(names);
  for (const std::string& name : *names) {
    const std::string path = concat(folder, "/", kLogs, name);
    added = add_file(out.get(), file, path, concat(kLogs, name));
    // The jobs in it were forgotten a moment ago.
    if (!added && ::access(path.c_str(), F_OK) != 0) continue;
    if (!added) return pass(added);
    backup.bytes += *added;
    ++backup.files;
  }
  if (archive_write_close(out.get()) != ARCHIVE_OK) return std::unexpected(trouble(out.get(), file));
  return {};
}

Result<void> unpack(Backup& backup, const std::string& file, const std::string& folder) {
  const Reader in(archive_read_new());
  archive_read_support_filter_zstd(in.get());
  archive_read_support_format_tar(in.get());
  const Error no_backup{ErrorCode::bad_input, concat(file, " is no backup of drover's"),
                        "give a file that 'drover backup' wrote"};
  if (::access(file.c_str(), R_OK) != 0) return std::unexpected(errno_error(errno, file, no_backup.next));
  if (archive_read_open_filename(in.get(), file.c_str(), kPiece) != ARCHIVE_OK) return std::unexpected(no_backup);
  bool has_ledger = false;
  while (true) {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(in.get(), &entry);
    if (got == ARCHIVE_EOF) break;
    if (got != ARCHIVE_OK) {
      if (backup.bytes == 0) return std::unexpected(no_backup);
      return fail(ErrorCode::damaged, trouble(in.get(), file).message, "use another backup");
    }
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr || !is_ours(name)) return std::unexpected(no_backup);
    auto taken = take_file(in.get(), file, concat(folder, "/", name));
    if (!taken) return pass(taken);
    backup.bytes += *taken;
    has_ledger = has_ledger || std::string_view(name) == kLedger;
    backup.files += std::string_view(name) == kLedger ? 0 : 1;
  }
  if (!has_ledger) return std::unexpected(no_backup);
  return {};
}

}  // namespace

Result<Backup> write_backup(const std::string& root, const std::string& file) {
  const std::string folder = concat(root, "/server");
  if (::access(concat(folder, "/", kLedger).c_str(), F_OK) != 0) {
    return fail(ErrorCode::not_found, concat("there is no server's ledger in ", folder),
                "name the server's data folder with --data, on the machine that it runs on");
  }
  if (::access(file.c_str(), F_OK) == 0) {
    return fail(ErrorCode::in_use, concat(file, " exists"), "choose another name, or remove it first");
  }
  // The ledger first: what it refers to was in the logs before it was in there.
  const Temporary ledger(concat(file, ".ledger"));
  Backup backup;
  {
    auto db = open_read_only(concat(folder, "/", kLedger));
    if (!db) return pass(db);
    auto copy = db->prepare("VACUUM INTO ?");
    if (!copy) return pass(copy);
    if (auto done = copy->bind(1, std::string_view(ledger.path())).run(); !done) {
      return fail(done.error().code, concat(ledger.path(), ": ", done.error().message),
                  "name a file in a folder that you may write to, with room for a copy of the ledger");
    }
  }
  ::chmod(ledger.path().c_str(), 0600);
  auto jobs = checked_jobs(ledger.path());
  if (!jobs) return pass(jobs);
  backup.jobs = *jobs;
  Temporary whole(concat(file, ".partial"));
  if (const File made(whole.path(), O_WRONLY | O_CREAT | O_EXCL); !made) {
    return std::unexpected(errno_error(errno, whole.path(), "name a file in a folder that you may write to"));
  }
  if (auto done = pack(backup, folder, ledger.path(), whole.path()); !done) return pass(done);
  if (auto done = sync(whole.path()); !done) return pass(done);
  if (auto done = whole.become(file); !done) return pass(done);
  if (auto done = sync(folder_of(file)); !done) return pass(done);
  return backup;
}

Result<Backup> restore_backup(const std::string& root, const std::string& file) {
  const std::string folder = concat(root, "/server");
  std::error_code error;
  if (fs::exists(folder, error)) {
    return fail(ErrorCode::in_use, concat(folder, " exists"), "choose another --data, or move that folder away first");
  }
  Backup backup;
  Temporary whole(concat(root, "/server.restoring"));
  fs::create_directories(concat(whole.path(), "/logs"), error);
  if (error) return std::unexpected(errno_error(error.value(), whole.path()));
  ::chmod(whole.path().c_str(), 0700);
  if (auto done = unpack(backup, file, whole.path()); !done) return pass(done);
  auto jobs = checked_jobs(concat(whole.path(), "/", kLedger));
  if (!jobs) return pass(jobs);
  backup.jobs = *jobs;
  for (const char* left : {"-wal", "-shm"}) fs::remove(concat(whole.path(), "/", kLedger, left), error);
  for (const std::string& path : {concat(whole.path(), "/logs"), whole.path()}) {
    if (auto done = sync(path); !done) return pass(done);
  }
  if (auto done = whole.become(folder); !done) return pass(done);
  if (auto done = sync(root); !done) return pass(done);
  return backup;
}

}  // namespace drover

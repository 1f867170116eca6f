#include "store/backup.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "store/read_only.h"
#include "store/sealed_archive.h"

namespace drover {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLedger = "drover.db";
constexpr const char* kLogs = "logs/";

/// A folder that nobody else can look into or knew of before, and that goes again.
class PrivateFolder {
 public:
  /// Beside others that begin alike.
  static Result<PrivateFolder> make(const std::string& begin) {
    std::string path = concat(begin, ".XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) {
      return std::unexpected(errno_error(errno, begin, "choose a file in a folder that you can write to"));
    }
    return PrivateFolder(std::move(path));
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

Result<void> move_to(const std::string& path, const std::string& final_path) {
  if (::rename(path.c_str(), final_path.c_str()) != 0) return std::unexpected(errno_error(errno, final_path));
  return {};
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

bool is_segment(std::string_view name) {
  constexpr std::string_view kSuffix = ".zst";
  return name.size() > kSuffix.size() && name.ends_with(kSuffix) &&
         std::ranges::all_of(name.substr(0, name.size() - kSuffix.size()), [](char c) { return c >= '0' && c <= '9'; });
}

/// Nothing else is in a backup, and nothing else is taken out of one, wherever it says that it belongs.
bool is_ours(std::string_view name) {
  if (name == kLedger) return true;
  return name.starts_with(kLogs) && is_segment(name.substr(std::string_view(kLogs).size()));
}

/// Segments; whatever else somebody, or a file system, has put beside them stays there.
Result<std::vector<std::string>> log_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(concat(folder, "/logs"), error), end; !error && it != end; it.increment(error)) {
    if (std::string name = it->path().filename().string(); is_segment(name)) names.push_back(std::move(name));
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

Result<void> pack(Backup& backup, const std::string& folder, const std::string& ledger, const std::string& file,
                  BackupPart* part) {
  auto out = SealedArchiveWriter::create(file);
  if (!out) return pass(out);
  auto added = out->add(ledger, kLedger);
  if (!added) return pass(added);
  backup.bytes += *added;
  auto names = log_files(folder);
  if (!names) return pass(names);
  for (const std::string& name : *names) {
    // A segment that grows meanwhile is cut where it ended when we came: the ledger's copy refers to nothing behind
    // that.
    added = out->add(concat(folder, "/", kLogs, name), concat(kLogs, name));
    if (!added && added.error().code == ErrorCode::not_found) continue;  // the jobs in it were forgotten a moment ago
    if (!added) return pass(added);
    backup.bytes += *added;
    ++backup.files;
  }
  if (part != nullptr) {
    const auto add = [&](const std::string& path, const std::string& name) -> Result<void> {
      auto size = out->add(path, name);
      if (!size) return pass(size);
      backup.bytes += *size;
      return {};
    };
    if (auto done = part->add_files(add); !done) return done;
    backup.objects = part->count();
  }
  return out->seal();
}

Result<void> unpack(Backup& backup, const std::string& file, const std::string& folder, BackupPart* part) {
  bool has_ledger = false;
  auto done = unseal(
      file, folder,
      {.is_wanted = [&](std::string_view name) { return is_ours(name) || (part && part->owns(name)); },
       .make_folder =
           [&](std::string_view name) { return is_ours(name) ? Result<void>() : part->make_folder(folder, name); },
       .taken =
           [&](const ArchiveMember& member) {
             backup.bytes += member.bytes;
             has_ledger = has_ledger || member.name == kLedger;
             backup.files += member.name.starts_with(kLogs) ? 1 : 0;
           }});
  if (!done) return done;
  if (!has_ledger) return fail(ErrorCode::damaged, concat(file, " does not contain a ledger"), "use another backup");
  return {};
}

/// Whoever spoke with the server that was saved may come to this one, and knows numbers that were given out after the
/// backup was made. None of them may mean something else here: numbers go on far beyond, and workers register anew,
/// which takes from them what they held. Counting from the clock, so that a second server made from the same backup
/// begins beyond the first one, too: nobody gives out numbers faster than that.
Result<void> part_from_the_old_server(const std::string& ledger, std::int64_t now_ms) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 32;
  constexpr std::int64_t kGrantsEachMs = 1024;
  const std::string beyond = concat(" + ", kLeast, ", ", now_ms, ")");
  auto db = Database::open(ledger, OpenMode::create, [](std::int64_t) { return false; });
  if (!db) return pass(db);
  return db->run(
      concat("PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE;"
             "INSERT INTO counters(now_ms, next_job, next_grant, next_worker, next_event, next_stream, "
             "next_message_block) SELECT 0, 1, 1, 1, 1, 1, 1 WHERE NOT EXISTS (SELECT 1 FROM counters);"
             "UPDATE counters SET next_event = next_event + 1000000, next_job = max(next_job",
             beyond, ", next_worker = max(next_worker", beyond, ", next_grant = max(next_grant + ", kLeast, ", ",
             now_ms * kGrantsEachMs,
             ");"
             "UPDATE workers SET incarnation = 0, registered_ms = 0;"
             "INSERT INTO sqlite_sequence(name, seq) SELECT column1, 0 FROM (VALUES('definitions'), ('manifests'))"
             " WHERE column1 NOT IN (SELECT name FROM sqlite_sequence);"
             "UPDATE sqlite_sequence SET seq = max(seq",
             beyond, "; COMMIT;"));
}

}  // namespace

Result<Backup> write_backup(const std::string& root, const std::string& file, BackupPart* part) {
  const std::string folder = concat(root, "/server");
  if (::access(concat(folder, "/", kLedger).c_str(), F_OK) != 0) {
    return fail(ErrorCode::not_found, concat("no server ledger found in ", folder),
                "set --data to the server's data folder, on the machine where it runs");
  }
  if (::access(file.c_str(), F_OK) == 0) {
    return fail(ErrorCode::in_use, concat(file, " already exists"), "choose another name, or remove it first");
  }
  auto place = PrivateFolder::make(file);
  if (!place) return pass(place);
  // An event that the other part has told already is in the ledger then: it may know more, and never less.
  if (part != nullptr) {
    if (auto held = part->hold(folder, place->path()); !held) return pass(held);
  }
  // The ledger before the logs: what it refers to was in the logs before it was in there.
  const std::string ledger = concat(place->path(), "/", kLedger);
  Backup backup;
  {
    auto db = open_read_only(concat(folder, "/", kLedger));
    if (!db) return pass(db);
    auto copy = db->prepare("VACUUM INTO ?");
    if (!copy) return pass(copy);
    if (auto done = copy->bind(1, std::string_view(ledger)).run(); !done) {
      return fail(done.error().code, concat(ledger, ": ", done.error().message),
                  "choose a file in a folder with space for a copy of the ledger");
    }
  }
  auto jobs = checked_jobs(ledger);
  if (!jobs) return pass(jobs);
  backup.jobs = *jobs;
  const std::string whole = concat(place->path(), "/whole");
  if (auto done = pack(backup, folder, ledger, whole, part); !done) return pass(done);
  if (auto done = move_to(whole, file); !done) return pass(done);
  if (auto done = sync_path(folder_of(file)); !done) return pass(done);
  return backup;
}

Result<Backup> restore_backup(const std::string& root, const std::string& file, std::int64_t now_ms, BackupPart* part) {
  const std::string folder = concat(root, "/server");
  std::error_code error;
  if (fs::exists(folder, error)) {
    return fail(ErrorCode::in_use, concat(folder, " already exists"),
                "choose another --data, or move that folder aside first");
  }
  fs::create_directories(root, error);
  if (error) return std::unexpected(errno_error(error.value(), root));
  auto place = PrivateFolder::make(concat(root, "/server.restoring"));
  if (!place) return pass(place);
  const std::string whole = concat(place->path(), "/server");
  for (const std::string& path : {whole, concat(whole, "/logs")}) {
    if (::mkdir(path.c_str(), 0700) != 0) return std::unexpected(errno_error(errno, path));
  }
  Backup backup;
  if (auto done = unpack(backup, file, whole, part); !done) return pass(done);
  auto jobs = checked_jobs(concat(whole, "/", kLedger));
  if (!jobs) return pass(jobs);
  backup.jobs = *jobs;
  if (auto done = part_from_the_old_server(concat(whole, "/", kLedger), now_ms); !done) return pass(done);
  if (part != nullptr) {
    if (auto done = part->restored(whole, now_ms); !done) return pass(done);
    backup.objects = part->count();
  }
  for (const char* left : {"-wal", "-shm"}) fs::remove(concat(whole, "/", kLedger, left), error);
  for (const std::string& path : {concat(whole, "/logs"), whole}) {
    if (auto done = sync_path(path); !done) return pass(done);
  }
  if (auto done = move_to(whole, folder); !done) return pass(done);
  if (auto done = sync_path(root); !done) return pass(done);
  return backup;
}

}  // namespace drover

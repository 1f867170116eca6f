#include "objects/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/text.h"
#include "objects/data_files.h"
#include "ports/descriptor.h"
#include "ports/entropy.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
/// Names that begin with this are being written, and are no objects yet.
constexpr std::string_view kUnfinished = ".drover-part-";

std::int64_t modified_ms(const struct stat& about) {
  return about.st_mtim.tv_sec * 1000 + about.st_mtim.tv_nsec / 1'000'000;
}

ObjectInfo info_of(std::string key, const struct stat& about) {
  return {.key = std::move(key),
          .size = static_cast<std::uint64_t>(about.st_size),
          .modified_ms = modified_ms(about),
          .etag = {}};
}

Result<Descriptor> open_file(const std::string& path, struct stat& about) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::unexpected(errno_error(errno, path));
  if (::fstat(file.get(), &about) != 0) return std::unexpected(errno_error(errno, path));
  if (!S_ISREG(about.st_mode)) return fail(ErrorCode::not_found, concat(path, " is no file"));
  return file;
}

Result<std::string> read_at(const Descriptor& file, const std::string& path, std::uint64_t offset, std::uint64_t size) {
  std::string out(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.get(), out.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno_error(errno, path));
    if (got == 0) return fail(ErrorCode::conflict, concat(path, " became shorter while it was read"));
    done += static_cast<std::size_t>(got);
  }
  return out;
}

Result<void> make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return std::unexpected(errno_error(error.value(), path));
  return {};
}

/// Writes a file beside its place and moves it there; one that fails leaves nothing.
class NewFile {
 public:
  explicit NewFile(const std::string& place)
      : place_(place), path_(concat(fs::path(place).parent_path().string(), "/", kUnfinished, random_uuid().text())) {}
  ~NewFile() {
    if (file_) ::unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Result<void> begin() {
    if (auto made = make_folders(fs::path(place_).parent_path().string()); !made) return made;
    file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_) return std::unexpected(errno_error(errno, path_));
    return {};
  }
  Result<void> add(std::string_view bytes) { return write_all(file_.get(), bytes, place_); }
  Result<void> finish() {
    if (::fdatasync(file_.get()) != 0) return std::unexpected(errno_error(errno, place_));
    if (::rename(path_.c_str(), place_.c_str()) != 0) return std::unexpected(errno_error(errno, place_));
    file_.reset();
    const Descriptor folder(::open(fs::path(place_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) return std::unexpected(errno_error(errno, place_));
    return {};
  }

 private:
  const std::string place_;
  const std::string path_;
  Descriptor file_;
};

/// What is in a folder, in the order of the keys: that of a folder ends in a slash.
Result<std::vector<std::string>> names_in(const std::string& path) {
  struct Close {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(::opendir(path.c_str()));
  std::vector<std::string> out;
  if (!folder && (errno == ENOENT || errno == ENOTDIR)) return out;
  if (!folder) return std::unexpected(errno_error(errno, path));
  while (const dirent* it = ::readdir(folder.get())) {
    const std::string_view name = it->d_name;
    if (name == "." || name == ".." || name.starts_with(kUnfinished)) continue;
    struct stat about{};
    const std::string entry = concat(path, "/", name);
    if (::lstat(entry.c_str(), &about) != 0) continue;  // gone
    // A link to a directory is not followed: it may lead out of the store, or back into it.
    if (S_ISDIR(about.st_mode)) out.push_back(concat(name, "/"));
    if (S_ISLNK(about.st_mode) && ::stat(entry.c_str(), &about) != 0) continue;  // it leads nowhere
    if (S_ISREG(about.st_mode)) out.emplace_back(name);
  }
  std::ranges::sort(out);
  return out;
}

/// Goes through a tree in the order of its keys, past what cannot be on the page.
class Walk {
 public:
  Walk(const std::string& folder, const ListQuestion& question) : folder_(folder), question_(question) {}

  Result<ListPage> page() {
    if (auto walked = walk(""); !walked) return pass(walked);
    return std::move(out_);
  }

 private:
  bool is_full() const { return out_.objects.size() + out_.prefixes.size() >= question_.most; }

  /// False: the page is full.
  Result<bool> walk(const std::string& below) {
    auto names = names_in(below.empty() ? folder_ : concat(folder_, "/", below));
    if (!names) return pass(names);
    for (const std::string& name : *names) {
      const std::string key = below + name;
      const bool is_folder = key.ends_with('/');
      const bool leads_there = key.starts_with(question_.prefix) || (is_folder && question_.prefix.starts_with(key));
      if (!leads_there || is_before(key, is_folder)) continue;
      const std::string shown = shown_as(key);
      if (shown.empty() && is_folder) {
        auto goes_on = walk(key);
        if (!goes_on || !*goes_on) return goes_on;
        continue;
      }
      if (shown.empty() ? key <= question_.after : shown <= question_.after || shown == last_) continue;
      if (is_full()) {
        out_.next = last_;
        return false;
      }
      last_ = shown.empty() ? key : shown;
      if (!shown.empty()) {
        out_.prefixes.push_back(shown);
        continue;
      }
      struct stat about{};
      if (::stat(concat(folder_, "/", key).c_str(), &about) == 0) out_.objects.push_back(info_of(key, about));
    }
    return true;
  }

  /// All of it was on a page before.
  bool is_before(const std::string& key, bool is_folder) const {
    return key <= question_.after && !(is_folder && question_.after.starts_with(key) && question_.after != key);
  }

  /// The prefix that stands for it; empty: it stands for itself, or is a folder to go into.
  std::string shown_as(const std::string& key) const {
    if (question_.delimiter.empty() || key.size() < question_.prefix.size()) return {};
    const std::size_t at = key.find(question_.delimiter, question_.prefix.size());
    return at == std::string::npos ? std::string() : key.substr(0, at + question_.delimiter.size());
  }

  const std::string& folder_;
  const ListQuestion& question_;
  ListPage out_;
  std::string last_;
};

}  // namespace

std::string FileStore::name() const {
  return concat("file://", folder_);
}

Result<std::string> FileStore::path_of(const std::string& key) const {
  std::string_view rest = key;
  while (true) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (name.empty() || name == "." || name == ".." || name.contains('\0') || name.starts_with(kUnfinished)) {
      return fail(ErrorCode::bad_input, concat("'", key, "' cannot be a file below ", folder_));
    }
    if (name.size() == rest.size()) return concat(folder_, "/", key);
    rest.remove_prefix(name.size() + 1);
  }
}

Result<ObjectInfo> FileStore::head(const std::string& key) {
  auto path = path_of(key);
  if (!path) return pass(path);
  struct stat about{};
  if (::stat(path->c_str(), &about) != 0) return std::unexpected(errno_error(errno, *path));
  if (!S_ISREG(about.st_mode)) return fail(ErrorCode::not_found, concat(*path, " is no file"));
  return info_of(key, about);
}

Result<ObjectInfo> FileStore::get(const std::string& key, const ObjectRange& range,
                                  const std::function<Result<void>(std::string_view)>& take) {
  auto path = path_of(key);
  if (!path) return pass(path);
  struct stat about{};
  auto file = open_file(*path, about);
  if (!file) return pass(file);
  ObjectInfo info = info_of(key, about);
  if (range.offset > info.size || range.size.value_or(0) > info.size - range.offset) {
    return fail(ErrorCode::bad_input, concat(*path, " has ", info.size, " bytes, and more were asked for"));
  }
  const std::uint64_t end = range.offset + range.size.value_or(info.size - range.offset);
  for (std::uint64_t at = range.offset; at < end; at += kAtOnce) {
    auto bytes = read_at(*file, *path, at, std::min(kAtOnce, end - at));
    if (!bytes) return pass(bytes);
    if (auto taken = take(*bytes); !taken) return pass(taken);
  }
  return info;
}

Result<ListPage> FileStore::list(const ListQuestion& question) {
  if (question.most == 0) return ListPage();
  return Walk(folder_, question).page();
}

Result<ObjectInfo> FileStore::put(const ObjectInfo& object, const ObjectBytes& bytes) {
  auto path = path_of(object.key);
  if (!path) return pass(path);
  NewFile file(*path);
  if (auto begun = file.begin(); !begun) return pass(begun);
  for (std::uint64_t at = 0; at < bytes.size; at += kAtOnce) {
    auto piece = bytes.read(at, std::min(kAtOnce, bytes.size - at));
    if (!piece) return pass(piece);
    if (auto added = file.add(*piece); !added) return pass(added);
  }
  if (auto finished = file.finish(); !finished) return pass(finished);
  return head(object.key);
}

Result<void> FileStore::remove(const std::string& key) {
  auto path = path_of(key);
  if (!path) return pass(path);
  if (::unlink(path->c_str()) != 0 && errno != ENOENT) return std::unexpected(errno_error(errno, *path));
  return {};
}

Result<ObjectInfo> FileStore::copy(const std::string& from, const std::string& to) {
  auto path = path_of(from);
  if (!path) return pass(path);
  struct stat about{};
  auto file = open_file(*path, about);
  if (!file) return pass(file);
  const ObjectBytes bytes{
      .size = static_cast<std::uint64_t>(about.st_size),
      .read = [&](std::uint64_t offset, std::uint64_t size) { return read_at(*file, *path, offset, size); }};
  return put({.key = to}, bytes);
}

std::string FileStore::parts_of(const std::string& path, const std::string& upload) {
  return concat(fs::path(path).parent_path().string(), "/", kUnfinished, upload);
}

Result<std::string> FileStore::begin_upload(const ObjectInfo& object) {
  auto path = path_of(object.key);
  if (!path) return pass(path);
  std::string upload = random_uuid().text();
  if (auto made = make_folders(parts_of(*path, upload)); !made) return pass(made);
  return upload;
}

Result<UploadedPart> FileStore::upload_part(const std::string& key, const std::string& upload, std::uint32_t number,
                                            const std::string& bytes) {
  auto path = path_of(key);
  if (!path) return pass(path);
  const std::string folder = parts_of(*path, upload);
  if (!fs::is_directory(folder)) return fail(ErrorCode::not_found, concat(*path, ": there is no such upload"));
  NewFile file(concat(folder, "/", number));
  if (auto begun = file.begin(); !begun) return pass(begun);
  if (auto added = file.add(bytes); !added) return pass(added);
  if (auto finished = file.finish(); !finished) return pass(finished);
  return UploadedPart{number, std::to_string(bytes.size())};
}

Result<ObjectInfo> FileStore::complete_upload(const std::string& key, const std::string& upload,
                                              const std::vector<UploadedPart>& parts) {
  auto path = path_of(key);
  if (!path) return pass(path);
  const std::string folder = parts_of(*path, upload);
  NewFile whole(*path);
  if (auto begun = whole.begin(); !begun) return pass(begun);
  for (const UploadedPart& it : parts) {
    const std::string part = concat(folder, "/", it.number);
    struct stat about{};
    auto file = open_file(part, about);
    if (!file) return fail(ErrorCode::not_found, concat(*path, ": part ", it.number, " did not come"));
    const auto size = static_cast<std::uint64_t>(about.st_size);
    for (std::uint64_t at = 0; at < size; at += kAtOnce) {
      auto bytes = read_at(*file, part, at, std::min(kAtOnce, size - at));
      if (!bytes) return pass(bytes);
      if (auto added = whole.add(*bytes); !added) return pass(added);
    }
  }
  if (auto finished = whole.finish(); !finished) return pass(finished);
  (void)abort_upload(key, upload);  // the object is there; what is left of its parts harms nobody
  return head(key);
}

Result<void> FileStore::abort_upload(const std::string& key, const std::string& upload) {
  auto path = path_of(key);
  if (!path) return pass(path);
  std::error_code error;
  fs::remove_all(parts_of(*path, upload), error);
  if (error) return std::unexpected(errno_error(error.value(), *path));
  return {};
}

}  // namespace drover

#include "objects/file_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "objects/stated_checksum.h"
#include "ports/descriptor.h"
#include "ports/entropy.h"

namespace drover {
namespace {

constexpr std::uint64_t kMostUploadParts = 10'000;
constexpr std::uint64_t kReadAtOnce = std::uint64_t{1} << 20;
/// Names that begin with this are being written.
constexpr std::string_view kUnfinishedFile = ".drover-part-";

std::unexpected<Error> was_stopped() {
  return fail(ErrorCode::stopped, "the transfer was interrupted");
}

std::unexpected<Error> file_error(int number, const std::string& path) {
  const bool is_full = number == ENOSPC || number == EDQUOT;
  return std::unexpected(errno_error(number, concat("cannot write ", path), is_full ? "free some space" : ""));
}

/// A file that takes its place when it is whole, and is removed otherwise.
class PartialFile {
 public:
  explicit PartialFile(std::string place)
      : place_(std::move(place)),
        path_((std::filesystem::path(place_).parent_path() / concat(kUnfinishedFile, random_uuid().text())).string()) {}
  ~PartialFile() {
    if (file_) ::unlink(path_.c_str());
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  Result<void> create() {
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_) return file_error(errno, place_);
    return {};
  }
  Result<void> write(std::uint64_t at, std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t done = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return file_error(errno, place_);
      at += static_cast<std::uint64_t>(done);
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return {};
  }
  int descriptor() const { return file_.get(); }
  Result<void> take_place() {
    if (::rename(path_.c_str(), place_.c_str()) != 0) return file_error(errno, place_);
    file_.reset();
    return {};
  }

 private:
  const std::string place_;
  const std::string path_;
  Descriptor file_;
};

Result<std::string> read_file_at(int file, const std::string& path, std::uint64_t offset, std::uint64_t size) {
  std::string out(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = ::pread(file, out.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno_error(errno, concat("cannot read ", path)));
    if (got == 0) return fail(ErrorCode::conflict, concat(path, " became shorter while it was read"));
    done += static_cast<std::size_t>(got);
  }
  return out;
}

Result<void> check_file(int file, const std::string& path, const ObjectInfo& object, const std::string& name) {
  ChecksumCheck check(object.checksum);
  for (std::uint64_t at = 0; at < object.size; at += kReadAtOnce) {
    auto bytes = read_file_at(file, path, at, std::min(kReadAtOnce, object.size - at));
    if (!bytes) return pass(bytes);
    check.add(*bytes);
  }
  if (check.finish()) return {};
  return fail(ErrorCode::damaged, concat(name, "/", object.key, " was damaged on its way: its checksum differs"),
              "try again");
}

}  // namespace

std::string_view type_of_file(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kTypes{{{"bin", "application/octet-stream"},
                                                                                  {"bmp", "image/bmp"},
                                                                                  {"css", "text/css"},
                                                                                  {"csv", "text/csv"},
                                                                                  {"gif", "image/gif"},
                                                                                  {"gz", "application/gzip"},
                                                                                  {"html", "text/html"},
                                                                                  {"jpeg", "image/jpeg"},
                                                                                  {"jpg", "image/jpeg"},
                                                                                  {"js", "text/javascript"},
                                                                                  {"json", "application/json"},
                                                                                  {"md", "text/markdown"},
                                                                                  {"mp4", "video/mp4"},
                                                                                  {"pdf", "application/pdf"},
                                                                                  {"png", "image/png"},
                                                                                  {"svg", "image/svg+xml"},
                                                                                  {"tar", "application/x-tar"},
                                                                                  {"txt", "text/plain"},
                                                                                  {"wav", "audio/x-wav"},
                                                                                  {"webp", "image/webp"},
                                                                                  {"xml", "text/xml"},
                                                                                  {"zip", "application/zip"}}};
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos || path.find('/', dot) != std::string_view::npos) return {};
  const std::string extension = in_small_letters(path.substr(dot + 1));
  const auto* found = std::ranges::find(kTypes, extension, [](const auto& it) { return it.first; });
  return found == kTypes.end() ? std::string_view() : found->second;
}

// The caller's thread takes part, so there is progress however many others are busy.
Result<void> FileTransfer::in_pieces(ObjectStore& store, const Open& open, std::uint64_t pieces,
                                     const std::stop_token& stop, const Piece& piece) {
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;  // guards `failed`
  std::optional<Error> failed;
  const auto fail_all = [&](Error error) {
    const std::lock_guard lock(mutex);
    if (!failed) failed = std::move(error);
    next = pieces;
  };
  const auto work = [&](ObjectStore& own) {
    for (std::uint64_t number = next++; number < pieces; number = next++) {
      if (auto done = piece(own, number); !done) return fail_all(std::move(done.error()));
    }
  };
  {
    std::vector<std::jthread> others;
    std::atomic<bool> can_open = true;
    while (others.size() + 1 < pieces && can_open && spare_.try_acquire()) {
      others.emplace_back([&] {
        if (auto own = open()) {
          const std::stop_callback give_up(stop, [&own] { (*own)->abort(); });
          work(**own);
        } else {
          can_open = false;  // those that have a connection do it
        }
        spare_.release();
      });
    }
    work(store);
  }
  if (failed) return std::unexpected(std::move(*failed));
  return {};
}

Result<ObjectInfo> FileTransfer::download(ObjectStore& store, const Open& open, const std::string& key,
                                          const std::string& path, const Progress& progress,
                                          const std::stop_token& stop) {
  const std::stop_callback give_up(stop, [&store] { store.abort(); });
  PartialFile file(path);
  if (auto created = file.create(); !created) return pass(created);
  const auto fetch = [&](ObjectStore& own, const ObjectRange& range) {
    std::uint64_t at = range.offset;
    return own.get(key, range, [&](std::string_view bytes) -> Result<void> {
      if (stop.stop_requested()) return was_stopped();
      auto written = file.write(at, bytes);
      at += bytes.size();
      if (written) progress(bytes.size());
      return written;
    });
  };
  auto object = store.head(key);
  if (!object) return pass(object);
  if (object->size < 2 * options_.piece_bytes) {
    auto got = fetch(store, {});
    if (!got) return pass(got);
    object = std::move(got);
  } else {
    const std::uint64_t size = object->size;
    const std::uint64_t pieces = (size + options_.piece_bytes - 1) / options_.piece_bytes;
    auto done = in_pieces(store, open, pieces, stop, [&](ObjectStore& own, std::uint64_t number) -> Result<void> {
      const std::uint64_t at = number * options_.piece_bytes;
      auto got = fetch(own, {at, std::min(options_.piece_bytes, size - at)});
      if (!got) return pass(got);
      if (got->etag == object->etag && got->size == size && got->modified_ms == object->modified_ms) return {};
      return fail(ErrorCode::conflict, concat(own.name(), "/", key, " was replaced while it was read"), "try again");
    });
    if (!done && done.error().code == ErrorCode::bad_method) {  // the store does not send parts
      auto got = fetch(store, {});
      if (!got) return pass(got);
    } else if (!done) {
      return pass(done);
    }
    if (auto checked = check_file(file.descriptor(), path, *object, store.name()); !checked) return pass(checked);
  }
  if (auto placed = file.take_place(); !placed) return pass(placed);
  return object;
}

Result<ObjectInfo> FileTransfer::upload(ObjectStore& store, const Open& open, const std::string& path,
                                        const std::string& key, const Progress& progress, const std::stop_token& stop) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::unexpected(errno_error(errno, concat("cannot read ", path)));
  return upload_open(store, open, file.get(), path, key, progress, stop);
}

Result<ObjectInfo> FileTransfer::upload_open(ObjectStore& store, const Open& open, int file, const std::string& path,
                                             const std::string& key, const Progress& progress,
                                             const std::stop_token& stop) {
  const std::stop_callback give_up(stop, [&store] { store.abort(); });
  struct stat about{};
  if (::fstat(file, &about) != 0) return std::unexpected(errno_error(errno, concat("cannot read ", path)));
  if (!S_ISREG(about.st_mode)) return fail(ErrorCode::bad_input, concat(path, " is not a regular file"));
  const auto size = static_cast<std::uint64_t>(about.st_size);
  const auto read = [&](std::uint64_t offset, std::uint64_t bytes) -> Result<std::string> {
    if (stop.stop_requested()) return was_stopped();
    return read_file_at(file, path, offset, bytes);
  };
  const ObjectInfo object{.key = key, .type = std::string(type_of_file(path))};
  if (size < 2 * options_.piece_bytes) {
    auto done = store.put(object, {.size = size, .read = read});
    if (done) progress(size);
    return done;
  }
  const std::uint64_t least = (size + kMostUploadParts - 1) / kMostUploadParts;
  const std::uint64_t part_bytes = std::max(options_.piece_bytes, least);
  auto upload = store.begin_upload(object);
  if (!upload) return pass(upload);
  std::vector<UploadedPart> parts((size + part_bytes - 1) / part_bytes);
  auto sent = in_pieces(store, open, parts.size(), stop, [&](ObjectStore& own, std::uint64_t number) -> Result<void> {
    const std::uint64_t at = number * part_bytes;
    auto bytes = read(at, std::min(part_bytes, size - at));
    if (!bytes) return pass(bytes);
    auto part = own.upload_part(key, *upload, static_cast<std::uint32_t>(number + 1), *bytes);
    if (!part) return pass(part);
    parts[number] = std::move(*part);
    progress(bytes->size());
    return {};
  });
  auto done = sent ? store.complete_upload(key, *upload, parts) : Result<ObjectInfo>(pass(sent));
  if (!done) {
    (void)store.abort_upload(key, *upload);  // the first error is the one to report
    return done;
  }
  done->size = size;
  return done;
}

}  // namespace drover

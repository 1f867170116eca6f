#include "logs/segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/text.h"
#include "logs/frame.h"

namespace drover {
namespace {

constexpr std::uint64_t kSegmentBytes = std::uint64_t{64} << 20;
// What one attempt that runs for long keeps from being deleted.
constexpr std::uint64_t kSpoolSegmentBytes = std::uint64_t{8} << 20;
// So much is sent to the disk without waiting for it, so that a sync later finds little left to do.
constexpr std::uint64_t kPushedBytes = std::uint64_t{2} << 20;
constexpr std::string_view kSuffix = ".zst";

Result<void> sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!synced) return std::unexpected(errno_error(error, folder));
  return {};
}

/// Whatever stands in the way, it is no fault of the run's.
std::unexpected<Error> cannot_write(int error_number, const std::string& path) {
  Error error = errno_error(error_number, path);
  if (error.code != ErrorCode::no_space) error.code = ErrorCode::io;
  return std::unexpected(std::move(error));
}

}  // namespace

std::string segment_path(const std::string& folder, std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return concat(folder, "/", digits, kSuffix);
}

std::vector<std::uint64_t> segments_in(const std::string& folder) {
  std::vector<std::uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    std::uint64_t number = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (wrong == std::errc{} && std::string_view(end) == kSuffix) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

SegmentWriter::SegmentWriter(std::string folder, Kind kind) : folder_(std::move(folder)), kind_(kind) {
  const auto present = segments_in(folder_);
  number_ = present.empty() ? 0 : present.back();
}

SegmentWriter::~SegmentWriter() {
  // What matters was synced before; the mark only spares readers a look.
  if (file_ >= 0) (void)close_current();
}

Result<void> SegmentWriter::open_next() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return cannot_write(error.value(), folder_);
  ++number_;
  const std::string path = segment_path(folder_, number_);
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    --number_;
    return cannot_write(errno, path);
  }
  size_ = pushed_ = synced_ = 0;
  return kind_ == Kind::spool ? Result<void>() : sync_folder(folder_);
}

Result<void> SegmentWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return std::unexpected(errno_error(errno, segment_path(folder_, number_)));
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    size_ += static_cast<std::uint64_t>(wrote);
    unsynced_ = true;
  }
  if (kind_ == Kind::archive && size_ - pushed_ >= kPushedBytes) {
    ::sync_file_range(file_, static_cast<off64_t>(pushed_), static_cast<off64_t>(size_ - pushed_),
                      SYNC_FILE_RANGE_WRITE);
    pushed_ = size_;
  }
  return {};
}

Result<Extent> SegmentWriter::append(std::string_view frame) {
  const std::uint64_t most = kind_ == Kind::spool ? kSpoolSegmentBytes : kSegmentBytes;
  if (file_ >= 0 && size_ + frame.size() > most) {
    if (auto closed = close_current(); !closed) return pass(closed);
  }
  if (file_ < 0) {
    if (auto opened = open_next(); !opened) return pass(opened);
  }
  const std::uint64_t offset = size_;
  if (auto wrote = write(frame); !wrote) {
    // A torn frame would hide what follows. Where it cannot be cut off, the next frame begins another file.
    if (::ftruncate(file_, static_cast<off_t>(offset)) == 0) {
      size_ = offset;
      pushed_ = std::min(pushed_, size_);
    } else {
      ::close(file_);
      file_ = -1;
      unsynced_ = false;
    }
    return pass(wrote);
  }
  return Extent{number_, offset, frame.size()};
}

std::uint64_t SegmentWriter::bytes_of(std::uint64_t number) const {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(segment_path(folder_, number), error);
  return error ? 0 : bytes;
}

void SegmentWriter::remove(std::uint64_t number) {
  if (is_open(number)) {
    ::close(file_);
    file_ = -1;
    unsynced_ = false;
  }
  ::unlink(segment_path(folder_, number).c_str());
  closed_.erase(number);
}

Result<void> SegmentWriter::sync_closed() {
  while (!closed_.empty()) {
    const std::string path = segment_path(folder_, *closed_.begin());
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && ::fdatasync(file) == 0;
    const int error = errno;
    if (file >= 0) ::close(file);
    if (!synced) return std::unexpected(errno_error(error, path));
    closed_.erase(closed_.begin());
  }
  return {};
}

Result<void> SegmentWriter::sync() {
  if (auto synced = sync_closed(); !synced) return synced;
  if (!unsynced_) return {};
  if (::fdatasync(file_) != 0) return std::unexpected(errno_error(errno, segment_path(folder_, number_)));
  unsynced_ = false;
  synced_ = size_;
  return {};
}

void SegmentWriter::give_up_unsynced() {
  if (file_ < 0) return;
  // Where even this fails a torn frame stays, which readers know what to do with.
  (void)::ftruncate(file_, static_cast<off_t>(synced_));
  ::close(file_);
  file_ = -1;
  unsynced_ = false;
  if (synced_ == 0 && ::unlink(segment_path(folder_, number_).c_str()) == 0) --number_;
}

Result<void> SegmentWriter::close_current() {
  auto done = write(segment_end_mark());
  if (done && kind_ == Kind::archive) done = sync();
  if (kind_ == Kind::spool && unsynced_) closed_.insert(number_);
  ::close(file_);
  file_ = -1;
  unsynced_ = false;
  return done;
}

}  // namespace drover

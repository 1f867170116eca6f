#include "logs/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "logs/segment.h"

namespace drover {
namespace {

constexpr std::size_t kMostRecent = 16;
constexpr std::size_t kMostFiles = 64;

}  // namespace

LogReader::~LogReader() {
  for (const auto& [number, descriptor] : files_) ::close(descriptor);
}

std::vector<std::uint64_t> LogReader::segments() const {
  return segments_in(folder_);
}

std::string LogReader::damage_at(std::uint64_t segment) const {
  return concat(segment_path(folder_, segment), " is damaged");
}

Result<int> LogReader::file(std::uint64_t segment) {
  if (const auto it = files_.find(segment); it != files_.end()) return it->second;
  const std::string path = segment_path(folder_, segment);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return std::unexpected(
        errno_error(errno, path, "this part of the logs is missing; the other parts can still be read"));
  }
  if (files_.size() == kMostFiles) {
    ::close(files_.begin()->second);
    files_.erase(files_.begin());
  }
  files_[segment] = descriptor;
  return descriptor;
}

/// Less than `size` at the end of the file.
Result<std::string_view> LogReader::read(std::uint64_t segment, std::uint64_t offset, std::size_t size) {
  auto descriptor = file(segment);
  if (!descriptor) return pass(descriptor);
  if (buffer_.size() < size) buffer_.resize(size);
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        ::pread(*descriptor, buffer_.data() + filled, size - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(errno_error(errno, segment_path(folder_, segment)));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return std::string_view(buffer_.data(), filled);
}

Result<std::optional<FramePlace>> LogReader::frame_at(std::uint64_t segment, std::uint64_t offset) {
  auto header = read(segment, offset, kFrameHeader);
  if (!header) return pass(header);
  const auto sizes = read_frame_header(*header);
  if (!sizes) return std::nullopt;
  const std::uint64_t next = offset + kFrameHeader + sizes->packed;
  struct stat info{};
  if (::fstat(files_.at(segment), &info) != 0 || static_cast<std::uint64_t>(info.st_size) < next) return std::nullopt;
  return FramePlace{segment, offset, next};
}

Result<bool> LogReader::is_damaged(std::uint64_t segment, std::uint64_t offset) {
  auto header = read(segment, offset, kFrameHeader);
  if (!header) return pass(header);
  return header->size() == kFrameHeader && !read_frame_header(*header) && *header != segment_end_mark();
}

Result<bool> LogReader::is_closed(std::uint64_t segment) {
  auto descriptor = file(segment);
  if (!descriptor) return pass(descriptor);
  struct stat info{};
  if (::fstat(*descriptor, &info) != 0) return std::unexpected(errno_error(errno, segment_path(folder_, segment)));
  const std::string mark = segment_end_mark();
  if (static_cast<std::size_t>(info.st_size) < mark.size()) return false;
  auto end = read(segment, static_cast<std::uint64_t>(info.st_size) - mark.size(), mark.size());
  if (!end) return pass(end);
  return *end == mark;
}

Result<std::string> LogReader::packed(const FramePlace& place) {
  auto bytes = read(place.segment, place.offset, static_cast<std::size_t>(place.next - place.offset));
  if (!bytes) return pass(bytes);
  return std::string(*bytes);
}

Result<const std::string*> LogReader::frame(const FramePlace& place) {
  const auto known = std::ranges::find_if(
      recent_, [&](const Cached& it) { return it.segment == place.segment && it.offset == place.offset; });
  if (known != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, known);
    return &recent_.front().raw;
  }
  if (place.next - place.offset > kFrameHeader + kLargestFrame) return nullptr;
  auto bytes = read(place.segment, place.offset, static_cast<std::size_t>(place.next - place.offset));
  if (!bytes) return pass(bytes);
  const auto sizes = read_frame_header(*bytes);
  if (recent_.size() < kMostRecent) {
    recent_.emplace_front();
  } else {
    recent_.splice(recent_.begin(), recent_, std::prev(recent_.end()));
  }
  Cached& cached = recent_.front();
  cached.segment = place.segment;
  cached.offset = place.offset;
  cached.is_indexed = false;
  if (!sizes || !unpacker_.unpack(bytes->substr(kFrameHeader), sizes->raw, cached.raw)) {
    recent_.pop_front();
    return nullptr;
  }
  return &cached.raw;
}

Result<LogReader::Indexed> LogReader::indexed(const FramePlace& place) {
  auto raw = frame(place);
  if (!raw) return pass(raw);
  if (*raw == nullptr) return Indexed{};
  Cached& cached = recent_.front();
  if (!std::exchange(cached.is_indexed, true)) cached.index.build(cached.raw);
  return Indexed{cached.raw, &cached.index};
}

Result<std::vector<FramePlace>> LogReader::frames_of(const ExtentList& extents, const std::vector<FramePlace>& known) {
  std::vector<FramePlace> places;
  for (const Extent& extent : extents.all()) {
    const std::uint64_t end = extent.offset + extent.size;
    for (std::uint64_t at = extent.offset; at < end; at = places.back().next) {
      if (places.size() < known.size()) {
        const FramePlace& same = known[places.size()];
        if (same.segment == extent.segment && same.offset == at && same.next <= end) {
          places.push_back(same);
          continue;
        }
      }
      auto place = frame_at(extent.segment, at);
      if (!place) return pass(place);
      // A header that is no header hides all behind it. The reader of the rest finds out that it is damaged.
      places.push_back(place->value_or(FramePlace{extent.segment, at, end}));
    }
  }
  return places;
}

void LogReader::each_record(const ExtentList& extents, const LogKey& key, const TakeRecord& take,
                            const TakeDamage& damaged) {
  for (const Extent& extent : extents.all()) {
    ExtentList one;
    one.add(extent);
    auto places = frames_of(one);
    if (!places) {
      damaged({extent.segment, extent.offset, extent.size, places.error().message});
      continue;
    }
    for (const FramePlace& place : *places) {
      auto found = indexed(place);
      if (!found || found->index == nullptr) {
        damaged({place.segment, place.offset, place.next - place.offset,
                 found ? damage_at(place.segment) : found.error().message});
        continue;
      }
      if (!found->index->each(key, take)) return;
    }
  }
}

}  // namespace drover

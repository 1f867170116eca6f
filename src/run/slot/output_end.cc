#include "run/slot/output_end.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace drover::slot {
namespace {

// Less than that is not worth the pages that a pipe takes.
constexpr std::size_t kLargeEnd = std::size_t{1} << 20;
constexpr std::size_t kLookedAtOnce = std::size_t{16} << 10;

}  // namespace

void OutputEnd::clear() {
  if (ring_ != nullptr) ::munmap(ring_, capacity_);
  ring_ = nullptr;
  first_ = end_ = dropped_ = 0;
  unseen_.close();
}

OutputEnd::Piece OutputEnd::piece(std::uint64_t at, std::size_t size) const {
  const std::size_t place = at % capacity_;
  const std::size_t here = std::min(size, capacity_ - place);
  return {{ring_ + place, here}, {ring_, size - here}};
}

OutputEnd::Header OutputEnd::header_at(std::uint64_t at) const {
  Header header;
  const auto [first, second] = piece(at, sizeof(header));
  std::memcpy(&header, first.data(), first.size());
  std::memcpy(reinterpret_cast<char*>(&header) + first.size(), second.data(), second.size());
  return header;
}

void OutputEnd::write(const void* bytes, std::size_t size) {
  const auto [first, second] = piece(end_, size);
  const char* from = static_cast<const char*>(bytes);
  std::memcpy(const_cast<char*>(first.data()), from, first.size());
  std::memcpy(const_cast<char*>(second.data()), from + first.size(), second.size());
  end_ += size;
}

/// Makes room for so much, by whole records while they are small and by part of one when it is large.
void OutputEnd::drop(std::size_t size) {
  while (capacity_ - (end_ - first_) < size) {
    Header header = header_at(first_);
    const std::size_t lacking = size - (capacity_ - (end_ - first_));
    if (lacking < header.size) {
      // What is left of the record gets its header moved up to it.
      first_ += lacking;
      dropped_ += lacking;
      header.size -= static_cast<std::uint32_t>(lacking);
      const std::uint64_t end = end_;
      end_ = first_;
      write(&header, sizeof(header));
      end_ = end;
    } else {
      first_ += sizeof(header) + header.size;
      dropped_ += header.size;
    }
  }
}

std::size_t OutputEnd::take(int pipe, LogStream stream, std::int64_t time_ms) {
  if (capacity_ < kLargeEnd) return 0;
  const std::uint64_t before = unseen_.dropped();
  const std::size_t took = unseen_.take(pipe, stream, time_ms);
  dropped_ += unseen_.dropped() - before;
  if (unseen_.dropped() > before && first_ < end_) drop(capacity_);
  return took;
}

void OutputEnd::look() {
  if (unseen_.empty()) return;
  char buffer[kLookedAtOnce];
  PipeHold seen = std::move(unseen_);
  unseen_ = {};
  const std::uint64_t before = seen.dropped();
  seen.pour(buffer,
            [&](LogStream stream, std::int64_t time_ms, std::span<const char> bytes) { add(stream, time_ms, bytes); });
  dropped_ += seen.dropped() - before;
}

bool OutputEnd::has_ring() {
  if (ring_ != nullptr) return true;
  void* memory = ::mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) ring_ = static_cast<char*>(memory);
  return ring_ != nullptr;
}

void OutputEnd::add(LogStream stream, std::int64_t time_ms, std::span<const char> bytes) {
  look();
  if (!has_ring()) {
    dropped_ += bytes.size();
    return;
  }
  if (const std::size_t most = capacity_ - sizeof(Header); bytes.size() > most) {
    dropped_ += bytes.size() - most;
    bytes = bytes.last(most);
  }
  drop(sizeof(Header) + bytes.size());
  const Header header{time_ms, static_cast<std::uint32_t>(bytes.size()), stream};
  write(&header, sizeof(header));
  write(bytes.data(), bytes.size());
}

}  // namespace drover::slot

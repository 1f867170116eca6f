// A segment is a file of frames, shared by all items: logs/000001.zst and so on. It is only ever appended to, by one
// process; a new process begins a new one, so what a killed one left half-written stays the end of its file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "logs/extents.h"

namespace drover {

std::string segment_path(const std::string& folder, std::uint64_t number);
/// Those in the folder, in the order of their numbers.
std::vector<std::uint64_t> segments_in(const std::string& folder);

class SegmentWriter {
 public:
  explicit SegmentWriter(std::string folder);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  /// What the next file that it makes is called at the least.
  std::uint64_t next_number() const { return number_ + 1; }
  /// The first one makes the folder and the file.
  Result<Extent> append(std::string_view frame);
  /// Deletes the segments with smaller numbers.
  void delete_before(std::uint64_t number);
  /// Returns when everything appended would survive a power cut.
  Result<void> sync();
  /// After an error: what was not synced is taken back, and the next frame begins a new file.
  void give_up_unsynced();

 private:
  Result<void> open_next();
  Result<void> close_current();
  Result<void> write(std::string_view bytes);

  const std::string folder_;
  std::uint64_t number_;  // of the file that is open, or was last
  std::uint64_t oldest_ = 1;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t pushed_ = 0;  // of it, towards the disk
  std::uint64_t synced_ = 0;  // of it, on the disk for sure
  bool unsynced_ = false;
};

}  // namespace drover

// A segment is a file of frames, shared by all items: logs/000001.zst and so on. It is only ever appended to, by one
// process; a new process begins a new one, so what a killed one left half-written stays the end of its file.
#pragma once

#include <cstdint>
#include <set>
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
  /// What an archive holds is on the disk when its file is closed at the latest; a spool is synced only when sync() is
  /// called, since most of it is deleted soon.
  enum class Kind : std::uint8_t { archive, spool };

  explicit SegmentWriter(std::string folder, Kind kind = Kind::archive);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  /// What the next file that it makes is called at the least.
  std::uint64_t next_number() const { return number_ + 1; }
  /// The first one makes the folder and the file. After an error nothing of the frame is in the file, and it can be
  /// appended again.
  Result<Extent> append(std::string_view frame);
  /// The numbers of the segments in its folder.
  std::vector<std::uint64_t> present() const { return segments_in(folder_); }
  /// The size of a segment's file; 0 if there is none.
  std::uint64_t bytes_of(std::uint64_t number) const;
  /// It is the one that is written to.
  bool is_open(std::uint64_t number) const { return file_ >= 0 && number == number_; }
  void remove(std::uint64_t number);
  /// Returns when everything appended would survive a power cut.
  Result<void> sync();
  /// After an error: what was not synced is taken back, and the next frame begins a new file.
  void give_up_unsynced();

 private:
  Result<void> open_next();
  Result<void> close_current();
  Result<void> write(std::string_view bytes);

  Result<void> sync_closed();

  const std::string folder_;
  const Kind kind_;
  std::uint64_t number_;            // of the file that is open, or was last
  std::set<std::uint64_t> closed_;  // files that were closed and not synced
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t pushed_ = 0;  // of it, towards the disk
  std::uint64_t synced_ = 0;  // of it, on the disk for sure
  bool unsynced_ = false;
};

}  // namespace drover

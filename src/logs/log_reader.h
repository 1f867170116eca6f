// Reading logs back: one attempt by its extents, or whole segments. Only a few frames are ever in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "logs/extents.h"
#include "logs/frame.h"
#include "logs/frame_index.h"
#include "logs/record.h"

namespace drover {

/// Where a frame is, and where the next one would be.
struct FramePlace {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t next = 0;
};

/// A part of a segment that cannot be read, and why.
struct LogDamage {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;
};

class LogReader {
 public:
  /// Gets a record; `false` ends the reading.
  using TakeRecord = std::function<bool(const LogRecord&)>;
  using TakeDamage = std::function<void(const LogDamage&)>;

  explicit LogReader(std::string folder) : folder_(std::move(folder)) {}
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// The attempt's records in order. What cannot be read, because it is damaged or its segment is gone, is told
  /// instead.
  void each_record(const ExtentList& extents, const LogKey& key, const TakeRecord& take, const TakeDamage& damaged);
  /// The places of all its frames. Those that were found before, when there were fewer, are not looked for again.
  Result<std::vector<FramePlace>> frames_of(const ExtentList& extents, const std::vector<FramePlace>& known = {});
  /// The frame as it stands in the file.
  Result<std::string> packed(const FramePlace& place);
  /// The records of one frame; nothing: it is damaged.
  Result<const std::string*> frame(const FramePlace& place);
  /// The same by attempt. Both are good until the next call.
  struct Indexed {
    std::string_view raw;
    const FrameIndex* index = nullptr;  // nothing: it is damaged
  };
  Result<Indexed> indexed(const FramePlace& place);

  /// The frame at this place of a segment; nothing: the segment has no whole frame there, or not yet.
  Result<std::optional<FramePlace>> frame_at(std::uint64_t segment, std::uint64_t offset);
  /// Whether there is something at this place that is no frame, no beginning of one and no end.
  Result<bool> is_damaged(std::uint64_t segment, std::uint64_t offset);
  /// Whether the segment was closed in order: nothing is added to it any more, and no frame of it is torn.
  Result<bool> is_closed(std::uint64_t segment);
  std::vector<std::uint64_t> segments() const;
  /// What is told of a frame of this segment that is damaged.
  std::string damage_at(std::uint64_t segment) const;

 private:
  struct Cached {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
    std::string raw;
    bool is_indexed = false;
    FrameIndex index = {};
  };

  Result<int> file(std::uint64_t segment);
  Result<std::string_view> read(std::uint64_t segment, std::uint64_t offset, std::size_t size);

  const std::string folder_;
  std::map<std::uint64_t, int> files_;
  std::string buffer_;
  FrameUnpacker unpacker_;
  std::list<Cached> recent_;  // the latest used first
};

}  // namespace drover

// Whose output is in a segment: when the last of these jobs is gone, so may it be.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/ids.h"
#include "base/result.h"

namespace drover {

struct SegmentJobs {
  std::set<JobId> jobs;
  bool is_whole = true;         // no: something in it could not be read, and may be anybody's
  std::int64_t written_ms = 0;  // when something was last added, by the file system's clock

  bool operator==(const SegmentJobs&) const = default;
};

/// Reads the whole segment, a frame at a time. One that nobody writes any more.
Result<SegmentJobs> jobs_in_segment(const std::string& folder, std::uint64_t number);
/// When something was last added to it, without a look inside.
Result<std::int64_t> segment_written_ms(const std::string& folder, std::uint64_t number);

}  // namespace drover

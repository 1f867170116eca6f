#include "logs/segment_jobs.h"

#include <sys/stat.h>

#include <cerrno>

#include "logs/log_reader.h"
#include "logs/segment.h"

namespace drover {

Result<std::int64_t> segment_written_ms(const std::string& folder, std::uint64_t number) {
  const std::string path = segment_path(folder, number);
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::unexpected(errno_error(errno, path));
  return std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

Result<SegmentJobs> jobs_in_segment(const std::string& folder, std::uint64_t number) {
  SegmentJobs found;
  auto written_ms = segment_written_ms(folder, number);
  if (!written_ms) return pass(written_ms);
  found.written_ms = *written_ms;
  LogReader reader(folder);
  std::uint64_t at = 0;
  while (true) {
    auto place = reader.frame_at(number, at);
    if (!place) return pass(place);
    if (!*place) break;
    auto raw = reader.frame(**place);
    if (!raw) return pass(raw);
    if (*raw == nullptr) {
      found.is_whole = false;
    } else {
      RecordCursor cursor(**raw);
      while (const auto record = cursor.next()) found.jobs.insert(record->key.job);
      found.is_whole = found.is_whole && cursor.clean();
    }
    at = (*place)->next;
  }
  auto damaged = reader.is_damaged(number, at);
  if (!damaged) return pass(damaged);
  found.is_whole = found.is_whole && !*damaged;
  return found;
}

}  // namespace drover

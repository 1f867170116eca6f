#include "worker/worker_spool.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

// It holds at most this, or half of its file system.
constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30;

}  // namespace

Result<std::unique_ptr<WorkerSpool>> WorkerSpool::open(const std::string& folder, LiveLogs::Send send,
                                                       const EndedLogs::Hooks& hooks) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // What items print is for nobody else.
  if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) return std::unexpected(errno_error(error.value(), folder, "choose another folder with --data"));
  const std::filesystem::space_info disk = std::filesystem::space(folder, error);
  auto index = SpoolIndex::open(folder);
  if (!index) return pass(index);
  std::unique_ptr<WorkerSpool> spool(new WorkerSpool);
  spool->folder_ = folder;
  spool->limit_ = error ? kMostBytes : std::min<std::uint64_t>(kMostBytes, disk.capacity / 2);
  spool->index_ = std::move(*index);
  spool->logs_ = std::make_unique<LogWriter>(folder, LogWriter::Kind::spool);
  spool->live_ = std::make_unique<LiveLogs>(*spool->logs_, folder, hooks.post, std::move(send));
  spool->ended_ = std::make_unique<EndedLogs>(*spool->logs_, *spool->live_, *spool->index_, folder, hooks);
  return spool;
}

WorkerSpool::~WorkerSpool() {
  logs_.reset();
  std::error_code ignored;
  if (index_->empty()) std::filesystem::remove_all(folder_, ignored);
}

LeftBehind WorkerSpool::take_over() {
  const SpoolIndex::Found& found = index_->found();
  return {found.worker, found.incarnation, ended_->take_over()};
}

void WorkerSpool::watch(std::int64_t now_ms) {
  const std::optional<Error> stalled = logs_->stalled();
  if (!stalled) {
    stalled_ms_.reset();
  } else if (!stalled_ms_) {
    stalled_ms_ = now_ms;
  }
  why_full_.clear();
  if (stalled) {
    why_full_ = concat("item output cannot be written: ", stalled->message);
  } else if (logs_->spooled_bytes() >= limit_) {
    why_full_ = concat("the spool holds ", format_size(limit_), " of logs that the server has not accepted");
  }
}

bool WorkerSpool::is_behind() const {
  return stalled_ms_ && logs_->queued_bytes() >= LogWriter::kMostQueued / 2;
}

}  // namespace drover

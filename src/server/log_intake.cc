#include "server/log_intake.h"

#include <filesystem>
#include <map>
#include <utility>

#include "logs/frame.h"

namespace drover {
namespace {

bool is_one_frame(std::string_view bytes) {
  const auto sizes = read_frame_header(bytes);
  return sizes && bytes.size() == kFrameHeader + sizes->packed;
}

}  // namespace

LogIntake::LogIntake(const std::string& folder, FreeSpace space, Trouble trouble)
    : folder_(folder), space_(std::move(space)), trouble_(std::move(trouble)), segments_(folder) {
  thread_ = std::thread([this] { run(); });
}

LogIntake::~LogIntake() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  wakes_.notify_one();
  thread_.join();
}

void LogIntake::add(std::vector<std::string> frames, Placed placed) {
  {
    const std::scoped_lock lock(mutex_);
    work_.push_back({std::move(frames), std::move(placed)});
  }
  wakes_.notify_one();
}

ExtentList LogIntake::held_of(const ExtentList& extents) const {
  ExtentList held;
  std::map<std::uint64_t, std::uint64_t> sizes;  // of segments
  for (const Extent& extent : extents.all()) {
    const auto [size, is_new] = sizes.try_emplace(extent.segment, 0);
    if (is_new) {
      std::error_code missing;
      const auto bytes = std::filesystem::file_size(segment_path(folder_, extent.segment), missing);
      if (!missing) size->second = bytes;
    }
    if (extent.offset <= size->second && extent.size <= size->second - extent.offset) held.add(extent);
  }
  return held;
}

Result<std::vector<Extent>> LogIntake::append(const std::vector<std::string>& frames) {
  std::uint64_t bytes = 0;
  for (const std::string& frame : frames) {
    if (!is_one_frame(frame)) return fail(ErrorCode::bad_input, "malformed log frame");
    bytes += frame.size();
  }
  if (auto room = space_.check(bytes); !room) return pass(room);
  std::vector<Extent> places;
  for (const std::string& frame : frames) {
    auto extent = segments_.append(frame);
    if (!extent) return pass(extent);
    places.push_back(*extent);
  }
  return places;
}

void LogIntake::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [&] { return !work_.empty() || closing_; });
    if (work_.empty()) return;
    std::vector<Work> work = std::exchange(work_, {});
    lock.unlock();
    std::optional<Error> failed;
    std::vector<Result<std::vector<Extent>>> places;
    places.reserve(work.size());
    for (const Work& one : work) {
      places.push_back(failed ? std::unexpected(*failed) : append(one.frames));
      if (!places.back() && places.back().error().code != ErrorCode::bad_input) failed = places.back().error();
    }
    if (!failed) {
      if (auto synced = segments_.sync(); !synced) failed = synced.error();
    }
    // Nobody was told that any of it is kept. Whoever sent it sends it again; perhaps there is room by then.
    if (failed) segments_.give_up_unsynced();
    if (failed.has_value() != std::exchange(in_trouble_, failed.has_value())) trouble_(failed);
    for (std::size_t i = 0; i < work.size(); ++i) {
      work[i].placed(failed && places[i] ? std::unexpected(*failed) : std::move(places[i]));
    }
    lock.lock();
  }
}

}  // namespace drover

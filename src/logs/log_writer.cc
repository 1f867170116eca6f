#include "logs/log_writer.h"

#include <chrono>
#include <cstring>
#include <utility>

namespace drover {
namespace {

// A line is kept together up to this length.
constexpr std::size_t kLongLine = std::size_t{64} << 10;
constexpr int kThreads = 2;
constexpr std::uint64_t kSmallFile = std::uint64_t{1} << 20;
constexpr std::chrono::milliseconds kRetryPause{500};

}  // namespace

PackEffort LogWriter::effort_for(std::size_t queued_bytes) {
  if (queued_bytes < kMostQueued / 4) return PackEffort::normal;
  return queued_bytes < kMostQueued / 2 ? PackEffort::little : PackEffort::none;
}

LogWriter::LogWriter(const std::string& folder, Kind kind)
    : kind_(kind), segments_(folder, kind == Kind::spool ? SegmentWriter::Kind::spool : SegmentWriter::Kind::archive) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run(); });
}

LogWriter::~LogWriter() {
  gather(Partials::written);
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void LogWriter::add(const LogKey& key, LogStream stream, std::int64_t time_ms, std::string_view bytes) {
  Pending& pending = pending_[key];
  if (stream == LogStream::note) {
    write_partials(key, pending);
    append_record(pending.records, {key, stream, time_ms, bytes});
  } else {
    pending.last_line[static_cast<std::size_t>(stream)].see(bytes);
    add_lines(key, pending, stream, time_ms, bytes);
  }
  if (pending.records.size() >= kFrameBytes) {
    hand_over({.frame = {{key}, std::move(pending.records)}});
    pending.records.clear();
  }
}

void LogWriter::add_lines(const LogKey& key, Pending& pending, LogStream stream, std::int64_t time_ms,
                          std::string_view bytes) {
  std::string& partial = pending.partial[static_cast<std::size_t>(stream)];
  std::int64_t& partial_ms = pending.partial_ms[static_cast<std::size_t>(stream)];
  const void* newline = ::memrchr(bytes.data(), '\n', bytes.size());
  const std::size_t whole =
      newline == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(newline) - bytes.data()) + 1;
  if (whole > 0 && partial.empty()) {
    append_record(pending.records, {key, stream, time_ms, bytes.substr(0, whole)});
  } else if (whole > 0) {
    const std::size_t first = bytes.find('\n') + 1;
    partial += bytes.substr(0, first);
    append_record(pending.records, {key, stream, partial_ms, partial});
    partial.clear();
    if (first < whole) append_record(pending.records, {key, stream, time_ms, bytes.substr(first, whole - first)});
  }
  if (whole == bytes.size()) return;
  if (partial.empty()) partial_ms = time_ms;
  partial += bytes.substr(whole);
  if (partial.size() < kLongLine) return;
  append_record(pending.records, {key, stream, partial_ms, partial});
  partial.clear();
}

void LogWriter::write_partials(const LogKey& key, Pending& pending) {
  for (const LogStream stream : {LogStream::out, LogStream::err}) {
    const auto at = static_cast<std::size_t>(stream);
    if (pending.partial[at].empty()) continue;
    append_record(pending.records, {key, stream, pending.partial_ms[at], pending.partial[at]});
    pending.partial[at].clear();
  }
}

std::string LogWriter::end(const LogKey& key) {
  const auto it = pending_.find(key);
  if (it == pending_.end()) return {};
  it->second.ended = true;
  const std::string& error = it->second.last_line[static_cast<std::size_t>(LogStream::err)].text();
  return error.empty() ? it->second.last_line[static_cast<std::size_t>(LogStream::out)].text() : error;
}

void LogWriter::gather(Partials partials) {
  Frame frame;
  for (auto it = pending_.begin(); it != pending_.end();) {
    auto& [key, pending] = *it;
    if (!pending.ended && kind_ == Kind::spool && partials == Partials::kept_back) {
      ++it;
      continue;
    }
    if (pending.ended || partials == Partials::written) write_partials(key, pending);
    if (!pending.records.empty()) {
      frame.keys.push_back(key);
      frame.raw += pending.records;
      pending.records.clear();
      if (frame.raw.size() >= kFrameBytes) hand_over({.frame = std::exchange(frame, {})});
    }
    it = pending.ended ? pending_.erase(it) : std::next(it);
  }
  if (!frame.raw.empty()) hand_over({.frame = std::move(frame)});
}

void LogWriter::gather_one(const LogKey& key) {
  const auto it = pending_.find(key);
  if (it == pending_.end()) return;
  write_partials(key, it->second);
  if (it->second.records.empty()) return;
  hand_over({.frame = {{key}, std::exchange(it->second.records, {})}});
}

void LogWriter::settle(std::vector<LogKey> ended, Settled done) {
  gather(Partials::kept_back);
  hand_over({.frame = {},
             .sync = kind_ == Kind::archive,
             .after = [this, ended = std::move(ended), done = std::move(done)] { done(places_of(ended)); }});
}

void LogWriter::sync(std::function<void(const Result<void>&)> done) {
  hand_over({.frame = {}, .sync = false, .after = [this, done = std::move(done)] { done(segments_.sync()); }});
}

void LogWriter::adopt(const LogKey& key, const ExtentList& extents) {
  hand_over({.frame = {}, .sync = false, .after = [this, key, extents] {
               for (const Extent& extent : extents.all()) {
                 const auto file = files_.try_emplace(extent.segment);
                 if (file.second) spooled_bytes_ += file.first->second.bytes = segments_.bytes_of(extent.segment);
                 refer(key, extent);
               }
             }});
}

void LogWriter::delete_unadopted() {
  hand_over({.frame = {}, .sync = false, .after = [this] {
               for (const std::uint64_t number : segments_.present()) {
                 if (number < first_segment_ && !files_.contains(number)) segments_.remove(number);
               }
             }});
}

std::optional<Error> LogWriter::stalled() const {
  const std::scoped_lock lock(mutex_);
  return stalled_;
}

std::size_t LogWriter::queued_bytes() const {
  const std::scoped_lock lock(mutex_);
  return queued_bytes_;
}

void LogWriter::show(const LogKey& key, std::function<void(const Result<Bytes>&)> done) {
  if (kind_ == Kind::spool) {
    gather_one(key);
  } else {
    gather(Partials::written);
  }
  hand_over({.frame = {}, .sync = false, .after = [this, key, done = std::move(done)] {
               const auto it = extents_.find(key);
               if (failed_) return done(std::unexpected(*failed_));
               done(it == extents_.end() ? Bytes{} : it->second.encode());
             }});
}

void LogWriter::forget(std::vector<LogKey> settled) {
  hand_over({.frame = {}, .sync = false, .after = [this, settled = std::move(settled)] {
               for (const LogKey& key : settled) release(key);
             }});
}

// The frame is part of the attempt's output.
void LogWriter::refer(const LogKey& key, const Extent& extent) {
  ExtentList& extents = extents_[key];
  const bool is_new = extents.empty() || extents.all().back().segment != extent.segment;
  extents.add(extent);
  if (kind_ == Kind::spool && is_new) ++files_[extent.segment].attempts;
}

void LogWriter::release(const LogKey& key) {
  const auto found = extents_.extract(key);
  if (found.empty() || kind_ != Kind::spool) return;
  std::uint64_t before = 0;
  for (const Extent& extent : found.mapped().all()) {
    if (std::exchange(before, extent.segment) == extent.segment) continue;
    --files_.at(extent.segment).attempts;
    release_segment(extent.segment);
  }
}

void LogWriter::release_segment(std::uint64_t number) {
  const auto found = files_.find(number);
  if (found == files_.end() || found->second.attempts > 0) return;
  // The one that is written to would only be followed by another.
  if (segments_.is_open(number) && found->second.bytes < kSmallFile) return;
  spooled_bytes_ -= found->second.bytes;
  files_.erase(found);
  segments_.remove(number);
}

void LogWriter::flush() {
  gather(Partials::written);
}

void LogWriter::hand_over(Work work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queued_bytes_ < kMostQueued || stalled_; });
  queued_bytes_ += work.frame.raw.size();
  work_.push_back(std::move(work));
  lock.unlock();
  changed_.notify_all();
}

void LogWriter::run() {
  FramePacker packer;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !work_.empty() || closing_; });
    if (work_.empty()) return;
    const Work work = std::move(work_.front());
    work_.pop_front();
    const std::uint64_t number = taken_++;
    const PackEffort effort = effort_for(queued_bytes_);
    lock.unlock();
    const std::string_view packed = work.frame.raw.empty() ? std::string_view() : packer.pack(work.frame.raw, effort);
    lock.lock();
    changed_.wait(lock, [&] { return turn_ == number; });
    lock.unlock();
    finish(work, packed);
    lock.lock();
    ++turn_;
    queued_bytes_ -= work.frame.raw.size();
    changed_.notify_all();
  }
}

void LogWriter::finish(const Work& work, std::string_view packed) {
  if (!packed.empty() && !failed_) {
    if (auto extent = append(packed)) {
      for (const LogKey& key : work.frame.keys) refer(key, *extent);
    } else {
      failed_ = extent.error();
    }
  }
  if (work.sync && !failed_) {
    if (auto synced = segments_.sync(); !synced) failed_ = synced.error();
  }
  if (work.after) work.after();
}

Result<Extent> LogWriter::append(std::string_view packed) {
  auto extent = segments_.append(packed);
  if (kind_ == Kind::archive) return extent;
  while (!extent) {
    wait_for_disk(extent.error());
    if (const std::scoped_lock lock(mutex_); closing_) return extent;
    extent = segments_.append(packed);
  }
  {
    const std::scoped_lock lock(mutex_);
    stalled_.reset();
  }
  const auto open = files_.try_emplace(extent->segment);
  open.first->second.bytes += extent->size;
  spooled_bytes_ += extent->size;
  if (open.second && open.first != files_.begin()) release_segment(std::prev(open.first)->first);
  return extent;
}

void LogWriter::wait_for_disk(const Error& error) {
  std::unique_lock lock(mutex_);
  stalled_ = error;
  changed_.notify_all();
  changed_.wait_for(lock, kRetryPause, [&] { return closing_; });
}

Result<std::vector<Bytes>> LogWriter::places_of(const std::vector<LogKey>& ended) const {
  if (failed_) return std::unexpected(*failed_);
  std::vector<Bytes> places;
  places.reserve(ended.size());
  for (const LogKey& key : ended) {
    const auto it = extents_.find(key);
    places.push_back(it == extents_.end() ? Bytes{} : it->second.encode());
  }
  return places;
}

}  // namespace drover

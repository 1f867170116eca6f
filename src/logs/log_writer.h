// From output as it comes to frames on disk. The caller's side gathers records: a short output shares its frame with
// others, a long one gets frames of its own, so that reading one attempt never means reading its neighbours' many
// megabytes. Threads of its own compress side by side, and append and sync in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "logs/extents.h"
#include "logs/frame.h"
#include "logs/last_line.h"
#include "logs/record.h"
#include "logs/segment.h"

namespace drover {

class LogWriter {
 public:
  /// Where logs stay, or where they wait until somebody else has them: then an attempt that still runs shares no frame
  /// with those that ended, and segments are deleted when nothing in them is waited for any more.
  enum class Kind : std::uint8_t { archive, spool };

  explicit LogWriter(const std::string& folder, Kind kind = Kind::archive);
  /// What was added is written before it goes.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // The calls below are for one thread.

  /// Waits for the disk when it is far behind.
  void add(const LogKey& key, LogStream stream, std::int64_t time_ms, std::string_view bytes);
  /// The attempt prints no more. Gives what it said last.
  std::string end(const LogKey& key);

  /// Gets called on a thread of the writer with the extents of each key, empty for one that printed nothing; or with
  /// what went wrong, and from then on always with that.
  using Settled = std::function<void(const Result<std::vector<Bytes>>&)>;
  /// Writes everything added so far, in an archive durably, and says where the output of these attempts is, which have
  /// ended. In order.
  void settle(std::vector<LogKey> ended, Settled done);
  /// These are in the ledger by now, or wherever a spool's logs go.
  void forget(std::vector<LogKey> settled);

  // A spool waits for a disk that is full or fails and tries again, rather than lose what it was given. Whoever adds is
  // not kept waiting meanwhile, and should add no more than it must.

  /// Makes what was written so far durable. In order.
  void sync(std::function<void(const Result<void>&)> done);
  /// The output of an attempt of an earlier process, in the files that it left.
  void adopt(const LogKey& key, const ExtentList& extents);
  /// Files of an earlier process that nothing was adopted from are deleted.
  void delete_unadopted();
  /// Why nothing can be written at the moment.
  std::optional<Error> stalled() const;
  /// How many bytes wait to be written.
  std::size_t queued_bytes() const;
  /// How many bytes its files hold.
  std::uint64_t spooled_bytes() const { return spooled_bytes_; }
  /// Writes everything added so far, lines that are not complete too, so that readers see it; in a spool only what this
  /// attempt printed. Says where this attempt's output is by now. In order.
  void show(const LogKey& key, std::function<void(const Result<Bytes>&)> done);
  /// The segments before this one are other processes'.
  std::uint64_t first_segment() const { return first_segment_; }
  /// Writes what has been gathered, lines that are not complete too; nobody needs to know. Called now and then, it
  /// bounds what a crash can lose.
  void flush();

  /// So much may wait for the threads before whoever adds has to wait.
  static constexpr std::size_t kMostQueued = std::size_t{16} << 20;
  /// An item that prints faster than two cores compress is not made to wait for them: the log takes more room instead.
  static PackEffort effort_for(std::size_t queued_bytes);

 private:
  struct Pending {
    std::string records;
    std::string partial[2];  // the beginning of a line of each stream
    std::int64_t partial_ms[2] = {};
    LastLine last_line[2];
    bool ended = false;
  };
  struct Frame {
    std::vector<LogKey> keys;
    std::string raw;
  };
  struct Work {
    Frame frame;  // if not empty
    bool sync = false;
    std::function<void()> after;  // on a thread of the writer, when all before it was done
  };
  enum class Partials : std::uint8_t { kept_back, written };

  void add_lines(const LogKey& key, Pending& pending, LogStream stream, std::int64_t time_ms, std::string_view bytes);
  void write_partials(const LogKey& key, Pending& pending);
  void gather(Partials partials);
  void gather_one(const LogKey& key);
  void hand_over(Work work);
  void run();
  void finish(const Work& work, std::string_view packed);
  Result<Extent> append(std::string_view packed);
  void wait_for_disk(const Error& error);
  void refer(const LogKey& key, const Extent& extent);
  void release(const LogKey& key);
  void release_segment(std::uint64_t number);
  Result<std::vector<Bytes>> places_of(const std::vector<LogKey>& ended) const;

  const Kind kind_;
  std::map<LogKey, Pending> pending_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Work> work_;
  std::size_t queued_bytes_ = 0;
  std::uint64_t taken_ = 0;  // pieces of work that a thread has begun
  std::uint64_t turn_ = 0;   // the one that may be appended now
  bool closing_ = false;
  std::optional<Error> stalled_;

  std::atomic<std::uint64_t> spooled_bytes_ = 0;

  // Of the thread whose turn it is.
  SegmentWriter segments_;
  const std::uint64_t first_segment_ = segments_.next_number();
  std::map<LogKey, ExtentList> extents_;
  /// A file of a spool: it is deleted when no attempt refers to it.
  struct SpoolFile {
    std::uint64_t attempts = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::uint64_t, SpoolFile> files_;
  std::optional<Error> failed_;

  std::vector<std::thread> threads_;
};

}  // namespace drover

// Frames of logs that workers made, appended to the server's segments as they come: nothing is compressed twice. A
// thread of its own appends for many workers and syncs once.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "logs/extents.h"
#include "logs/segment.h"
#include "server/free_space.h"

namespace drover {

class LogIntake {
 public:
  /// Told of what stands in the way, once, and once when it is over. On the intake's thread.
  using Trouble = std::function<void(const std::optional<Error>&)>;

  /// Frames that would use what `space` keeps are refused with ErrorCode::no_space; the worker sends them again later.
  LogIntake(const std::string& folder, FreeSpace space, Trouble trouble);
  /// What was handed over is written before it goes.
  ~LogIntake();
  LogIntake(const LogIntake&) = delete;
  LogIntake& operator=(const LogIntake&) = delete;

  /// Gets where each frame is, when all would survive a power cut; or what went wrong, and then nothing of it is kept.
  /// On the intake's thread.
  using Placed = std::function<void(Result<std::vector<Extent>>)>;
  /// Frames that are none are refused as bad input, and nothing of them is kept.
  void add(std::vector<std::string> frames, Placed placed);

  /// Those of the extents that lie in segments which are there. Looks at the disk: not for an I/O thread.
  ExtentList held_of(const ExtentList& extents) const;

 private:
  struct Work {
    std::vector<std::string> frames;
    Placed placed;
  };

  void run();
  Result<std::vector<Extent>> append(const std::vector<std::string>& frames);

  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  std::vector<Work> work_;
  bool closing_ = false;

  const std::string folder_;
  const FreeSpace space_;
  const Trouble trouble_;
  SegmentWriter segments_;  // the thread's alone, and so is this
  bool in_trouble_ = false;
  std::thread thread_;
};

}  // namespace drover

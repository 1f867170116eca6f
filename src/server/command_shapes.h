// The sizes of machines that a program can launch: asked when the server starts, and again now and then.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "server/offered_shape.h"

namespace drover {

class CommandShapes {
 public:
  /// `changed` is called from a thread when now() answers something else.
  CommandShapes(std::string program, std::function<void()> changed);

  /// What the program said last that could be used; otherwise why there is nothing.
  Result<std::vector<OfferedShape>> now() const;

 private:
  void run(const std::stop_token& stop);

  const std::string program_;
  const std::function<void()> changed_;
  mutable std::mutex mutex_;  // guards what follows
  Result<std::vector<OfferedShape>> shapes_;
  std::condition_variable_any wakes_;
  std::jthread thread_;
};

}  // namespace drover

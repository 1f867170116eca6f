// Acts scripts out in processes of their own, several at a time: what stops itself by an assertion is found like
// anything else.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/world.h"

namespace drover::sim {

class Apart {
 public:
  using Act = std::function<RunResult()>;
  using Done = std::function<void(const RunResult&)>;

  explicit Apart(std::size_t side_by_side) : most_(side_by_side) {}

  /// Waits while too many are under way.
  void start(const Act& act, Done done);
  void wait_for_all();

 private:
  struct Child {
    int process = 0;
    int pipe = 0;
    Done done;
  };
  void wait_for_one();

  const std::size_t most_;
  std::vector<Child> children_;
};

/// One, alone.
RunResult act_apart(const Apart::Act& act);

}  // namespace drover::sim

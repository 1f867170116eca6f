// The engine without its threads: commands gather in an inbox and are applied as one batch. What comes out is the batch
// to commit and the answers to let out when it, and so every batch before it, is durable. Pure, so that the simulator
// can stop it between any two steps.
//
// Leases and stalls. While the store is blocked, or the whole process is stopped, nobody is heard, and the time that
// passes must not cost a worker its lease. So while leases run, the stepper asks to be called at least every kBeatMs.
// When more than twice that passes between two calls, it could not step, and the core is told for how long: all but one
// beat of that time does not count. Polls may still be in the sockets' buffers then, so it does not matter whether any
// have reached the inbox. What has is applied before the tick that looks at leases.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/core.h"
#include "ports/store.h"

namespace drover {

/// One batch: to be committed, then answered.
struct Step {
  Batch batch;
  std::vector<Answer> answers;

  /// The step after this one becomes part of it.
  void append(Step next);
};

class Stepper {
 public:
  explicit Stepper(Core core) : core_(std::move(core)), last_ms_(core_.now_ms()) {}

  void post(Request request) { inbox_.push_back(std::move(request)); }

  /// Applies everything in the inbox, then a Tick if one is due. Nothing when there was nothing to do.
  std::optional<Step> step(std::int64_t now_ms);

  /// When step() should be called next, if nothing is posted before.
  std::optional<std::int64_t> next_deadline() const;
  const Core& core() const { return core_; }

  static constexpr std::int64_t kBeatMs = 500;

 private:
  std::int64_t stalled_ms(std::int64_t now_ms) const;

  Core core_;
  std::int64_t last_ms_;  // when it could last step
  std::vector<Request> inbox_;
};

}  // namespace drover

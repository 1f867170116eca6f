// The engine without its threads: commands gather in an inbox and are applied as one batch. What comes out is the batch
// to commit and the answers to let out when it, and so every batch before it, is durable. Pure, so that the simulator
// can stop it between any two steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/core.h"
#include "ports/store.h"

namespace drover {

/// A command, and who waits for its answer.
struct Request {
  Ticket ticket;
  Command command;
};

/// One batch: to be committed, then answered.
struct Step {
  Batch batch;
  std::vector<Answer> answers;
};

class Stepper {
 public:
  explicit Stepper(Core core) : core_(std::move(core)) {}

  void post(Request request) { inbox_.push_back(std::move(request)); }

  /// Applies everything in the inbox, and a Tick if one is due. Nothing when there was nothing to do.
  std::optional<Step> step(std::int64_t now_ms);

  std::optional<std::int64_t> next_deadline() const { return core_.next_deadline(); }
  const Core& core() const { return core_; }

 private:
  Core core_;
  std::vector<Request> inbox_;
};

}  // namespace drover

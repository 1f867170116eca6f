// Which leases hold: a worker that was heard of within its term is not lost, whatever the server was doing meanwhile.
// What counts is when a message reached the server's door, not when the core came to it: a core that could not step for
// a while must not take its own silence for the workers'. A worker that is started anew in time tells what its disk
// kept, and that is not lost. One that is lost is lost once, and forgotten a day later.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/core.h"
#include "engine/stepper.h"
#include "sim/auditor.h"

namespace drover::sim {

class LeaseWatch {
 public:
  /// A command is at the server's door.
  void arrived(const Command& command, std::int64_t now_ms);
  /// Everybody who is known has a new term.
  void server_started(std::int64_t now_ms) { started_ms_ = now_ms; }
  void committed(const Batch& batch, std::int64_t applied_ms);

  /// What is wrong with the workers and attempts that a step has declared lost.
  std::optional<std::string> inspect_losses(const Core& core, const Step& step, const Auditor& auditor,
                                            std::int64_t now_ms) const;
  /// What is wrong with the workers that the server knows: to be asked now and then.
  std::optional<std::string> inspect_known(const Core& core) const;

 private:
  struct Heard {
    std::uint64_t incarnation = 0;
    std::int64_t at_ms = 0;
  };
  std::int64_t heard_ms(const Worker& worker) const;
  std::optional<std::string> inspect_loss(const Core& core, const Event& event, std::int64_t now_ms) const;
  std::optional<std::string> inspect_loss(const Core& core, const Attempt& attempt, const Auditor& auditor,
                                          std::int64_t now_ms) const;

  std::int64_t started_ms_ = 0;
  std::map<WorkerId, Heard> reports_;
  std::map<std::string, Heard> hellos_;
  struct Departed {
    std::int64_t at_ms = 0;
    std::int64_t server_ms = 0;  // by the server's clock, which may have lost time since
  };
  std::map<std::string, Departed> departed_;  // lost, fenced or gone, and not back
};

}  // namespace drover::sim

// The turns of a real reconciler against a provider whose answers take a while. The reconciler calls its provider as if
// that answered at once: so each time an answer has come, the turn is done over from its beginning, on a copy, with the
// answers so far, until it needs one more or is at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fleets/machine_reconciler.h"

namespace drover::sim {

struct TerminateMachine {
  std::string machine;
};
struct ListMachines {};
struct TellEmpty {};
using ReconcilerCall = std::variant<MachineOrder, TerminateMachine, ListMachines, MachineNews, TellEmpty>;
using ReconcilerAnswer = std::variant<Result<void>, Result<std::string>, Result<MachineList>>;

class FleetTurns : private Provider {
 public:
  /// `perform` is answered later, by answered(); a launch with a string, a list with machines.
  FleetTurns(const std::string& fleet, std::function<std::int64_t()> now_ms,
             std::function<void(const ReconcilerCall&)> perform);

  /// What was given before and not begun is out of date.
  void give(FleetWork work);
  void answered(ReconcilerAnswer answer);

 private:
  struct Answered {
    ReconcilerAnswer answer;
    std::int64_t at_ms = 0;
  };

  void begin_next();
  void replay();
  ReconcilerAnswer answer_to(ReconcilerCall call, ReconcilerAnswer unknown);

  // Of Provider.
  Result<std::string> launch(const MachineOrder& order) override;
  Result<void> terminate(const std::string& name) override;
  Result<MachineList> list() override;

  std::function<std::int64_t()> now_ms_;
  std::function<void(const ReconcilerCall&)> perform_;
  std::unique_ptr<MachineReconciler> reconciler_;
  std::optional<FleetWork> now_;
  std::optional<FleetWork> next_;
  std::vector<Answered> answers_;
  std::size_t at_ = 0;  // in the answers, while a turn is done over
  std::int64_t begun_ms_ = 0;
  std::optional<ReconcilerCall> unanswered_;  // the first call that has no answer yet
};

}  // namespace drover::sim

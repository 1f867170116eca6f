// The turns of a real reconciler against a provider whose answers take a while. The reconciler calls its provider as if
// that answered at once: so each time an answer has come, the turn is done over from its beginning, on a copy, with the
// answers so far, until it needs one more or is at its end.
#pragma once

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
using ReconcilerCall = std::variant<MachineOrder, TerminateMachine, ListMachines, MachineNews>;
using ReconcilerAnswer = std::variant<Result<void>, Result<std::string>, Result<std::vector<ListedMachine>>>;

class FleetTurns : private Provider {
 public:
  /// `perform` is answered later, by answered(); a launch with a string, a list with machines.
  explicit FleetTurns(std::function<void(const ReconcilerCall&)> perform);

  /// What was given before and not begun is out of date.
  void give(std::vector<Machine> machines, std::function<Labels(const Machine&)> labels);
  void answered(ReconcilerAnswer answer);

 private:
  struct Turn {
    std::vector<Machine> machines;
    std::function<Labels(const Machine&)> labels;
  };

  void begin_next();
  void replay();
  ReconcilerAnswer answer_to(ReconcilerCall call, ReconcilerAnswer unknown);

  // Of Provider.
  Result<std::string> launch(const MachineOrder& order) override;
  Result<void> terminate(const std::string& name) override;
  Result<std::vector<ListedMachine>> list() override;

  std::function<void(const ReconcilerCall&)> perform_;
  std::unique_ptr<MachineReconciler> reconciler_;
  std::optional<Turn> now_;
  std::optional<Turn> next_;
  std::vector<ReconcilerAnswer> answers_;
  std::size_t at_ = 0;                        // in the answers, while a turn is done over
  std::optional<ReconcilerCall> unanswered_;  // the first call that has no answer yet
};

}  // namespace drover::sim

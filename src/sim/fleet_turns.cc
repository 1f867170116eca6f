#include "sim/fleet_turns.h"

#include <utility>

namespace drover::sim {
namespace {

std::unexpected<Error> not_yet() {
  return fail(ErrorCode::timeout, "not answered yet");
}

}  // namespace

FleetTurns::FleetTurns(std::function<void(const ReconcilerCall&)> perform) : perform_(std::move(perform)) {
  reconciler_ = std::make_unique<MachineReconciler>(
      static_cast<Provider&>(*this),
      MachineReconciler::Outside{
          .join_token = [](const Machine& machine) -> Result<std::string> { return machine.name; },
          .tell = [this](const MachineNews& news) -> Result<void> {
            return std::get<Result<void>>(answer_to(news, Result<void>(not_yet())));
          },
          .notice = [](const std::string&) {}});
}

void FleetTurns::give(std::vector<Machine> machines, std::function<Labels(const Machine&)> labels) {
  next_ = Turn{std::move(machines), std::move(labels)};
  if (!now_) begin_next();
}

void FleetTurns::begin_next() {
  now_ = std::exchange(next_, std::nullopt);
  answers_.clear();
  if (now_) replay();
}

void FleetTurns::answered(ReconcilerAnswer answer) {
  answers_.push_back(std::move(answer));
  replay();
}

void FleetTurns::replay() {
  at_ = 0;
  unanswered_.reset();
  MachineReconciler copy(*reconciler_);
  copy.turn(now_->machines, now_->labels);
  // By value: it may be answered at once.
  if (const auto call = unanswered_) return perform_(*call);
  reconciler_ = std::make_unique<MachineReconciler>(copy);
  begin_next();
}

// Whatever comes after the first call without an answer is not heard of: the copy is thrown away.
ReconcilerAnswer FleetTurns::answer_to(ReconcilerCall call, ReconcilerAnswer unknown) {
  if (at_ < answers_.size()) return answers_[at_++];
  if (!unanswered_) unanswered_ = std::move(call);
  return unknown;
}

Result<std::string> FleetTurns::launch(const MachineOrder& order) {
  return std::get<Result<std::string>>(answer_to(order, Result<std::string>(not_yet())));
}

Result<void> FleetTurns::terminate(const std::string& name) {
  return std::get<Result<void>>(answer_to(TerminateMachine{name}, Result<void>(not_yet())));
}

Result<std::vector<ListedMachine>> FleetTurns::list() {
  return std::get<Result<std::vector<ListedMachine>>>(
      answer_to(ListMachines{}, Result<std::vector<ListedMachine>>(not_yet())));
}

}  // namespace drover::sim

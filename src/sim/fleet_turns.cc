#include "sim/fleet_turns.h"

#include <utility>

namespace drover::sim {
namespace {

std::unexpected<Error> not_yet() {
  return fail(ErrorCode::timeout, "not answered yet");
}

}  // namespace

FleetTurns::FleetTurns(const std::string& fleet, std::function<std::int64_t()> now_ms,
                       std::function<void(const ReconcilerCall&)> perform)
    : now_ms_(std::move(now_ms)), perform_(std::move(perform)) {
  reconciler_ = std::make_unique<MachineReconciler>(
      fleet, static_cast<Provider&>(*this),
      MachineReconciler::Outside{
          .join_token = [](const Machine& machine) -> Result<std::string> { return machine.name; },
          .tell = [this](const MachineNews& news) -> Result<void> {
            return std::get<Result<void>>(answer_to(news, Result<void>(not_yet())));
          },
          .tell_empty = [this]() -> Result<void> {
            return std::get<Result<void>>(answer_to(TellEmpty{}, Result<void>(not_yet())));
          },
          .notice = [](const std::string&) {},
          .elapsed_ms = [this] { return at_ == 0 ? begun_ms_ : answers_[at_ - 1].at_ms; }});
}

void FleetTurns::give(FleetWork work) {
  next_ = std::move(work);
  if (!now_) begin_next();
}

void FleetTurns::begin_next() {
  now_ = std::exchange(next_, std::nullopt);
  answers_.clear();
  begun_ms_ = now_ms_();
  if (now_) replay();
}

void FleetTurns::answered(ReconcilerAnswer answer) {
  answers_.push_back({std::move(answer), now_ms_()});
  replay();
}

void FleetTurns::replay() {
  at_ = 0;
  unanswered_.reset();
  MachineReconciler copy(*reconciler_);
  copy.turn(*now_);
  // By value: it may be answered at once.
  if (const auto call = unanswered_) return perform_(*call);
  reconciler_ = std::make_unique<MachineReconciler>(copy);
  begin_next();
}

// Whatever comes after the first call without an answer is not heard of: the copy is thrown away.
ReconcilerAnswer FleetTurns::answer_to(ReconcilerCall call, ReconcilerAnswer unknown) {
  if (at_ < answers_.size()) return answers_[at_++].answer;
  if (!unanswered_) unanswered_ = std::move(call);
  return unknown;
}

Result<std::string> FleetTurns::launch(const MachineOrder& order) {
  return std::get<Result<std::string>>(answer_to(order, Result<std::string>(not_yet())));
}

Result<void> FleetTurns::terminate(const std::string& name) {
  return std::get<Result<void>>(answer_to(TerminateMachine{name}, Result<void>(not_yet())));
}

Result<MachineList> FleetTurns::list() {
  return std::get<Result<MachineList>>(answer_to(ListMachines{}, Result<MachineList>(not_yet())));
}

}  // namespace drover::sim

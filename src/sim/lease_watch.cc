#include "sim/lease_watch.h"

#include <algorithm>

#include "base/text.h"
#include "sim/messages.h"

namespace drover::sim {
namespace {

// A day, and the time until somebody has looked.
constexpr std::int64_t kForgottenAfterMs = 25LL * 3'600'000;

}  // namespace

void LeaseWatch::arrived(const Command& command, std::int64_t now_ms) {
  if (const auto* it = std::get_if<RegisterWorker>(&command)) hellos_[it->name] = {it->incarnation, now_ms};
  const Report* report = std::get_if<Report>(&command);
  if (const auto* it = std::get_if<Poll>(&command)) report = &it->report;
  if (report != nullptr) reports_[report->worker] = {report->incarnation, now_ms};
}

void LeaseWatch::committed(const Batch& batch, std::int64_t applied_ms) {
  for (const Mutation& mutation : batch.mutations) {
    const auto* it = std::get_if<AddEvent>(&mutation);
    if (it == nullptr) continue;
    switch (it->event.kind) {
      case EventKind::worker_lost:
      case EventKind::worker_left:
      case EventKind::worker_fenced: departed_[it->event.name] = {applied_ms, it->event.at_ms}; break;
      case EventKind::worker_joined: departed_.erase(it->event.name); break;
      default: break;
    }
  }
}

std::int64_t LeaseWatch::heard_ms(const Worker& worker) const {
  std::int64_t heard_ms = 0;
  const auto report = reports_.find(worker.id);
  if (report != reports_.end() && report->second.incarnation == worker.incarnation) heard_ms = report->second.at_ms;
  const auto hello = hellos_.find(worker.name);
  if (hello != hellos_.end() && hello->second.incarnation == worker.incarnation) {
    heard_ms = std::max(heard_ms, hello->second.at_ms);
  }
  return heard_ms;
}

std::optional<std::string> LeaseWatch::inspect_losses(const Core& core, const Step& step, const Auditor& auditor,
                                                      std::int64_t now_ms) const {
  for (const Mutation& mutation : step.batch.mutations) {
    std::optional<std::string> wrong;
    if (const auto* it = std::get_if<AddEvent>(&mutation)) wrong = inspect_loss(core, it->event, now_ms);
    if (const auto* it = std::get_if<AddAttempt>(&mutation)) wrong = inspect_loss(core, it->attempt, auditor, now_ms);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> LeaseWatch::inspect_loss(const Core& core, const Event& event, std::int64_t now_ms) const {
  if (event.kind != EventKind::worker_lost) return std::nullopt;
  const auto id = core.volatile_part().worker_by_name.find(event.name);
  if (id == core.volatile_part().worker_by_name.end()) return std::nullopt;
  const Worker& worker = core.durable().workers.at(id->second);
  const std::int64_t heard_ms = this->heard_ms(worker);
  const auto departed = departed_.find(event.name);
  if (departed != departed_.end() && heard_ms < departed->second.at_ms) {
    return concat(worker.name, ": declared lost again, although nobody has heard of it since");
  }
  if (now_ms - std::max(started_ms_, heard_ms) >= worker.term_ms) return std::nullopt;
  return concat(worker.name, ": declared lost although it was heard of within its term");
}

// An attempt that was never heard of as running leaves no trace: the next worker's has the same number.
std::optional<std::string> LeaseWatch::inspect_loss(const Core& core, const Attempt& attempt, const Auditor& auditor,
                                                    std::int64_t now_ms) const {
  if (attempt.ending != Ending::lost) return std::nullopt;
  const auto worker = core.durable().workers.find(attempt.worker);
  if (worker == core.durable().workers.end() || !auditor.is_kept(attempt, worker->second.name)) return std::nullopt;
  const auto report = reports_.find(attempt.worker);
  if (report == reports_.end() || now_ms - report->second.at_ms >= kTermMs) return std::nullopt;
  return concat("item ", attempt.item.value, ": lost although its worker has its result, and came back in time (",
                attempt.reason, ")");
}

// By the server's clock: after a restart it goes on from when something last changed, if the wall clock was set back.
std::optional<std::string> LeaseWatch::inspect_known(const Core& core) const {
  for (const auto& [id, worker] : core.durable().workers) {
    const auto departed = departed_.find(worker.name);
    if (departed == departed_.end() || heard_ms(worker) > departed->second.at_ms) continue;
    if (core.now_ms() - departed->second.server_ms < kForgottenAfterMs) continue;
    return concat(worker.name, ": still known more than a day after it departed");
  }
  return std::nullopt;
}

}  // namespace drover::sim

// What an agent tells the server, and when: attempts that ended or run, items that go back, and the polls that say so.
#include <algorithm>

#include "agent/agent.h"

namespace drover {
namespace {

// Reports wait a moment for company, while there is other work to do: one durable batch for many ended items costs a
// fraction of one each.
constexpr std::int64_t kReportDelayMs = 50;
// A failure waits less: it may be the one that stops the job.
constexpr std::int64_t kFailureDelayMs = 5;
constexpr std::size_t kReportItems = 512;

}  // namespace

void Agent::tell(std::size_t slot, EndedAttempt ended, std::int64_t now_ms) {
  ended.slot = static_cast<std::uint32_t>(slot);
  std::int64_t at_ms = now_ms + kReportDelayMs;
  if (!ended.outcome.success()) {
    // The first for a while may be the one that its job is to stop for.
    at_ms = now_ms >= failed_ms_ + kReportDelayMs ? now_ms : now_ms + kFailureDelayMs;
    failed_ms_ = now_ms;
  }
  report_at_ms_ = ended_.empty() ? at_ms : std::min(report_at_ms_, at_ms);
  ended_.push_back(std::move(ended));
  yielded_ = false;
}

void Agent::give_up(PollNumber number) {
  if (unanswered_.erase(number) == 0) return;
  if (number == last_poll_) asked_.reset();
  given_up_.push_back({number, {}});
  forget_stop_orders();
  // The answer may have said what is gone. It is said again of what is named again.
  for (SlotState& slot : slots_) {
    if (!slot.handed.empty()) slot.handed.front().named = false;
  }
}

void Agent::tell_again(AgentReport report) {
  if (report.leaving == Leaving::draining) told_of_draining_ = false;
  returned_.insert(returned_.begin(), report.returned.begin(), report.returned.end());
  for (JobNote& note : report.notes) notes_.emplace(note.job, std::move(note));  // what was said since comes first
  for (const RunningAttempt& running : report.running) {
    for (SlotState& slot : slots_) {
      if (!slot.handed.empty() && slot.handed.front().item.token == running.token) slot.handed.front().named = false;
    }
  }
}

bool Agent::has_ended_news(std::int64_t now_ms) const {
  return !ended_.empty() && (ended_.size() >= kReportItems || now_ms >= report_at_ms_ || !has_work());
}

bool Agent::has_other_news(std::int64_t now_ms) const {
  if (!returned_.empty() || !notes_.empty() || (draining_ && !told_of_draining_ && has_work())) return true;
  return std::ranges::any_of(slots_, [&](const SlotState& slot) {
    return !slot.handed.empty() && !slot.handed.front().named && now_ms >= slot.handed.front().since_ms + kNameAfterMs;
  });
}

AgentReport Agent::make_report(std::int64_t now_ms, Ended ended) {
  AgentReport report{{}, {}, std::exchange(returned_, {})};
  if (ended == Ended::taken) report.ended = take_ended();
  for (auto& [job, note] : std::exchange(notes_, {})) report.notes.push_back(std::move(note));
  report.leaving = draining_ ? Leaving::draining : Leaving::no;
  told_of_draining_ = draining_;
  for (SlotState& slot : slots_) {
    if (slot.handed.empty()) continue;
    Handed& running = slot.handed.front();
    if (running.named || now_ms < running.since_ms + kNameAfterMs) continue;
    running.named = true;
    report.running.push_back({running.item.token, running.since_ms});
  }
  return report;
}

AgentPoll Agent::make_poll(std::int64_t now_ms, Ended ended) {
  last_poll_ = PollNumber{last_poll_.value + 1};
  const Wish wished = wish();
  AgentPoll poll{make_report(now_ms, ended), last_poll_, {}, wished.want, wished.room};
  if (wished.want > 0) poll.not_now = not_now();
  // Of what it has nothing of, the server knows only what the last poll said.
  for (const auto& [job, reason] : declined_) poll.notes.push_back({job, reason, false});
  declined_news_ = false;
  for (GivenUp& it : given_up_) {
    poll.given_up.push_back(it.number);
    if (!it.told_by) it.told_by = last_poll_;
  }
  unanswered_.insert(last_poll_);
  asked_.reset();
  if (wished.want > 0) asked_ = wished;
  return poll;
}

}  // namespace drover

// Jobs of which nothing can be started yet: their items wait beside the backlog, and take nothing from others.
#include "agent/agent.h"

namespace drover {

void Agent::set_aside(JobId job) {
  std::deque<AgentItem>& waiting = aside_[job];
  std::erase_if(backlog_, [&](const AgentItem& item) {
    if (item.job != job) return false;
    waiting.push_back(item);
    leaves_backlog(item);
    return true;
  });
  keep_few(waiting);
}

// Enough to begin with; others may start the rest sooner.
void Agent::keep_few(std::deque<AgentItem>& waiting) {
  while (waiting.size() > width()) {
    returned_.push_back(waiting.back().token);
    waiting.pop_back();
  }
}

std::deque<AgentItem> Agent::take_aside(JobId job) {
  auto found = aside_.extract(job);
  return found.empty() ? std::deque<AgentItem>() : std::move(found.mapped());
}

// Those of which something waits.
std::vector<JobId> Agent::jobs_aside() const {
  std::vector<JobId> jobs;
  for (const auto& [job, items] : aside_) {
    if (!items.empty()) jobs.push_back(job);
  }
  return jobs;
}

void Agent::on_job_ready(JobId job, std::int64_t now_ms) {
  for (const AgentItem& item : take_aside(job)) {
    backlog_.push_back(item);
    backlog_ask_ = backlog_ask_.plus(item.ask);
  }
  note(job, {});
  fill(now_ms);
}

void Agent::on_job_impossible(JobId job, const std::string& reason, std::int64_t now_ms) {
  // The note goes out before what is returned could come back.
  notes_[job] = {job, reason, true};
  for (const AgentItem& item : take_aside(job)) returned_.push_back(item.token);
  fill(now_ms);
}

void Agent::on_job_failed_here(JobId job, const std::string& reason, std::int64_t now_ms) {
  for (const AgentItem& item : take_aside(job)) {
    ended_.push_back({.token = item.token,
                      .outcome = {.ending = Ending::lost, .reason = "lost: " + reason},
                      .usage = {.started_ms = now_ms}});
    report_at_ms_ = now_ms;
  }
  note(job, {});
  fill(now_ms);
}

void Agent::note(JobId job, const std::string& text) {
  notes_[job] = {job, text, false};
}

}  // namespace drover

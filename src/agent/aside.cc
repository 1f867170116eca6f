// Jobs of which nothing can be started yet: their items wait beside the backlog, and take nothing from others.
#include <algorithm>

#include "agent/agent.h"
#include "agent/agent_faults.h"
#include "base/usage_bounds.h"

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
std::size_t Agent::jobs_aside() const {
  return static_cast<std::size_t>(std::ranges::count_if(aside_, [](const auto& it) { return !it.second.empty(); }));
}

std::vector<JobId> Agent::not_now() const {
  std::set<JobId> jobs;
  for (const auto& [job, reason] : declined_) {
    if (!injected(AgentFault::declined_jobs_wanted)) jobs.insert(job);
  }
  for (const auto& [job, items] : aside_) {
    if (!items.empty()) jobs.insert(job);
  }
  return {jobs.begin(), jobs.end()};
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

void Agent::decline(JobId job, const std::string& reason, std::int64_t now_ms) {
  set_aside(job);
  for (const AgentItem& item : take_aside(job)) returned_.push_back(item.token);
  notes_.erase(job);
  declined_[job] = reason;
  declined_news_ = true;
  fill(now_ms);
}

void Agent::accept(JobId job) {
  if (declined_.erase(job) > 0) declined_news_ = true;
}

void Agent::on_unreadable(Token token, const std::string& reason, std::int64_t now_ms) {
  const auto is_it = [&](const AgentItem& item) { return item.token == token; };
  std::size_t found = std::erase_if(backlog_, [&](const AgentItem& item) {
    if (is_it(item)) leaves_backlog(item);
    return is_it(item);
  });
  for (auto& [job, items] : aside_) found += std::erase_if(items, is_it);
  if (found == 0) return;  // it was returned meanwhile
  tell(kNoSlot,
       {.token = token, .outcome = {.ending = Ending::not_started, .reason = reason}, .usage = {.started_ms = now_ms}},
       now_ms);
  fill(now_ms);
}

void Agent::note(JobId job, const std::string& text) {
  notes_[job] = {job, text, false};
}

}  // namespace drover

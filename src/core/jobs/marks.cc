// The marks of ended jobs' items. In memory they are of use only to jobs that go item by item after one; whoever else
// needs them waits until they have been read from the ledger.
#include <algorithm>
#include <iterator>

#include "core/jobs/jobs.h"

namespace drover {
namespace {

// Blocks of smaller jobs are freed as a whole.
constexpr std::uint64_t kFreedAtOnce = 64;

}  // namespace

// The command is carried out when the marks have been read, as if it came then.
void Jobs::wait_for_marks(JobId job, Ticket ticket, Command command) {
  std::vector<Request>& waiting = now_.waiting_for_marks[job];
  if (waiting.empty()) journal_.say(Ticket{}, MarksWanted{job, job_at(job).total});
  waiting.push_back({ticket, std::move(command)});
}

void Jobs::on(Ticket ticket, const MarksRead& command) {
  journal_.say(ticket, MarksTaken{});
  auto waiting = now_.waiting_for_marks.extract(command.job);
  if (waiting.empty()) return;
  if (command.marks == nullptr) {
    for (const Request& it : waiting.mapped()) journal_.say(it.ticket, Refused{command.error});
    return;
  }
  const Job* job = records_.find_job(command.job);
  if (job != nullptr && job->ended() && command.marks->total() == job->total) {
    records_.blocks.try_emplace(job->id, std::move(*command.marks));
    now_.maybe_unneeded.push_back(job->id);
  }
  std::ranges::move(waiting.mapped(), std::back_inserter(resumed_));
}

// The first of the jobs that are followed item by item whose marks are needed and not here.
std::optional<JobId> Jobs::lacking_marks(const std::vector<Dependency>& after) const {
  for (const Dependency& it : after) {
    const Job* other = records_.find_job(it.job);
    if (it.each && other != nullptr && lacks_marks(*other)) return other->id;
  }
  return std::nullopt;
}

// Of a job that has succeeded they are known without being here.
bool Jobs::lacks_marks(const Job& job) const {
  return job.ended() && job.state != JobState::succeeded && records_.find_blocks(job.id) == nullptr;
}

void Jobs::count_item_dependent(const Job& job, bool appears) {
  for (const Dependency& it : job.after) {
    const auto other = it.each ? now_.jobs.find(it.job) : now_.jobs.end();
    if (other == now_.jobs.end()) continue;
    if (appears) {
      ++other->second.item_dependents;
    } else {
      --other->second.item_dependents;
      now_.maybe_unneeded.push_back(it.job);
    }
  }
}

// To be called when what has changed in them is written down.
void Jobs::let_go_of_blocks() {
  std::vector<JobId> later;
  for (const JobId id : std::exchange(now_.maybe_unneeded, {})) {
    const auto found = records_.blocks.find(id);
    if (found == records_.blocks.end() || is_needed_in_memory(id)) continue;
    // A command may need the marks of several jobs, which come one after another.
    if (!now_.waiting_for_marks.empty() && records_.jobs.contains(id)) {
      later.push_back(id);
      continue;
    }
    if (found->second.block_count() > kFreedAtOnce) now_.unneeded.push_back(std::move(found->second));
    records_.blocks.erase(found);
  }
  now_.maybe_unneeded = std::move(later);
}

bool Jobs::is_needed_in_memory(JobId id) const {
  const Job* job = records_.find_job(id);
  if (job == nullptr) return false;
  return !job->ended() || (job->state != JobState::succeeded && now_.jobs.at(id).item_dependents > 0);
}

void Jobs::free_some_blocks() {
  if (!now_.unneeded.empty() && now_.unneeded.back().free_some()) now_.unneeded.pop_back();
}

}  // namespace drover

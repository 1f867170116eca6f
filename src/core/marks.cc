// The marks of ended jobs' items. In memory they are of use only to jobs that go item by item after one; whoever else
// needs them waits until they have been read from the ledger.
#include "base/text.h"
#include "core/core.h"

namespace drover {
namespace {

// Blocks of smaller jobs are freed as a whole.
constexpr std::uint64_t kFreedAtOnce = 64;

}  // namespace

// The command is carried out when the marks have been read, as if it came then.
void Core::wait_for_marks(JobId job, Ticket ticket, Command command) {
  std::vector<Request>& waiting = waiting_for_marks_[job];
  if (waiting.empty()) say(Ticket{}, MarksWanted{job, job_at(job).total});
  waiting.push_back({ticket, std::move(command)});
}

void Core::on(Ticket ticket, const MarksRead& command) {
  say(ticket, MarksTaken{});
  const auto waiting = waiting_for_marks_.extract(command.job);
  if (waiting.empty()) return;
  if (command.marks == nullptr) {
    for (const Request& it : waiting.mapped()) say(it.ticket, Refused{command.error});
    return;
  }
  const Job* job = durable_.find_job(command.job);
  if (job != nullptr && job->ended() && command.marks->total() == job->total) {
    durable_.blocks.try_emplace(job->id, std::move(*command.marks));
    volatile_.maybe_unneeded.push_back(job->id);
  }
  for (const Request& it : waiting.mapped()) {
    std::visit([&](const auto& command_of_it) { on(it.ticket, command_of_it); }, it.command);
  }
}

// The first of the jobs that are followed item by item whose marks are needed and not here.
std::optional<JobId> Core::lacking_marks(const std::vector<Dependency>& after) const {
  for (const Dependency& it : after) {
    const Job* other = durable_.find_job(it.job);
    if (it.each && other != nullptr && lacks_marks(*other)) return other->id;
  }
  return std::nullopt;
}

// Of a job that has succeeded they are known without being here.
bool Core::lacks_marks(const Job& job) const {
  return job.ended() && job.state != JobState::succeeded && durable_.find_blocks(job.id) == nullptr;
}

void Core::count_item_dependent(const Job& job, bool appears) {
  for (const Dependency& it : job.after) {
    const auto other = it.each ? volatile_.jobs.find(it.job) : volatile_.jobs.end();
    if (other == volatile_.jobs.end()) continue;
    if (appears) {
      ++other->second.item_dependents;
    } else {
      --other->second.item_dependents;
      volatile_.maybe_unneeded.push_back(it.job);
    }
  }
}

// To be called when what has changed in them is written down.
void Core::let_go_of_blocks() {
  std::vector<JobId> later;
  for (const JobId id : std::exchange(volatile_.maybe_unneeded, {})) {
    const auto found = durable_.blocks.find(id);
    if (found == durable_.blocks.end() || is_needed_in_memory(id)) continue;
    // A command may need the marks of several jobs, which come one after another.
    if (!waiting_for_marks_.empty() && durable_.jobs.contains(id)) {
      later.push_back(id);
      continue;
    }
    if (found->second.block_count() > kFreedAtOnce) volatile_.unneeded.push_back(std::move(found->second));
    durable_.blocks.erase(found);
  }
  volatile_.maybe_unneeded = std::move(later);
}

bool Core::is_needed_in_memory(JobId id) const {
  const Job* job = durable_.find_job(id);
  if (job == nullptr) return false;
  return !job->ended() || (job->state != JobState::succeeded && volatile_.jobs.at(id).item_dependents > 0);
}

void Core::free_some_blocks() {
  if (!volatile_.unneeded.empty() && volatile_.unneeded.back().free_some()) volatile_.unneeded.pop_back();
}

}  // namespace drover

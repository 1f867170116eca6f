// Jobs whose items are the messages of a stream. An item is one receive: it holds its message, through retries and
// losses, until it is settled.
#include <algorithm>

#include "base/text.h"
#include "core/jobs/job_faults.h"
#include "core/jobs/jobs.h"

namespace drover {
namespace {

// All of them hear of it when messages come.
constexpr std::size_t kMostJobsOnStream = 100;

}  // namespace

bool Jobs::check_stream(Ticket ticket, const SubmitJob& command) {
  const auto refuse = [&](ErrorCode code, std::string message, std::string next) {
    journal_.refuse(ticket, code, std::move(message), std::move(next));
    return false;
  };
  for (const Dependency& it : command.after) {
    const Job* other = records_.find_job(it.job);
    const bool grows = !command.stream.empty() || (other != nullptr && !other->stream.empty());
    if (it.each && grows) {
      return refuse(
          ErrorCode::bad_input,
          concat("job ", command.name, " cannot depend item by item on another: items that are messages of a ",
                 "stream have no counterparts"),
          "make it depend on the whole job");
    }
  }
  if (command.stream.empty()) {
    if (!command.until_empty) return true;
    return refuse(ErrorCode::bad_input,
                  concat("job ", command.name, " is to end when its stream is empty, but has none"),
                  "name a stream, or leave until_empty out");
  }
  if (!messages_->has_stream(command.stream)) {
    return refuse(ErrorCode::not_found, concat("stream '", command.stream, "' not found"),
                  concat("create it with 'drover stream create ", command.stream, "'"));
  }
  if (command.total != 0) {
    return refuse(ErrorCode::bad_input, concat("job ", command.name, " has both items and a stream"), "keep one");
  }
  if (command.sequential) {
    return refuse(ErrorCode::bad_input, concat("job ", command.name, " on a stream cannot be sequential"),
                  "use a FIFO stream: messages of a group are processed one at a time, in order");
  }
  const auto others = now_.on_stream.find(command.stream);
  if (others != now_.on_stream.end() && others->second.size() >= kMostJobsOnStream) {
    return refuse(ErrorCode::in_use,
                  concat("stream '", command.stream, "' has ", kMostJobsOnStream, " jobs, which is the limit"),
                  "cancel one of them");
  }
  return true;
}

void Jobs::set_on_stream(const Job& job, bool is_there) {
  if (job.stream.empty()) return;
  auto& jobs = now_.on_stream[job.stream];
  if (is_there) {
    jobs.insert(job.id);
    return;
  }
  jobs.erase(job.id);
  if (jobs.empty()) now_.on_stream.erase(job.stream);
}

/// So many messages have become its last items.
std::uint64_t Jobs::take_messages(Job& job, std::uint64_t want) {
  const std::uint64_t most = std::min(want, kMostItems - job.total);
  const std::uint64_t count = messages_->take(job.stream, job.id, ItemIndex{job.total}, most);
  if (count == 0) return 0;
  job.total += count;
  records_.blocks.at(job.id).grow(job.total);
  jobs_.add(job.id);
  return count;
}

/// An item is settled.
void Jobs::tell_message(const Job& job, const OpenItem& item, AttemptState state) {
  if (job.stream.empty()) return;
  const bool has_run = state != AttemptState::cancelled || item.tries > 0;
  messages_->on_settled(job.id, item.item,
                        state == AttemptState::succeeded ? MessageResult::processed
                        : has_run                        ? MessageResult::failed
                                                         : MessageResult::untouched);
}

/// Nothing is left to be done of it, now or later.
bool Jobs::is_all_settled(const Job& job) const {
  if (job.reopening || job.succeeded + job.failed + job.cancelled < job.total) return false;
  const auto is_empty = [&] {
    if (injected(JobFault::hidden_counts_as_gone)) return !messages_->has_ready(job.stream);
    return messages_->is_empty(job.stream);
  };
  return job.stream.empty() || (job.until_empty && is_empty());
}

std::size_t Jobs::on_stream_changed(const std::string& stream) {
  const auto found = now_.on_stream.find(stream);
  if (found == now_.on_stream.end()) return 0;
  const std::vector jobs(found->second.begin(), found->second.end());
  for (const JobId id : jobs) {
    Job& job = job_at(id);
    reconsider(job);
    end_if_done(job);
  }
  return jobs.size();
}

bool Jobs::is_over(JobId id) const {
  const Job* job = find(id);
  return job == nullptr || job->ended();
}

bool Jobs::has_failed(JobId job, ItemIndex item) const {
  const OpenItem* open = records_.find_open(job, item);
  return open != nullptr && open->tries > 0;
}

}  // namespace drover

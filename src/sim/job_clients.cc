#include "sim/job_clients.h"

#include "base/text.h"
#include "ports/reopen_page.h"

namespace drover::sim {
namespace {

// Longer than anybody asks again for an answer that was lost.
constexpr std::int64_t kKeepMs = 2 * 3'600'000;

}  // namespace

void JobClients::submit(const Submit& submit) {
  JobOfClient& job = jobs_[submit.job];
  job.submit = submit;
  std::array<std::uint8_t, 16> bytes{};
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random_.next());
  job.uuid = Uuid::from_random(bytes);
  auditor_.submitted(job.uuid, submit);
  send(submit.job);
}

void JobClients::send_later(std::uint64_t number) {
  unsent_.insert(number);
  events_.after(Clients::kAskAgainMs, [this, number] {
    unsent_.erase(number);
    send(number);
  });
}

void JobClients::send(std::uint64_t number) {
  const JobOfClient& job = jobs_.at(number);
  const Submit& submit = job.submit;
  SubmitJob command;
  command.uuid = job.uuid;
  command.name = concat("job-", submit.job);
  command.definition = DefinitionId{1};
  command.stream = submit.stream;
  command.until_empty = submit.until_empty;
  if (submit.stream.empty()) command.manifest = ManifestId{submit.job};
  command.total = submit.total;
  command.policy = submit.policy;
  command.ask = submit.ask;
  command.require = submit.require;
  command.spot = submit.spot;
  command.place = submit.place;
  command.sequential = submit.sequential;
  command.max_running = submit.max_running;
  command.job_timeout_ms = submit.job_timeout_ms;
  for (const Forerunner& it : submit.after) {
    const auto other = jobs_.find(it.job);
    if (other == jobs_.end()) continue;  // it was cut out of the script
    const std::optional<JobId> id = other->second.id;
    if (!id) return send_later(number);
    if (auditor_.is_forgotten(*id)) continue;
    command.after.push_back({*id, it.each && other->second.submit.total == submit.total});
  }
  auditor_.comes_after(job.uuid, command.after);
  clients_.ask(command, [this, number](const Effect& effect) {
    JobOfClient& it = jobs_.at(number);
    if (const auto* refused = std::get_if<Refused>(&effect)) {
      // Its queue is disabled, or not there yet, or a job before it was forgotten meanwhile.
      const bool is_patient = refused->error.code == ErrorCode::conflict || refused->error.code == ErrorCode::not_found;
      return is_patient ? send_later(number) : auditor_.fail("a submission was refused");
    }
    const auto* accepted = std::get_if<JobAccepted>(&effect);
    if (accepted == nullptr) return auditor_.fail("a submission got another answer");
    it.id = accepted->job;
    auditor_.accepted(it.uuid, accepted->job);
    if (it.cancel_when_accepted) cancel(number);
  });
}

void JobClients::watch(const WatchItem& what) {
  const auto job = jobs_.find(what.job);
  if (job == jobs_.end()) return;
  const std::optional<JobId> id = job->second.id;
  if (!id) return;
  clients_.ask(Watch{*id, what.item}, [this](const Effect& effect) {
    if (!std::holds_alternative<Watched>(effect)) auditor_.fail("whoever follows an item got another answer");
  });
}

void JobClients::cancel(std::uint64_t number, bool spares_running) {
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return;
  const std::optional<JobId> id = found->second.id;
  if (!id) {
    found->second.cancel_when_accepted = true;
    return;
  }
  auditor_.cancel_asked(*id);
  clients_.ask(CancelJob{*id, "somebody wanted it", spares_running}, [this, id = *id](const Effect& effect) {
    if (!std::holds_alternative<JobCancelled>(effect) && !auditor_.is_forgotten(id))
      auditor_.fail("a cancel was refused");
  });
}

void JobClients::cancel_what_never_ends() {
  for (const auto& [number, job] : jobs_) {
    const Job* known = job.id && server_.up() ? server_.core().durable().find_job(*job.id) : nullptr;
    if (known != nullptr && (known->ended() || known->stop == StopCause::cancelled)) continue;
    const Submit& submit = job.submit;
    if (submit.may_hang_for_ever() || submit.fits_nobody || submit.is_open_ended()) cancel(number);
  }
}

void JobClients::retry(std::uint64_t number) {
  const auto found = jobs_.find(number);
  if (found == jobs_.end() || !server_.up()) return;
  const std::optional<JobId> id = found->second.id;
  if (!id) return;
  auto job = server_.store().job(*id);
  if (!job) return;  // forgotten
  auto command = begin_reopening(server_.store(), *job, {}, SimServer::kReopenPage);
  if (!command) return auditor_.fail(command.error().message);
  auditor_.reopen_asked(*id, command->again);
  clients_.ask(*command, [](const Effect&) {});  // it may be too late for it, or too early
}

void JobClients::forget_old() {
  if (!server_.up()) return;
  const std::int64_t by_ms = server_.core().now_ms() - kKeepMs;
  auto jobs = server_.store().jobs();
  if (!jobs) return auditor_.fail(jobs.error().message);
  for (const Job& job : *jobs) {
    if (!job.ended() || job.ended_ms > by_ms) continue;
    clients_.ask(ForgetJob{job.id, by_ms}, [](const Effect&) {});  // it may have been taken up again
  }
}

}  // namespace drover::sim

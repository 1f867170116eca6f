// What a worker knows of the jobs whose items it has: their definition, image and key, until none of them are left.
#include <algorithm>
#include <limits>

#include "wire/definition.h"
#include "worker/aws_variables.h"
#include "worker/remote_worker.h"

namespace drover {
namespace {

constexpr std::int64_t kShortestRenewalMs = 1'000;
constexpr std::int64_t kRenewalPauseMs = 10'000;
constexpr std::int64_t kIdleLookMs = 10'000;
constexpr std::int64_t kIdleJobMs = 60'000;

}  // namespace

void RemoteWorker::learn(const KnownJob& job) {
  const auto [it, is_new] = jobs_.try_emplace(job->job);
  LearntJob& learnt = it->second;
  if (is_new) {
    learnt.definition = definition_from_json(job->definition);
    if (learnt.definition && uses_staging(*learnt.definition)) learnt.staging = make_job_staging(*learnt.definition);
  }
  learnt.held_ms = now_ms();
  if (learnt.known != job) {
    learnt.known = job;
    learnt.renew_ms = now_ms() + std::max(job->key_renew_ms, kShortestRenewalMs);
    learnt.renewing = false;
    next_renewal_ms_ = std::min(next_renewal_ms_, learnt.renew_ms);
  }
  if (learnt.run) return;
  if (learnt.definition) {
    if (const auto& container = learnt.definition->container) return job_images_.want(job->job, *container);
  }
  prepare_to_run(job->job, nullptr);
}

void RemoteWorker::prepare_to_run(JobId job, std::shared_ptr<const ContainerPlan> container) {
  LearntJob& learnt = jobs_.at(job);
  if (!learnt.definition) {
    learnt.run = std::unexpected(learnt.definition.error());
    return;
  }
  std::map<std::string, std::string> settings = options_.environment;
  container = with_authority(std::move(container), settings);
  learnt.uses_our_aws = uses_our_aws(*learnt.definition);
  if (learnt.uses_our_aws) add_aws_address(settings);
  learnt.run = make_job_run(*learnt.definition, learnt.known->uuid, std::move(settings), std::move(container));
}

// An attempt gets the key that its job has when it starts, so keys are renewed while there are items to start. A job
// of which nothing is left here is forgotten; its next lease tells it anew.
void RemoteWorker::renew_keys() {
  if (now_ms() < next_renewal_ms_) return;
  next_renewal_ms_ = std::numeric_limits<std::int64_t>::max();
  const std::set<JobId> held = jobs_held();
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const JobId job = it->first;
    LearntJob& learnt = it->second;
    ++it;
    const bool due = learnt.renew_ms <= now_ms() && !learnt.renewing;
    if (due && !held.contains(job)) {
      forget(job);
      continue;
    }
    if (due) {
      learnt.renewing = true;
      calls_->job(job, [this, job](const Result<KnownJob>& known) {
        if (known) return learn(*known);
        const auto again = jobs_.find(job);
        if (again == jobs_.end()) return;
        again->second.renewing = false;
        again->second.renew_ms = now_ms() + kRenewalPauseMs;
        next_renewal_ms_ = std::min(next_renewal_ms_, again->second.renew_ms);
      });
    }
    if (!learnt.renewing) next_renewal_ms_ = std::min(next_renewal_ms_, learnt.renew_ms);
  }
}

std::set<JobId> RemoteWorker::jobs_held() const {
  std::set<JobId> held;
  for (const auto& [token, it] : held_) held.insert(it.job);
  return held;
}

// A slot that is set up for it keeps its image in use.
void RemoteWorker::forget(JobId job) {
  for (JobSlot& slot : slots_) {
    if (!slot.slot || slot.job != job || slot.handed > 0 || !slot.waiting.empty()) continue;
    loop_->remove(slot.slot->descriptor());
    slot.slot.reset();
  }
  calls_->forget(job);
  job_images_.forget(job);
  jobs_.erase(job);
}

// An image is in use as long as a job is known that runs in it, or a slot is set up for one: of which nothing has come
// for a while, and whose image may have to make room for others.
void RemoteWorker::let_images_go() {
  if (now_ms() < look_for_idle_ms_) return;
  look_for_idle_ms_ = now_ms() + kIdleLookMs;
  const std::set<JobId> held = jobs_held();
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const JobId job = it->first;
    LearntJob& learnt = it->second;
    ++it;
    if (held.contains(job) || learnt.held_ms == 0) learnt.held_ms = now_ms();
    const bool in_container = learnt.definition && learnt.definition->container;
    if (!in_container || now_ms() < learnt.held_ms + kIdleJobMs) continue;
    forget(job);
  }
}

}  // namespace drover

// What a worker does about the objects that items read and write. An item's object is fetched as soon as its lease is
// here; what an attempt leaves behind is uploaded before its end is told, so that an item that has succeeded has its
// output where it belongs.
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "worker/aws_variables.h"
#include "worker/remote_worker.h"

namespace drover {
namespace {

/// Where the folder of a slot is in a container.
constexpr std::array<std::string_view, 7> kOfJobs{"AWS_ENDPOINT_URL",   "AWS_ENDPOINT_URL_S3", "AWS_REGION",
                                                  "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID",   "AWS_SECRET_ACCESS_KEY",
                                                  "AWS_SESSION_TOKEN"};
/// So many items at most have been fetched, or are being fetched, that no slot has called for.
constexpr std::size_t kMostFetchedAhead = 16;
/// Until the first has been fetched nobody knows how long it takes.
constexpr std::int64_t kFirstGuessUs = 1'000'000;
constexpr const char* kStagingInside = "/run/drover/items";
/// The exit code of an attempt whose files could not be uploaded: EX_IOERR.
constexpr std::int32_t kNotUploaded = 74;

}  // namespace

// Stores are opened as the attempt itself would: with the job's own settings, or with the attempt's credentials for the
// server; what neither says, this machine's environment does.
StoreOpener::Variable RemoteWorker::store_variables(const LearntJob& job, Token token, AttemptNumber attempt) const {
  const bool is_inside = job.definition->container.has_value();
  std::map<std::string, std::string> set;
  // An attempt in a container has nothing of this machine: neither may what is staged for it.
  if (is_inside) {
    set = {{"AWS_EC2_METADATA_DISABLED", "true"},
           {"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"},
           {"AWS_CONFIG_FILE", "/dev/null"}};
  }
  if (uses_our_aws(*job.definition)) {
    set.insert(options_.environment.begin(), options_.environment.end());
    add_aws_address(set);
    set["AWS_ENDPOINT_URL_S3"] = options_.object_endpoint;
    for (const std::string& variable : aws_credentials(*job.known, token, attempt)) {
      const std::size_t equals = variable.find('=');
      set[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
  }
  // Nothing that names files of this machine, or servers to which credentials are sent.
  for (const auto& [name, value] : job.definition->environment) {
    if (std::ranges::find(kOfJobs, name) != kOfJobs.end()) set[name] = value;
  }
  return [set = std::move(set), is_inside](const std::string& name) -> std::optional<std::string> {
    if (const auto found = set.find(name); found != set.end()) return found->second;
    if (is_inside) return std::nullopt;
    const char* here = std::getenv(name.c_str());
    return here == nullptr ? std::nullopt : std::optional<std::string>(here);
  };
}

void RemoteWorker::stage(JobId job, Token token) {
  const auto learnt = jobs_.find(job);
  if (learnt == jobs_.end() || !learnt->second.staging || !*learnt->second.staging || staging_->has(token)) return;
  const Held& held = held_.at(token);
  const JobStaging& how = **learnt->second.staging;
  if (!check_staging(how, held.text, token.item)) return;  // it is told when its turn comes
  if (how.downloads && !std::exchange(has_fetched_, true)) agent_.learn_fetch(kFirstGuessUs);
  staging_->prepare(token, *how.input_of(held.text), store_variables(learnt->second, token, held.attempt),
                    [this, token] {
                      const auto& fetched = staging_->fetched(token);
                      if (fetched && *fetched && (*fetched)->took_us > 0) agent_.learn_fetch((*fetched)->took_us);
                      for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
                        const auto& waiting = slots_[slot].waiting;
                        if (!waiting.empty() && waiting.front().item.token == token) start_waiting(slot);
                      }
                    });
}

void RemoteWorker::stage_lease(JobId job, GrantId grant) {
  for (auto it = held_.lower_bound({grant, ItemIndex{0}}); it != held_.end() && it->first.grant == grant; ++it) {
    if (staging_->waiting() >= kMostFetchedAhead) return;
    stage(job, it->first);
  }
}

std::optional<Result<StagedItem>> RemoteWorker::staged(std::size_t slot, const AgentItem& item) {
  const LearntJob& learnt = jobs_.at(item.job);
  if (!learnt.staging) return StagedItem{};
  const Result<JobStaging>& how = *learnt.staging;
  if (!how) return Result<StagedItem>(std::unexpected(how.error()));
  const Held& held = held_.at(item.token);
  if (auto fits = check_staging(*how, held.text, item.token.item); !fits) return Result<StagedItem>(pass(fits));
  stage(item.job, item.token);
  agent_.on_staging(slot, item.token, true, now_ms());
  const auto& fetched = staging_->fetched(item.token);
  if (!fetched) return std::nullopt;
  if (!*fetched) return Result<StagedItem>(std::unexpected(fetched->error()));
  auto folder = staging_->move_to_slot(item.token, slot);
  if (!folder) return Result<StagedItem>(pass(folder));
  stage_lease(item.job, item.token.grant);
  const bool is_inside = learnt.definition->container.has_value();
  const std::string seen = is_inside ? concat(kStagingInside, "/", ItemStaging::name_of(item.token)) : *folder;
  StagedItem out;
  if (!(*fetched)->name.empty()) {
    const std::string path = concat(seen, "/in/", (*fetched)->name);
    out.text = how->item_with_file(held.text, path);
    out.environment.push_back(concat("DROVER_INPUT=", path));
  }
  if (how->output) out.environment.push_back(concat("DROVER_OUTPUT_DIR=", seen, "/out"));
  return out;
}

Result<std::shared_ptr<const ContainerPlan>> RemoteWorker::with_staging(std::shared_ptr<const ContainerPlan> plan,
                                                                        std::size_t slot) const {
  auto folder = staging_->slot_folder(slot);
  if (!folder) return pass(folder);
  auto changed = std::make_shared<ContainerPlan>(*plan);
  changed->edits.mounts.push_back({.source = std::move(*folder), .target = kStagingInside});
  return changed;
}

// Attempts are told in the order in which they ended, as the agent counts on it.
void RemoteWorker::finish_attempt(std::size_t slot, EndedAttempt ended, bool was_stopped) {
  JobSlot& it = slots_[slot];
  const Token token = ended.token;
  const Held& held = held_.at(token);
  const LearntJob& learnt = jobs_.at(held.job);
  const bool uploads = learnt.staging && *learnt.staging && (*learnt.staging)->output && ended.outcome.success();
  if (!learnt.staging || !*learnt.staging || !(*learnt.staging)->downloads) agent_.learn_fetch(0);
  Finishing finishing{.ended = std::move(ended), .was_stopped = was_stopped, .is_uploading = uploads};
  if (waits_for_look(it, finishing.ended)) {
    finishing.look_ms = SystemWallClock().epoch_ms();
    finishing.gpus = gpus_of(*it.grant);
    options_.devices->monitor->look_now();
  }
  it.finishing.push_back(std::move(finishing));
  if (uploads) {
    auto prefix = (*learnt.staging)->output_of(held.text, token.item);
    DROVER_CHECK(prefix, "what cannot be uploaded anywhere was not started");
    agent_.on_staging(slot, token, true, now_ms());
    staging_->collect(
        token, *prefix, store_variables(learnt, token, held.attempt),
        [this, slot, token](const Result<std::uint64_t>& uploaded) { on_collected(slot, token, uploaded); });
  }
  tell_finished(slot);
}

void RemoteWorker::on_collected(std::size_t slot, Token token, const Result<std::uint64_t>& uploaded) {
  JobSlot& it = slots_[slot];
  const auto found = std::ranges::find(it.finishing, token, [](const Finishing& one) { return one.ended.token; });
  DROVER_CHECK(found != it.finishing.end(), "what is uploaded is not told before");
  found->is_uploading = false;
  if (!uploaded && uploaded.error().code == ErrorCode::stopped) {
    found->ended.outcome = {.ending = Ending::signalled, .signal = SIGKILL};
    found->was_stopped = true;
  } else if (!uploaded) {
    found->ended.outcome = {.ending = Ending::exited, .exit_code = kNotUploaded, .reason = uploaded.error().message};
  }
  tell_finished(slot);
  start_waiting(slot);
}

void RemoteWorker::tell_finished(std::size_t slot) {
  const auto is_held = [](const Finishing& it) { return it.is_uploading || it.look_ms > 0; };
  while (!slots_[slot].finishing.empty() && !is_held(slots_[slot].finishing.front())) {
    Finishing done = std::move(slots_[slot].finishing.front());
    slots_[slot].finishing.pop_front();
    agent_.on_ended(slot, std::move(done.ended), done.was_stopped, now_ms());
  }
  if (slots_[slot].finishing.empty() && !slots_[slot].died.empty()) {
    on_slot_died(slot, std::exchange(slots_[slot].died, {}));
  }
}

// Orders to stop concern the first item in a slot: it may still wait for its object, run, or be uploaded.
void RemoteWorker::stop_item(const StopItem& stop) {
  JobSlot& it = slots_[stop.slot];
  // Neither fetching nor uploading counts against the item's timeout.
  const bool is_timeout = stop.ran_ms > 0;
  if (!it.finishing.empty() && it.finishing.front().ended.token == stop.token) {
    if (!is_timeout && it.finishing.front().is_uploading) staging_->stop(stop.token);
    return;
  }
  if (!it.waiting.empty() && it.waiting.front().item.token == stop.token) {
    if (is_timeout) return it.stop_first.push_back(stop);
    it.waiting.pop_front();
    it.stop_first.clear();
    staging_->drop(stop.token);
    agent_.on_ended(stop.slot,
                    {.token = stop.token,
                     .outcome = {.ending = Ending::signalled, .signal = SIGKILL},
                     .usage = {.started_ms = now_ms()}},
                    true, now_ms());
    return start_waiting(stop.slot);
  }
  if (it.slot) it.slot->stop(stop.token, stop.how, stop.ran_ms);
}

}  // namespace drover

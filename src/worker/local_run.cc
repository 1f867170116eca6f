#include "worker/local_run.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "ports/entropy.h"
#include "store/sqlite_store.h"
#include "wire/definition.h"

namespace drover {
namespace {

constexpr std::int64_t kProgressMs = 200;
// What a running item printed can be lost by a crash for so long.
constexpr std::int64_t kFlushMs = 1'000;
constexpr std::int64_t kLookMs = 1'000;
constexpr std::int64_t kBetweenLooksMs = 20;  // at GPUs on which an item has failed
constexpr std::int64_t kPollWaitMs = 20'000;

}  // namespace

LocalRun::LocalRun(const RunFolder& folder, Runner& runner, StoreReader& reader, LocalRunOptions options,
                   Listener listener)
    : folder_(folder),
      runner_(runner),
      reader_(reader),
      options_(std::move(options)),
      listener_(std::move(listener)),
      agent_(options_.slots),
      slots_(options_.slots),
      incarnation_(random_number()),
      untold_(options_.slots),
      broken_gpus_(options_.devices == nullptr ? nullptr : options_.devices->machine) {}

LocalRun::~LocalRun() {
  logs_.reset();    // writes what was printed, and posts what waited for that
  engine_.reset();  // commits what was posted; nothing calls into the loop after it
  for (const auto& slot : slots_) {
    if (slot) loop_->remove(slot->descriptor());
  }
  slots_.clear();
  control_.reset();
  if (signals_ >= 0) close(signals_);
}

Result<void> LocalRun::start(Store& store) {
  auto loop = EventLoop::make();
  if (!loop) return pass(loop);
  loop_ = std::move(*loop);
  auto engine = Engine::start(
      store, wall_, steady_,
      [this](const Effect& effect) {
        if (const auto* changed = std::get_if<JobChanged>(&effect)) {
          loop_->post([this, job = changed->job] {
            if (job.id == job_.id) job_ = job;
          });
        }
      },
      [path = folder_.database()] { return open_sqlite_reader(path); });
  if (!engine) return pass(engine);
  engine_ = std::move(*engine);
  // Before anything else: what a killed process held goes back, and with it whatever waited for that.
  auto registered = engine_->ask(RegisterWorker{"local", incarnation_, 0});
  if (!registered) return pass(registered);
  worker_ = std::get<WorkerRegistered>(*registered).worker;
  return {};
}

Result<void> LocalRun::prepare(const Job& job) {
  job_ = job;
  failures_ = job.failed - job.failed_before;
  keep_to_max_failures();
  auto text = reader_.definition(job.definition);
  if (!text) return pass(text);
  auto definition = definition_from_json(*text);
  if (!definition) return pass(definition);
  auto how = make_job_run(*definition, job.uuid.text(), {}, options_.container);
  if (!how) return pass(how);
  how_ = std::make_unique<JobRun>(std::move(*how));
  auto manifest = ManifestReader::open(reader_, job.manifest);
  if (!manifest) return pass(manifest);
  manifest_ = std::make_unique<ManifestReader>(std::move(*manifest));

  logs_ = std::make_unique<LogWriter>(folder_.logs());
  how_->setup.hold_descriptor = folder_.lock_descriptor();
  if (options_.limits) how_->setup.limits = *options_.limits;

  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
  signals_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return std::unexpected(errno_error(errno, "cannot listen for signals"));
  loop_->watch(signals_, [this] { on_signal(); });

  auto control = ControlServer::listen(
      *loop_, folder_.path(), [this](const auto& request, const auto& answer) { on_control(request, answer); });
  if (!control) return pass(control);
  control_ = std::move(*control);

  watch_gpus();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (auto opened = open_slot(slot); !opened) return opened;
  }
  return {};
}

Result<void> LocalRun::open_slot(std::size_t slot) {
  SlotSetup setup = how_->setup;
  setup.environment.push_back(concat("DROVER_SLOT=", slot));
  if (options_.devices != nullptr) {
    const SlotGrants& all = *options_.devices;
    if (auto given = give_devices(setup, all.grants[slot], *all.machine); !given) return given;
  }
  auto opened = runner_.open_slot(setup);
  if (!opened) return pass(opened);
  slots_[slot] = std::move(*opened);
  loop_->watch(slots_[slot]->descriptor(), [this, slot] { on_slot_ready(slot); });
  return {};
}

bool LocalRun::finished() {
  if (failed_) return true;
  if (unanswered_ > 0) return false;  // somebody on the control socket waits, perhaps for more work
  if (job_.ended() || drained_ == Drained::yes) return true;
  if (drained_ == Drained::no && agent_.draining() && agent_.idle()) {
    // The last reports are on their way. When one more is answered, what they came to is known here.
    drained_ = Drained::asked;
    logs_->settle({}, [this](const Result<std::vector<Bytes>>&) {
      engine_->post(Report{.worker = worker_, .incarnation = incarnation_}, [this](const Result<Effect>& answer) {
        loop_->post([this, ok = answer.has_value()] {
          if (ok) drained_ = Drained::yes;
        });
      });
    });
  }
  return false;
}

Result<RunEnd> LocalRun::run(const Job& job) {
  if (auto ready = prepare(job); !ready) return pass(ready);
  show_progress();
  while (true) {
    step();
    if (finished()) break;
    std::int64_t until_ms = shown_ms_ + kProgressMs;
    if (const auto deadline = agent_.next_deadline()) until_ms = std::min(until_ms, *deadline);
    const bool looks = std::ranges::any_of(untold_, [](const auto& it) { return !it.empty(); });
    if (looks) until_ms = std::min(until_ms, now_ms() + kBetweenLooksMs);
    loop_->turn(std::max<std::int64_t>(0, until_ms - now_ms()));
  }
  if (failed_) return std::unexpected(*failed_);
  if (output_lost_) return std::unexpected(*output_lost_);
  show_progress();
  return interrupts_ > 0 && !job_.ended() ? RunEnd::interrupted : RunEnd::job_ended;
}

void LocalRun::step() {
  look_at_gpus();
  agent_.on_tick(now_ms());
  do_actions();
  while (!failed_ && agent_.should_poll(now_ms())) poll();
  if (now_ms() >= looked_ms_ + kLookMs) look_at_machine();
  if (now_ms() >= flushed_ms_ + kFlushMs) {
    flushed_ms_ = now_ms();
    logs_->flush();
  }
  if (now_ms() >= shown_ms_ + kProgressMs) show_progress();
}

void LocalRun::do_actions() {
  // Doing one may give the agent something new to say.
  for (auto actions = agent_.take_actions(); !actions.empty() && !failed_; actions = agent_.take_actions()) {
    for (const AgentAction& action : actions) {
      if (const auto* start = std::get_if<StartItem>(&action)) start_item(*start);
      if (const auto* stop = std::get_if<StopItem>(&action))
        slots_[stop->slot]->stop(stop->token, stop->how, stop->ran_ms);
      if (const auto* recall = std::get_if<RecallSlot>(&action)) slots_[recall->slot]->recall();
    }
  }
  for (const auto& slot : slots_) {
    if (!slot) continue;
    if (slot->has_unsent()) slot->send_more();
    loop_->want_writable(slot->descriptor(), slot->has_unsent());
  }
}

void LocalRun::start_item(const StartItem& start) {
  const ItemIndex index = start.item.token.item;
  attempts_[start.item.token] = start.item.attempt;
  auto item = manifest_->item(index);
  if (!item) {
    failed_ = item.error();
    return;
  }
  auto task = make_task(*how_, start.item.token, start.item.attempt, *item);
  if (!task) {
    agent_.on_refused(start.slot, start.item.token, concat("could not start: ", task.error().message), now_ms());
    return;
  }
  if (!options_.out_dir.empty()) {
    task->stdout_path = concat(options_.out_dir, "/", index.value, ".out");
    task->stderr_path = concat(options_.out_dir, "/", index.value, ".err");
  }
  slots_[start.slot]->start(*task);
}

void LocalRun::on_slot_ready(std::size_t slot) {
  if (slots_[slot]->has_unsent()) slots_[slot]->send_more();
  std::vector<SlotEvent> events = slots_[slot]->events();
  for (SlotEvent& event : events) on_slot_event(slot, event);
}

void LocalRun::on_slot_event(std::size_t slot, SlotEvent& event) {
  if (const auto* printed = std::get_if<AttemptPrinted>(&event)) {
    on_printed(*printed);
  } else if (auto* ended = std::get_if<AttemptEnded>(&event)) {
    on_attempt_ended(slot, *ended);
  } else if (const auto* returned = std::get_if<TaskReturned>(&event)) {
    attempts_.erase(returned->token);
    agent_.on_returned(slot, returned->token, now_ms());
  } else {
    tell_looked_at(slot, true);
    loop_->remove(slots_[slot]->descriptor());
    slots_[slot].reset();
    agent_.on_slot_died(slot, std::get<SlotDied>(event).reason, now_ms());
    if (auto opened = open_slot(slot); !opened) {
      failed_ = opened.error();
      return;
    }
    agent_.on_slot_up(slot, now_ms());
  }
}

void LocalRun::on_printed(const AttemptPrinted& printed) {
  const auto attempt = attempts_.find(printed.token);
  DROVER_CHECK(attempt != attempts_.end(), "what prints was started");
  logs_->add({job_.id, printed.token.item, attempt->second}, printed.stream, printed.time_ms, printed.bytes);
}

void LocalRun::on_attempt_ended(std::size_t slot, AttemptEnded& ended) {
  if (options_.devices != nullptr) {
    add_gpu_use(ended.usage, options_.devices->grants[slot], *options_.devices->machine);
  }
  if (!waits_for_look(slot, ended)) return tell(slot, ended);
  const std::int64_t since_ms = ended.outcome.success() ? 0 : wall_.epoch_ms();
  untold_[slot].push_back({std::move(ended), since_ms});
  options_.devices->machine->monitor->look_now();
}

void LocalRun::tell(std::size_t slot, AttemptEnded& ended) {
  if (ended.copy_error != 0) on_output_lost(ended);
  if (ended.outcome.success() && !ended.outcome.reason.empty()) {
    listener_.notice(concat("item ", ended.token.item.value, ": ", ended.outcome.reason));
  }
  statistics_.add(ended.usage);
  const auto attempt = attempts_.find(ended.token);
  if (attempt != attempts_.end() && !ended.was_stopped && !ended.outcome.success() &&
      is_last_attempt(ended.outcome, attempt->second)) {
    ++failures_;
    keep_to_max_failures();
  }
  EndedAttempt told{.token = ended.token, .outcome = std::move(ended.outcome), .usage = ended.usage};
  told.log.bytes = ended.stdout_bytes + ended.stderr_bytes;
  agent_.on_ended(slot, std::move(told), ended.was_stopped, now_ms());
}

// An item whose output is not where it was wanted is not done, and the next would fare no better.
void LocalRun::on_output_lost(AttemptEnded& ended) {
  Error error = errno_error(ended.copy_error, "");
  error.message = concat("item ", ended.token.item.value, " ", ended.outcome.reason);
  ended.outcome = {.ending = Ending::lost, .reason = concat("lost: it ", ended.outcome.reason)};
  if (!output_lost_) output_lost_ = std::move(error);
  agent_.drain(now_ms());
}

bool LocalRun::is_last_attempt(const Outcome& outcome, AttemptNumber attempt) const {
  if (outcome.ending == Ending::stopped || outcome.ending == Ending::lost) return false;
  return outcome.success() || after_failure(job_.policy, outcome, attempt.value) != Verdict::run_again;
}

// The core stops a job that has failed too often when it hears of that. Items that a slot was handed ahead would still
// run until then, and fail: the nearer the limit, the fewer there are.
void LocalRun::keep_to_max_failures() {
  const std::uint64_t most = job_.policy.max_failures;
  if (most == Policy::kNoLimit) return;
  const std::uint64_t left = failures_ > most ? 0 : most - failures_ + 1;
  agent_.limit_ahead(left / slots_.size() > 0 ? left / slots_.size() - 1 : 0);
  if (left == 0) agent_.hold(true, now_ms());
}

// What it came to is known now, and so is what it said last.
void LocalRun::note_failure(const EndedAttempt& ended, AttemptNumber attempt) {
  FailedAttempt failed{.item = ended.token.item,
                       .attempt = attempt,
                       .outcome = ended.outcome,
                       .last_line = ended.log.last_line,
                       .will_retry = after_failure(job_.policy, ended.outcome, attempt.value) == Verdict::run_again};
  listener_.failed(failed);
  statistics_.add(std::move(failed));
}

void LocalRun::poll() {
  AgentPoll said = agent_.make_poll(now_ms());
  Poll poll{.report = {worker_, incarnation_, std::move(said.ended), std::move(said.running), std::move(said.returned)},
            .number = said.number,
            .given_up = {},
            .want = said.want,
            .wait_ms = kPollWaitMs};
  std::vector<LogKey> keys;
  std::vector<bool> is_last;  // attempt of its item
  for (EndedAttempt& ended : poll.report.ended) {
    const auto attempt = attempts_.extract(ended.token);
    const LogKey key{job_.id, ended.token.item, attempt.empty() ? AttemptNumber{1} : attempt.mapped()};
    std::string last_line = logs_->end(key);
    keys.push_back(key);
    is_last.push_back(is_last_attempt(ended.outcome, key.attempt));
    if (ended.outcome.success()) continue;
    ended.log.last_line = std::move(last_line);
    if (ended.outcome.ending != Ending::stopped && ended.outcome.ending != Ending::lost)
      note_failure(ended, key.attempt);
  }
  if (!keys.empty()) in_report_[poll.number] = keys;
  // What was printed is durable before the ledger speaks of it.
  std::vector<LogKey> settled = keys;
  logs_->settle(std::move(settled), [this, keys = std::move(keys), is_last = std::move(is_last),
                                     poll = std::move(poll)](const Result<std::vector<Bytes>>& places) mutable {
    const auto answered = [this](Result<Effect> answer) {
      loop_->post([this, answer = std::move(answer)]() mutable { on_answer(std::move(answer)); });
    };
    if (!places) return answered(std::unexpected(places.error()));
    for (std::size_t i = 0; i < places->size(); ++i) {
      if (listener_.output && is_last[i]) listener_.output({keys[i], (*places)[i]});
      poll.report.ended[i].log.extents = (*places)[i];
    }
    engine_->post(std::move(poll), answered);
  });
}

void LocalRun::on_answer(Result<Effect> answer) {
  if (!answer) {
    if (!failed_) failed_ = answer.error();
    return;
  }
  const auto& reply = std::get<PollAnswer>(*answer);
  // Answers come in the order of the polls, each when it and all before it are durable.
  while (!in_report_.empty() && in_report_.begin()->first <= reply.number) {
    logs_->forget(std::move(in_report_.begin()->second));
    in_report_.erase(in_report_.begin());
  }
  agent_.on_answer(reply.number, reply.leases, reply.stops, now_ms());
}

void LocalRun::on_signal() {
  signalfd_siginfo info{};
  if (read(signals_, &info, sizeof info) != sizeof info) return;
  ++interrupts_;
  const auto running = agent_.running().size();
  if (interrupts_ == 1) {
    agent_.drain(now_ms());
    if (running > 0) {
      listener_.notice(concat("draining: ", plural(running, "item"), " still running, no new items will start; ",
                              "press Ctrl-C again to kill ", running == 1 ? "it" : "them"));
    }
  } else {
    listener_.notice(concat("killing ", plural(running, "running item")));
    agent_.kill_all(now_ms());
  }
}

void LocalRun::look_at_machine() {
  looked_ms_ = now_ms();
  if (options_.measures_use) statistics_.add(use_of_descendants(), looked_ms_);
  if (!options_.shortage.any()) return;
  std::string why = options_.shortage.now();
  const bool has_failed_too_often = failures_ > job_.policy.max_failures;
  if (why.empty() != holding_.empty()) agent_.hold(!why.empty() || has_failed_too_often, now_ms());
  holding_ = std::move(why);
}

RunProgress LocalRun::progress() {
  const std::vector<RunningNow> running = agent_.running();
  RunProgress progress{.job = job_,
                       .running = running.size(),
                       .slots = slots_.size(),
                       .draining = agent_.draining(),
                       .holding = holding_,
                       .longest = {},
                       .statistics = statistics_};
  for (const RunningNow& it : running) {
    auto text = manifest_->item(it.item.token.item);
    progress.longest.push_back({it.item.token.item, it.item.attempt, text ? std::move(*text) : std::string(),
                                static_cast<double>(now_ms() - it.since_ms) / 1e3});
  }
  std::ranges::stable_sort(progress.longest, std::ranges::greater{}, &RunningItem::seconds);
  return progress;
}

void LocalRun::show_progress() {
  shown_ms_ = now_ms();
  if (listener_.progress) listener_.progress(progress());
}

}  // namespace drover

#include "worker/remote_worker.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "ports/entropy.h"
#include "wire/session_calls.h"
#include "worker/aws_variables.h"
#include "worker/batch_variables.h"

namespace drover {
namespace {

constexpr std::int64_t kLongestWaitMs = 1'000;
// Who goes when there is nothing to do does not wait for long whether something turns up.
constexpr std::int64_t kIdleWaitMs = 1'000;
constexpr int kMostBatches = 100;

}  // namespace

RemoteWorker::RemoteWorker(RemoteWorkerOptions options, MachineRunner& runner, Notice notice)
    : options_(std::move(options)),
      runner_(runner),
      notice_(std::move(notice)),
      agent_(options_.hello.has, options_.most_slots),
      job_images_(
          agent_, random_number(),
          [this](const ContainerOptions& image, Images::Got got) { return images_->want(image, std::move(got)); },
          [this](JobId job, auto plan) { prepare_to_run(job, std::move(plan)); }, notice_, [this] { return now_ms(); }),
      problems_(notice_) {
  options_.hello.incarnation = random_number();
  agent_.set_strict([this](JobId job) {
    const auto learnt = jobs_.find(job);
    return learnt != jobs_.end() && learnt->second.definition && learnt->second.definition->strict_lease;
  });
  agent_.set_saves([this](JobId job) {
    const auto learnt = jobs_.find(job);
    return learnt != jobs_.end() && learnt->second.definition && learnt->second.definition->on_notice == "checkpoint";
  });
}

RemoteWorker::~RemoteWorker() {
  interruptions_.reset();
  calls_.reset();
  images_.reset();
  staging_.reset();
  for (const JobSlot& slot : slots_) {
    if (slot.slot) loop_->remove(slot.slot->descriptor());
  }
  slots_.clear();
  if (signals_ >= 0) close(signals_);
  spool_.reset();
}

Result<void> RemoteWorker::prepare(const ServerCalls::MakeClient& make_client) {
  auto loop = EventLoop::make();
  if (!loop) return pass(loop);
  loop_ = std::move(*loop);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
  signals_ = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return std::unexpected(errno_error(errno, "cannot listen for signals"));
  loop_->watch(signals_, [this] { on_signal(); });
  auto calls = ServerCalls::start(
      make_client, [this](std::function<void()> work) { loop_->post(std::move(work)); }, options_.hello.version);
  if (!calls) return pass(calls);
  calls_ = std::move(*calls);
  staging_ = std::make_unique<ItemStaging>(options_.staging, options_.object_network,
                                           [this](std::function<void()> work) { loop_->post(std::move(work)); });
  const auto place =
      std::make_shared<ImagePlace>(options_.images, options_.image_access, options_.image_limits, runner_);
  images_ = std::make_unique<Images>(
      [place](const ContainerOptions& image, const ImagePlace::Tell& tell, const std::stop_token& stop) {
        return place->fetch(image, tell, stop);
      },
      [place] { place->tidy(); }, [this](std::function<void()> work) { loop_->post(std::move(work)); },
      [this](const std::string& image, const std::string& words) { job_images_.on_progress(image, words); });
  interruptions_ = InterruptionWatch::start(
      options_.variable, [this](const std::string& base) { return options_.object_network.http(base, ""); },
      [this](Interruption told) { loop_->post([this, told = std::move(told)] { on_interruption(told); }); });
  return open_spool();
}

Result<void> RemoteWorker::run(const ServerCalls::MakeClient& make_client) {
  if (auto ready = prepare(make_client); !ready) return ready;
  while (true) {
    step();
    if (finished()) break;
    loop_->turn(std::max<std::int64_t>(0, next_deadline() - now_ms()));
  }
  // Results that stay in the spool are reported by the next process, in the name of this one: it must not be gone.
  if (interrupts_ <= 2 && spool_->empty()) say_goodbye();
  if (failed_) return std::unexpected(*failed_);
  return {};
}

std::int64_t RemoteWorker::next_deadline() const {
  std::int64_t until_ms = now_ms() + kLongestWaitMs;
  if (const auto deadline = agent_.next_deadline(now_ms())) until_ms = std::min(until_ms, *deadline);
  if (const auto deadline = session_->next_deadline(now_ms())) until_ms = std::min(until_ms, *deadline);
  if (const auto deadline = spool_->live().next_deadline(now_ms())) until_ms = std::min(until_ms, *deadline);
  if (taken_away_ms_ && !killed_ms_) until_ms = std::min(until_ms, kill_at_ms());
  return std::min(until_ms, next_device_deadline());
}

void RemoteWorker::step() {
  agent_.on_tick(now_ms());
  session_->on_tick(now_ms());
  watch_spool();
  if (taken_away_ms_ && !killed_ms_ && now_ms() >= kill_at_ms()) kill_running();
  give_up_when_late();
  const bool has_had_enough = options_.most_items > 0 && ended_ >= options_.most_items;
  // What it declines for now is something to do.
  const bool is_idle = options_.exit_when_idle && saw_nothing_to_do_ && !agent_.declines_any() && session_->all_told();
  if ((has_had_enough || is_idle) && !agent_.draining()) agent_.drain(now_ms());
  fetch_missing();
  job_images_.on_tick();
  look_for_devices();
  do_actions();
  spool_ended();
  send_calls();
  if (const std::vector<Token> told = session_->take_told(); !told.empty()) spool_->ended().forget(told);
  if (worker_) spool_->live().step(worker_, now_ms());
  renew_keys();
  let_images_go();
}

void RemoteWorker::do_actions() {
  // Doing one may give the agent something new to say; but others are to have their turn as well.
  int batches = 0;
  for (auto actions = agent_.take_actions(); !actions.empty() && !failed_; actions = agent_.take_actions()) {
    for (const AgentAction& action : actions) {
      if (const auto* start = std::get_if<StartItem>(&action)) {
        if (start->slot >= slots_.size()) slots_.resize(start->slot + 1);
        slots_[start->slot].waiting.push_back(*start);
        start_waiting(start->slot);
      }
      if (const auto* stop = std::get_if<StopItem>(&action)) stop_item(*stop);
      if (const auto* again = std::get_if<RecallSlot>(&action)) recall(again->slot);
    }
    if (++batches == kMostBatches) {
      loop_->post([] {});
      break;
    }
  }
  for (const JobSlot& it : slots_) {
    if (!it.slot) continue;
    if (it.slot->has_unsent()) it.slot->send_more();
    loop_->want_writable(it.slot->descriptor(), it.slot->has_unsent());
  }
}

void RemoteWorker::recall(std::size_t slot) {
  JobSlot& it = slots_[slot];
  // Those that wait here come back first, the latest before those that came before it. The first in the slot stays,
  // though it may still wait for its objects.
  const bool first_waits = it.handed == 0 && it.finishing.empty();
  while (it.waiting.size() > (first_waits ? 1 : 0)) {
    const Token token = it.waiting.back().item.token;
    it.waiting.pop_back();
    agent_.on_returned(slot, token, now_ms());
  }
  if (it.slot) it.slot->recall();
}

Result<void> RemoteWorker::open_slot(std::size_t slot, const AgentItem& item) {
  JobSlot& it = slots_[slot];
  const auto& run = jobs_.at(item.job).run;
  DROVER_CHECK(run && *run, "what cannot be run is not handed to a slot");
  SlotSetup setup = (*run)->setup;
  setup.limits = held_to(setup.limits, item.ask);
  if (jobs_.at(item.job).staging && setup.container) {
    auto plan = with_staging(setup.container, slot);
    if (!plan) return pass(plan);
    setup.container = std::move(*plan);
  }
  setup.environment.push_back(concat("DROVER_SLOT=", slot));
  if (auto added = add_devices(slot, setup); !added) return added;
  it.ask = item.ask;
  if (it.slot && it.slot->turn_to(setup)) {
    it.job = item.job;
    return {};
  }
  close_slot(slot);
  auto opened = runner_.open_slot(setup);
  if (!opened) return pass(opened);
  it.slot = std::move(*opened);
  it.job = item.job;
  it.handed = 0;
  loop_->watch(it.slot->descriptor(), [this, slot] { on_slot_ready(slot); });
  return {};
}

void RemoteWorker::start_waiting(std::size_t slot) {
  JobSlot& it = slots_[slot];
  while (!it.waiting.empty() && !failed_ && it.died.empty() && it.finishing.empty()) {
    if (it.runs_alone && it.handed > 0) return;
    const StartItem start = it.waiting.front();
    const Token token = start.item.token;
    const auto refuse = [&](const Error& error) {
      it.waiting.pop_front();
      it.stop_first.clear();
      agent_.on_refused(slot, token, concat("could not start: ", error.message), now_ms());
    };
    const LearntJob& learnt = jobs_.at(start.item.job);
    DROVER_CHECK(learnt.run, "what waits for its image is not handed to a slot");
    const Result<JobRun>& job = *learnt.run;
    if (!job) {
      if (it.handed > 0) return;  // in its turn
      refuse(job.error());
      continue;
    }
    const bool will_run_alone = learnt.staging && *learnt.staging && (*learnt.staging)->output;
    if (it.handed > 0 && (will_run_alone || (it.slot && it.job != start.item.job))) return;
    const auto staged_item = staged(slot, start.item);
    if (!staged_item) return;  // start_waiting() is called again when its objects are here
    if (!*staged_item) {
      if (it.handed > 0) return;
      refuse(staged_item->error());
      continue;
    }
    if (!it.slot || it.job != start.item.job || it.ask != start.item.ask) {
      if (it.handed > 0) return;
      const auto has_devices = hold_devices(slot, start.item.ask);
      if (!has_devices) {
        refuse(has_devices.error());
        continue;
      }
      if (!*has_devices) {
        wait_for_devices(slot, start.item);
        continue;
      }
      if (auto opened = open_slot(slot, start.item); !opened) {
        if (!job->setup.container && !it.grant) {
          failed_ = opened.error();
          return;
        }
        // What a container is to have is the job's affair, and other jobs run here too.
        refuse(opened.error());
        continue;
      }
    }
    const auto held = held_.find(token);
    DROVER_CHECK(held != held_.end(), "what is started came with a lease");
    auto task = make_task(*job, token, start.item.attempt, held->second.text, **staged_item);
    if (!task) {
      if (it.handed > 0) return;
      refuse(task.error());
      continue;
    }
    if (!learnt.known->key.empty()) task->environment.push_back(concat("DROVER_KEY=", learnt.known->key));
    if (learnt.uses_our_aws) {
      std::ranges::move(aws_credentials(*learnt.known, token, start.item.attempt),
                        std::back_inserter(task->environment));
    }
    std::ranges::move(batch_variables(*learnt.known, token.item, start.item.attempt),
                      std::back_inserter(task->environment));
    it.waiting.pop_front();
    ++it.handed;
    it.runs_alone = will_run_alone;
    agent_.on_staging(slot, token, false, now_ms());
    it.slot->start(*task);
    for (const StopItem& stop : std::exchange(it.stop_first, {})) it.slot->stop(stop.token, stop.how, stop.ran_ms);
  }
}

void RemoteWorker::on_slot_ready(std::size_t slot) {
  if (slots_[slot].slot->has_unsent()) slots_[slot].slot->send_more();
  const Slot* speaker = slots_[slot].slot.get();
  std::vector<SlotEvent> events = slots_[slot].slot->events();
  for (SlotEvent& event : events) {
    if (slots_[slot].slot.get() != speaker) return;  // another took its place, and is not meant
    on_slot_event(slot, event);
  }
}

void RemoteWorker::on_slot_event(std::size_t slot, SlotEvent& event) {
  JobSlot& it = slots_[slot];
  if (const auto* printed = std::get_if<AttemptPrinted>(&event)) {
    const Held& held = held_.at(printed->token);
    const LogKey key{held.job, printed->token.item, held.attempt};
    spool_->logs().add(key, printed->stream, printed->time_ms, printed->bytes);
    spool_->live().on_printed(printed->token, key, printed->bytes.size());
  } else if (auto* ended = std::get_if<AttemptEnded>(&event)) {
    --it.handed;
    ++ended_;
    if (it.grant) add_gpu_use(ended->usage, *it.grant, *options_.devices);
    EndedAttempt told{.token = ended->token, .outcome = std::move(ended->outcome), .usage = ended->usage};
    told.log.bytes = ended->stdout_bytes + ended->stderr_bytes;
    finish_attempt(slot, std::move(told), ended->was_stopped);
    start_waiting(slot);
  } else if (const auto* returned = std::get_if<TaskReturned>(&event)) {
    --it.handed;
    agent_.on_returned(slot, returned->token, now_ms());
    start_waiting(slot);
  } else {
    on_slot_died(slot, std::get<SlotDied>(event).reason);
  }
}

void RemoteWorker::on_slot_died(std::size_t slot, const std::string& reason) {
  JobSlot& it = slots_[slot];
  if (it.slot) {
    loop_->remove(it.slot->descriptor());
    it.slot.reset();
  }
  // What never started is not lost.
  while (it.handed == 0 && !it.waiting.empty()) {
    const Token token = it.waiting.back().item.token;
    it.waiting.pop_back();
    agent_.on_returned(slot, token, now_ms());
  }
  it.handed = 0;
  // What ended before it did is told first.
  it.died = it.finishing.empty() ? std::string() : reason;
  if (!it.died.empty()) return;
  it.waiting.clear();  // the agent takes back what it had handed there
  it.stop_first.clear();
  agent_.on_slot_died(slot, reason, now_ms());
  agent_.on_slot_up(slot, now_ms());
}

void RemoteWorker::send_calls() {
  for (SessionCall& call : session_->take_calls(now_ms())) {
    const std::uint64_t number = call.number;
    const std::int64_t within_ms = call.within_ms;
    if (std::holds_alternative<HelloCall>(call.what)) {
      calls_->hello(options_.hello, within_ms, [this, number](const auto& welcome) { on_welcome(number, welcome); });
    } else if (auto* poll = std::get_if<PollCall>(&call.what)) {
      AgentPoll& said = poll->poll;
      Poll out = to_poll(*poll);
      if (options_.exit_when_idle && out.want > 0) out.wait_ms = std::min(out.wait_ms, kIdleWaitMs);
      last_poll_ = number;
      if (out.want > 0) saw_nothing_to_do_ = false;
      WorkerReport report = with_frames(std::move(said), poll->worker, poll->incarnation);
      out.report = std::move(report.report);
      const bool asked = out.want > 0;
      const Tells tells = out.report.ended.empty() ? Tells::nothing : Tells::ends;
      calls_->poll(
          {std::move(out), std::move(report.frames), std::move(report.ended_frames), std::move(report.devices)},
          within_ms, [this, number, asked, tells](Result<WorkerPollAnswer> answer) {
            // A poll that a later one overtakes is answered with nothing, which says nothing.
            if (answer && asked && number == last_poll_) {
              saw_nothing_to_do_ = answer->answer.leases.empty();
            }
            on_answer(number, tells, std::move(answer));
          });
    } else {
      auto& report = std::get<ReportCall>(call.what);
      const Tells tells = report.report.ended.empty() ? Tells::nothing : Tells::ends;
      calls_->report(with_frames(std::move(report.report), report.worker, report.incarnation), within_ms,
                     [this, number, tells](const Result<void>& taken) { on_reported(number, tells, taken); });
    }
  }
}

void RemoteWorker::on_welcome(std::uint64_t call, const Result<WorkerWelcome>& welcome) {
  if (!welcome) return on_failure(call, Tells::nothing, welcome.error());
  notice_(concat("registered as worker '", options_.hello.name, "'"));
  on_heard(Tells::nothing);
  worker_ = welcome->worker;
  session_->on_welcome(call, welcome->worker, welcome->term_ms, welcome->poll_wait_ms, now_ms());
}

void RemoteWorker::on_answer(std::uint64_t call, Tells tells, Result<WorkerPollAnswer> answer) {
  if (!answer) return on_failure(call, tells, answer.error());
  on_heard(tells);
  if (!session_->awaits(call)) return;  // it was given up, and what it grants goes back
  const PollAnswer& said = answer->answer;
  for (std::size_t i = 0; i < said.leases.size(); ++i) take_lease(said.leases[i], std::move(answer->items[i]));
  for (const Token& token : said.watched) {
    const auto held = held_.find(token);
    if (held == held_.end()) continue;
    spool_->live().on_watched(token, {held->second.job, token.item, held->second.attempt}, now_ms());
  }
  session_->on_poll_answer(call, said.leases, said.stops, said.gone, said.drain, now_ms());
}

void RemoteWorker::on_reported(std::uint64_t call, Tells tells, const Result<void>& taken) {
  if (!taken) return on_failure(call, tells, taken.error());
  on_heard(tells);
  session_->on_report_taken(call, now_ms());
}

void RemoteWorker::on_heard(Tells tells) {
  // One that is to exit waits for whoever takes what it has to tell. That the server answers is not enough.
  if (tells == Tells::ends || !agent_.draining()) busy_ms_ = now_ms();
  spool_->live().on_server_heard();
  problems_.is_over(ProblemNotices::About::calls);
  if (tells == Tells::ends) problems_.is_over(ProblemNotices::About::reports);
}

void RemoteWorker::on_failure(std::uint64_t call, Tells tells, const Error& error) {
  session_->on_error(call, error, now_ms());
  say_refused();
  if (error.code == ErrorCode::in_use && session_->has_lost_its_name()) failed_ = error;
  if (error.code == ErrorCode::not_found || error.code == ErrorCode::in_use) return;
  // Its key is good no more, and what it holds goes to others.
  if (error.code == ErrorCode::denied) failed_ = error;
  spool_->ended().sync();
  if (tells == Tells::ends && error.code == ErrorCode::bad_input) return;
  const bool is_answer = error.code != ErrorCode::unreachable && error.code != ErrorCode::timeout;
  if (!is_answer) end_if_abandoned();
  problems_.say(tells == Tells::ends && is_answer ? ProblemNotices::About::reports : ProblemNotices::About::calls,
                error);
}

}  // namespace drover

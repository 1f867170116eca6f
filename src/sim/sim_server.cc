#include "sim/sim_server.h"

#include <algorithm>

#include "base/text.h"
#include "core/sanity.h"
#include "ports/item_marks.h"
#include "ports/reopen_page.h"
#include "sim/times.h"
#include "sim/with_fault.h"

namespace drover::sim {
namespace {

// How often durable state is compared with the store, beside every restart.
constexpr std::uint64_t kCompareOneIn = 40;

}  // namespace

std::int64_t SimServer::SimWallClock::epoch_ms() {
  return kEpochMs + events.now_ms() + ahead_ms;
}

SimServer::SimServer(EventQueue& events, Auditor& auditor, std::uint64_t seed, SeamFaults faults)
    : events_(events),
      auditor_(auditor),
      referee_(auditor),
      random_(seed ^ 0x736572766572),
      faults_(faults),
      wall_(events),
      steady_(events) {}

Durable SimServer::load() {
  Durable durable;
  const auto loaded = store_.load([&](const Mutation& put) { return durable.restore(put); });
  if (!loaded) auditor_.fail(loaded.error().message);
  return durable;
}

void SimServer::start() {
  if (up()) return;
  ++generation_;
  has_stepped_ = false;
  Durable durable = load();
  timeline_ = std::make_unique<Timeline>(wall_, steady_, durable.counters.now_ms);
  stepper_ = std::make_unique<Stepper>(Core(std::move(durable), timeline_->now_ms()));
  if (const auto fault = find_fault(core())) auditor_.fail(concat("after a restart: ", *fault));
  leases_.server_started(events_.now_ms());
  turn_soon();
}

void SimServer::request(Command command, Reply reply) {
  const Ticket ticket{next_ticket_++};
  waiting_.emplace(ticket, std::move(reply));
  leases_.arrived(command, events_.now_ms());
  if (is_stopped()) return door_.push_back({ticket, std::move(command)});
  referee_.asked(ticket, command);
  stepper_->post({ticket, std::move(command)});
  ++inbox_;
  turn_soon();
}

// As the server does it: the worker keeps its lease, and is told to keep what has ended.
void SimServer::request_of_worker(Command command, Reply reply) {
  const auto* poll = std::get_if<Poll>(&command);
  const Report* report = poll != nullptr ? &poll->report : std::get_if<Report>(&command);
  if (report == nullptr || report->ended.empty() || events_.now_ms() >= logs_refused_until_ms_) {
    return request(std::move(command), std::move(reply));
  }
  request(Report{.worker = report->worker, .incarnation = report->incarnation, .running = report->running},
          [](const Effect&) {});
  reply(Refused{{ErrorCode::no_space, "the disk is nearly full", ""}});
}

void SimServer::stall(const StallServer& how) {
  const std::int64_t until_ms = events_.now_ms() + how.for_ms;
  if (!how.whole_process) {
    commits_hang_until_ms_ = std::max(commits_hang_until_ms_, until_ms);
    return;
  }
  if (!up()) return;
  stopped_until_ms_ = std::max(stopped_until_ms_, until_ms);
  events_.at(stopped_until_ms_, [this, generation = generation_] {
    if (generation == generation_ && !is_stopped()) let_in();
  });
}

// The process goes on. The core may look at its clock before what has waited in sockets is read.
void SimServer::let_in() {
  turn_soon();
  std::int64_t delay_ms = 0;
  for (Request& request : std::exchange(door_, {})) {
    delay_ms += static_cast<std::int64_t>(random_.below(20));
    events_.after(delay_ms, [this, generation = generation_, request = std::move(request)]() mutable {
      if (generation != generation_) return;
      referee_.asked(request.ticket, request.command);
      stepper_->post(std::move(request));
      ++inbox_;
      turn_soon();
    });
  }
}

// Commands that come close together are applied together.
void SimServer::turn_soon() {
  if (turn_is_due_) return;
  turn_is_due_ = true;
  events_.after(random_.one_in(2) ? 0 : 1, [this, generation = generation_] {
    if (generation != generation_) return;
    turn_is_due_ = false;
    turn();
  });
}

// As the engine does it: beside a commit that hangs, one step at most.
bool SimServer::may_step() const {
  return under_way_.size() < 2 || events_.now_ms() - committing_since_ms_ < Stepper::kBeatMs;
}

void SimServer::take(Step step) {
  UnderWay::Applied part{step.batch, events_.now_ms()};
  if (under_way_.size() < 2) {
    under_way_.push_back({std::move(step), {}, std::nullopt});
  } else {
    under_way_.back().step.append(std::move(step));
  }
  UnderWay& batch = under_way_.back();
  batch.parts.push_back(std::move(part));
  if (crash_due_ || batch.hash || random_.one_in(kCompareOneIn)) batch.hash = hash(core().durable());
}

void SimServer::turn() {
  if (!up() || is_stopped() || !may_step()) return;
  const auto core_deadline = core().next_deadline();
  const bool something_is_due = inbox_ > 0 || (core_deadline && *core_deadline <= timeline_->now_ms());
  if (something_is_due) referee_.before_step(core());
  inbox_ = 0;
  auto step = stepper_->step(timeline_->now_ms());
  if (step) {
    has_stepped_ = true;
    referee_.after_step(core(), *step);
    if (const auto wrong = leases_.inspect_losses(core(), *step, auditor_, events_.now_ms())) auditor_.fail(*wrong);
    if (const auto fault = find_fault(core())) auditor_.fail(*fault);
    const bool is_first = under_way_.empty();
    take(std::move(*step));
    if (faults_.fault == SeamFault::answers_before_commit) let_out(std::exchange(under_way_.back().step.answers, {}));
    if (is_first) begin_commit();
    die_if_due();
  }
  if (!up()) return;
  const auto deadline = stepper_->next_deadline();
  if (!deadline) return;
  const std::int64_t at_ms = events_.now_ms() + std::max<std::int64_t>(0, *deadline - timeline_->now_ms());
  if (wake_at_ms_ && *wake_at_ms_ <= at_ms && *wake_at_ms_ > events_.now_ms()) return;
  wake_at_ms_ = at_ms;
  events_.at(at_ms, [this, generation = generation_] {
    if (generation == generation_) turn();
  });
}

// The points of a crash that lie within a step.
void SimServer::die_if_due() {
  if (!crash_due_) return;
  const CrashServer how = *crash_due_;
  if (how.point == CrashPoint::before_commit) return stop(how.down_ms);
  if (how.point == CrashPoint::after_commit) {
    // What nobody hears of matters most when it is a lease.
    const bool grants = std::ranges::any_of(under_way_.back().step.answers, [](const Answer& answer) {
      const auto* it = std::get_if<PollAnswer>(&answer.effect);
      return it != nullptr && !it->leases.empty();
    });
    if (crash_with_grant_ && !grants) return;
    while (!under_way_.empty()) {
      make_durable(under_way_.front());
      under_way_.pop_front();
    }
    return stop(how.down_ms);
  }
  if (how.point == CrashPoint::between_two && under_way_.size() == 2) {
    make_durable(under_way_.front());
    let_out(under_way_.front().step.answers);
    under_way_.pop_front();
    return stop(how.down_ms);
  }
}

std::int64_t SimServer::commit_ms() {
  if (events_.now_ms() < slow_until_ms_) return slow_.commit_ms;
  return random_.one_in(20) ? static_cast<std::int64_t>(random_.below(200))
                            : static_cast<std::int64_t>(random_.below(6));
}

void SimServer::begin_commit() {
  committing_since_ms_ = events_.now_ms();
  const std::int64_t took_ms = under_way_.front().step.batch.empty() ? 0 : commit_ms();
  events_.after(took_ms, [this, generation = generation_] {
    if (generation == generation_) end_commit();
  });
}

void SimServer::end_commit() {
  const bool hangs = events_.now_ms() < commits_hang_until_ms_ && !under_way_.front().step.batch.empty();
  if (hangs || is_stopped()) {
    const std::int64_t until_ms = std::max(hangs ? commits_hang_until_ms_ : 0, stopped_until_ms_);
    return events_.at(until_ms, [this, generation = generation_] {
      if (generation == generation_) end_commit();
    });
  }
  if (full_due_ && !under_way_.front().step.batch.empty()) {
    const FillDisk how = *full_due_;
    full_due_.reset();
    return stop(how.down_ms);
  }
  if (faults_.fault == SeamFault::commits_swapped && under_way_.size() == 2) std::swap(under_way_[0], under_way_[1]);
  const UnderWay done = std::move(under_way_.front());
  under_way_.pop_front();
  make_durable(done);
  let_out(done.step.answers);
  if (!under_way_.empty()) begin_commit();
  turn_soon();
}

void SimServer::make_durable(const UnderWay& batch) {
  if (!batch.step.batch.empty()) {
    const auto committed =
        faults_.are_in_store() ? store_.commit(with_fault(batch.step.batch, faults_)) : store_.commit(batch.step.batch);
    if (!committed) auditor_.fail(committed.error().message);
    for (const UnderWay::Applied& part : batch.parts) {
      auditor_.committed(part.batch, part.at_ms);
      leases_.committed(part.batch, part.at_ms);
      on_committed(part.batch, part.at_ms);
    }
  }
  if (batch.hash && hash(load()) != *batch.hash) auditor_.fail("the store loads something else than was committed");
}

void SimServer::let_out(const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    if (const auto* wanted = std::get_if<ReopenWanted>(&answer.effect)) read_page(*wanted);
    if (const auto* wanted = std::get_if<MarksWanted>(&answer.effect)) read_marks(*wanted);
    if (answer.to == Ticket{}) on_said(answer.effect);
    auto node = waiting_.extract(answer.to);
    if (!node.empty()) node.mapped()(answer.effect);
  }
}

// The ledger's reader is a thread of its own, and may be slow.
void SimServer::read_page(const ReopenWanted& wanted) {
  events_.after(static_cast<std::int64_t>(random_.below(100)), [this, generation = generation_, wanted] {
    if (generation != generation_) return;
    auto page = read_reopen_page(store_, wanted, kReopenPage);
    if (!page) return auditor_.fail(page.error().message);
    auditor_.reopen_asked(page->job, page->again);
    request(*page, [](const Effect&) {});
  });
}

void SimServer::read_marks(const MarksWanted& wanted) {
  events_.after(static_cast<std::int64_t>(random_.below(100)), [this, generation = generation_, wanted] {
    if (generation != generation_) return;
    auto marks = read_wanted_marks(store_, wanted);
    if (!marks) return auditor_.fail(marks.error().message);
    request(*marks, [](const Effect&) {});
  });
}

void SimServer::crash(const CrashServer& how) {
  if (!up()) return;
  if (how.point != CrashPoint::at_once) {
    crash_due_ = how;
    crash_with_grant_ = random_.one_in(2);
    // A quiet server would never get there.
    events_.after(60'000, [this, generation = generation_, how] {
      if (generation == generation_ && crash_due_) stop(how.down_ms);
    });
    return;
  }
  // What the disk has been given may or may not have arrived on it.
  if (!under_way_.empty() && random_.one_in(2)) {
    make_durable(under_way_.front());
    under_way_.pop_front();
  }
  stop(how.down_ms);
}

void SimServer::fill_disk(const FillDisk& how) {
  full_due_ = how;
  // Nobody may want to write for hours; then nobody notices.
  events_.after(60'000, [this] { full_due_.reset(); });
}

void SimServer::refuse_logs(const RefuseLogs& how) {
  logs_refused_until_ms_ = std::max(logs_refused_until_ms_, events_.now_ms() + how.for_ms);
}

void SimServer::slow_down(const SlowDisk& how) {
  slow_ = how;
  slow_until_ms_ = events_.now_ms() + how.for_ms;
}

void SimServer::stop(std::int64_t down_ms) {
  if (under_way_.empty() && has_stepped_ && hash(load()) != hash(core().durable())) {
    auditor_.fail("with nothing under way, the store loads something else than the core has");
  }
  stepper_.reset();
  referee_.server_stopped();
  ++generation_;
  waiting_.clear();
  inbox_ = 0;
  turn_is_due_ = false;
  wake_at_ms_.reset();
  under_way_.clear();
  crash_due_.reset();
  commits_hang_until_ms_ = stopped_until_ms_ = 0;
  door_.clear();
  on_stopped();
  events_.after(down_ms, [this] { start(); });
}

}  // namespace drover::sim

#include "sim/sim_server.h"

#include "base/text.h"
#include "core/sanity.h"
#include "sim/planted.h"

namespace drover::sim {
namespace {

constexpr std::int64_t kEpochMs = 1'700'000'000'000;
// How often durable state is compared with the store, beside every restart.
constexpr std::uint64_t kCompareOneIn = 40;

}  // namespace

std::int64_t SimServer::SimWallClock::epoch_ms() {
  return kEpochMs + events.now_ms() + ahead_ms;
}

SimServer::SimServer(EventQueue& events, Auditor& auditor, std::uint64_t seed, SeamPlant plant)
    : events_(events),
      auditor_(auditor),
      referee_(auditor),
      random_(seed ^ 0x736572766572),
      plant_(plant),
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
  turn_soon();
}

void SimServer::request(Command command, Reply reply) {
  const Ticket ticket{next_ticket_++};
  waiting_.emplace(ticket, std::move(reply));
  referee_.asked(ticket, command);
  stepper_->post({ticket, std::move(command)});
  ++inbox_;
  turn_soon();
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

void SimServer::turn() {
  if (!up() || under_way_.size() >= kMostUnderWay) return;
  inbox_ = 0;
  referee_.before_step(core());
  auto step = stepper_->step(timeline_->now_ms());
  if (step) {
    has_stepped_ = true;
    referee_.after_step(core(), *step);
    if (const auto fault = find_fault(core())) auditor_.fail(*fault);
    const bool compare = crash_due_ || random_.one_in(kCompareOneIn);
    under_way_.push_back({std::move(*step), compare ? std::optional(hash(core().durable())) : std::nullopt});
    if (plant_ == SeamPlant::answers_before_commit) let_out(std::exchange(under_way_.back().step.answers, {}));
    if (under_way_.size() == 1) begin_commit();
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
  const std::int64_t took_ms = under_way_.front().step.batch.empty() ? 0 : commit_ms();
  events_.after(took_ms, [this, generation = generation_] {
    if (generation == generation_) end_commit();
  });
}

void SimServer::end_commit() {
  if (full_due_ && !under_way_.front().step.batch.empty()) {
    const FillDisk how = *full_due_;
    full_due_.reset();
    return stop(how.down_ms);
  }
  if (plant_ == SeamPlant::commits_swapped && under_way_.size() == 2) std::swap(under_way_[0], under_way_[1]);
  const UnderWay done = std::move(under_way_.front());
  under_way_.pop_front();
  make_durable(done);
  let_out(done.step.answers);
  if (!under_way_.empty()) begin_commit();
  turn_soon();
}

void SimServer::make_durable(const UnderWay& batch) {
  if (!batch.step.batch.empty()) {
    const auto committed = plant_ == SeamPlant::none ? store_.commit(batch.step.batch)
                                                     : store_.commit(as_planted(batch.step.batch, plant_));
    if (!committed) auditor_.fail(committed.error().message);
    auditor_.committed(batch.step.batch, events_.now_ms());
  }
  if (batch.hash && hash(load()) != *batch.hash) auditor_.fail("the store loads something else than was committed");
}

void SimServer::let_out(const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    auto node = waiting_.extract(answer.to);
    if (!node.empty()) node.mapped()(answer.effect);
  }
}

void SimServer::crash(const CrashServer& how) {
  if (!up()) return;
  if (how.point != CrashPoint::at_once) {
    crash_due_ = how;
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
  on_stopped();
  events_.after(down_ms, [this] { start(); });
}

}  // namespace drover::sim

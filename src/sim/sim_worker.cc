#include "sim/sim_worker.h"

#include <limits>

#include "base/text.h"
#include "sim/times.h"
#include "sim/with_fault.h"

namespace drover::sim {
namespace {

// Before the machine goes, what still runs is killed and told of.
constexpr std::int64_t kLastWordsMs = 2'000;
// What can be said and done at one moment.
constexpr int kMostRounds = 100;
// How long a worker that goes waits until it is heard (worker/remote_worker.cc), and the number of that call.
constexpr std::int64_t kGoodbyeMs = 2'000;
constexpr std::uint64_t kGoodbye = std::numeric_limits<std::uint64_t>::max();
// Answers to polls that are under way may still bring something that an order is about.
constexpr std::size_t kMostStopOrders = 8;
// A request that a server took with it may be repeated by whatever stands between.
constexpr int kMostRepeats = 20;

}  // namespace

SimWorker::Process::Process(SimWorker& owner, const WorkerPlan& plan, std::optional<LeftBehind> left_behind)
    : agent(plan.has, plan.slots),
      session(agent, owner.incarnation_, std::move(left_behind), {owner.next_call_}),
      images({.agent = agent,
              .images = owner.images_,
              .registry = owner.world_.registry,
              .clock_ms = [&owner] { return owner.clock_ms(); },
              .later = [&owner](std::int64_t delay_ms,
                                std::function<void()> what) { owner.later(delay_ms, std::move(what)); },
              .wake = [&owner] { owner.wake(); },
              .fault = owner.world_.fault},
             owner.incarnation_) {
  if (plan.strict_lease) agent.set_strict([](JobId) { return true; });
  agent.set_saves([](JobId job) { return job.value % 3 == 0; });
}

SimWorker::SimWorker(World world, std::size_t index, const WorkerPlan& plan, std::uint64_t seed)
    : world_(world), index_(index), plan_(plan), random_(seed ^ (0x776f726b + index * 0x9e3779b97f4a7c15)) {}

std::int64_t SimWorker::clock_ms() const {
  return kEpochMs + world_.events.now_ms() + plan_.clock_ahead_ms;
}

std::string SimWorker::name() const {
  return plan_.machine.empty() ? concat("worker-", index_, "-", machine_) : plan_.machine;
}

WorkerHello SimWorker::who() const {
  return {.name = name(), .version = {}, .has = plan_.has, .labels = plan_.labels};
}

// In this process, if it still lives.
void SimWorker::later(std::int64_t delay_ms, std::function<void()> what) {
  world_.events.after(delay_ms, [this, generation = generation_, what = std::move(what)] {
    if (generation == generation_) what();
  });
}

void SimWorker::start() {
  if (up() || is_over_) return;
  ++generation_;
  std::optional<LeftBehind> left_behind = std::exchange(disk_, {});
  if (world_.fault == SeamFault::spool_wiped_at_start) left_behind.reset();
  WorkerPlan plan = plan_;
  if (world_.fault == SeamFault::strict_lease_ignored) plan.strict_lease = false;
  const std::uint64_t incarnation = random_.next() >> 1;
  if (world_.fault != SeamFault::incarnation_reused || incarnation_ == 0) incarnation_ = incarnation;
  process_ = std::make_unique<Process>(*this, plan, left_behind);
  if (left_behind) {
    for (const SpooledEnd& it : left_behind->ended) weigh(it);
    upload(left_behind->ended);
  }
  wake_at_ms_.reset();
  wake();
}

void SimWorker::end_process() {
  ++generation_;
  for (const Slot& slot : process_->slots) run_is_over(slot);
  disk_ = process_->session.left_behind();
  for (const SpooledEnd& it : disk_ ? disk_->ended : std::vector<SpooledEnd>()) {
    const auto item = process_->ended.find(it.ended.token);
    // What the worker itself gave up, such as a strict item whose lease was over, is told as lost.
    if (item != process_->ended.end() && it.ended.outcome.ending != Ending::lost)
      world_.auditor.kept(name(), item->second.job, item->first.item, item->second.attempt);
  }
  next_call_ += 1'000'000;
  process_.reset();
  machine_goes_ = false;
}

void SimWorker::come_back(std::int64_t down_ms) {
  world_.events.after(down_ms, [this] { start(); });
}

void SimWorker::crash(std::int64_t down_ms) {
  if (!up()) return;
  end_process();
  come_back(down_ms);
}

void SimWorker::lose_machine(std::int64_t down_ms) {
  if (up()) end_process();
  disk_.reset();
  world_.auditor.disk_lost(name());
  images_.clear();
  ++machine_;
  come_back(down_ms);
}

void SimWorker::give_notice(const SpotNotice& notice) {
  if (!up()) return;
  machine_goes_ = true;
  away_ms_ = notice.down_ms;
  process_->agent.drain(clock_ms());
  wake();
  if (!up()) return;
  later(notice.notice_ms - kLastWordsMs, [this] {
    process_->agent.kill_all(clock_ms());
    wake();
  });
  later(notice.notice_ms, [this, down_ms = notice.down_ms] { lose_machine(down_ms); });
}

void SimWorker::interrupt(std::int64_t notice_ms) {
  if (!up()) return;
  process_->agent.on_interruption(notice_ms == 0 ? 0 : clock_ms() + notice_ms, clock_ms());
  wake();
}

void SimWorker::end_for_good() {
  if (up()) end_process();
  disk_.reset();
  world_.auditor.disk_lost(name());
  is_over_ = true;
}

void SimWorker::spoil(const Spoil& how) {
  ++spoilt_;
  spoilt_machine_ = machine_;
  world_.auditor.expect_quarantine(name());
  world_.events.after(how.for_ms, [this] { --spoilt_; });
}

// Whoever asked it to drain: it goes when it is done, and says so if it can.
void SimWorker::leave_if_drained() {
  Process& process = *process_;
  if (!process.agent.draining() || !process.session.all_told()) return;
  if (!process.worker || !process.session.registered()) return leave();
  process.says_goodbye = true;
  ReportCall last{.worker = *process.worker, .incarnation = incarnation_, .report = {}};
  last.report.leaving = Leaving::gone;
  post(kGoodbye, encode_call({.number = kGoodbye, .what = std::move(last)}, who()));
  later(kGoodbyeMs, [this] { leave(); });
}

void SimWorker::leave() {
  if (!plan_.fleet.empty()) return end_for_good();
  const std::int64_t away_ms = std::exchange(away_ms_, kAwayMs);
  if (machine_goes_) return lose_machine(away_ms);
  end_process();
  come_back(away_ms);
}

void SimWorker::on_server_stopped() {
  if (!up()) return;
  for (const auto& [call, request] : process_->calls) {
    switch (random_.below(4)) {
      case 0: break;  // nobody notices
      case 1:
      case 2: repeat_when_up(call, request, kMostRepeats); break;
      default:
        later(static_cast<std::int64_t>(random_.below(20)), [this, call = call] {
          process_->session.on_failed(call, clock_ms());
          wake();
        });
    }
  }
}

// To a server that may have heard it before. Whoever stands between does so as long as the worker waits for an answer.
void SimWorker::repeat_when_up(std::uint64_t call, RequestBytes request, int times) {
  later(200 + static_cast<std::int64_t>(random_.below(800)), [this, call, request = std::move(request), times] {
    if (!process_->session.awaits(call)) return;
    if (!world_.server.up()) {
      if (times > 0) repeat_when_up(call, request, times - 1);
      return;
    }
    bring(call, request);
  });
}

void SimWorker::wake() {
  Process& process = *process_;
  if (process.says_goodbye) return;
  for (int rounds = 0;; ++rounds) {
    if (rounds > kMostRounds) return world_.auditor.fail(concat("worker ", index_, " does not come to an end"));
    const std::int64_t now_ms = clock_ms();
    process.agent.on_tick(now_ms);
    process.session.on_tick(now_ms);
    process.images.on_tick();
    do_actions();
    spool(process.session.take_ended(now_ms));
    process.session.take_told();
    std::vector<SessionCall> calls = process.session.take_calls(now_ms);
    if (calls.empty()) break;
    for (SessionCall& call : calls) send(std::move(call));
  }
  leave_if_drained();
  if (!up() || process_->says_goodbye) return;
  std::optional<std::int64_t> at_ms = process.session.next_deadline(clock_ms());
  if (const auto agents = process.agent.next_deadline(clock_ms())) at_ms = at_ms ? std::min(*at_ms, *agents) : *agents;
  if (const auto images = process.images.next_deadline()) at_ms = at_ms ? std::min(*at_ms, *images) : *images;
  if (!at_ms) return;
  const std::int64_t delay_ms = std::max<std::int64_t>(*at_ms - clock_ms(), 1);
  const std::int64_t wake_ms = world_.events.now_ms() + delay_ms;
  if (wake_at_ms_ && *wake_at_ms_ <= wake_ms && *wake_at_ms_ > world_.events.now_ms()) return;
  wake_at_ms_ = wake_ms;
  later(delay_ms, [this, wake_ms] {
    if (wake_at_ms_ == wake_ms) wake();
  });
}

// The disk takes what has ended, mostly at once. Some logs are so long that a report brings few of them, or none.
void SimWorker::spool(const std::vector<EndedAttempt>& ended) {
  if (ended.empty()) return;
  for (const EndedAttempt& it : ended) process_->leased.erase(it.token);
  std::vector<SpooledEnd> spooled;
  for (const EndedAttempt& it : ended) {
    spooled.push_back({.ended = it,
                       .bytes = random_.one_in(4) ? random_.below(ReportOutbox::kMostBytes) : 0,
                       .uploading = random_.one_in(32)});
    weigh(spooled.back());
  }
  const auto done = [this, spooled] {
    process_->session.on_spooled(spooled);
    upload(spooled);
  };
  if (!random_.one_in(8)) return done();
  later(static_cast<std::int64_t>(random_.below(2'000)), [this, done] {
    done();
    wake();
  });
}

void SimWorker::weigh(const SpooledEnd& it) {
  process_->log_bytes[it.ended.token] = it.uploading ? 0 : it.bytes;
}

void SimWorker::upload(const std::vector<SpooledEnd>& spooled) {
  for (const SpooledEnd& it : spooled) {
    if (it.uploading) upload(it.ended);
  }
}

// Mostly a matter of seconds, sometimes of more than a lease lasts.
void SimWorker::upload(const EndedAttempt& ended) {
  const std::uint64_t most_ms = random_.one_in(8) ? 3 * kTermMs : 5'000;
  later(static_cast<std::int64_t>(random_.below(most_ms)), [this, ended] {
    if (!world_.server.takes_logs()) return upload(ended);
    process_->session.on_uploaded(ended);
    wake();
  });
}

void SimWorker::send(SessionCall call) {
  const std::uint64_t number = call.number;
  const auto told = [this](AgentReport& report) {
    if (plan_.names_what_it_returns && world_.auditor.expects_losses()) {
      for (const Token& it : report.returned) report.running.push_back({it, clock_ms()});
    }
    inspect_size(report.ended);
    for (const Token& it : report.returned) process_->leased.erase(it);
  };
  if (auto* it = std::get_if<PollCall>(&call.what)) told(it->poll);
  if (auto* it = std::get_if<ReportCall>(&call.what)) told(it->report);
  const auto* poll = std::get_if<PollCall>(&call.what);
  if (world_.fault == SeamFault::silent_when_busy && poll != nullptr && poll->poll.want == 0) return;
  if (world_.fault == SeamFault::told_twice_differently) {
    post(number, encode_call(with_fault(call, world_.fault), who()));
    return post(number, encode_call(call, who()));
  }
  if (world_.fault != SeamFault::none) call = with_fault(std::move(call), world_.fault);
  post(number, encode_call(call, who()));
  if (world_.fault == SeamFault::reports_not_repeated && std::holds_alternative<ReportCall>(call.what)) {
    process_->session.on_report_taken(number, clock_ms());
  }
}

void SimWorker::post(std::uint64_t number, RequestBytes request) {
  std::erase_if(process_->calls, [&](const auto& it) { return !process_->session.awaits(it.first); });
  process_->calls[number] = request;
  if (world_.server.up()) return bring(number, std::move(request));
  if (!random_.one_in(2)) return;  // nobody says anything
  later(1, [this, number] {        // connection refused
    process_->session.on_failed(number, clock_ms());
    wake();
  });
}

void SimWorker::bring(std::uint64_t number, RequestBytes request) {
  world_.network.bring_to_server(index_, [this, number, generation = generation_, request = std::move(request),
                                          server = world_.server.generation()] {
    if (!world_.server.up() || world_.server.generation() != server) return;
    auto command = decode_call(request, plan_.fleet);
    if (!command) return world_.auditor.fail(command.error().message);
    world_.server.request_of_worker(std::move(*command), [this, number, generation](const Effect& said) {
      const Effect& effect = world_.fault == SeamFault::none ? said : with_fault(said, world_.fault);
      world_.network.bring_to_worker(index_, [this, number, generation, reply = encode_effect(effect)] {
        if (generation == generation_) hear(number, reply);
      });
    });
  });
}

void SimWorker::hear(std::uint64_t call, const ReplyBytes& reply) {
  if (call == kGoodbye) return leave();
  const auto known = process_->calls.find(call);
  if (known == process_->calls.end() || process_->says_goodbye) return;  // heard before, or too late
  const CallKind kind = known->second.kind;
  process_->calls.erase(known);
  if (const auto answer = decode_answer(kind, reply); answer && process_->session.awaits(call)) {
    take_answer(answer->answer);
  }
  if (const auto welcome = decode_welcome(reply.body); kind == CallKind::hello && reply.status == 200 && welcome) {
    process_->worker = welcome->worker;
  }
  const auto heard = deliver(process_->session, call, kind, reply, clock_ms());
  if (!heard) world_.auditor.fail(heard.error().message);
  wake();
}

void SimWorker::take_answer(const PollAnswer& answer) {
  for (const Lease& lease : answer.leases) {
    for (std::uint64_t i = 0; i < lease.count; ++i) {
      const Token token{lease.grant, ItemIndex{lease.first.value + i}};
      process_->leased.insert(token);
      process_->had.insert(token);
    }
    const Submit* job = world_.auditor.job_of(lease.job);
    if (job != nullptr && job->image > 0) process_->images.want(lease.job, image_name(job->image));
  }
  for (const Token& token : answer.watched) {
    if (process_->had.contains(token)) continue;
    world_.auditor.fail(concat(name(), ": is to show what an item prints that it never had"));
  }
}

void SimWorker::inspect_size(const std::vector<EndedAttempt>& ended) const {
  std::size_t bytes = 0;
  for (const EndedAttempt& it : ended) bytes += process_->log_bytes[it.token];
  if (ended.size() > ReportOutbox::kMostItems || (ended.size() > 1 && bytes > ReportOutbox::kMostBytes)) {
    world_.auditor.fail(concat(name(), ": sends more in one report than it may"));
  }
}

bool SimWorker::knows_of(GrantId grant) const {
  const auto first = process_->leased.lower_bound({grant, ItemIndex{0}});
  if (first != process_->leased.end() && first->grant == grant) return true;
  // The server may have no room for what it has to tell.
  const auto untold = process_->session.left_behind();
  // Until all that an earlier process left is told, nobody says what else it held.
  if (untold && untold->incarnation != incarnation_) return true;
  return untold &&
         std::ranges::any_of(untold->ended, [&](const SpooledEnd& it) { return it.ended.token.grant == grant; });
}

void SimWorker::inspect() const {
  const std::optional<LeftBehind> kept = up() ? process_->session.left_behind() : std::nullopt;
  std::set<Token> seen;
  for (const SpooledEnd& it : kept ? kept->ended : std::vector<SpooledEnd>()) {
    if (seen.insert(it.ended.token).second) continue;
    world_.auditor.fail(concat(name(), ": has one result to tell twice"));
  }
  if (up() && process_->session.all_told() && process_->agent.stop_orders() > kMostStopOrders) {
    world_.auditor.fail(concat(name(), ": remembers orders to stop that concern nothing it has"));
  }
  if (up() && process_->images.is_pressed()) {
    world_.auditor.fail(concat(name(), ": is given what it declines again and again"));
  }
}

}  // namespace drover::sim

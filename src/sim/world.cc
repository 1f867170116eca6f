#include "sim/world.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "core/sanity.h"
#include "sim/auditor.h"
#include "sim/clients.h"
#include "sim/event_queue.h"
#include "sim/network.h"
#include "sim/registry.h"
#include "sim/sim_server.h"
#include "sim/sim_worker.h"
#include "sim/why_probe.h"

namespace drover::sim {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::uint64_t kItemsOfAnHour = 100;
// After the last misfortune: leases have run out, polls were given up, workers are back.
constexpr std::int64_t kSettleMs = 5 * 60'000;
// Without progress for so long somebody is starved: longer than any item, timeout, grace and retry delay together.
constexpr std::int64_t kStarvedMs = 100 * 60'000;
constexpr std::int64_t kLookMs = 60'000;
// When nothing has happened to anybody for so long, whoever is free has asked for work and was answered.
constexpr std::int64_t kCalmMs = 3 * 60'000;
// A worker that is not cut off and was not told of a grant gives up the poll that brought it, and says so until it is
// heard. That takes less than this.
constexpr std::int64_t kUnheldMs = 5 * 60'000;
constexpr std::int64_t kAskWhyMs = 7 * 60'000;
constexpr double kFairWithin = 0.03;

class World {
 public:
  World(const Script& script, SeamPlant plant)
      : script_(script),
        random_(script.seed ^ 0x776879),
        network_(events_, script.seed, script.workers.size()),
        registry_(events_, script.seed),
        server_(events_, auditor_, script.seed, plant),
        clients_(events_, network_, server_, auditor_, script.seed) {
    for (std::size_t i = 0; i < script.workers.size(); ++i) {
      workers_.push_back(std::make_unique<SimWorker>(
          SimWorker::World{events_, network_, server_, auditor_, registry_, plant}, i, script.workers[i], script.seed));
    }
    server_.on_stopped = [this] {
      for (const auto& worker : workers_) worker->on_server_stopped();
    };
  }

  RunResult run() {
    server_.start();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      events_.at(script_.workers[i].joins_ms, [this, i] { workers_[i]->start(); });
    }
    for (const ScriptEvent& event : script_.events) {
      events_.at(event.at_ms, [this, &event] {
        if (event.is_fault()) faulty_hours_.insert(event.at_ms / kHourMs);
        std::visit([this](const auto& it) { happen(it); }, event.what);
      });
    }
    auditor_.expect_outages(longest_outage_ms());
    look_at_cancelled();
    look_at_workers();
    keep_house();
    look_for_starved();
    ask_why();
    const std::int64_t quiet_ms = last_fault_ms() + kSettleMs;
    events_.at(quiet_ms, [this] {
      quiet_ = true;
      auditor_.expect_no_losses();
      clients_.tend_queues();
      readmit_the_well();
      look();
    });
    std::uint64_t steps = 0;
    while (!auditor_.failure() && !over_) {
      events_.run_next();
      ++steps;
    }
    if (over_ && !auditor_.failure()) auditor_.at_end(server_.core(), server_.store());
    if (script_.is_saturated && !auditor_.failure()) look_at_shares();
    return result(steps);
  }

 private:
  void happen(const Submit& it) { clients_.submit(it); }
  void happen(const Cancel& it) { clients_.cancel(it.job); }
  void happen(const Retry& it) { clients_.retry(it.job); }
  void happen(const ChangeQueue& it) { clients_.change_queue(it.queue); }
  void happen(const CloseQueue& it) { clients_.close_queue(it); }
  void happen(const RemoveQueue& it) { clients_.remove_queue(it.queue); }
  void happen(const WatchItem& it) { clients_.watch(it); }
  void happen(const Spoil& it) { workers_[it.worker]->spoil(it); }
  void happen(const CrashWorker& it) { workers_[it.worker]->crash(it.down_ms); }
  void happen(const LoseMachine& it) { workers_[it.worker]->lose_machine(it.down_ms); }
  void happen(const SpotNotice& it) { workers_[it.worker]->give_notice(it); }
  void happen(const KillSlot& it) { workers_[it.worker]->kill_slot(it); }
  void happen(const DrainWorker& it) {
    workers_[it.worker]->expect_drain(it.down_ms);
    clients_.drain(workers_[it.worker]->name());
  }
  void happen(const FenceWorker& it) {
    auditor_.expect_fence(workers_[it.worker]->name());
    clients_.fence(workers_[it.worker]->name());
  }
  void happen(const Partition& it) { network_.cut(it); }
  void happen(const CrashServer& it) { server_.crash(it); }
  void happen(const FillDisk& it) { server_.fill_disk(it); }
  void happen(const RefuseLogs& it) { server_.refuse_logs(it); }
  void happen(const SlowDisk& it) { server_.slow_down(it); }
  void happen(const StallServer& it) { server_.stall(it); }
  void happen(const RegistryOutage& it) { registry_.go_out(it); }
  void happen(const JumpClock& it) {
    auditor_.expect_jumps();
    server_.jump_clock(it);
  }
  void happen(const BadWeather& it) { network_.change_weather(it); }

  /// When the last misfortune is over, and everybody back.
  std::int64_t last_fault_ms() const {
    std::int64_t last_ms = script_.length_ms;
    for (const WorkerPlan& worker : script_.workers) last_ms = std::max(last_ms, worker.joins_ms);
    for (const ScriptEvent& event : script_.events) last_ms = std::max(last_ms, event.over_ms());
    return last_ms;
  }

  /// How long the server does nothing at a time, at most, if what is written for it comes at once.
  std::int64_t longest_outage_ms() const {
    std::int64_t sum_ms = 0;
    for (const ScriptEvent& event : script_.events) {
      if (std::holds_alternative<CrashServer>(event.what) || std::holds_alternative<FillDisk>(event.what) ||
          std::holds_alternative<StallServer>(event.what)) {
        sum_ms += event.over_ms() - event.at_ms;
      }
    }
    return sum_ms;
  }

  // What each share has had of all machines, beside its due: the less the more its usage counts.
  void look_at_shares() {
    Queue queue;
    std::map<std::uint64_t, double> due;
    std::int64_t longest_ms = 0;
    for (const ScriptEvent& event : script_.events) {
      if (const auto* change = std::get_if<ChangeQueue>(&event.what)) queue = change->queue;
      const auto* it = std::get_if<Submit>(&event.what);
      if (it == nullptr) continue;
      longest_ms = std::max(longest_ms, it->nature.typical_ms);
      const auto weight = std::ranges::find(queue.weights, it->place.share, &ShareWeight::share);
      due[it->job] = 1.0 / (weight == queue.weights.end() ? ShareWeight::kOne : weight->weight);
    }
    double all_due = 0;
    double all_had = 0;
    for (const auto& [job, part] : due) all_due += part;
    for (const auto& [job, ms] : auditor_.cpu_ms()) all_had += static_cast<double>(ms);
    // The first item of each slot is handed out before it is known how long those of a share take, and by the time a
    // share has had more than its due of these, part of that is forgotten.
    double first_items_ms = 0;
    for (const WorkerPlan& worker : script_.workers)
      first_items_ms += static_cast<double>(worker.slots) * static_cast<double>(longest_ms);
    for (const auto& [job, part] : due) {
      const double had = static_cast<double>(auditor_.cpu_ms().at(job)) / all_had;
      if (std::abs(had - part / all_due) <= kFairWithin * part / all_due + first_items_ms / all_had) continue;
      auditor_.fail(concat("the share of job ", job, " has had another part than its due of the machines (",
                           std::lround(1000 * had), " instead of ", std::lround(1000 * part / all_due),
                           " thousandths)"));
    }
  }

  void look_at_cancelled() {
    auditor_.inspect_cancelled(events_.now_ms());
    events_.after(5 * kLookMs, [this] { look_at_cancelled(); });
  }

  // A worker has each result once, and the server knows no worker for longer than it should. No grant stays open that
  // its worker does not know of.
  void look_at_workers() {
    if (over_) return;
    events_.after(kLookMs, [this] { look_at_workers(); });
    for (const auto& worker : workers_) worker->inspect();
    if (!server_.up()) return;
    if (const auto wrong = server_.wrongly_known()) auditor_.fail(*wrong);
    if (std::exchange(looked_at_server_, server_.generation()) != server_.generation()) unheld_.clear();
    std::map<GrantId, std::int64_t> unheld;
    for (const auto& [id, grant] : server_.core().durable().grants) {
      const std::string& name = server_.core().durable().workers.at(grant.worker).name;
      const auto worker = std::ranges::find_if(workers_, [&](const auto& it) { return it->name() == name; });
      if (worker == workers_.end() || !(*worker)->up() || (*worker)->knows_of(id)) continue;
      if (network_.is_cut(static_cast<std::size_t>(worker - workers_.begin()))) continue;
      const auto before = unheld_.find(id);
      unheld[id] = before == unheld_.end() ? events_.now_ms() : before->second;
      if (events_.now_ms() - unheld[id] > kUnheldMs) {
        auditor_.fail(concat(name, ": holds a grant that it does not know of"));
      }
    }
    unheld_ = std::move(unheld);
  }

  void keep_house() {
    if (over_) return;
    clients_.forget_old();
    clients_.tend_queues();
    readmit_the_well();
    events_.after(15 * kLookMs, [this] { keep_house(); });
  }

  bool is_calm() const {
    const std::int64_t now_ms = events_.now_ms();
    return server_.up() && std::ranges::none_of(script_.events, [&](const ScriptEvent& it) {
             return it.is_fault() && it.at_ms <= now_ms && it.over_ms() + kCalmMs > now_ms;
           });
  }

  // Nobody who is free leaves a job waiting that it could run, when all is calm; and in the end nobody is busy for
  // ever.
  void look_for_starved() {
    if (over_) return;
    events_.after(kLookMs, [this] { look_for_starved(); });
    if (!is_calm()) return waiting_.clear();
    const Core& core = server_.core();
    std::map<JobId, Waiting> waiting;
    for (const JobId id : core.volatile_part().runnable) {
      const JobIndex& index = core.volatile_part().jobs.at(id);
      if (!core.volatile_part().places.at(id).offered) continue;
      const Why said = why(core, id, std::nullopt);
      if (const auto wrong = untruth(core, id, std::nullopt, said)) return auditor_.fail(*wrong);
      Waiting now{said.code, core.durable().blocks.at(id).count(ItemMark::pending), index.ready.size(),
                  events_.now_ms()};
      if (const auto before = waiting_.find(id); before != waiting_.end() && before->second.is_like(now)) {
        now.since_ms = before->second.since_ms;
      }
      const bool is_free = said.code == WhyCode::next || said.sentence.ends_with("nothing right now");
      // Items that hang for ever may have every slot until somebody cancels their job.
      const bool may_be_busy_for_ever = std::ranges::any_of(core.volatile_part().runnable, [&](JobId other) {
        return auditor_.submit_of(core.durable().jobs.at(other).uuid)->may_hang_for_ever();
      });
      const bool is_starved = events_.now_ms() - now.since_ms > (is_free ? kCalmMs : kStarvedMs);
      if (is_starved && (is_free || (said.code == WhyCode::busy && !may_be_busy_for_ever))) {
        return auditor_.fail(concat("job ", auditor_.submit_of(core.durable().jobs.at(id).uuid)->job,
                                    " is left waiting: ", said.sentence));
      }
      waiting[id] = now;
    }
    waiting_ = std::move(waiting);
  }

  // Somebody wants to know why a job, or an item of it, does not run.
  void ask_why() {
    if (over_) return;
    events_.after(kAskWhyMs, [this] { ask_why(); });
    if (!server_.up() || server_.core().volatile_part().runnable.empty()) return;
    const Core& core = server_.core();
    auto job = core.volatile_part().runnable.begin();
    std::advance(job, static_cast<std::ptrdiff_t>(random_.below(core.volatile_part().runnable.size())));
    std::optional<ItemIndex> item;
    if (const std::uint64_t total = core.durable().jobs.at(*job).total; total > 0 && random_.one_in(2)) {
      item = ItemIndex{random_.below(std::min<std::uint64_t>(total, 40))};
    }
    if (const auto wrong = lift_reasons(core, *job, item, reasons_)) auditor_.fail(*wrong);
  }

  // A worker that was given nothing is given some again when nothing is wrong with it any more.
  void readmit_the_well() {
    if (!server_.up()) return;
    for (const auto& [id, it] : server_.core().durable().workers) {
      const bool is_ill = std::ranges::any_of(
          workers_, [&](const auto& worker) { return worker->name() == it.name && worker->is_spoilt(); });
      if (!it.quarantine.empty() && !is_ill) clients_.readmit(it.name);
    }
  }

  // In the quiet after the faults: is everything done, or does at least something happen?
  void look() {
    const bool server_done = server_.settled() && clients_.idle() && server_.core().volatile_part().runnable.empty();
    bool workers_done = true;
    for (const auto& worker : workers_) workers_done = workers_done && worker->idle();
    if (server_done && workers_done) {
      over_ = true;
      return;
    }
    // A retry that was on its way for long may have come after the cancel.
    clients_.cancel_what_never_ends();
    if (auditor_.attempts() != attempts_seen_) {
      attempts_seen_ = auditor_.attempts();
      progress_ms_ = events_.now_ms();
    }
    progress_ms_ = std::max(progress_ms_, quiet_since_ms());
    if (events_.now_ms() - progress_ms_ > kStarvedMs) {
      auditor_.fail(concat("nothing happens any more: ", !server_.up() ? "the server is down"
                                                         : server_done
                                                             ? "a worker never gets done"
                                                             : auditor_.unfinished(server_.core().durable())));
    }
    events_.after(kLookMs, [this] { look(); });
  }

  std::int64_t quiet_since_ms() const { return last_fault_ms() + kSettleMs; }

  RunResult result(std::uint64_t steps) {
    RunResult out;
    out.failure = auditor_.failure();
    out.failed_at_ms = events_.now_ms();
    Hasher hasher;
    if (server_.up()) hasher.add(hash(server_.core().durable()));
    hasher.add(auditor_.attempts());
    hasher.add(steps);
    hasher.add(static_cast<std::uint64_t>(events_.now_ms()));
    out.hash = hasher.value();
    out.settled = auditor_.settled();
    out.attempts = auditor_.attempts();
    out.runs = auditor_.runs();
    out.steps = steps;
    out.cpu_ms = auditor_.cpu_ms();
    out.begun_ms = auditor_.begun_ms();
    for (const auto& [hour, settled] : auditor_.settled_by_hour()) {
      const bool counts =
          settled >= kItemsOfAnHour && faulty_hours_.contains(hour) && hour * kHourMs < script_.length_ms;
      out.counted_hours += counts ? 1 : 0;
    }
    return out;
  }

  /// A job that has something to hand out, as it was when it was last looked at.
  struct Waiting {
    WhyCode code;
    std::uint64_t pending;
    std::uint64_t ready;
    std::int64_t since_ms;

    bool is_like(const Waiting& other) const {
      return code == other.code && pending == other.pending && ready == other.ready;
    }
  };

  const Script& script_;
  Random random_;
  EventQueue events_;
  Auditor auditor_;
  Network network_;
  Registry registry_;
  SimServer server_;
  Clients clients_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::set<std::int64_t> faulty_hours_;
  std::map<JobId, Waiting> waiting_;
  std::map<GrantId, std::int64_t> unheld_;  // by those who should have them, since when
  std::uint64_t looked_at_server_ = 0;      // its generation
  std::map<WhyCode, std::uint64_t> reasons_;
  bool quiet_ = false;
  bool over_ = false;
  std::uint64_t attempts_seen_ = 0;
  std::int64_t progress_ms_ = 0;
};

}  // namespace

RunResult act_out(const Script& script, SeamPlant plant) {
  return World(script, plant).run();
}

}  // namespace drover::sim

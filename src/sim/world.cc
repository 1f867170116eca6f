#include "sim/world.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "core/sanity.h"
#include "core/why_facts.h"
#include "sim/stage.h"
#include "sim/times.h"
#include "sim/why_probe.h"

namespace drover::sim {
namespace {

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

class World {
 public:
  World(const Script& script, SeamFaults faults)
      : script_(script), random_(script.seed ^ 0x776879), stage_(script, faults) {}

  RunResult run() {
    stage_.server.start();
    for (std::size_t i = 0; i < stage_.workers.size(); ++i) {
      stage_.events.at(script_.workers[i].joins_ms, [this, i] { stage_.workers[i]->start(); });
    }
    for (const ScriptEvent& event : script_.events) {
      stage_.events.at(event.at_ms, [this, &event] {
        if (event.is_fault()) faulty_hours_.insert(event.at_ms / kHour);
        event.what.happen(stage_);
      });
    }
    stage_.auditor.expect_outages(longest_outage_ms());
    look_at_cancelled();
    look_at_workers();
    keep_house();
    look_for_starved();
    ask_why();
    const std::int64_t quiet_ms = last_fault_ms() + kSettleMs;
    stage_.events.at(quiet_ms, [this] {
      quiet_ = true;
      stage_.auditor.expect_no_losses();
      for (const auto& part : stage_.parts) part->tend();
      look();
    });
    std::uint64_t steps = 0;
    while (!stage_.auditor.failure() && !over_) {
      stage_.events.run_next();
      ++steps;
    }
    if (over_ && !stage_.auditor.failure()) {
      stage_.auditor.at_end(stage_.server.core(), stage_.server.store());
      for (const auto& part : stage_.parts) part->at_end();
    }
    return result(steps);
  }

 private:
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
      if (event.what.stops_server()) sum_ms += event.what.lasts_ms();
    }
    return sum_ms;
  }

  void look_at_cancelled() {
    stage_.auditor.inspect_cancelled(stage_.events.now_ms());
    stage_.events.after(5 * kLookMs, [this] { look_at_cancelled(); });
  }

  // A worker has each result once, and the server knows no worker for longer than it should. No grant stays open that
  // its worker does not know of.
  void look_at_workers() {
    if (over_) return;
    stage_.events.after(kLookMs, [this] { look_at_workers(); });
    for (const auto& worker : stage_.workers) worker->inspect();
    if (!stage_.server.up()) return;
    if (const auto wrong = stage_.server.wrongly_known()) stage_.auditor.fail(*wrong);
    if (std::exchange(looked_at_server_, stage_.server.generation()) != stage_.server.generation()) unheld_.clear();
    std::map<GrantId, std::int64_t> unheld;
    for (const auto& [id, grant] : stage_.server.core().durable().grants) {
      const std::string& name = stage_.server.core().durable().workers.at(grant.worker).name;
      const auto worker = std::ranges::find_if(stage_.workers, [&](const auto& it) { return it->name() == name; });
      if (worker == stage_.workers.end() || !(*worker)->up() || (*worker)->knows_of(id)) continue;
      if (stage_.network.is_cut((*worker)->index())) continue;
      const auto before = unheld_.find(id);
      unheld[id] = before == unheld_.end() ? stage_.events.now_ms() : before->second;
      if (stage_.events.now_ms() - unheld[id] > kUnheldMs) {
        stage_.auditor.fail(concat(name, ": holds a grant that it does not know of"));
      }
    }
    unheld_ = std::move(unheld);
  }

  void keep_house() {
    if (over_) return;
    stage_.jobs.forget_old();
    for (const auto& part : stage_.parts) part->tend();
    stage_.events.after(15 * kLookMs, [this] { keep_house(); });
  }

  bool is_calm() const {
    const std::int64_t now_ms = stage_.events.now_ms();
    return stage_.server.up() && std::ranges::none_of(script_.events, [&](const ScriptEvent& it) {
             return it.is_fault() && it.at_ms <= now_ms && it.over_ms() + kCalmMs > now_ms;
           });
  }

  /// Something is due and left for the next command: it may come before what waits now.
  static bool has_more_to_do(const Core& core) {
    return core.next_deadline().value_or(core.now_ms() + 1) <= core.now_ms();
  }

  // Nobody who is free leaves a job waiting that it could run, when all is calm; and in the end nobody is busy for
  // ever.
  void look_for_starved() {
    if (over_) return;
    stage_.events.after(kLookMs, [this] { look_for_starved(); });
    if (!is_calm()) return waiting_.clear();
    const Core& core = stage_.server.core();
    if (has_more_to_do(core)) return;
    std::map<JobId, Waiting> waiting;
    for (const JobId id : core.volatile_part().runnable) {
      const JobIndex& index = core.volatile_part().jobs.at(id);
      if (!core.volatile_part().places.at(id).offered) continue;
      const WhyFacts facts = why_facts(core, id, std::nullopt);
      const Why said = in_words(facts);
      if (const auto wrong = untruth(core, id, std::nullopt, said)) return stage_.auditor.fail(*wrong);
      Waiting now{said.code, core.durable().blocks.at(id).count(ItemMark::pending), index.ready.size(),
                  core.durable().jobs.at(id).total, stage_.events.now_ms()};
      if (const auto before = waiting_.find(id); before != waiting_.end() && before->second.is_like(now)) {
        now.since_ms = before->second.since_ms;
      }
      const bool is_free = said.code == WhyCode::next || std::holds_alternative<reason::NoneAccepts>(facts.reason);
      // Items that hang for ever may have every slot until somebody cancels their job.
      const bool may_be_busy_for_ever = std::ranges::any_of(core.volatile_part().runnable, [&](JobId other) {
        return stage_.auditor.submit_of(core.durable().jobs.at(other).uuid)->may_hang_for_ever();
      });
      const bool is_starved = stage_.events.now_ms() - now.since_ms > (is_free ? kCalmMs : kStarvedMs);
      if (is_starved && (is_free || (said.code == WhyCode::busy && !may_be_busy_for_ever))) {
        return stage_.auditor.fail(concat("job ", stage_.auditor.submit_of(core.durable().jobs.at(id).uuid)->job,
                                          " is left waiting: ", said.sentence));
      }
      waiting[id] = now;
    }
    waiting_ = std::move(waiting);
  }

  // Somebody wants to know why a job, or an item of it, does not run.
  void ask_why() {
    if (over_) return;
    stage_.events.after(kAskWhyMs, [this] { ask_why(); });
    if (!stage_.server.up() || stage_.server.core().volatile_part().runnable.empty()) return;
    const Core& core = stage_.server.core();
    if (has_more_to_do(core)) return;
    auto job = core.volatile_part().runnable.begin();
    std::advance(job, static_cast<std::ptrdiff_t>(random_.below(core.volatile_part().runnable.size())));
    std::optional<ItemIndex> item;
    if (const std::uint64_t total = core.durable().jobs.at(*job).total; total > 0 && random_.one_in(2)) {
      item = ItemIndex{random_.below(std::min<std::uint64_t>(total, 40))};
    }
    if (const auto wrong = lift_reasons(core, *job, item, reasons_)) stage_.auditor.fail(*wrong);
  }

  // In the quiet after the faults: is everything done, or does at least something happen?
  void look() {
    const bool clients_done = stage_.clients.idle() && stage_.jobs.idle() &&
                              std::ranges::all_of(stage_.parts, [](const auto& part) { return part->idle(); });
    const bool server_done =
        stage_.server.settled() && clients_done && stage_.server.core().volatile_part().runnable.empty();
    bool workers_done = true;
    for (const auto& worker : stage_.workers) workers_done = workers_done && worker->idle();
    if (server_done && workers_done) {
      over_ = true;
      return;
    }
    // A retry that was on its way for long may have come after the cancel.
    stage_.jobs.cancel_what_never_ends();
    if (stage_.auditor.attempts() != attempts_seen_) {
      attempts_seen_ = stage_.auditor.attempts();
      progress_ms_ = stage_.events.now_ms();
    }
    progress_ms_ = std::max(progress_ms_, quiet_since_ms());
    if (stage_.events.now_ms() - progress_ms_ > kStarvedMs) {
      stage_.auditor.fail(concat("nothing happens any more: ",
                                 !stage_.server.up() ? "the server is down"
                                 : server_done       ? "a worker never gets done"
                                                     : stage_.auditor.unfinished(stage_.server.core().durable())));
    }
    stage_.events.after(kLookMs, [this] { look(); });
  }

  std::int64_t quiet_since_ms() const { return last_fault_ms() + kSettleMs; }

  RunResult result(std::uint64_t steps) {
    RunResult out;
    out.failure = stage_.auditor.failure();
    out.failed_at_ms = stage_.events.now_ms();
    Hasher hasher;
    if (stage_.server.up()) hasher.add(hash(stage_.server.core().durable()));
    hasher.add(stage_.auditor.attempts());
    hasher.add(steps);
    hasher.add(static_cast<std::uint64_t>(stage_.events.now_ms()));
    out.hash = hasher.value();
    out.settled = stage_.auditor.settled();
    out.attempts = stage_.auditor.attempts();
    out.runs = stage_.auditor.runs();
    out.steps = steps;
    out.cpu_ms = stage_.auditor.cpu_ms();
    out.begun_ms = stage_.auditor.begun_ms();
    for (const auto& [hour, settled] : stage_.auditor.settled_by_hour()) {
      const bool counts = settled >= kItemsOfAnHour && faulty_hours_.contains(hour) && hour * kHour < script_.length_ms;
      out.counted_hours += counts ? 1 : 0;
    }
    return out;
  }

  /// A job that has something to hand out, as it was when it was last looked at.
  struct Waiting {
    WhyCode code;
    std::uint64_t pending;
    std::uint64_t ready;
    std::uint64_t total;  // grows when a job on a stream takes messages
    std::int64_t since_ms;

    bool is_like(const Waiting& other) const {
      return code == other.code && pending == other.pending && ready == other.ready && total == other.total;
    }
  };

  const Script& script_;
  Random random_;
  Stage stage_;
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

RunResult act_out(const Script& script, SeamFaults faults) {
  return World(script, faults).run();
}

}  // namespace drover::sim

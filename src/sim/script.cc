#include "sim/script.h"

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "sim/crowd.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

// A worker leaves an image that could not be fetched alone for so long (agent/image_gate.h).
constexpr std::int64_t kLongestImagePauseMs = 5 * kMinute;

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed) {
    script_.seed = seed;
    if (seed % 2 == 0) crowd_.emplace(seed);
  }

  Script write(std::int64_t hours) {
    script_.length_ms = hours * kHour;
    write_workers();
    if (crowd_) {
      crowd_->equip(script_.workers, script_.length_ms);
      sized_ = true;
      script_.events = crowd_->make_queues(hours);
    }
    for (std::int64_t hour = 0; hour < hours; ++hour) write_hour(hour * kHour);
    if (random_.one_in(12)) write_long_absence();
    std::ranges::stable_sort(script_.events, {}, &ScriptEvent::at_ms);
    return std::move(script_);
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  void add(std::int64_t at_ms, Happening what) { script_.events.push_back({at_ms, std::move(what)}); }

  void write_workers() {
    const std::size_t count = random_.one_in(3) ? 1 + random_.below(12) : 1 + random_.below(5);
    for (std::size_t i = 0; i < count; ++i) {
      script_.workers.push_back(
          {.slots = 1 + random_.below(8), .strict_lease = random_.one_in(4), .clock_ahead_ms = between(-5000, 5000)});
      script_.workers.back().names_what_it_returns = random_.one_in(6);
    }
    sized_ = random_.one_in(2);
    for (WorkerPlan& worker : script_.workers) {
      if (!sized_) continue;
      worker.has = {500 * (1 + random_.below(16)), (1 + random_.below(64)) << 30};
      if (random_.one_in(2)) worker.labels["zone"] = random_.one_in(2) ? "a" : "b";
      if (random_.one_in(3)) worker.labels["gpu"] = "";
    }
  }

  // Something that one of the workers can run, perhaps only when nothing else runs there.
  void write_ask(Submit& submit) {
    const WorkerPlan& worker = script_.workers[random_.below(script_.workers.size())];
    const auto some_of = [&](std::uint64_t all) {
      return random_.one_in(4) ? all : random_.one_in(3) ? random_.below(all + 1) : all / (1 + random_.below(8));
    };
    submit.ask = {std::max<std::uint64_t>(1, some_of(worker.has.milli_cpus)),
                  random_.one_in(2) ? 0 : some_of(worker.has.memory_bytes)};
    for (std::size_t kind = 0; crowd_ && kind < kAccelerators; ++kind) {
      if (random_.one_in(2)) submit.ask.accelerators[kind] = some_of(worker.has.accelerators[kind]);
    }
    for (const auto& label : worker.labels) {
      if (random_.one_in(4)) submit.require.insert(label);
    }
  }

  // How many of its items can run at a time.
  std::int64_t places_of(const Submit& submit) const {
    std::uint64_t places = 0;
    for (const WorkerPlan& worker : script_.workers) {
      if (has_all(worker.labels, submit.require)) places += std::min(worker.has.holds(submit.ask), worker.slots);
    }
    if (submit.most_running() > 0) places = std::min(places, submit.most_running());
    return static_cast<std::int64_t>(places);
  }

  void write_hour(std::int64_t from_ms) {
    // Enough to count as an hour, then whatever comes.
    write_submit(from_ms + between(0, 10 * kMinute), 110 + random_.below(60), false);
    if (crowd_) write_crowd(from_ms);
    const std::uint64_t more = random_.below(4);
    for (std::uint64_t i = 0; i < more; ++i) {
      const std::uint64_t size = random_.below(40);
      const std::uint64_t total = size == 0   ? random_.below(2000)
                                  : size == 1 ? 4090 + random_.below(20)
                                  : size < 5  ? random_.below(300)
                                              : random_.below(40);
      write_submit(from_ms + between(0, kHour - 1), total, true);
    }
    if (random_.one_in(2)) write_watches(from_ms);
    if (random_.one_in(2)) write_brink(from_ms);
    if (random_.one_in(2)) write_restarts(from_ms);
    const std::uint64_t faults = 1 + random_.below(8);
    for (std::uint64_t i = 0; i < faults; ++i) {
      const std::int64_t at_ms = from_ms + between(0, kHour - 1);
      const Happening what = fault();
      add(at_ms, what);
      // What a machine held that is lost just before is known to the server's disk alone.
      if (!std::holds_alternative<CrashServer>(what) || !random_.one_in(3)) continue;
      const std::size_t worker = random_.below(script_.workers.size());
      add(std::max<std::int64_t>(0, at_ms - between(0, 50 * kSecond)), LoseMachine{worker, between(0, kMinute)});
    }
  }

  void write_watches(std::int64_t from_ms) {
    const std::uint64_t watches = 1 + random_.below(4);
    for (std::uint64_t i = 0; i < watches; ++i) {
      add(from_ms + between(0, kHour - 1), WatchItem{1 + random_.below(jobs_), ItemIndex{random_.below(30)}});
    }
  }

  // Workers are cut off for about as long as a lease lasts, while commits are slow: what they say next waits in the
  // inbox when their leases are about to expire.
  void write_brink(std::int64_t from_ms) {
    const std::int64_t at_ms = from_ms + between(0, 50 * kMinute);
    add(at_ms, SlowDisk{between(300, 480), 4 * kMinute});
    for (std::size_t worker = 0; worker < script_.workers.size(); ++worker) {
      add(at_ms + between(0, kMinute), Partition{worker, Cut::to_server, between(45 * kSecond, 60 * kSecond)});
    }
  }

  // Results gather on a worker while the server is away, and then the worker is started anew.
  void write_restarts(std::int64_t from_ms) {
    const std::int64_t at_ms = from_ms + between(0, 50 * kMinute);
    add(at_ms, CrashServer{CrashPoint::at_once, between(10 * kSecond, 35 * kSecond)});
    for (std::size_t worker = 0; worker < script_.workers.size(); ++worker) {
      if (random_.one_in(2)) add(at_ms + between(kSecond, 20 * kSecond), CrashWorker{worker, between(0, 5 * kSecond)});
    }
  }

  // A worker is away for longer than a server remembers it: its machine is off, or its line is cut.
  void write_long_absence() {
    const std::size_t worker = random_.below(script_.workers.size());
    const std::int64_t at_ms = between(0, script_.length_ms);
    const std::int64_t for_ms = between(25 * kHour, 28 * kHour);
    if (random_.one_in(2)) return add(at_ms, Partition{worker, Cut::both, for_ms});
    add(at_ms, CrashWorker{worker, for_ms});
  }

  // Several jobs at about the same time, who get into each other's way.
  void write_crowd(std::int64_t from_ms) {
    const std::int64_t at_ms = from_ms + between(0, 30 * kMinute);
    const std::uint64_t jobs = 2 + random_.below(7);
    for (std::uint64_t i = 0; i < jobs; ++i) {
      write_submit(at_ms + between(0, 10 * kMinute), random_.below(random_.one_in(4) ? 200 : 30), true);
    }
    if (script_.workers.size() > 1 && crowd_ && crowd_->spoils()) write_spoilt(from_ms + between(0, 30 * kMinute));
  }

  // A worker on which all fails, while others do well with the same job.
  void write_spoilt(std::int64_t at_ms) {
    Submit submit;
    submit.job = ++jobs_;
    submit.total = 300 + random_.below(600);
    submit.policy.max_tries = static_cast<std::uint32_t>(1 + random_.below(3));
    submit.nature = {.seed = random_.next(), .typical_ms = between(50, 2000), .fail_percent = 5};
    if (random_.one_in(2)) submit.ask.milli_cpus = 100;
    submit.place.priority = kHighestPriority;
    add(at_ms, submit);
    add(at_ms - std::min(at_ms, between(0, kMinute)),
        Spoil{random_.below(script_.workers.size()), between(2 * kMinute, 30 * kMinute)});
  }

  void write_submit(std::int64_t at_ms, std::uint64_t total, bool any_kind) {
    Submit submit;
    submit.job = ++jobs_;
    submit.total = total;
    submit.policy = policy();
    if (crowd_) crowd_->place(submit, at_ms, any_kind);
    total = submit.total;
    if (sized_ && !random_.one_in(3)) write_ask(submit);
    if (crowd_ && any_kind) crowd_->ask_too_much(submit);
    if (any_kind && random_.one_in(4)) {
      submit.image = random_.one_in(12) ? kMissingImage : static_cast<std::uint32_t>(1 + random_.below(6));
    }
    JobNature& nature = submit.nature;
    nature.seed = random_.next();
    // A job takes a quarter of an hour of everybody's time at most.
    const std::int64_t most_ms = 15 * kMinute * places_of(submit) / static_cast<std::int64_t>(total + 1);
    nature.typical_ms = std::clamp<std::int64_t>(between(most_ms / 16, most_ms / 2), 5, 5 * kMinute);
    if (total > 400) nature.typical_ms = std::min<std::int64_t>(nature.typical_ms, between(5, 2000));
    nature.fail_percent = random_.one_in(3) ? 0 : static_cast<std::uint32_t>(random_.below(40));
    nature.stubborn_percent = static_cast<std::uint32_t>(random_.below(30));
    if (submit.policy.timeout_ms > 0) {
      // A timeout is never near what an item takes anyway.
      submit.policy.timeout_ms = 8 * nature.typical_ms + 1000;
      nature.hang_percent = random_.one_in(2) ? static_cast<std::uint32_t>(random_.below(4)) : 0;
    } else if (any_kind && random_.one_in(4)) {
      nature.hang_percent = static_cast<std::uint32_t>(1 + random_.below(30));  // only a cancel ends this job
      submit.policy.max_failures = Policy::kNoLimit;
      write_cancel(at_ms + between(0, kHour), submit.job);
    }
    if (submit.fits_nobody) write_cancel(at_ms + between(0, 2 * kHour), submit.job);
    add(at_ms, submit);
    if (!any_kind) return;
    if (random_.one_in(5)) write_cancel(at_ms + between(0, 10 * kMinute), submit.job);
    std::int64_t retry_at_ms = at_ms;
    while (random_.one_in(3)) {
      retry_at_ms += between(0, 20 * kMinute);
      add(retry_at_ms, Retry{submit.job});
    }
  }

  // The order to stop is said once, so misfortune likes to be there when it is.
  void write_cancel(std::int64_t at_ms, std::uint64_t job) {
    add(at_ms, Cancel{job});
    if (!random_.one_in(2)) return;
    const std::size_t worker = random_.below(script_.workers.size());
    add(std::max<std::int64_t>(0, at_ms - between(0, 2 * kSecond)),
        Partition{worker, random_.one_in(3) ? Cut::both : Cut::to_worker, between(kSecond, 45 * kSecond)});
  }

  Policy policy() {
    Policy policy;
    policy.max_tries = static_cast<std::uint32_t>(1 + random_.below(4));
    policy.lost_limit = random_.one_in(3) ? static_cast<std::uint32_t>(1 + random_.below(3)) : 20;
    policy.retry_delay_ms = random_.one_in(2) ? 0 : between(1, 2 * kMinute);
    policy.timeout_ms = random_.one_in(2) ? 0 : 1;
    policy.grace_ms = random_.one_in(4) ? 0 : between(1, 30 * kSecond);
    if (random_.one_in(4)) policy.max_failures = random_.below(30);
    if (random_.one_in(4))
      policy.rules.push_back({"", "", "3*", random_.one_in(2) ? RuleAction::exit : RuleAction::retry});
    if (random_.one_in(4)) policy.rules.push_back({"", "killed by signal*", "", RuleAction::exit});
    if (random_.one_in(12)) policy.rules.push_back({"Host EC2*", "", "", RuleAction::exit});
    return policy;
  }

  std::int64_t short_or_long(std::int64_t short_ms, std::int64_t long_ms) {
    return random_.one_in(3) ? between(0, long_ms) : between(0, short_ms);
  }

  Happening fault() {
    const std::size_t worker = random_.below(script_.workers.size());
    switch (random_.below(22)) {
      case 0:
      case 1: return CrashWorker{worker, short_or_long(5 * kSecond, 3 * kMinute)};
      case 2: return LoseMachine{worker, short_or_long(kMinute, 5 * kMinute)};
      case 3: return SpotNotice{worker, between(5 * kSecond, 2 * kMinute), short_or_long(kMinute, 5 * kMinute)};
      case 4: return KillSlot{worker, random_.below(script_.workers[worker].slots), between(0, 5 * kSecond)};
      case 5: return DrainWorker{worker, between(0, kMinute)};
      case 6:
      case 7:
      case 8: return Partition{worker, static_cast<Cut>(random_.below(3)), short_or_long(50 * kSecond, 10 * kMinute)};
      case 9:
      case 10:
      case 11: return CrashServer{static_cast<CrashPoint>(random_.below(4)), short_or_long(5 * kSecond, 5 * kMinute)};
      case 12: return FillDisk{short_or_long(kMinute, 10 * kMinute)};
      case 13: return SlowDisk{between(50, 5 * kSecond), short_or_long(kMinute, 5 * kMinute)};
      case 14: return JumpClock{between(-2 * kHour, 2 * kHour)};
      case 15: return FenceWorker{worker};
      case 16:
      case 17: return StallServer{short_or_long(50 * kSecond, 2 * kMinute), random_.one_in(2)};
      case 18: return RegistryOutage{short_or_long(2 * kMinute, 40 * kMinute)};
      case 19: return CrashServer{static_cast<CrashPoint>(random_.below(4)), between(10 * kMinute, 90 * kMinute)};
      case 20: return RefuseLogs{short_or_long(kMinute, 10 * kMinute)};
      default:
        return BadWeather{static_cast<std::uint32_t>(random_.below(150)),
                          static_cast<std::uint32_t>(random_.below(100)), between(10, 20 * kSecond),
                          between(kMinute, 10 * kMinute)};
    }
  }

  Random random_;
  Script script_;
  std::optional<Crowd> crowd_;
  bool sized_ = false;  // workers have an end, and jobs ask for some of it
  std::uint64_t jobs_ = 0;
};

}  // namespace

std::int64_t ScriptEvent::over_ms() const {
  std::int64_t for_ms = 0;
  if (const auto* it = std::get_if<CloseQueue>(&what)) for_ms = it->for_ms;
  if (const auto* it = std::get_if<CrashWorker>(&what)) for_ms = it->down_ms;
  if (const auto* it = std::get_if<LoseMachine>(&what)) for_ms = it->down_ms;
  if (const auto* it = std::get_if<SpotNotice>(&what)) for_ms = it->notice_ms + it->down_ms;
  if (const auto* it = std::get_if<Spoil>(&what)) for_ms = it->for_ms;
  if (const auto* it = std::get_if<Partition>(&what)) for_ms = it->for_ms;
  if (const auto* it = std::get_if<CrashServer>(&what)) for_ms = 60'000 + it->down_ms;
  if (const auto* it = std::get_if<FillDisk>(&what)) for_ms = 60'000 + it->down_ms;
  if (const auto* it = std::get_if<RefuseLogs>(&what)) for_ms = it->for_ms;
  if (const auto* it = std::get_if<SlowDisk>(&what)) for_ms = it->for_ms;
  if (const auto* it = std::get_if<StallServer>(&what)) for_ms = it->for_ms;
  if (const auto* it = std::get_if<RegistryOutage>(&what)) for_ms = it->for_ms + kLongestImagePauseMs;
  if (const auto* it = std::get_if<BadWeather>(&what)) for_ms = it->for_ms;
  return at_ms + for_ms;
}

Script make_script(std::uint64_t seed, std::int64_t hours) {
  return seed % 64 == 16 ? make_saturated(seed, hours) : Writer(seed).write(hours);
}

}  // namespace drover::sim

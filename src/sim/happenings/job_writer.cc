// Which jobs a script submits, and what people do with them.
#include <algorithm>

#include "sim/happenings/groups.h"
#include "sim/happenings/jobs.h"
#include "sim/happenings/network_faults.h"
#include "sim/happenings/worker_faults.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

class JobWriter : public ScriptWriter {
 public:
  using ScriptWriter::ScriptWriter;

  void write_hour(std::int64_t from_ms) override {
    // Enough to count as an hour, then whatever comes.
    const std::uint64_t enough = 110 + random_.below(60);
    write_submit(from_ms + draft_.between(0, 10 * kMinute), enough, false);
    if (draft_.crowd) write_crowd(from_ms);
    const std::uint64_t more = random_.below(4);
    for (std::uint64_t i = 0; i < more; ++i) {
      const std::uint64_t size = random_.below(40);
      const std::uint64_t total = size == 0   ? random_.below(2000)
                                  : size == 1 ? 4090 + random_.below(20)
                                  : size < 5  ? random_.below(300)
                                              : random_.below(40);
      write_submit(from_ms + draft_.between(0, kHour - 1), total, true);
    }
    if (random_.one_in(2)) write_watches(from_ms);
  }

 private:
  void write_watches(std::int64_t from_ms) {
    const std::uint64_t watches = 1 + random_.below(4);
    for (std::uint64_t i = 0; i < watches; ++i) {
      const WatchItem watch{1 + random_.below(jobs_), ItemIndex{random_.below(30)}};
      draft_.add(from_ms + draft_.between(0, kHour - 1), watch);
    }
  }

  // Several jobs at about the same time, who get into each other's way.
  void write_crowd(std::int64_t from_ms) {
    const std::int64_t at_ms = from_ms + draft_.between(0, 30 * kMinute);
    const std::uint64_t jobs = 2 + random_.below(7);
    for (std::uint64_t i = 0; i < jobs; ++i) {
      const std::uint64_t total = random_.below(random_.one_in(4) ? 200 : 30);
      write_submit(at_ms + draft_.between(0, 10 * kMinute), total, true);
    }
    if (draft_.script.workers.size() > 1 && draft_.crowd && draft_.crowd->spoils()) {
      write_spoilt(from_ms + draft_.between(0, 30 * kMinute));
    }
  }

  // A worker on which all fails, while others do well with the same job.
  void write_spoilt(std::int64_t at_ms) {
    Submit submit;
    submit.job = ++jobs_;
    submit.total = 300 + random_.below(600);
    submit.policy.max_tries = static_cast<std::uint32_t>(1 + random_.below(3));
    submit.nature = {.seed = random_.next(), .typical_ms = draft_.between(50, 2000), .fail_percent = 5};
    if (random_.one_in(2)) submit.ask.milli_cpus = 100;
    submit.place.priority = kHighestPriority;
    draft_.add(at_ms, submit);
    const Spoil spoil{draft_.any_worker(), draft_.between(2 * kMinute, 30 * kMinute)};
    draft_.add(at_ms - std::min(at_ms, draft_.between(0, kMinute)), spoil);
  }

  void write_submit(std::int64_t at_ms, std::uint64_t total, bool any_kind) {
    Submit submit;
    submit.job = ++jobs_;
    submit.total = total;
    submit.policy = policy();
    if (draft_.crowd) draft_.crowd->place(submit, at_ms, any_kind);
    total = submit.total;
    if (draft_.sized && !random_.one_in(3)) write_ask(submit);
    if (draft_.crowd && any_kind) draft_.crowd->ask_too_much(submit);
    if (any_kind && random_.one_in(4)) {
      submit.image = random_.one_in(12) ? kMissingImage : static_cast<std::uint32_t>(1 + random_.below(6));
    }
    JobNature& nature = submit.nature;
    nature.seed = random_.next();
    // A job takes a quarter of an hour of everybody's time at most.
    const std::int64_t most_ms = 15 * kMinute * places_of(submit) / static_cast<std::int64_t>(total + 1);
    nature.typical_ms = std::clamp<std::int64_t>(draft_.between(most_ms / 16, most_ms / 2), 5, 5 * kMinute);
    if (total > 400) nature.typical_ms = std::min<std::int64_t>(nature.typical_ms, draft_.between(5, 2000));
    nature.fail_percent = random_.one_in(3) ? 0 : static_cast<std::uint32_t>(random_.below(40));
    nature.stubborn_percent = static_cast<std::uint32_t>(random_.below(30));
    if (submit.policy.timeout_ms > 0) {
      // A timeout is never near what an item takes anyway.
      submit.policy.timeout_ms = 8 * nature.typical_ms + 1000;
      nature.hang_percent = random_.one_in(2) ? static_cast<std::uint32_t>(random_.below(4)) : 0;
    } else if (any_kind && random_.one_in(4)) {
      nature.hang_percent = static_cast<std::uint32_t>(1 + random_.below(30));  // only a cancel ends this job
      submit.policy.max_failures = Policy::kNoLimit;
      write_cancel(at_ms + draft_.between(0, kHour), submit.job);
    }
    if (submit.fits_nobody) write_cancel(at_ms + draft_.between(0, 2 * kHour), submit.job);
    draft_.add(at_ms, submit);
    if (!any_kind) return;
    if (random_.one_in(5)) write_cancel(at_ms + draft_.between(0, 10 * kMinute), submit.job);
    std::int64_t retry_at_ms = at_ms;
    while (random_.one_in(3)) {
      retry_at_ms += draft_.between(0, 20 * kMinute);
      draft_.add(retry_at_ms, Retry{submit.job});
    }
  }

  // Something that one of the workers can run, perhaps only when nothing else runs there.
  void write_ask(Submit& submit) {
    const WorkerPlan& worker = draft_.script.workers[draft_.any_worker()];
    const auto some_of = [&](std::uint64_t all) {
      return random_.one_in(4) ? all : random_.one_in(3) ? random_.below(all + 1) : all / (1 + random_.below(8));
    };
    submit.ask = {std::max<std::uint64_t>(1, some_of(worker.has.milli_cpus)),
                  random_.one_in(2) ? 0 : some_of(worker.has.memory_bytes)};
    for (std::size_t kind = 0; draft_.crowd && kind < kAccelerators; ++kind) {
      if (random_.one_in(2)) submit.ask.accelerators[kind] = some_of(worker.has.accelerators[kind]);
    }
    for (const auto& label : worker.labels) {
      if (random_.one_in(4)) submit.require.insert(label);
    }
  }

  // How many of its items can run at a time.
  std::int64_t places_of(const Submit& submit) const {
    std::uint64_t places = 0;
    for (const WorkerPlan& worker : draft_.script.workers) {
      if (has_all(worker.labels, submit.require)) places += std::min(worker.has.holds(submit.ask), worker.slots);
    }
    if (submit.most_running() > 0) places = std::min(places, submit.most_running());
    return static_cast<std::int64_t>(places);
  }

  // The order to stop is said once, so misfortune likes to be there when it is.
  void write_cancel(std::int64_t at_ms, std::uint64_t job) {
    draft_.add(at_ms, Cancel{job});
    if (!random_.one_in(2)) return;
    const std::size_t worker = draft_.any_worker();
    const Partition cut{worker, random_.one_in(3) ? Cut::both : Cut::to_worker, draft_.between(kSecond, 45 * kSecond)};
    draft_.add(std::max<std::int64_t>(0, at_ms - draft_.between(0, 2 * kSecond)), cut);
  }

  Policy policy() {
    Policy policy;
    policy.max_tries = static_cast<std::uint32_t>(1 + random_.below(4));
    policy.lost_limit = random_.one_in(3) ? static_cast<std::uint32_t>(1 + random_.below(3)) : 20;
    policy.retry_delay_ms = random_.one_in(2) ? 0 : draft_.between(1, 2 * kMinute);
    policy.timeout_ms = random_.one_in(2) ? 0 : 1;
    policy.grace_ms = random_.one_in(4) ? 0 : draft_.between(1, 30 * kSecond);
    if (random_.one_in(4)) policy.max_failures = random_.below(30);
    if (random_.one_in(4))
      policy.rules.push_back({"", "", "3*", random_.one_in(2) ? RuleAction::exit : RuleAction::retry});
    if (random_.one_in(4)) policy.rules.push_back({"", "killed by signal*", "", RuleAction::exit});
    if (random_.one_in(12)) policy.rules.push_back({"Host EC2*", "", "", RuleAction::exit});
    return policy;
  }

  std::uint64_t jobs_ = 0;
};

}  // namespace

HappeningGroup job_happenings() {
  return group_of<JobWriter>();
}

}  // namespace drover::sim

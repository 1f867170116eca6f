// Who is next, held against a slow reference over random worlds; and each rule by itself.
#include <gtest/gtest.h>

#include "core/random_commands.h"
#include "core/test_world.h"

namespace drover {
namespace {

/// Works out from the records alone who may be given something, and who must not be passed over.
class Reference {
 public:
  Reference(const Core& core, const Poll& poll)
      : durable_(core.durable()),
        volatile_(core.volatile_part()),
        now_ms_(core.now_ms()),
        worker_(durable_.workers.at(poll.report.worker)),
        room_(poll.room) {
    for (const auto& [id, grant] : durable_.grants) {
      const Job& job = durable_.jobs.at(grant.job);
      const std::uint64_t held = held_by(grant);
      in_hands_[job.id] += held;
      busy_[job.place.queue] += job.ask.milli_cpus * held;
      if (grant.worker == worker_.id) holds_.insert(demand(job));
    }
    for (const auto& [id, job] : durable_.jobs) {
      const bool wanted = std::ranges::find(poll.not_now, id) == poll.not_now.end();
      if (wanted && may_be_given(job)) candidates_.push_back(&job);
    }
  }

  bool empty() const { return candidates_.empty(); }

  /// Somebody who had to come before this job; nobody: all is well.
  std::optional<std::string> passed_over(JobId chosen) const {
    const Job& job = durable_.jobs.at(chosen);
    if (std::ranges::find(candidates_, &job) == candidates_.end()) return "it must not be given at all";
    for (const Job* other : candidates_) {
      if (comes_before(*other, job)) return "job " + std::to_string(other->id.value) + " comes first";
    }
    return std::nullopt;
  }

 private:
  std::uint64_t held_by(const Grant& grant) const {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < grant.count; ++i) {
      const ItemIndex item{grant.first.value + i};
      if (durable_.blocks.at(grant.job).get(item) != ItemMark::open) continue;
      const OpenItem* open = durable_.find_open(grant.job, item);
      count += open == nullptr || open->grant == grant.id ? 1 : 0;
    }
    return count;
  }

  Demand demand(const Job& job) const { return demand_of(job, durable_.find_queue(job.place.queue)); }

  bool may_be_given(const Job& job) const {
    if (job.ended() || job.stop != StopCause::none || !may_run(durable_, worker_, job)) return false;
    if (const Queue* queue = durable_.find_queue(job.place.queue); queue != nullptr && !queue->enabled) return false;
    for (const Dependency& it : job.after) {
      const Job* other = durable_.find_job(it.job);
      if (!it.each && (other == nullptr || other->state != JobState::succeeded)) return false;
    }
    if (!has_an_item(job)) return false;
    const bool makes_room = room_.milli_cpus > 0 && !holds_alike(job);
    if (!job.ask.fits(room_) && !makes_room) return false;
    return !volatile_.schedule.is_held_back(share_of(job), job.ask);
  }

  bool has_an_item(const Job& job) const {
    const auto hands = in_hands_.find(job.id);
    if (job.max_running > 0 && hands != in_hands_.end() && hands->second >= job.max_running) return false;
    const ItemBlocks& blocks = durable_.blocks.at(job.id);
    for (auto it = durable_.open_items.lower_bound({job.id, ItemIndex{0}});
         it != durable_.open_items.end() && it->first.first == job.id; ++it) {
      const bool may_go = it->second.waiting() && it->second.not_before_ms <= now_ms_;
      if (may_go && !(is_spot(worker_.labels) && is_kept_from_spot(job, it->second))) return true;
      if (job.sequential) break;  // the others come after this one
    }
    if (job.sequential && blocks.count(ItemMark::open) > 0) return false;
    for (auto item = blocks.find(ItemMark::pending, ItemIndex{0}); item;
         item = blocks.find(ItemMark::pending, ItemIndex{item->value + 1})) {
      const bool free = std::ranges::all_of(job.after, [&](const Dependency& it) {
        const auto theirs = durable_.blocks.find(it.job);
        return !it.each || theirs == durable_.blocks.end() || theirs->second.get(*item) == ItemMark::succeeded;
      });
      if (free) return true;
      if (job.sequential) break;
    }
    return !job.stream.empty() && blocks.count(ItemMark::pending) == 0 && has_a_message(job.stream);
  }

  bool is_kept_from_spot(const Job& job, const OpenItem& item) const {
    return job.spot.use == SpotUse::prefer && job.spot.on_demand_after_losses > 0 &&
           item.losses >= job.spot.on_demand_after_losses && item.not_before_ms + job.spot.on_demand_after_ms > now_ms_;
  }

  /// Something that asks for the same, where it matters which machines suit it.
  bool holds_alike(const Job& job) const {
    const Demand wanted = volatile_.places.at(job.id).is_sheltered() ? sheltered(demand(job)) : demand(job);
    return holds_.contains(wanted) ||
           (wanted.no_spot && std::ranges::any_of(holds_, [&](const Demand& it) { return it.ask == wanted.ask; }));
  }

  bool has_a_message(const std::string& name) const {
    const auto with_name = [&](const std::string& wanted) {
      return std::ranges::find_if(durable_.streams, [&](const auto& it) { return it.second.name == wanted; });
    };
    const auto stream = with_name(name);
    if (stream == durable_.streams.end()) return false;
    const StreamMessages& messages = durable_.messages.at(stream->first);
    const auto target = with_name(stream->second.dead_letters);
    const bool may_die = stream->second.max_receives > 0 && target != durable_.streams.end() && target != stream &&
                         target->second.fifo == stream->second.fifo;
    const auto is_dead = [&](const OpenMessage& it) {
      return may_die && it.visible_ms <= now_ms_ && it.receives >= stream->second.max_receives;
    };
    const auto in_flight = [&](const OpenMessage& it) { return it.receives > 0 && it.visible_ms > now_ms_; };
    std::set<std::string> seen;  // groups whose first message has been looked at, or that have some in flight
    for (const auto& [number, it] : messages.open) {
      if (stream->second.fifo && in_flight(it)) seen.insert(it.group);
    }
    for (const auto& [number, it] : messages.open) {
      if (is_dead(it) || (stream->second.fifo && !seen.insert(it.group).second)) continue;
      if (it.visible_ms <= now_ms_) return true;
    }
    return std::ranges::any_of(messages.blocks, [](const auto& it) { return it.second.taken < it.second.count; });
  }

  const Schedule::Share& share_of(const Job& job) const {
    return volatile_.schedule.at(volatile_.places.at(job.id).share);
  }

  bool comes_before(const Job& a, const Job& b) const {
    const auto priority = [&](const Job& job) {
      const Queue* queue = durable_.find_queue(job.place.queue);
      return queue == nullptr ? std::uint32_t{1} : queue->priority;
    };
    if (priority(a) != priority(b)) return priority(a) > priority(b);
    if (a.place.queue != b.place.queue) {
      // Queues of one priority take turns, to within a sixteenth of what each has busy.
      const auto busy = [&](const Job& job) {
        const auto it = busy_.find(job.place.queue);
        return it == busy_.end() ? 0 : it->second;
      };
      return busy(a) * 17 + 32 < busy(b) * 15;
    }
    const Wide key_a = Schedule::key_of(share_of(a), now_ms_);
    const Wide key_b = Schedule::key_of(share_of(b), now_ms_);
    if (key_a != key_b) return key_a < key_b;
    if (&share_of(a) != &share_of(b)) return false;
    return a.place.priority != b.place.priority ? a.place.priority > b.place.priority : a.id < b.id;
  }

  const Durable& durable_;
  const Volatile& volatile_;
  const std::int64_t now_ms_;
  const Worker& worker_;
  const Resources room_;
  std::map<JobId, std::uint64_t> in_hands_;
  std::map<std::string, std::uint64_t> busy_;
  std::set<Demand> holds_;
  std::vector<const Job*> candidates_;
};

TEST(Schedule, AgreesWithASlowReferenceOnEveryFirstGrant) {
  std::uint64_t given = 0;
  std::uint64_t choices = 0;
  for (std::uint64_t seed = 500'001; seed <= 500'600; ++seed) {
    RandomCommands world(seed);
    Core core;
    LedgerModel ledger;
    std::uint64_t tickets = 0;
    const auto apply = [&](const Command& command) {
      const Ticket ticket{++tickets};
      core.apply(ticket, command, world.now_ms());
      std::vector<Lease> leases;
      for (const Answer& answer : core.take_answers()) {
        world.hear(answer, answer.to == ticket ? &command : nullptr);
        const auto* poll = std::get_if<PollAnswer>(&answer.effect);
        if (poll != nullptr && answer.to == ticket) leases = poll->leases;
      }
      ledger.take(core.take_mutations());
      return leases;
    };
    for (int step = 0; step < 150; ++step) {
      Command command = world.next(core, ledger);
      auto* poll = std::get_if<Poll>(&command);
      if (poll == nullptr || !core.durable().workers.contains(poll->report.worker)) {
        apply(command);
        continue;
      }
      // What a worker tells comes first, by itself, so that the choice can be looked at alone.
      apply(poll->report);
      apply(Tick{});
      if (!core.durable().workers.contains(poll->report.worker)) continue;  // it was forgotten
      poll->report = {.worker = poll->report.worker, .incarnation = poll->report.incarnation};
      poll->given_up.clear();
      const Worker& worker = core.durable().workers.at(poll->report.worker);
      const Session& session = core.volatile_part().sessions.at(worker.id);
      const bool is_heard = worker.registered_ms != 0 && worker.incarnation == poll->report.incarnation &&
                            poll->number > session.polls.last();
      const bool is_given = is_heard && !session.drain.is_draining() && worker.quarantine.empty() && poll->want > 0;
      const Reference reference(core, *poll);
      const bool expected = is_given && !reference.empty();
      std::optional<std::string> fault;
      {
        // The choice is held against what was there before it: asked in advance, of each job.
        std::map<JobId, std::optional<std::string>> verdicts;
        for (const auto& [id, job] : core.durable().jobs) verdicts[id] = reference.passed_over(id);
        const auto leases = apply(*poll);
        ASSERT_EQ(!leases.empty(), expected) << "seed " << seed << ", step " << step;
        if (!leases.empty()) fault = verdicts.at(leases[0].job);
        given += leases.empty() ? 0 : 1;
        choices += std::ranges::count_if(verdicts, [](const auto& it) { return it.second.has_value(); }) > 0 ? 1 : 0;
      }
      ASSERT_FALSE(fault) << "seed " << seed << ", step " << step << ": " << fault.value_or("");
    }
  }
  EXPECT_GT(given, 2000U);
  EXPECT_GT(choices, 2000U) << "there must be something to choose from";
}

TEST(Schedule, AQueueOfHigherPriorityComesFirst) {
  TestWorld world;
  world.set({.name = "high", .priority = 5});
  world.set({.name = "low", .priority = 4});
  const JobId low = world.submit(2, {.queue = "low"});
  const JobId high = world.submit(2, {.queue = "high"});
  const WorkerId worker = world.worker("w");
  EXPECT_EQ(world.next(worker), high);
  EXPECT_EQ(world.next(worker), high);
  EXPECT_EQ(world.next(worker), low);
  world.set({.name = "low", .priority = 6});
  world.submit(2, {.queue = "high"});
  EXPECT_EQ(world.next(worker), low) << "its priority was raised while jobs of it ran";
}

TEST(Schedule, AJobOfHigherPriorityComesFirstThenTheOlder) {
  TestWorld world;
  const JobId first = world.submit(1);
  const JobId second = world.submit(1);
  const JobId urgent = world.submit(1, {.priority = 1});
  const WorkerId worker = world.worker("w");
  EXPECT_EQ(world.next(worker), urgent);
  EXPECT_EQ(world.next(worker), first);
  EXPECT_EQ(world.next(worker), second);
}

TEST(Schedule, QueuesOfOnePriorityTakeTurns) {
  TestWorld world;
  world.set({.name = "a"});
  world.set({.name = "b"});
  const JobId a = world.submit(100, {.queue = "a"});
  const JobId b = world.submit(100, {.queue = "b"});
  const WorkerId worker = world.worker("w", 100);
  std::map<JobId, int> given;
  for (int i = 0; i < 10; ++i) ++given[world.next(worker)];
  EXPECT_EQ(given[a], 5);
  EXPECT_EQ(given[b], 5);
}

TEST(Schedule, AQueueThatWasAloneOfItsPriorityTakesTurnsWithOneThatJoinsIt) {
  TestWorld world;
  world.set({.name = "a", .priority = 3});
  world.submit(100, {.queue = "a"});
  const WorkerId worker = world.worker("w", 100);
  world.poll(worker, 10);
  world.set({.name = "b", .priority = 3});
  const JobId b = world.submit(100, {.queue = "b"});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(world.next(worker), b) << i;
}

TEST(Schedule, ADisabledQueueStartsNothingAndGoesOnWhenItIsEnabled) {
  TestWorld world;
  world.set({.name = "q"});
  const JobId job = world.submit(3, {.queue = "q"});
  const WorkerId worker = world.worker("w");
  ASSERT_EQ(world.next(worker), job);
  const Lease runs = world.last;
  world.set({.name = "q", .enabled = false});
  EXPECT_EQ(world.next(worker), JobId{});
  EXPECT_TRUE(std::holds_alternative<Refused>(world.ask(SubmitJob{{.name = "late", .place = {.queue = "q"}}, 1})));
  world.end(worker, runs);
  EXPECT_EQ(world.job(job).succeeded, 1U) << "what runs goes on";
  world.poll(worker, 1, 20'000);
  world.set({.name = "q"});
  ASSERT_EQ(world.given_meanwhile().size(), 1U) << "who waits is told at once";
}

TEST(Schedule, NoMoreThanMaxRunningAreInHands) {
  TestWorld world;
  const JobId job = world.submit({{.ask = {1000, 0, {}}, .max_running = 2}, 9});
  const WorkerId worker = world.worker("w");
  const auto leases = world.poll(worker, 8);
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].count, 2U);
  EXPECT_EQ(world.next(worker), JobId{});
  world.end(worker, token(leases[0]));
  EXPECT_EQ(world.next(worker), job);
  EXPECT_EQ(world.next(worker), JobId{});
}

TEST(Schedule, SequentialItemsRunOneAfterTheOtherAndStopAtAFailure) {
  TestWorld world;
  const JobId job = world.submit({{.policy = {.max_tries = 2}, .ask = {1000, 0, {}}, .sequential = true}, 3});
  const WorkerId worker = world.worker("w");
  for (const std::uint64_t item : {0, 1}) {
    ASSERT_EQ(world.next(worker), job);
    EXPECT_EQ(world.last.first.value, item);
    EXPECT_EQ(world.next(worker), JobId{});
    const auto leases = world.core.durable().grants;
    ASSERT_EQ(leases.size(), 1U);
    world.end(worker, {leases.begin()->first, ItemIndex{item}});
  }
  ASSERT_EQ(world.next(worker), job);
  world.end(worker, token(world.last), TestWorld::failure());
  ASSERT_EQ(world.next(worker), job);
  EXPECT_EQ(world.last.first.value, 2U) << "its second try";
  world.end(worker, token(world.last), TestWorld::failure());
  EXPECT_EQ(world.state(job), JobState::failed);
}

TEST(Schedule, OfSequentialItemsTakenUpAgainALaterOneDoesNotOvertakeOneThatWaitsForItsTry) {
  TestWorld world;
  const JobId job = world.submit(
      {{.policy = {.max_tries = 2, .retry_delay_ms = 60'000}, .ask = {1000, 0, {}}, .sequential = true}, 3});
  const WorkerId worker = world.worker("w");
  std::vector<SettledItem> failed;
  for (const std::uint64_t item : {0, 1}) {
    for (const std::uint32_t attempt : {1U, 2U}) {
      ASSERT_EQ(world.next(worker), job);
      EXPECT_EQ(world.last.first.value, item);
      world.end(worker, token(world.last), TestWorld::failure());
      if (attempt == 1) world.pass(60'000);
    }
    failed.push_back({ItemIndex{item}, AttemptNumber{2}, AttemptState::failed});
    ASSERT_EQ(world.state(job), JobState::failed);
    if (item == 0) world.ask(ReopenJob{.job = job, .epoch = 0});  // without the one that failed
  }
  world.ask(ReopenJob{.job = job, .epoch = 1, .again = failed});
  ASSERT_EQ(world.next(worker), job);
  EXPECT_EQ(world.last.first.value, 0U);
  world.end(worker, token(world.last), TestWorld::failure());
  EXPECT_EQ(world.next(worker), JobId{});
  EXPECT_EQ(world.why(job, 1).code, WhyCode::before_it);
  world.pass(60'000);
  ASSERT_EQ(world.next(worker), job);
  EXPECT_EQ(world.last.first.value, 0U);
}

TEST(Schedule, AJobThatRunsTooLongIsStopped) {
  TestWorld world;
  const JobId job = world.submit({{.ask = {1000, 0, {}}, .job_timeout_ms = 5000}, 9});
  const WorkerId worker = world.worker("w");
  world.pass(60'000);
  ASSERT_EQ(world.next(worker), job) << "its time begins with its first item";
  const Lease runs = world.last;
  world.run(worker, token(runs));
  world.pass(4999);
  EXPECT_EQ(world.job(job).stop, StopCause::none);
  world.restart();
  world.pass(1);
  EXPECT_EQ(world.job(job).stop, StopCause::timed_out) << "a restart does not forget it";
  world.end(worker, token(runs), {Ending::stopped, 0, 15, ""});
  EXPECT_EQ(world.state(job), JobState::failed);
}

TEST(Schedule, JobsThatRunTooLongTogetherAreStoppedInSteps) {
  TestWorld world;
  for (int i = 0; i < 40; ++i) world.submit({{.ask = {1000, 0, {}}, .job_timeout_ms = 5000}, 1});
  EXPECT_EQ(world.poll(world.worker("w", 40), 40).size(), 40U);
  const auto stopped = [&] {
    return std::ranges::count_if(world.core.durable().jobs,
                                 [](const auto& it) { return it.second.stop == StopCause::timed_out; });
  };
  world.now_ms += 5000;
  world.ask(Tick{});
  EXPECT_GT(stopped(), 0);
  EXPECT_LT(stopped(), 40);
  world.tick_while_due();
  EXPECT_EQ(stopped(), 40);
}

TEST(Schedule, AReopenedJobMayAskForSomethingElse) {
  TestWorld world;
  const JobId job = world.submit({{.ask = {16'000, 0, {}}}, 1});
  const WorkerId worker = world.worker("w", 8);
  EXPECT_EQ(world.next(worker), JobId{});
  world.ask(CancelJob{job, "too large"});
  world.ask(ReopenJob{.job = job, .epoch = 0, .ask = Resources{1000, 0, {}}});
  EXPECT_EQ(world.next(worker), job);
}

TEST(Schedule, UsageCountsTwiceAfterEachDecay) {
  for (const std::int64_t decay_ms : {1000, 600'000, 604'800'000}) {
    std::uint64_t last = 0;
    std::uint64_t last_sum = 0;
    for (std::int64_t i = 0; i <= 4000; ++i) {
      const std::int64_t at_ms = i * 20 * decay_ms / 4000;
      const std::uint64_t factor = usage_factor(at_ms, decay_ms);
      ASSERT_GE(factor, last) << "it never goes back, not even when doublings are over";
      ASSERT_GE(usage_sum(at_ms, decay_ms), last_sum);
      last = factor;
      last_sum = usage_sum(at_ms, decay_ms);
    }
    for (int doubling = 0; doubling <= kMostDoublings; ++doubling) {
      EXPECT_EQ(usage_factor(doubling * decay_ms, decay_ms), std::uint64_t{65'536} << doubling);
    }
    const std::uint64_t second = usage_sum(1000, decay_ms) - usage_sum(0, decay_ms);
    EXPECT_GE(second, 65'536U * 1000);
    EXPECT_LE(second, 65'536U * 1500 + 1);
  }
}

}  // namespace
}  // namespace drover

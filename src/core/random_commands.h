// For tests: a seeded world that talks to a core. Users submit, cancel and reopen; workers register, poll, report, die,
// come back, repeat themselves and lie. It hears only what a core has let out, as the real ones would.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "core/core.h"

namespace drover {

/// The ledger as the core's mutations make it, kept by the test itself: what a store must agree with.
class LedgerModel {
 public:
  using Key = std::pair<std::pair<JobId, ItemIndex>, AttemptNumber>;

  void take(const std::vector<Mutation>& mutations) {
    for (const Mutation& mutation : mutations) {
      if (const auto* add = std::get_if<AddAttempt>(&mutation)) {
        const Attempt& it = add->attempt;
        repeated_ = repeated_ || !rows_.emplace(Key{{it.job, it.item}, it.attempt}, it).second;
      }
      if (const auto* add = std::get_if<AddEvent>(&mutation)) events_.push_back(add->event);
      if (const auto* put = std::get_if<PutWorker>(&mutation)) worker_names_[put->worker.id] = put->worker.name;
      if (const auto* it = std::get_if<UnsettleAttempt>(&mutation)) {
        const auto row = rows_.find(Key{{it->job, it->item}, it->attempt});
        if (row != rows_.end()) row->second.settled = false;
      }
      if (const auto* it = std::get_if<PutBlock>(&mutation)) {
        blocks_[{it->block.job, it->block.block}] = it->block.marks.value;
      }
      if (const auto* it = std::get_if<DeleteJob>(&mutation)) {
        std::erase_if(blocks_, [&](const auto& block) { return block.first.first == it->job; });
        std::erase_if(rows_, [&](const auto& row) { return row.second.job == it->job; });
      }
    }
  }

  const std::map<Key, Attempt>& rows() const { return rows_; }
  ItemBlocks marks(JobId job, std::uint64_t total) const {
    ItemBlocks marks(total);
    for (auto it = blocks_.lower_bound({job, 0}); it != blocks_.end() && it->first.first == job; ++it) {
      DROVER_CHECK(marks.decode(it->first.second, it->second), "a block that was written can be read");
    }
    return marks;
  }
  const std::vector<Event>& events() const { return events_; }
  /// Of every worker there ever was.
  const std::map<WorkerId, std::string>& worker_names() const { return worker_names_; }

  /// The first thing in which ledger and state disagree.
  std::optional<std::string> find_fault(const Durable& durable) const {
    if (repeated_) return "an attempt was written twice";
    std::map<std::pair<JobId, ItemIndex>, std::uint32_t> attempts;
    std::map<JobId, std::map<AttemptState, std::uint64_t>> settled;
    std::set<std::pair<JobId, ItemIndex>> settled_items;
    std::map<JobId, ItemBlocks> blocks;
    for (const auto& [id, job] : durable.jobs) blocks.emplace(id, marks(id, job.total));
    for (const auto& [key, row] : rows_) {
      if (row.attempt.value != ++attempts[key.first]) return "attempts have a gap";
      if (!row.settled) continue;
      if (!settled_items.insert(key.first).second) return "an item is settled twice";
      ++settled[row.job][row.state];
      const ItemMark mark = blocks.at(row.job).get(row.item);
      if ((row.state == AttemptState::succeeded) != (mark == ItemMark::succeeded))
        return "a settled item has another mark";
    }
    for (const auto& [id, job] : durable.jobs) {
      auto& counts = settled[id];
      if (counts[AttemptState::succeeded] != job.succeeded || counts[AttemptState::failed] != job.failed ||
          counts[AttemptState::cancelled] != job.cancelled || counts[AttemptState::lost] != 0) {
        return "job " + job.name + " counts other than its settled rows";
      }
    }
    return std::nullopt;
  }

 private:
  std::map<Key, Attempt> rows_;
  std::map<std::pair<JobId, std::uint64_t>, std::string> blocks_;
  std::vector<Event> events_;
  std::map<WorkerId, std::string> worker_names_;
  bool repeated_ = false;
};

class RandomCommands {
 public:
  /// One seed in ten has jobs of many blocks; they cost time.
  explicit RandomCommands(std::uint64_t seed) : random_(seed), large_jobs_(seed % 10 == 0) {}

  std::int64_t now_ms() const { return now_ms_; }

  /// The next thing somebody does. `ledger` is what a reader of the store would see.
  Command next(const Core& core, const LedgerModel& ledger) {
    now_ms_ += random_.one_in(20) ? static_cast<std::int64_t>(random_.below(90'000))
                                  : static_cast<std::int64_t>(random_.below(50));
    if (random_.one_in(300)) now_ms_ += kDepartedKeptMs;
    const auto deadline = core.next_deadline();
    if (deadline && *deadline <= now_ms_ && !random_.one_in(4)) return Tick{};
    if (!wanted_.empty() && random_.one_in(3)) return next_page(core, ledger);
    if (!marks_wanted_.empty() && random_.one_in(3)) return next_marks(ledger);
    switch (random_.below(23)) {
      case 22: return Stalled{static_cast<std::int64_t>(random_.below(random_.one_in(4) ? 120'000 : 50))};
      case 20: return by_name();
      case 21: return ask_why(core);
      case 0:
      case 1: return submit(core);
      case 2: return register_worker();
      case 3: return cancel(core);
      case 4: return random_.one_in(4) ? forget(core) : reopen(core, ledger);
      case 5:
        if (random_.one_in(2)) return Watch{any_job(core), ItemIndex{random_.below(40)}};
        return workers_.empty() || random_.one_in(2) ? Command{Tick{}} : send_away(pick(workers_));
      case 6:
      case 7:
      case 8: return workers_.empty() ? register_worker() : Command{report(pick(workers_))};
      default: return workers_.empty() ? register_worker() : Command{poll(core, pick(workers_))};
    }
  }

  /// An answer that was let out.
  void hear(const Answer& answer, const Command* command) {
    if (const auto* registered = std::get_if<WorkerRegistered>(&answer.effect);
        registered != nullptr && command != nullptr) {
      const auto& asked = std::get<RegisterWorker>(*command);
      for (FakeWorker& worker : workers_) {
        if (worker.name == asked.name) worker.id = registered->worker;
      }
    }
    if (const auto* wanted = std::get_if<ReopenWanted>(&answer.effect)) wanted_.push_back(*wanted);
    if (const auto* wanted = std::get_if<MarksWanted>(&answer.effect)) marks_wanted_.push_back(*wanted);
    if (const auto* leases = std::get_if<PollAnswer>(&answer.effect)) {
      for (const Lease& lease : leases->leases) {
        for (std::uint64_t offset = 0; offset < lease.count; ++offset) {
          held_[lease.grant].insert(ItemIndex{lease.first.value + offset});
        }
      }
    }
  }

  /// The core went down and came back: whatever was in the air is gone. Time goes on from what is known.
  void crashed(std::int64_t now_ms) {
    now_ms_ = std::max(now_ms_, now_ms);
    wanted_.clear();
    if (random_.one_in(2)) marks_wanted_.clear();  // else they come although nobody waits for them
  }

 private:
  struct FakeWorker {
    std::string name;
    WorkerId id;
    std::uint64_t incarnation = 1;
    std::uint64_t polls = 0;
  };

  template <class T>
  T& pick(std::vector<T>& from) {
    return from[random_.below(from.size())];
  }

  Command submit(const Core& core) {
    SubmitJob command;
    command.total = large_jobs_ && random_.one_in(6) ? random_.below(9000) : random_.below(30);
    for (auto& byte : command.uuid.bytes) byte = static_cast<std::uint8_t>(random_.next());
    if (!core.durable().jobs.empty() && random_.one_in(10)) command.uuid = core.durable().jobs.begin()->second.uuid;
    command.name = "job" + std::to_string(random_.below(1000));
    command.definition = DefinitionId{1 + random_.below(3)};
    command.manifest = ManifestId{1 + random_.below(3)};
    command.policy = policy();
    if (random_.one_in(2)) command.ask = {random_.below(9000), random_.one_in(2) ? 0 : random_.below(5) << 30};
    if (random_.one_in(6)) command.ask.accelerators[random_.below(kAccelerators)] = 1 + random_.below(2);
    if (random_.one_in(4)) command.require["zone"] = random_.one_in(2) ? "a" : "b";
    if (random_.one_in(2)) command.place.queue = queue_name();
    command.place.priority = static_cast<std::uint32_t>(random_.below(3));
    command.place.owner = random_.one_in(2) ? "" : "user" + std::to_string(random_.below(2));
    if (random_.one_in(2)) command.place.share = "share" + std::to_string(random_.below(3));
    while (random_.one_in(6)) {
      command.after.push_back({any_job(core), random_.one_in(2)});
      const Job* other = core.durable().find_job(command.after.back().job);
      if (other != nullptr && command.after.back().each && !random_.one_in(10)) command.total = other->total;
    }
    command.sequential = random_.one_in(12);
    if (random_.one_in(6)) command.max_running = 1 + random_.below(4);
    if (random_.one_in(6)) command.job_timeout_ms = static_cast<std::int64_t>(1 + random_.below(5000));
    return command;
  }

  std::string queue_name() { return random_.one_in(3) ? "default" : "queue" + std::to_string(random_.below(3)); }

  /// What is kept by name.
  Command by_name() {
    const std::string name = "name" + std::to_string(random_.below(3));
    switch (random_.below(12)) {
      case 0: return DropQueue{queue_name()};
      case 1: return AddRevision{name, DefinitionId{1 + random_.below(3)}, "user0"};
      case 2: return RetireRevision{name, random_.below(4)};
      case 3: return SetFleet{{name, "{}", 0}};
      case 4: return DropFleet{name};
      case 5: return Readmit{"worker" + std::to_string(random_.below(5))};
      default: break;
    }
    Queue queue{.name = queue_name()};
    queue.priority = static_cast<std::uint32_t>(random_.below(3));
    queue.enabled = !random_.one_in(5);
    queue.order = random_.one_in(3) ? QueueOrder::first_come : QueueOrder::fair;
    queue.decay_s = random_.one_in(3) ? 1 : 600;
    if (random_.one_in(4)) queue.reserved_percent = static_cast<std::uint32_t>(random_.below(100));
    if (random_.one_in(2)) queue.weights = {{"share0", 20'000}, {"share*", 5'000}};
    if (random_.one_in(4)) queue.fleets = {"name0", "name1"};
    return SetQueue{std::move(queue)};
  }

  Command ask_why(const Core& core) {
    AskWhy command{any_job(core), std::nullopt};
    if (random_.one_in(2)) command.item = ItemIndex{random_.below(30)};
    return command;
  }

  Policy policy() {
    Policy policy;
    policy.max_tries = static_cast<std::uint32_t>(1 + random_.below(4));
    policy.lost_limit = static_cast<std::uint32_t>(1 + random_.below(5));
    policy.retry_delay_ms = random_.one_in(2) ? 0 : static_cast<std::int64_t>(random_.below(2000));
    policy.timeout_ms = random_.one_in(2) ? 0 : 1000;
    policy.grace_ms = static_cast<std::int64_t>(random_.below(100));
    if (random_.one_in(3)) policy.max_failures = random_.below(4);
    if (random_.one_in(3))
      policy.rules.push_back({"", "", "3*", random_.one_in(2) ? RuleAction::exit : RuleAction::retry});
    if (random_.one_in(5)) policy.rules.push_back({"Host EC2*", "", "", RuleAction::exit});
    return policy;
  }

  Command register_worker() {
    if (workers_.size() < 4 && (workers_.empty() || random_.one_in(2))) {
      workers_.push_back({"worker" + std::to_string(workers_.size()), {}, 1, 0});
      return hello(workers_.back());
    }
    FakeWorker& worker = pick(workers_);
    if (random_.one_in(2)) {
      ++worker.incarnation;
      worker.polls = 0;
    }
    return hello(worker);
  }

  RegisterWorker hello(const FakeWorker& worker) {
    RegisterWorker hello{worker.name, worker.incarnation, random_.one_in(3) ? 0 : 60'000};
    if (random_.one_in(2)) hello.has = {1000 * random_.below(9), random_.below(5) << 30, {random_.below(3), 0, 1}};
    if (random_.one_in(2)) hello.labels["zone"] = random_.one_in(2) ? "a" : "b";
    if (random_.one_in(4)) hello.labels["gpu"] = "";
    if (random_.one_in(3)) hello.fleet = "name" + std::to_string(random_.below(3));
    return hello;
  }

  Command send_away(const FakeWorker& worker) {
    const std::string name = random_.one_in(20) ? "nobody" : worker.name;
    return random_.one_in(2) ? Command{AskToDrain{name}} : Command{Fence{name}};
  }

  Command cancel(const Core& core) { return CancelJob{any_job(core), "because"}; }

  Command forget(const Core& core) {
    return ForgetJob{any_job(core), now_ms_ - static_cast<std::int64_t>(random_.below(2000))};
  }

  JobId any_job(const Core& core) { return JobId{random_.below(core.durable().counters.next_job + 1)}; }

  Command reopen(const Core& core, const LedgerModel& ledger) {
    ReopenJob command;
    command.job = any_job(core);
    const Job* job = core.durable().find_job(command.job);
    command.epoch = job == nullptr || random_.one_in(10) ? random_.below(3) : job->epoch;
    if (random_.one_in(3)) command.policy = policy();
    if (random_.one_in(6)) command.ask = Resources{random_.below(3000), 0, {}};
    if (job != nullptr && random_.one_in(2)) {
      auto choice = std::make_shared<ReopenChoice>();
      choice->failed = !random_.one_in(4);
      if (random_.one_in(4)) choice->exit_code = 3;
      if (random_.one_in(6)) choice->ending = Ending::signalled;
      if (random_.one_in(6)) choice->items = {ItemIndex{random_.below(9)}, ItemIndex{10 + random_.below(9)}};
      const ReopenMore page = read_page({job->id, job->epoch + 1, ItemIndex{0}, choice}, job->total, ledger);
      command.again = page.again;
      command.next = page.next;
      command.rest = choice;
      return command;
    }
    for (const auto& [key, row] : ledger.rows()) {
      if (row.job != command.job || !row.settled || row.state == AttemptState::succeeded) continue;
      if (command.again.size() < kReopenPage / 2 && !random_.one_in(3))
        command.again.push_back({row.item, row.attempt, row.state});
    }
    if (!command.again.empty() && random_.one_in(10)) command.again.push_back(command.again.front());
    // A reader may be out of date, but it reads no items as settled that are not: those are refused.
    const ItemIndex wrong{random_.below(40)};
    const bool settled =
        job != nullptr && wrong.value < job->total && ledger.marks(job->id, job->total).get(wrong) == ItemMark::ended;
    if (!settled && random_.one_in(15)) command.again.push_back({wrong, AttemptNumber{1}, AttemptState::failed});
    return command;
  }

  /// What a reader of the ledger finds for the next page of a retry; small ones, so that there are many.
  ReopenMore read_page(const ReopenWanted& wanted, std::uint64_t total, const LedgerModel& ledger) {
    ReopenMore page{wanted.job, wanted.epoch, wanted.from, {}, ItemIndex{total}};
    const std::size_t most = random_.one_in(4) ? kReopenPage : 1 + random_.below(4);
    for (auto it = ledger.rows().lower_bound({{wanted.job, wanted.from}, AttemptNumber{0}});
         it != ledger.rows().end() && it->second.job == wanted.job; ++it) {
      const Attempt& row = it->second;
      if (row.epoch >= wanted.epoch || !matches(*wanted.choice, row)) continue;
      if (page.again.size() == most) {
        page.next = row.item;
        break;
      }
      page.again.push_back({row.item, row.attempt, row.state});
    }
    return page;
  }

  Command next_page(const Core& core, const LedgerModel& ledger) {
    const ReopenWanted wanted = wanted_.front();
    const Job* job = core.durable().find_job(wanted.job);
    if (!random_.one_in(10)) wanted_.erase(wanted_.begin());  // or it is sent twice
    return read_page(wanted, job == nullptr ? wanted.from.value : std::max(job->total, wanted.from.value), ledger);
  }

  Command next_marks(const LedgerModel& ledger) {
    const MarksWanted wanted = marks_wanted_.front();
    if (!random_.one_in(10)) marks_wanted_.erase(marks_wanted_.begin());  // or they are sent twice
    if (random_.one_in(20)) return MarksRead{wanted.job, nullptr, {ErrorCode::damaged, "cannot be read", ""}};
    return MarksRead{wanted.job, std::make_shared<ItemBlocks>(ledger.marks(wanted.job, wanted.total))};
  }

  Report report(const FakeWorker& worker) {
    Report report;
    report.worker = worker.id;
    report.incarnation = random_.one_in(40) ? worker.incarnation + 7 : worker.incarnation;
    // Mostly of what was handed out to anybody, and sometimes nonsense.
    for (auto it = held_.begin(); it != held_.end();) {
      auto& [grant, items] = *it;
      for (auto item = items.begin(); item != items.end() && report.ended.size() < 60;) {
        const Token token{grant, *item};
        bool done = false;
        switch (random_.below(8)) {
          case 0: report.running.push_back({token, now_ms_}); break;
          case 1:
            if (random_.one_in(4)) {
              report.returned.push_back(token);
              done = true;
            }
            break;
          case 2:
          case 3:
          case 4:
            report.ended.push_back({token, outcome(), Usage{now_ms_, 1000, 10, 20, 30, 40, 50}, 6, log()});
            if (random_.one_in(20)) report.ended.push_back(report.ended.back());
            done = !random_.one_in(20);
            break;
          default: break;
        }
        item = done ? items.erase(item) : std::next(item);
      }
      it = items.empty() ? held_.erase(it) : std::next(it);
    }
    if (random_.one_in(10)) report.notes.push_back({JobId{1 + random_.below(8)}, "waits", random_.one_in(30)});
    if (random_.one_in(150)) report.leaving = random_.one_in(2) ? Leaving::draining : Leaving::gone;
    if (random_.one_in(10)) {
      report.ended.push_back({{GrantId{random_.below(50)}, ItemIndex{random_.below(50)}}, outcome(), {}, 0, {}});
    }
    return report;
  }

  Outcome outcome() {
    switch (random_.below(10)) {
      case 0: return {Ending::exited, 3, 0, ""};
      case 1: return {Ending::exited, 75, 0, "a reason"};
      case 2: return {Ending::signalled, 0, 9, ""};
      case 3: return {Ending::timed_out, 0, 15, ""};
      case 4: return {Ending::not_started, 0, 0, "could not start: no such file"};
      case 6: return {Ending::out_of_memory, 0, 9, ""};
      case 5: return random_.one_in(3) ? Outcome{Ending::stopped, 0, 15, ""} : Outcome{Ending::lost, 0, 0, ""};
      default: return {};
    }
  }

  AttemptLog log() {
    if (random_.one_in(2)) return {};
    return {{std::string(1 + random_.below(20), static_cast<char>(random_.below(256)))}, random_.below(1000), "a line"};
  }

  Poll poll(const Core& core, FakeWorker& worker) {
    Poll poll;
    poll.report = report(worker);
    poll.number = PollNumber{random_.one_in(15) ? random_.below(worker.polls + 1) : ++worker.polls};
    if (random_.one_in(8)) poll.given_up.push_back(PollNumber{random_.below(worker.polls + 1)});
    poll.want = random_.one_in(4) ? 0 : random_.one_in(6) ? random_.below(5000) : random_.below(20);
    if (random_.one_in(2)) poll.room = {random_.below(10'000), random_.below(5) << 30, {random_.below(3), 1, 1}};
    poll.wait_ms = random_.one_in(2) ? 0 : static_cast<std::int64_t>(random_.below(20'000));
    while (random_.one_in(4)) poll.not_now.push_back(any_job(core));
    return poll;
  }

  Random random_;
  const bool large_jobs_;
  std::int64_t now_ms_ = 1'700'000'000'000;
  std::vector<FakeWorker> workers_;
  std::map<GrantId, std::set<ItemIndex>> held_;
  std::vector<ReopenWanted> wanted_;
  std::vector<MarksWanted> marks_wanted_;
};

}  // namespace drover

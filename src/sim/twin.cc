#include "sim/twin.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace drover::sim {
namespace {

constexpr std::int64_t kForEverMs = 1'000'000'000'000;

Durable copy_of(const Durable& from) {
  Durable to;
  to.counters = from.counters;
  to.jobs = from.jobs;
  // Nobody reads the ledger for a twin: a retry under way has reopened what it has, and no more follows.
  for (auto& [id, job] : to.jobs) job.reopening.reset();
  for (const auto& [id, blocks] : from.blocks) {
    ItemBlocks& copy = to.blocks.emplace(id, ItemBlocks(blocks.total())).first->second;
    for (std::uint64_t block = 0; block < blocks.block_count(); ++block) {
      DROVER_CHECK(copy.decode(block, blocks.encode(block)), "what a block says of itself can be read");
    }
  }
  to.open_items = from.open_items;
  to.grants = from.grants;
  to.workers = from.workers;
  for (auto& [id, worker] : to.workers) worker.term_ms = 0;
  to.queues = from.queues;
  to.shares = from.shares;
  to.fleets = from.fleets;
  to.machines = from.machines;
  to.streams = from.streams;
  to.messages = from.messages;
  to.sent_before = from.sent_before;
  return to;
}

// Nothing of the job is in anybody's hands any more.
void take_back(Durable& durable, const Job& job_of_it) {
  const JobId job = job_of_it.id;
  std::erase_if(durable.grants, [&](const auto& it) { return it.second.job == job; });
  // Of an ended job that nobody follows item by item the blocks are not there; whatever they say is about to change.
  ItemBlocks& blocks = durable.blocks.try_emplace(job, job_of_it.total).first->second;
  for (auto item = blocks.find(ItemMark::open, ItemIndex{0}); item;
       item = blocks.find(ItemMark::open, ItemIndex{item->value + 1})) {
    const auto row = durable.open_items.find({job, *item});
    if (row == durable.open_items.end()) {
      blocks.set(*item, ItemMark::pending);
    } else if (!row->second.waiting()) {
      row->second.grant = GrantId{};
      row->second.counted = false;
      row->second.started_ms = row->second.not_before_ms = 0;
    }
  }
}

// As if it had.
void succeed(Durable& durable, Job& job, ItemIndex item) {
  ItemBlocks& blocks = durable.blocks.at(job.id);
  const ItemMark mark = blocks.get(item);
  if (mark == ItemMark::succeeded) return;
  if (mark == ItemMark::ended) --(job.failed > 0 ? job.failed : job.cancelled);
  durable.open_items.erase({job.id, item});
  blocks.set(item, ItemMark::succeeded);
  ++job.succeeded;
}

}  // namespace

Twin::Twin(const Core& core) {
  begin_from(core, copy_of(core.durable()));
}

void Twin::begin_from(const Core& core, Durable durable) {
  core_ = Core(std::move(durable), core.now_ms());
  finish_what_is_due();
  for (const auto& [id, worker] : core.durable().workers) {
    const Session& session = core.volatile_part().sessions.at(id);
    if (worker.registered_ms != 0 && worker.term_ms != 0 && session.expires_ms == 0) ask(Fence{worker.name});
    if (session.drain.is_draining()) ask(AskToDrain{worker.name});
  }
  for (const auto& [sequence, poll] : core.volatile_part().parked) {
    const auto worker = core_.durable().workers.find(poll.worker);
    Poll again{.report = {.worker = poll.worker, .incarnation = worker->second.incarnation},
               .number = poll.number,
               .given_up = {},
               .want = poll.want,
               .wait_ms = kForEverMs,
               .room = poll.room,
               .not_now = poll.not_now};
    ask(again);
  }
}

Effect Twin::ask(const Command& command) {
  const Ticket ticket{++tickets_};
  core_.apply(ticket, command, core_.now_ms());
  core_.take_mutations();
  Effect own = ReportTaken{};
  for (const Answer& answer : core_.take_answers()) {
    if (answer.to == ticket) own = answer.effect;
  }
  return own;
}

WorkerId Twin::add_worker(const Supply& has) {
  // Numbers of another twin's workers may have been copied.
  std::string name = concat("another-", ++workers_);
  while (core_.volatile_part().worker_by_name.contains(name)) name = concat("another-", ++workers_);
  return std::get<WorkerRegistered>(ask(RegisterWorker{name, 1, 0, has.has, has.labels, has.fleet})).worker;
}

std::vector<Lease> Twin::ask_for_one(WorkerId id) {
  const Worker& worker = core_.durable().workers.at(id);
  const PollNumber number{core_.volatile_part().sessions.at(id).polls.last().value + 1};
  const Effect effect = ask(Poll{.report = {.worker = id, .incarnation = worker.incarnation},
                                 .number = number,
                                 .given_up = {},
                                 .want = 1,
                                 .wait_ms = 0,
                                 .room = worker.has});
  const auto* answer = std::get_if<PollAnswer>(&effect);
  return answer == nullptr ? std::vector<Lease>() : answer->leases;
}

void Twin::begin_anew(const Worker& worker) {
  ask(Report{.worker = worker.id, .incarnation = worker.incarnation, .leaving = Leaving::gone});
  ask(RegisterWorker{worker.name, worker.incarnation + 1, 0, worker.has, worker.labels, worker.fleet});
}

void Twin::end_all_of(JobId job) {
  std::map<WorkerId, Report> reports;
  for (const GrantId id : core_.volatile_part().in_hands.at(job).grants) {
    const Grant& grant = core_.durable().grants.at(id);
    Report& report = reports[grant.worker];
    report.worker = grant.worker;
    report.incarnation = core_.durable().workers.at(grant.worker).incarnation;
    for (std::uint64_t i = 0; i < grant.count; ++i) {
      const ItemIndex item{grant.first.value + i};
      report.ended.push_back({.token = {id, item}, .outcome = {}});
    }
  }
  for (const auto& [worker, report] : reports) ask(report);
}

void Twin::make_succeed(JobId job) {
  make_succeed(job, ItemIndex{0}, ItemIndex{core_.durable().jobs.at(job).total});
}

void Twin::make_succeed(JobId id, ItemIndex from, ItemIndex to) {
  Durable durable = copy_of(core_.durable());
  Job& job = durable.jobs.at(id);
  if (durable.find_blocks(id) == nullptr) job.succeeded = job.failed = job.cancelled = 0;
  take_back(durable, job);
  for (ItemIndex item = from; item < to; ++item.value) succeed(durable, job, item);
  const bool all = job.succeeded == job.total;
  if (!job.ended() && job.succeeded + job.failed + job.cancelled == job.total) job.ended_ms = durable.counters.now_ms;
  if (job.ended_ms != 0) job.state = all ? JobState::succeeded : JobState::failed;
  if (all) job.stop = StopCause::none;
  // What waits for a job that is no longer known waits for ever, unless it no longer does.
  for (Dependency& it : job.after) {
    if (!durable.jobs.contains(it.job)) it.job = JobId{};
  }
  for (auto& [other_id, other] : durable.jobs) {
    const bool waits = std::ranges::any_of(other.after, [&](const Dependency& it) {
      const Job* before = durable.find_job(it.job);
      return !it.each && (before == nullptr || before->state != JobState::succeeded);
    });
    if (other.state == JobState::pending && !waits) other.state = JobState::running;
  }
  const Core before = std::move(core_);
  begin_from(before, std::move(durable));
}

// A core that begins makes only so many of the items ready that are due; the others follow with the next commands.
void Twin::finish_what_is_due() {
  core_.take_answers();
  while (core_.next_deadline().value_or(kForEverMs * 2) <= core_.now_ms()) {
    core_.apply(Ticket{++tickets_}, Tick{}, core_.now_ms());
    core_.take_mutations();
    core_.take_answers();
  }
}

void Twin::wait_until(std::int64_t until_ms) {
  while (core_.now_ms() < until_ms) {
    const auto due = core_.next_deadline();
    core_.apply(Ticket{++tickets_}, Tick{}, std::min(until_ms, std::max(due.value_or(until_ms), core_.now_ms() + 1)));
    core_.take_mutations();
    core_.take_answers();
  }
}

}  // namespace drover::sim

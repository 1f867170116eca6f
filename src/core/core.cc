#include "core/core.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "core/fleets/fleets_now.h"

namespace drover {
namespace {

// A batch has at most as many mutations as changes. Very many changes may be to few records.
constexpr std::uint64_t kMostReserved = 1024;

}  // namespace

struct Core::Parts {
  explicit Parts(Durable loaded) : durable(std::move(loaded)) {
    catalog.set_user(jobs);
    places.set_running_items(jobs);
    jobs.set_holders(workers);
    jobs.set_messages(streams);
    jobs.set_costs(fleets);
    workers.set_listener(streams);
    workers.set_machines(fleets);
    streams.set_taker(jobs);
  }

  Durable durable;
  Volatile now;
  Journal journal{durable.counters};
  Catalog catalog{durable, journal};
  Places places{durable, now, journal, catalog};
  Jobs jobs{durable, now, journal, catalog, places};
  Workers workers{durable, now, journal, places, jobs};
  Streams streams{durable, now, journal, workers};
  Fleets fleets{durable, now, journal, workers};
  std::uint64_t taken = 0;  // of the journal's changes
};

Core::Core(Durable durable, std::int64_t now_ms) : parts_(std::make_unique<Parts>(std::move(durable))) {
  Parts& it = *parts_;
  it.journal.set_now(std::max(now_ms, it.durable.counters.now_ms));
  it.jobs.load();
  it.workers.load();
  it.streams.load();
  it.fleets.load();
  it.jobs.load_places();
  it.places.clear_turned_up();  // nobody waits yet
}

Core::~Core() = default;
Core::Core(Core&& other) noexcept = default;
Core& Core::operator=(Core&& other) noexcept = default;

void Core::apply(Ticket ticket, const Command& command, std::int64_t now_ms) {
  Parts& it = *parts_;
  DROVER_CHECK(now_ms >= it.journal.now_ms(), "time went back");
  it.journal.set_now(now_ms);
  const std::uint64_t before = it.journal.changes();
  it.jobs.free_some_blocks();
  it.jobs.wake_delayed();
  it.streams.free_some();
  carry_out(ticket, command);
  for (const Request& resumed : it.jobs.take_resumed()) carry_out(resumed.ticket, resumed.command);
  it.streams.release_some();
  it.streams.serve_some();
  it.jobs.tell_dependents();
  it.workers.tell_to_stop();
  it.workers.serve_parked();
  it.streams.serve_some();  // what workers were given may have changed some
  // That time has passed is by itself not worth a trip to the disk.
  if (it.journal.changes() != before) it.journal.write_time();
}

/// Each command has one part that knows what to do.
void Core::carry_out(Ticket ticket, const Command& command) {
  Parts& parts = *parts_;
  std::visit(
      [&](const auto& it) {
        if constexpr (requires { parts.jobs.on(ticket, it); }) {
          parts.jobs.on(ticket, it);
        } else if constexpr (requires { parts.workers.on(ticket, it); }) {
          parts.workers.on(ticket, it);
        } else if constexpr (requires { parts.catalog.on(ticket, it); }) {
          parts.catalog.on(ticket, it);
        } else if constexpr (requires { parts.streams.on(ticket, it); }) {
          parts.streams.on(ticket, it);
        } else if constexpr (requires { parts.fleets.on(ticket, it); }) {
          parts.fleets.on(ticket, it);
        } else {
          on(ticket, it);
        }
      },
      command);
}

void Core::on(Ticket /*ticket*/, const Tick& /*command*/) {
  parts_->workers.lose_silent();
  parts_->jobs.stop_late_jobs();
  parts_->workers.end_polls();
  parts_->workers.forget_departed();
  parts_->streams.pass_time();
  parts_->fleets.pass_time();
}

void Core::on(Ticket ticket, const AskFleets& command) {
  parts_->journal.say(ticket, fleets_now(*this, command));
}

void Core::on(Ticket ticket, const AskWhy& command) {
  Parts& it = *parts_;
  const Job* job = it.jobs.find(command.job);
  if (job == nullptr) return it.journal.refuse(ticket, ErrorCode::not_found, "job not found");
  if (command.item && command.item->value >= job->total) {
    return it.journal.refuse(ticket, ErrorCode::not_found,
                             concat("job ", job->name, " has no item ", command.item->value));
  }
  if (command.item && it.jobs.must_wait_for_marks(*job)) return it.jobs.wait_for_marks(job->id, ticket, command);
  it.journal.say(ticket, why_facts(*this, command.job, command.item));
}

std::vector<Answer> Core::take_answers() {
  return parts_->journal.take_answers();
}

std::vector<Mutation> Core::take_mutations() {
  Parts& it = *parts_;
  std::vector<Mutation> out;
  out.reserve(std::min(it.journal.changes() - it.taken, kMostReserved));
  it.taken = it.journal.changes();
  it.journal.take_counters(out);
  it.jobs.take_changes(out);
  it.workers.take_changes(out);
  it.catalog.take_changes(out);
  it.places.take_changes(out);
  it.streams.take_changes(out);
  it.fleets.take_changes(out);
  it.journal.take_written(out);
  it.workers.take_deletions(out);
  it.jobs.take_deletions(out);
  it.streams.take_deletions(out);
  it.jobs.let_go_of_blocks();
  return out;
}

std::vector<JobId> Core::take_touched() {
  return parts_->journal.take_touched();
}

ItemCounts Core::counts(JobId job) const {
  return parts_->jobs.counts(job);
}

std::uint64_t Core::in_hands(JobId job) const {
  return parts_->places.at(job).in_hands;
}

std::int64_t Core::now_ms() const {
  return parts_->journal.now_ms();
}

std::int64_t Core::lease_clock_ms() const {
  return parts_->workers.lease_clock_ms();
}

std::optional<std::int64_t> Core::next_deadline() const {
  const Parts& it = *parts_;
  // Something was left for the next command, or was said as the core began.
  if (it.jobs.has_more_to_do() || it.workers.has_more_to_do() || it.streams.has_more_to_do() ||
      it.journal.has_answers()) {
    return now_ms();
  }
  std::optional<std::int64_t> first;
  for (const auto& of_part :
       {it.jobs.next_deadline(), it.workers.next_deadline(), it.streams.next_deadline(), it.fleets.next_deadline()}) {
    if (of_part) first = std::min(first.value_or(*of_part), *of_part);
  }
  return first;
}

bool Core::has_leases() const {
  return parts_->workers.has_leases();
}

const Durable& Core::durable() const {
  return parts_->durable;
}

const Volatile& Core::volatile_part() const {
  return parts_->now;
}

}  // namespace drover

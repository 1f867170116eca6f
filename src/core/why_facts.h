// Why something does not run, as plain facts of one moment. The core's thread gathers them, in a time that hardly grows
// with the number of jobs and of kinds of machines; it still grows with the number of different sets of labels. The
// caller's thread puts them into words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/ids.h"
#include "core/fleets/fleet_records.h"
#include "core/records.h"
#include "core/schedule/demand.h"
#include "core/schedule/unfit.h"
#include "core/why.h"

namespace drover {

/// Each reason, with what its sentence names.
namespace reason {

struct ItemEnded {
  ItemIndex item;
  bool succeeded = false;
};
struct ItemRuns {
  ItemIndex item;
  std::string worker;
  std::int64_t for_ms = 0;
  std::uint64_t attempt = 0;
};
/// Assigned to a worker that has not reported it as running.
struct ItemAssigned {
  ItemIndex item;
  std::string worker;  // empty: one of very many
};
/// A worker that has something of the job says what it waits for.
struct GetsReady {
  std::string worker;
  std::string note;
};
struct JobEnded {
  std::string job;
  JobState state = JobState::succeeded;
  std::string reason;
  bool before_this_item = false;  // the question is about one that was not started
};
struct JobStops {
  std::string job;
  StopCause cause = StopCause::none;
  std::string reason;
};
/// Another job, all of it or its item of the same number, must succeed first.
struct Waits {
  JobId job;  // none: it is no longer known
  std::string name;
  std::uint64_t percent_done = 0;
  std::optional<ItemIndex> item;
};
struct EarlierItem {
  ItemIndex item;
};
struct QueueDisabled {
  std::string queue;
};
struct RetryDelay {
  ItemIndex item;
  std::uint64_t failures = 0;
  std::int64_t until_ms = 0;
  std::int64_t in_ms = 0;
};
struct LimitReached {
  std::uint64_t in_hands = 0;
  bool sequential = false;
};
/// Nothing is left to hand out.
struct AllOut {
  std::uint64_t items = 0;
  enum class How : std::uint8_t { assigned, being_reopened, running_or_waiting, running } how = How::running;
};
/// Its items are messages, and its stream has none that it could take.
struct NoMessage {
  std::string stream;
  bool is_there = true;
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;
};
/// A machine on its way that could run it.
struct MachineComing {
  std::string machine;
  std::string fleet;
  std::string shape;
  MachineState state = MachineState::requested;
  bool has_labels = true;  // false: it may have those that are required, which are in its fleet's settings
};
/// None is on its way, and what a fleet that serves it does.
struct NoMachine {
  std::string fleet;
  enum class How : std::uint8_t {
    none_launched,  // nothing keeps it from launching one
    paused,
    deleting,
    backing_off,
    most_machines,
    most_cpus,
  } how = How::none_launched;
  bool of_spot = false;       // backing_off: others it may launch
  std::string trouble = {};   // why its last launch failed; empty: it did not
  std::int64_t until_ms = 0;  // backing_off
  std::int64_t in_ms = 0;     // until then
  std::uint64_t most = 0;     // machines or CPUs
};
/// What fleets do for it; nothing: none serves it.
using Machines = std::variant<std::monostate, MachineComing, NoMachine>;

/// Lost too often to run on spot machines, it waits for another for a while.
struct Sheltered {
  ItemIndex item;
  std::uint64_t losses = 0;
  std::int64_t until_ms = 0;
  std::int64_t in_ms = 0;  // until then
  Machines machines = {};
};
struct NoWorker {
  bool none_ever_joined = false;
  std::uint64_t known = 0;
  Machines machines = {};
};
struct NobodySuits {
  Demand demand;
  UnfitWorkers workers;
  Machines machines = {};
};
/// Those that suit it are given nothing.
struct SetApart {
  std::string worker;  // one of them
  bool quarantined = false;
  std::uint64_t suiting = 0;
  Machines machines = {};
};
struct HeldBack {
  std::string share;
  std::uint32_t reserved_percent = 0;
  std::uint64_t suiting = 0;
};
struct Declined {
  std::string worker;
  std::string note;
  std::uint64_t suiting = 0;
};
struct NoneAccepts {
  std::string worker;  // empty: there are several
  std::uint64_t suiting = 0;
};

/// Who comes before it, of those that the same machines could run.
struct PlacesAhead {
  std::uint64_t places = 0;
  bool or_more = false;
  JobId nearest;
  std::string nearest_name;
  std::optional<std::string> share;  // none: its queue has no shares
};
struct ShareAhead {
  JobId job;
  std::string share;
  std::string own_share;
  bool has_used_less = false;  // else: as much, and it is its turn
};
struct QueueAhead {
  JobId job;
  std::string queue;
  enum class How : std::uint8_t { higher_priority, fewer_cpus_busy, next_in_turn } how = How::next_in_turn;
};
struct NobodyAhead {};
/// There are too many others to look at all of them.
struct PerhapsSomebodyAhead {};

/// It could be handed out, when it is its turn.
struct Turn {
  std::uint64_t takers = 0;    // workers that could run it and take items
  bool is_free = false;        // one of them holds nothing, and does not ask for work at this moment
  std::string worker;          // which one, or the only one that is busy; empty: there are several
  std::int64_t silent_ms = 0;  // for how long the free one was not heard
  std::variant<NobodyAhead, PerhapsSomebodyAhead, PlacesAhead, ShareAhead, QueueAhead> ahead;
};

}  // namespace reason

using Reason = std::variant<reason::Turn, reason::ItemEnded, reason::ItemRuns, reason::ItemAssigned, reason::GetsReady,
                            reason::JobEnded, reason::JobStops, reason::Waits, reason::EarlierItem,
                            reason::QueueDisabled, reason::RetryDelay, reason::Sheltered, reason::LimitReached,
                            reason::AllOut, reason::NoMessage, reason::NoWorker, reason::NobodySuits, reason::SetApart,
                            reason::HeldBack, reason::Declined, reason::NoneAccepts>;

struct WhyFacts {
  Reason reason;
  std::uint64_t items_first = 0;      // of its job, that are handed out before it
  bool or_more = false;               // of those
  std::uint64_t sheltered_first = 0;  // likewise, but not to spot machines
  std::uint64_t in_hands = 0;         // items of its job that workers have
};

/// On the core's thread.
WhyFacts why_facts(const Core& core, JobId job, std::optional<ItemIndex> item);
/// On any thread.
Why in_words(const WhyFacts& facts);

}  // namespace drover

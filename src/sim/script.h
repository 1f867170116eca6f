// What people and misfortune do to the world, as data: made from a seed, then acted out. Any of it can be left out, so
// that a script that shows a fault can be cut down to what is needed for it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/resources.h"
#include "core/policy.h"
#include "core/queue.h"
#include "core/records.h"
#include "sim/fate.h"

namespace drover::sim {

// What people do. Jobs are known by the number that their Submit gave them.
/// A job that another one comes after, as a whole or item by item.
struct Forerunner {
  std::uint64_t job = 0;
  bool each = false;

  bool operator==(const Forerunner&) const = default;
};
struct Submit {
  std::uint64_t job = 0;
  std::uint64_t total = 0;
  JobNature nature;
  Policy policy;
  Resources ask = {};
  Labels require = {};
  JobPlace place = {};
  std::vector<Forerunner> after = {};
  bool sequential = false;
  std::uint64_t max_running = 0;
  std::int64_t job_timeout_ms = 0;
  bool fits_nobody = false;  // only a cancel ends it
  std::uint32_t image = 0;   // its number; 0: its items run without a container

  /// How many of its items may be in workers' hands; 0: no limit.
  std::uint64_t most_running() const { return sequential ? 1 : max_running; }
  std::uint64_t max_failures() const { return sequential ? 0 : policy.max_failures; }
  /// Whether some of its items may run until somebody cancels it.
  bool may_hang_for_ever() const { return nature.hang_percent > 0 && policy.timeout_ms == 0; }
};
struct Cancel {
  std::uint64_t job = 0;
};
/// Takes up again what has failed or was cancelled.
struct Retry {
  std::uint64_t job = 0;
};

/// A queue as it shall be from now on.
struct ChangeQueue {
  Queue queue;
};
/// Disabled, and enabled again.
struct CloseQueue {
  std::string queue;
  std::int64_t for_ms = 0;
};

/// Deleted, if no job in it is left. It is made anew when somebody looks after queues.
struct RemoveQueue {
  std::string queue;
};
/// Somebody follows what an item prints.
struct WatchItem {
  std::uint64_t job = 0;
  ItemIndex item;
};

// What happens to a worker. `worker` is its place in Script::workers.
struct CrashWorker {
  std::size_t worker = 0;
  std::int64_t down_ms = 0;
};
/// With its disk. A machine of another name takes its place.
struct LoseMachine {
  std::size_t worker = 0;
  std::int64_t down_ms = 0;
};
/// The machine goes after `notice_ms`, and knows it.
struct SpotNotice {
  std::size_t worker = 0;
  std::int64_t notice_ms = 0;
  std::int64_t down_ms = 0;
};
struct KillSlot {
  std::size_t worker = 0;
  std::size_t slot = 0;
  std::int64_t down_ms = 0;
};
/// The server asks it to take nothing more; it leaves when it is done, and comes back.
struct DrainWorker {
  std::size_t worker = 0;
  std::int64_t down_ms = 0;
};
/// Somebody takes it for dead: others get what it holds.
struct FenceWorker {
  std::size_t worker = 0;
};
/// Whatever runs on this machine fails at once.
struct Spoil {
  std::size_t worker = 0;
  std::int64_t for_ms = 0;
};
enum class Cut : std::uint8_t { both, to_server, to_worker };
struct Partition {
  std::size_t worker = 0;
  Cut cut = Cut::both;
  std::int64_t for_ms = 0;
};

// What happens to the server.
enum class CrashPoint : std::uint8_t {
  at_once,
  before_commit,  // the next batch is applied and never becomes durable
  after_commit,   // it becomes durable and nobody hears of it
  between_two,    // of two batches under way the first is durable and answered
};
struct CrashServer {
  CrashPoint point = CrashPoint::at_once;
  std::int64_t down_ms = 0;
};
/// The disk is full: a commit fails, the server stops, and comes back when there is room.
struct FillDisk {
  std::int64_t down_ms = 0;
};
/// What is left of the disk is the ledger's: logs, and the ends of attempts that bring them, are refused.
struct RefuseLogs {
  std::int64_t for_ms = 0;
};
struct SlowDisk {
  std::int64_t commit_ms = 0;
  std::int64_t for_ms = 0;
};
/// The core cannot step: its store does not return from a commit, or the whole process is stopped. In the first case
/// what workers send reaches the inbox; in the second it waits in sockets and arrives when the process goes on.
struct StallServer {
  std::int64_t for_ms = 0;
  bool whole_process = false;
};
struct JumpClock {
  std::int64_t by_ms = 0;
};

/// Packets get lost, late and doubled, everybody's.
struct BadWeather {
  std::uint32_t loss_permille = 0;
  std::uint32_t double_permille = 0;
  std::int64_t most_delay_ms = 0;
  std::int64_t for_ms = 0;
};

/// Images that are not on a machine yet cannot be fetched.
struct RegistryOutage {
  std::int64_t for_ms = 0;
};

using Happening =
    std::variant<Submit, Cancel, Retry, ChangeQueue, CloseQueue, RemoveQueue, WatchItem, CrashWorker, LoseMachine,
                 SpotNotice, KillSlot, DrainWorker, FenceWorker, Partition, CrashServer, FillDisk, RefuseLogs, SlowDisk,
                 StallServer, JumpClock, BadWeather, RegistryOutage, Spoil>;

struct ScriptEvent {
  std::int64_t at_ms = 0;
  Happening what;

  bool is_fault() const { return what.index() > 6; }  // what comes before is what people do
  /// When it is over, and everybody back.
  std::int64_t over_ms() const;
};

struct WorkerPlan {
  std::size_t slots = 1;
  bool strict_lease = false;
  std::int64_t clock_ahead_ms = 0;     // of the true time
  bool names_what_it_returns = false;  // as running, in the same report: it began, and nobody hears how it ended
  Resources has = Resources::endless();
  Labels labels = {};
  std::int64_t joins_ms = 0;
};

struct Script {
  std::uint64_t seed = 0;
  std::int64_t length_ms = 0;
  bool is_saturated = false;  // each share has more work than all machines can do, and gets its due of them
  std::vector<WorkerPlan> workers;
  std::vector<ScriptEvent> events;  // in order of time
};

/// Every other seed is a crowd: many users with queues, shares, priorities and dependencies, on machines of many sizes;
/// and one in sixty-four of all is saturated.
Script make_script(std::uint64_t seed, std::int64_t hours);
Script make_saturated(std::uint64_t seed, std::int64_t hours);

inline constexpr std::uint32_t kMissingImage = 99;  // no registry has it
std::string image_name(std::uint32_t image);

/// One line, for people.
std::string describe(const ScriptEvent& event);
std::string describe(const Script& script);

}  // namespace drover::sim

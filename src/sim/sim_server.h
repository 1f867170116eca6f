// The server: the real stepper over the real core, a store in memory, and a disk that takes its time. Whatever is not
// committed when it dies is gone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/random.h"
#include "engine/stepper.h"
#include "engine/timeline.h"
#include "sim/auditor.h"
#include "sim/event_queue.h"
#include "sim/happenings/server_faults.h"
#include "sim/lease_watch.h"
#include "sim/referee.h"
#include "sim/seam_fault.h"
#include "store/memory_store.h"

namespace drover::sim {

class SimServer {
 public:
  using Reply = std::function<void(const Effect&)>;

  SimServer(EventQueue& events, Auditor& auditor, std::uint64_t seed, SeamFaults faults);

  void start();
  void crash(const CrashServer& how);
  void fill_disk(const FillDisk& how);
  void refuse_logs(const RefuseLogs& how);
  void slow_down(const SlowDisk& how);
  void stall(const StallServer& how);
  void jump_clock(const JumpClock& how) { wall_.ahead_ms += how.by_ms; }

  bool up() const { return stepper_ != nullptr; }
  /// Rises with every start: what was sent to an earlier one does not reach this one.
  std::uint64_t generation() const { return generation_; }
  void request(Command command, Reply reply);
  /// What a worker sends: it may bring logs.
  void request_of_worker(Command command, Reply reply);
  /// Logs get there.
  bool takes_logs() const { return up() && !is_stopped() && events_.now_ms() >= logs_refused_until_ms_; }
  /// So many items of a retry are read at a time; few, so that most retries take several pages.
  static constexpr std::size_t kReopenPage = 3;

  const Core& core() const { return stepper_->core(); }
  /// The core's time, which what is applied next is given.
  std::int64_t clock_ms() const { return timeline_->now_ms(); }
  MemoryStore& store() { return store_; }
  /// Nothing is under way and nothing waits to be applied.
  bool settled() const { return up() && under_way_.empty() && inbox_ == 0 && door_.empty(); }
  /// Which workers are wrongly known, if any.
  std::optional<std::string> wrongly_known() const { return leases_.inspect_known(core()); }
  /// Called when it has stopped, so that those who wait can notice.
  std::function<void()> on_stopped;
  /// Called when a batch is durable, with the time at which it was applied.
  std::function<void(const Batch&, std::int64_t)> on_committed;
  /// Called with what is said to nobody in particular.
  std::function<void(const Effect&)> on_said = [](const Effect&) {};

 private:
  struct SimWallClock : WallClock {
    const EventQueue& events;
    std::int64_t ahead_ms = 0;
    explicit SimWallClock(const EventQueue& from) : events(from) {}
    std::int64_t epoch_ms() override;
  };
  struct SimSteadyClock : SteadyClock {
    const EventQueue& events;
    explicit SimSteadyClock(const EventQueue& from) : events(from) {}
    std::int64_t elapsed_ns() override { return events.now_ms() * 1'000'000; }
  };
  struct UnderWay {
    struct Applied {
      Batch batch;
      std::int64_t at_ms = 0;
    };
    Step step;
    std::vector<Applied> parts;         // of the step, each from a turn of its own
    std::optional<std::uint64_t> hash;  // of the core, after the last of them
  };

  bool may_step() const;
  void turn();
  void take(Step step);
  void turn_soon();
  void begin_commit();
  void end_commit();
  void make_durable(const UnderWay& batch);
  void let_out(const std::vector<Answer>& answers);
  void let_in();
  bool is_stopped() const { return events_.now_ms() < stopped_until_ms_; }
  void read_page(const ReopenWanted& wanted);
  void read_marks(const MarksWanted& wanted);
  void stop(std::int64_t down_ms);
  void die_if_due();
  Durable load();
  std::int64_t commit_ms();

  EventQueue& events_;
  Auditor& auditor_;
  Referee referee_;
  LeaseWatch leases_;
  Random random_;
  const SeamFaults faults_;
  SimWallClock wall_;
  SimSteadyClock steady_;
  MemoryStore store_;
  std::unique_ptr<Timeline> timeline_;
  std::unique_ptr<Stepper> stepper_;
  std::uint64_t generation_ = 0;
  std::uint64_t next_ticket_ = 1;
  std::map<Ticket, Reply> waiting_;
  std::size_t inbox_ = 0;
  bool has_stepped_ = false;  // since its start, which moves the core's time ahead of the store's
  bool turn_is_due_ = false;
  std::optional<std::int64_t> wake_at_ms_;
  std::deque<UnderWay> under_way_;  // being committed, and what comes after it
  std::int64_t committing_since_ms_ = 0;
  std::optional<CrashServer> crash_due_;
  bool crash_with_grant_ = false;  // only in a step that grants something
  std::optional<FillDisk> full_due_;
  std::int64_t commits_hang_until_ms_ = 0;
  std::int64_t stopped_until_ms_ = 0;  // the whole process
  std::deque<Request> door_;           // what came meanwhile
  std::int64_t logs_refused_until_ms_ = 0;
  SlowDisk slow_;
  std::int64_t slow_until_ms_ = 0;
};

}  // namespace drover::sim

// A worker: the real agent, session and image gate, in a process that can be killed on a machine that can be lost,
// with slots that act out what fate.h has in store for each attempt.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/server_session.h"
#include "base/random.h"
#include "sim/auditor.h"
#include "sim/event_queue.h"
#include "sim/happenings/worker_faults.h"
#include "sim/image_fetches.h"
#include "sim/messages.h"
#include "sim/network.h"
#include "sim/registry.h"
#include "sim/script.h"
#include "sim/seam_fault.h"
#include "sim/sim_server.h"

namespace drover::sim {

class SimWorker {
 public:
  /// The world around it.
  struct World {
    EventQueue& events;
    Network& network;
    SimServer& server;
    Auditor& auditor;
    Registry& registry;
    SeamFault fault;
  };

  SimWorker(World world, std::size_t index, const WorkerPlan& plan, std::uint64_t seed);

  void start();
  void crash(std::int64_t down_ms);
  void lose_machine(std::int64_t down_ms);
  void give_notice(const SpotNotice& notice);
  /// The cloud says that the machine ends in so long, or at some time (0).
  void interrupt(std::int64_t notice_ms);
  /// Its machine is no more, and nothing comes back.
  void end_for_good();
  void kill_slot(const KillSlot& how);
  /// When it has been asked to drain and is done, it stays away for so long.
  void expect_drain(std::int64_t down_ms) { away_ms_ = down_ms; }
  void spoil(const Spoil& how);
  /// The server has stopped: connections break, or nobody notices.
  void on_server_stopped();

  bool up() const { return process_ != nullptr; }
  /// All that runs on this machine fails.
  bool is_spoilt() const { return spoilt_ > 0 && spoilt_machine_ == machine_; }
  /// As the server knows it.
  std::string name() const;
  /// Nothing runs and nothing is left to tell.
  bool idle() const { return is_over_ || (up() && process_->session.all_told()); }
  /// Its process has left, or its machine is no more.
  bool is_over() const { return is_over_; }
  /// By which the network knows it.
  std::size_t index() const { return index_; }
  /// Something of this grant is here, or was and is still to be told of.
  bool knows_of(GrantId grant) const;
  /// It has one result to tell of each attempt that ended, and remembers no orders for ever.
  void inspect() const;

 private:
  static constexpr std::int64_t kAwayMs = 30'000;

  struct Slot {
    bool up = true;
    std::deque<AgentItem> queue;  // the first one runs
    std::uint64_t run = 0;        // rises with every start and end in it
    std::int64_t since_ms = 0;
    bool ignored_a_kill = false;
  };
  struct Process {
    Agent agent;
    ServerSession session;
    ImageFetches images;
    std::vector<Slot> slots;
    std::map<std::uint64_t, RequestBytes> calls;
    std::set<Token> leased;            // whatever came with a lease, until it is told of
    std::set<Token> had;               // and afterwards
    std::map<Token, AgentItem> ended;  // and may still have to be told
    std::map<Token, std::size_t> log_bytes;
    std::optional<WorkerId> worker;  // as the server knows it
    bool says_goodbye = false;

    Process(SimWorker& owner, const WorkerPlan& plan, std::optional<LeftBehind> left_behind);
  };

  std::int64_t clock_ms() const;
  WorkerHello who() const;
  void later(std::int64_t delay_ms, std::function<void()> what);
  void end_process();
  void come_back(std::int64_t down_ms);
  void wake();
  void spool(const std::vector<EndedAttempt>& ended);
  void upload(const std::vector<SpooledEnd>& spooled);
  void upload(const EndedAttempt& ended);
  void weigh(const SpooledEnd& it);
  void send(SessionCall call);
  void post(std::uint64_t call, RequestBytes request);
  void bring(std::uint64_t call, RequestBytes request);
  void repeat_when_up(std::uint64_t call, RequestBytes request, int times);
  void hear(std::uint64_t call, const ReplyBytes& reply);
  void take_answer(const PollAnswer& answer);
  void inspect_size(const std::vector<EndedAttempt>& ended) const;
  void do_actions();
  void act(const StartItem& start);
  void act(const StopItem& stop);
  void act(const RecallSlot& recall);
  void begin(std::size_t slot);
  void inspect_room() const;
  void end(std::size_t slot, std::uint64_t run, const Outcome& outcome, bool was_stopped);
  Fate fate(const AgentItem& item) const;
  void run_is_over(const Slot& slot);
  void leave_if_drained();
  void leave();

  World world_;
  const std::size_t index_;
  const WorkerPlan plan_;
  Random random_;
  std::uint64_t machine_ = 1;
  int spoilt_ = 0;  // how often
  std::uint64_t spoilt_machine_ = 0;
  std::uint64_t generation_ = 0;  // rises when a process begins and when it ends
  std::uint64_t next_call_ = 1;
  std::uint64_t incarnation_ = 0;
  std::optional<LeftBehind> disk_;
  std::unique_ptr<Process> process_;
  std::set<std::string> images_;    // that are on this machine
  std::int64_t away_ms_ = kAwayMs;  // when it has drained
  bool machine_goes_ = false;       // with this process: it knows
  bool is_over_ = false;
  std::optional<std::int64_t> wake_at_ms_;
};

}  // namespace drover::sim

// `drover worker`: takes leases from a server and runs them. The agent decides, the session speaks, slots run; this
// wires them into one loop. What items print is spooled on disk and travels with the report of their end; what is long,
// or followed, ahead of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/server_session.h"
#include "base/result.h"
#include "engine/system_clock.h"
#include "engine/timeline.h"
#include "ports/runner.h"
#include "worker/broken_gpus.h"
#include "worker/event_loop.h"
#include "worker/images.h"
#include "worker/interruption_watch.h"
#include "worker/item_fetches.h"
#include "worker/item_staging.h"
#include "worker/job_images.h"
#include "worker/job_run.h"
#include "worker/job_staging.h"
#include "worker/problem_notices.h"
#include "worker/server_calls.h"
#include "worker/slot_devices.h"
#include "worker/worker_spool.h"

namespace drover {

struct RemoteWorkerOptions {
  WorkerHello hello;                               // its incarnation is made here
  std::size_t most_slots = 1;                      // items side by side, however little they ask for
  std::string spool;                               // a folder of its own, for what the server does not know yet
  std::map<std::string, std::string> environment;  // for its attempts: how they reach the server
  std::string staging;                             // a folder of its own, for objects that items read and write
  std::string object_endpoint;                     // of the server's own store of objects
  StoreOpener::Outside object_network;             // how the stores of those objects are reached
  std::function<std::optional<std::string>(const std::string& name)> variable;  // of this process's environment
  std::shared_ptr<const MachineDevices> devices;  // accelerators that items are given; null: they are only counted
  std::string images;                             // a folder for container images, which several workers share
  ImageAccess image_access;
  ImageLimits image_limits;
  bool exit_when_idle = false;   // go when there is nothing to do
  std::uint64_t most_items = 0;  // go after so many; 0: never for that reason
};

class RemoteWorker {
 public:
  using Notice = std::function<void(const std::string&)>;

  RemoteWorker(RemoteWorkerOptions options, MachineRunner& runner, Notice notice);
  ~RemoteWorker();
  RemoteWorker(const RemoteWorker&) = delete;
  RemoteWorker& operator=(const RemoteWorker&) = delete;

  /// Until a signal, the server, or its options say to go, and all has been told. SIGINT, SIGTERM and SIGHUP must be
  /// blocked in every thread.
  Result<void> run(const ServerCalls::MakeClient& make_client);

 private:
  /// An attempt that has ended, and is told when what it left behind is uploaded.
  struct Finishing {
    EndedAttempt ended;
    bool was_stopped = false;
    bool is_uploading = false;
    std::int64_t look_ms = 0;  // it failed then (epoch), and its GPUs are looked at first; 0: they need not be
    std::set<std::string> gpus = {};
  };
  /// A slot and the job it is set up for. What is for another job waits until it is empty, and is then set up anew.
  struct JobSlot {
    std::unique_ptr<Slot> slot;
    JobId job;
    Resources ask;                     // which its items are held to
    std::optional<DeviceGrant> grant;  // its accelerators
    std::int64_t unused_ms = 0;        // since when they are not used; 0: they are
    std::size_t handed = 0;
    std::deque<StartItem> waiting;
    std::vector<StopItem> stop_first;  // what the first one that waits is to be told when it has started
    std::deque<Finishing> finishing;   // in the order in which they ended
    bool runs_alone = false;           // what it runs is uploaded when it has ended, before anything else runs in it
    std::string died;                  // why it did, while what ended before is still uploaded
  };
  /// A job of which items came, how they are run, and until when its key is as good as new.
  struct LearntJob {
    KnownJob known;
    Result<Definition> definition = {};
    std::optional<Result<JobRun>> run = {};          // none yet: its image is not here
    std::optional<Result<JobStaging>> staging = {};  // nothing: its items need no objects, and leave none
    bool uses_our_aws = false;                       // its attempts get credentials for AWS's clients
    std::int64_t held_ms = 0;                        // when something of it was last seen here
    std::int64_t renew_ms = 0;
    bool renewing = false;
  };
  /// An item in our hands.
  struct Held {
    JobId job;
    AttemptNumber attempt;
    std::string text;
  };
  /// Whether a call told of attempts that have ended.
  enum class Tells : std::uint8_t { nothing, ends };
  Result<void> prepare(const ServerCalls::MakeClient& make_client);
  Result<void> open_spool();
  std::int64_t next_deadline() const;
  void step();
  void say_goodbye();
  bool finished() const;
  void spool_ended();
  void watch_spool();
  void give_up_when_late();
  void end_if_abandoned();
  void kill_running();
  void on_interruption(const Interruption& told);
  std::int64_t kill_at_ms() const;
  void send_calls();
  void do_actions();
  void start_waiting(std::size_t slot);
  Result<void> open_slot(std::size_t slot, const AgentItem& item);
  void learn(const KnownJob& job);
  void prepare_to_run(JobId job, std::shared_ptr<const ContainerPlan> container);
  void renew_keys();
  void let_images_go();
  void forget(JobId job);
  std::set<JobId> jobs_held() const;
  void on_slot_ready(std::size_t slot);
  void on_slot_event(std::size_t slot, SlotEvent& event);
  void on_slot_died(std::size_t slot, const std::string& reason);
  void recall(std::size_t slot);
  void stop_item(const StopItem& stop);

  // Accelerators: worker_devices.cc.

  /// The slot has the accelerators that items of this kind ask for, and no others. False: they are not free now.
  Result<bool> hold_devices(std::size_t slot, const Resources& ask);
  Result<void> add_devices(std::size_t slot, SlotSetup& setup) const;
  void close_slot(std::size_t slot);
  bool has_idle_devices(const JobSlot& it) const;
  void close_idle_slots();
  void watch_gpus();
  void drop_failed_gpus();
  bool waits_for_look(const JobSlot& it, const EndedAttempt& ended) const;
  void tell_looked_at();
  static bool is_busy(const JobSlot& it);
  /// The slot's devices are free, once its process is gone.
  void let_go(std::size_t slot);
  /// Of its GPUs, where their driver tells of them.
  std::vector<DeviceState> device_states() const;
  void wait_for_devices(std::size_t slot, const AgentItem& item);
  void look_for_devices();
  std::int64_t next_device_deadline() const;

  // Objects that items read and write: worker_staging.cc.

  StoreOpener::Variable store_variables(const LearntJob& job, Token token, AttemptNumber attempt) const;
  void stage(JobId job, Token token);
  void stage_lease(JobId job, GrantId grant);
  /// Where the item's objects are, for its command. Nothing: they are still being fetched.
  std::optional<Result<StagedItem>> staged(std::size_t slot, const AgentItem& item);
  Result<std::shared_ptr<const ContainerPlan>> with_staging(std::shared_ptr<const ContainerPlan> plan,
                                                            std::size_t slot) const;
  void finish_attempt(std::size_t slot, EndedAttempt ended, bool was_stopped);
  void on_collected(std::size_t slot, Token token, const Result<std::uint64_t>& uploaded);
  void tell_finished(std::size_t slot);

  /// The report as it is sent, with what its items printed.
  WorkerReport with_frames(AgentReport said, WorkerId worker, std::uint64_t incarnation);
  void on_welcome(std::uint64_t call, const Result<WorkerWelcome>& welcome);
  void on_answer(std::uint64_t call, Tells tells, Result<WorkerPollAnswer> answer);
  void take_lease(const Lease& lease, LeasedItems items);
  void fetch_missing();
  void on_fetched(GrantId grant, Result<LeasedWork> work);
  void on_reported(std::uint64_t call, Tells tells, const Result<void>& taken);
  void on_heard(Tells tells);
  void on_failure(std::uint64_t call, Tells tells, const Error& error);
  void say_refused();
  void on_signal();
  std::int64_t now_ms() const { return timeline_.now_ms(); }

  RemoteWorkerOptions options_;
  MachineRunner& runner_;
  const Notice notice_;
  SystemWallClock wall_;
  SystemSteadyClock steady_;
  const Timeline timeline_{wall_, steady_, 0};

  std::unique_ptr<EventLoop> loop_;
  Agent agent_;
  std::unique_ptr<ServerSession> session_;
  JobImages job_images_;
  std::vector<JobSlot> slots_;
  std::map<JobId, LearntJob> jobs_;
  std::int64_t next_renewal_ms_ = 0;  // none of their keys is to be renewed before
  std::int64_t look_for_idle_ms_ = 0;
  std::map<Token, Held> held_;
  BrokenGpus broken_gpus_{options_.devices};
  std::map<JobId, std::int64_t> device_waits_;  // jobs whose accelerators others have, and when to look again
  std::int64_t shares_until_ms_ = 0;            // likewise while it has some of them; 0: it has all
  ItemFetches fetches_;
  WorkerId worker_;                            // as the server knows us; nobody yet: 0
  std::string holding_;                        // why no item is started; empty: they are
  std::int64_t busy_ms_ = 0;                   // when an item ran last, or the server said something
  std::optional<std::int64_t> leaving_ms_;     // since when it is to exit and has something left to do
  std::optional<std::int64_t> killed_ms_;      // when what ran was told to end at once
  std::optional<std::int64_t> taken_away_ms_;  // when the machine goes
  int signals_ = -1;
  std::size_t interrupts_ = 0;
  std::uint64_t ended_ = 0;
  bool has_fetched_ = false;  // an object for an item
  bool saw_nothing_to_do_ = false;
  std::uint64_t last_poll_ = 0;  // the call
  ProblemNotices problems_;
  std::string last_spool_problem_;
  std::set<std::string> said_of_devices_;  // problems with them, each of which is told once
  std::optional<Error> failed_;

  // Last: their threads call into what is above.
  std::unique_ptr<WorkerSpool> spool_;
  std::unique_ptr<ItemStaging> staging_;
  std::unique_ptr<Images> images_;
  std::unique_ptr<ServerCalls> calls_;
  std::unique_ptr<InterruptionWatch> interruptions_;
};

}  // namespace drover

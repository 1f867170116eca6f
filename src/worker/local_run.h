// `drover run`: the whole system in one process. The engine with its store, one agent, its slots and the control
// socket, turned by one loop until the job has ended or the user has had enough.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/system_clock.h"
#include "logs/log_writer.h"
#include "ports/runner.h"
#include "ports/store.h"
#include "store/manifest.h"
#include "store/run_folder.h"
#include "worker/broken_gpus.h"
#include "worker/control.h"
#include "worker/event_loop.h"
#include "worker/job_run.h"
#include "worker/machine.h"
#include "worker/run_progress.h"
#include "worker/slot_devices.h"

namespace drover {

struct LocalRunOptions {
  std::size_t slots = 1;
  std::string out_dir;               // per-item copies of the output go there, and it exists; empty: none
  std::optional<ItemLimits> limits;  // over those of the job's definition
  Shortage shortage;                 // when to start nothing more for now
  bool measures_use = false;         // whoever shows the progress wants to know what the items use
  std::shared_ptr<const ContainerPlan> container = nullptr;  // what items run in, with its image
  std::shared_ptr<SlotGrants> devices = nullptr;             // of each slot; null: items ask for none
};

/// What the last attempt of an item printed, and where it is in the log.
struct FinishedOutput {
  LogKey key;
  Bytes extents;
};

/// Why the loop ended.
enum class RunEnd : std::uint8_t { job_ended, interrupted };

class LocalRun {
 public:
  /// What somebody may want to hear of a run that is on its way.
  struct Listener {
    std::function<void(const RunProgress&)> progress;
    std::function<void(const FailedAttempt&)> failed;
    std::function<void(const std::string&)> notice;
    std::function<void(FinishedOutput)> output = nullptr;  // from the log's thread; nothing: nobody wants it
  };

  /// `job` has been accepted by the engine and has not ended.
  LocalRun(const RunFolder& folder, Runner& runner, StoreReader& reader, LocalRunOptions options, Listener listener);
  ~LocalRun();
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  /// Loads the engine from the store and takes the local worker's place. Until then the store was the caller's.
  Result<void> start(Store& store);
  Engine& engine() { return *engine_; }
  /// Runs the job to its end. SIGINT, SIGTERM and SIGHUP must be blocked in every thread.
  Result<RunEnd> run(const Job& job);

 private:
  Result<void> prepare(const Job& job);
  Result<void> open_slot(std::size_t slot);
  void step();
  void do_actions();
  void start_item(const StartItem& start);
  void on_slot_ready(std::size_t slot);
  void on_slot_event(std::size_t slot, SlotEvent& event);
  void on_printed(const AttemptPrinted& printed);
  void on_attempt_ended(std::size_t slot, AttemptEnded& ended);
  void tell(std::size_t slot, AttemptEnded& ended);
  void on_output_lost(AttemptEnded& ended);
  bool is_last_attempt(const Outcome& outcome, AttemptNumber attempt) const;
  void keep_to_max_failures();
  void note_failure(const EndedAttempt& ended, AttemptNumber attempt);
  void poll();
  void on_answer(Result<Effect> answer);
  void on_signal();
  void on_control(const boost::json::object& request, const ControlServer::Answer& answer);
  void answer_status(const ControlServer::Answer& answer);
  void answer_log(const boost::json::object& request, const ControlServer::Answer& answer);
  void answer_retry(const ControlServer::Answer& answer);
  void change_job(Command command, boost::json::object details, const ControlServer::Answer& answer);
  void look_at_machine();
  void watch_gpus();
  void look_at_gpus();
  bool waits_for_look(std::size_t slot, const AttemptEnded& ended) const;
  void tell_looked_at(std::size_t slot, bool now);
  void leave_gpus(std::size_t slot, const std::string& broken);
  RunProgress progress();
  void show_progress();
  std::int64_t now_ms() const { return engine_->now_ms(); }
  bool finished();

  const RunFolder& folder_;
  Runner& runner_;
  StoreReader& reader_;
  const LocalRunOptions options_;
  const Listener listener_;

  SystemWallClock wall_;
  SystemSteadyClock steady_;
  std::unique_ptr<EventLoop> loop_;
  Agent agent_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<ControlServer> control_;
  int signals_ = -1;

  Job job_;
  std::unique_ptr<JobRun> how_;
  std::unique_ptr<ManifestReader> manifest_;
  WorkerId worker_;
  std::uint64_t incarnation_ = 0;

  std::map<PollNumber, std::vector<LogKey>> in_report_;  // what has ended, until the ledger has it
  std::map<Token, AttemptNumber> attempts_;              // of what was started and is not reported
  std::size_t interrupts_ = 0;
  std::size_t unanswered_ = 0;  // requests of the control socket that the engine has
  enum class Drained : std::uint8_t { no, asked, yes } drained_ = Drained::no;
  std::int64_t shown_ms_ = 0;
  std::int64_t flushed_ms_ = 0;
  std::int64_t looked_ms_ = 0;
  /// An attempt that has ended, and what may have to do with its GPUs is not known yet.
  struct Untold {
    AttemptEnded ended;
    std::int64_t since_ms = 0;  // it failed then (epoch); 0: it waits for one that did
  };
  std::vector<std::deque<Untold>> untold_;  // of each slot
  BrokenGpus broken_gpus_;
  std::uint64_t failures_ = 0;  // items that have failed for good since the run was begun or retried
  std::string holding_;         // why nothing new is started for now
  RunStatistics statistics_;
  std::optional<Error> failed_;
  std::optional<Error> output_lost_;  // what was printed is not where it was wanted

  // Last, and in this order: their threads call into what is above, the log's into the engine.
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<LogWriter> logs_;
};

}  // namespace drover

// `drover run`: the whole system in one process. The engine with its store, one agent, its slots and the control
// socket, turned by one loop until the job has ended or the user has had enough.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/system_clock.h"
#include "ports/runner.h"
#include "ports/store.h"
#include "store/manifest.h"
#include "store/run_folder.h"
#include "worker/command_template.h"
#include "worker/control.h"
#include "worker/event_loop.h"

namespace drover {

struct LocalRunOptions {
  std::size_t slots = 1;
  std::string out_dir;  // per-item copies of the output go there, and it exists; empty: none
};

/// How far the run is, for whoever shows it.
struct RunProgress {
  Job job;
  std::size_t running = 0;
  bool draining = false;
};

/// Why the loop ended.
enum class RunEnd : std::uint8_t { job_ended, interrupted };

class LocalRun {
 public:
  using ShowProgress = std::function<void(const RunProgress&)>;
  using Say = std::function<void(const std::string&)>;

  /// `job` has been accepted by the engine and has not ended.
  LocalRun(const RunFolder& folder, Runner& runner, StoreReader& reader, LocalRunOptions options, ShowProgress show,
           Say say);
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
  void on_attempt_ended(std::size_t slot, AttemptEnded& ended);
  void poll();
  void on_answer(Result<Effect> answer);
  void on_signal();
  void on_control(const boost::json::object& request, ControlServer::Answer answer);
  void answer_status(const ControlServer::Answer& answer);
  void answer_retry(const ControlServer::Answer& answer);
  void change_job(Command command, boost::json::object details, const ControlServer::Answer& answer);
  void show_progress();
  std::int64_t now_ms() const { return engine_->now_ms(); }
  bool finished();

  const RunFolder& folder_;
  Runner& runner_;
  StoreReader& reader_;
  const LocalRunOptions options_;
  const ShowProgress show_;
  const Say say_;

  SystemWallClock wall_;
  SystemSteadyClock steady_;
  std::unique_ptr<EventLoop> loop_;
  Agent agent_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<ControlServer> control_;
  int signals_ = -1;

  Job job_;
  std::unique_ptr<CommandTemplate> command_;
  std::unique_ptr<ManifestReader> manifest_;
  SlotSetup setup_;
  std::string program_;  // looked up once, if it is the same for every item
  WorkerId worker_;
  std::uint64_t incarnation_ = 0;

  // Goes with the next poll.
  std::vector<AttemptOutput> outputs_;
  std::map<Token, AttemptNumber> attempts_;  // of items that are in a slot
  std::size_t interrupts_ = 0;
  std::size_t unanswered_ = 0;  // requests of the control socket that the engine has
  enum class Drained : std::uint8_t { no, asked, yes } drained_ = Drained::no;
  std::int64_t shown_ms_ = 0;
  std::optional<Error> failed_;

  std::unique_ptr<Engine> engine_;  // last: its threads call into the loop
};

/// The items of the job that ended without success, as a ReopenJob takes them.
Result<std::vector<SettledItem>> settled_items(StoreReader& reader, JobId job, bool with_failed);

}  // namespace drover

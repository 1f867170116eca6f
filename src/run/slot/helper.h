// The slot's helper: one loop that waits for everything at once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "run/descriptor.h"
#include "run/frame_buffer.h"
#include "run/slot/attempt.h"
#include "run/slot/task_plan.h"

namespace drover::slot {

/// Takes tasks from the socket, runs them one after another, and sends back how they ended.
///
/// What ended is held back for a moment while more is waiting here, so that drover wakes once for several items. On a
/// machine whose processors all run items its waking is at their cost: this is worth a fiftieth of the throughput.
class Helper {
 public:
  Helper();

  /// Until drover closes the socket; nothing that was started is left then.
  void run();

 private:
  void wait_for_something();
  void receive();
  void take_in(std::span<const char> frame);
  void set_up(std::span<const char> frame);
  void return_queued();
  void run_next();
  bool is_in_workdir();
  void report_attempt();
  void send();
  int wait_ms() const;
  void forget_large_tasks();
  void kill_everything();

  Descriptor child_signals_;  // a signalfd for SIGCHLD
  FrameBuffer inbox_;
  std::string outbox_;
  std::size_t sent_ = 0;            // of outbox_
  std::int64_t held_since_ms_ = 0;  // the oldest of outbox_
  bool may_send_ = false;           // no more reason to hold it back
  bool is_told_to_end_ = false;

  std::vector<TaskFrame> setup_;  // one at most: what the next two point into
  std::vector<const char*> environment_;
  const char* workdir_ = "";
  std::string workdir_problem_;
  std::deque<TaskFrame> queue_;
  bool had_large_task_ = false;
  Attempt attempt_;
};

}  // namespace drover::slot

// The slot's helper: one loop that waits for everything at once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "ports/descriptor.h"
#include "run/frame_buffer.h"
#include "run/slot/attempt.h"
#include "run/slot/outbox.h"
#include "run/slot/setup.h"
#include "run/slot/task_plan.h"

namespace drover::slot {

/// Takes tasks from the socket, runs them one after another, and sends back how they ended.
///
/// What ended is held back for a moment while more is waiting here, so that drover wakes once for several items. On a
/// machine whose processors all run items its waking is at their cost: this is worth a twentieth of the throughput.
class Helper {
 public:
  Helper();

  /// Until drover closes the socket; nothing that was started is left then.
  void run();

 private:
  void wait_for_something();
  void receive();
  void take_in(std::span<const char> frame);
  void return_queued();
  void run_next();
  bool is_in_workdir();
  void report_attempt();
  void hold(int most_ms);
  int failure_hold_ms();
  void send();
  int wait_ms() const;
  void shrink();
  bool is_orphan() const;
  void kill_everything();

  Descriptor child_signals_;  // a signalfd for SIGCHLD
  Descriptor birthplace_;     // the folder that this process was started in
  FrameBuffer inbox_;
  Outbox outbox_;
  std::int64_t send_at_ms_ = 0;          // when the outbox is sent at the latest
  std::int64_t failed_ms_ = -1'000'000;  // when an attempt failed last
  bool is_holding_ = false;              // the outbox holds something, or is about to
  bool ended_unsent_ = false;            // it holds how an attempt ended
  bool may_send_ = false;                // no more reason to hold it back
  bool is_told_to_end_ = false;

  Setup setup_;
  bool is_in_place_ = false;  // in the working directory
  std::string workdir_problem_;
  std::deque<TaskFrame> queue_;
  bool is_large_ = false;  // something made us larger than the next item should see
  Attempt attempt_{outbox_};
};

}  // namespace drover::slot

// drover's end of one slot.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "ports/descriptor.h"
#include "ports/runner.h"
#include "run/container_box.h"
#include "run/enforcement.h"
#include "run/frame_buffer.h"

namespace drover {

/// A slot whose other end is a helper process. turn_to(), start(), stop() and recall() only put into a buffer: call
/// send_more() once after a turn of them, and again when the descriptor is writable while has_unsent().
///
/// When it goes, so does the helper with all it runs; this takes about a millisecond, or seconds if the kernel does
/// not let go of something.
class ProcessSlot final : public Slot {
 public:
  ProcessSlot(pid_t helper, Descriptor socket, const SlotSetup& setup, Enforcement enforcement, ContainerBox box = {});
  ~ProcessSlot() override;

  int descriptor() const override { return socket_.get(); }
  bool has_unsent() const override { return sent_ < outbox_.size(); }
  void send_more() override;

  bool turn_to(const SlotSetup& setup) override;
  void start(const Task& task) override;
  void stop(Token token, StopHow how, std::int64_t ran_ms) override;
  void recall() override;
  std::vector<SlotEvent> events() override;

 private:
  void wake() const;
  static constexpr pid_t kNobody = -1;
  enum class Stream { open, ended };

  bool is_dead() const { return helper_ == kNobody; }

  void tell(const SlotSetup& setup);
  Stream receive(std::vector<SlotEvent>& events);
  SlotDied bury();

  pid_t helper_;  // kNobody once it is dead and waited for
  Descriptor socket_;
  int hold_descriptor_;
  int device_lock_;
  int input_descriptor_;
  ItemLimits limits_;
  SlotCgroup cgroup_;
  ContainerBox box_;  // empty: items are processes of this machine
  // A long output comes in large frames, one after another.
  static constexpr std::size_t kKeptInbox = std::size_t{256} << 10;
  FrameBuffer inbox_{kKeptInbox};
  std::string outbox_;
  std::size_t sent_ = 0;  // of outbox_
};

}  // namespace drover

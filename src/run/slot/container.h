// The container that items of this slot run in.
//
// A fresh one for each item: the helper mounts an overlay over the image's layers, in a mount namespace of its own,
// lets the OCI runtime start the container detached, and becomes its parent when the runtime has ended. A warm one is
// started the same way with nothing to do; items are then brought into it by joining its namespaces (see enter.h).
//
// Whatever ends the helper ends the container: it is a descendant, and its mounts are in namespaces that nobody else is
// in. What would be left on disk lies in one folder, which drover removes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/container.h"
#include "base/words.h"
#include "ports/descriptor.h"
#include "run/slot/cgroup.h"
#include "run/slot/enter.h"
#include "run/slot/first_process.h"
#include "run/slot/launch.h"
#include "run/slot/task_plan.h"
#include "run/slot/user_namespace.h"

namespace drover::slot {

class Container {
 public:
  /// As drover sent it.
  void read(std::span<const char> frame);
  /// Whether items of this slot run in one at all.
  bool is_wanted() const { return !runtime_.empty(); }

  /// What it takes for the next item: a process to wait for, or why not. Until started() is asked, this may be the
  /// runtime's.
  Launched start(TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end);
  /// The process that start() named is the runtime, not the item.
  bool is_starting() const { return runtime_pid_ > 0; }
  /// The runtime has ended like this: the item's process, or why there is none. Warm: the item is only now brought in.
  Launched started(int status, TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end);

  /// What the first process said of the item's end, and of what it used. False: nothing, it was killed.
  bool last_words(LastWords& words, std::string& reason);

  /// Kills what an item left in a warm container. True: there is nothing.
  bool is_cleared();
  /// Nobody's child, as far as an attempt is concerned.
  bool is_first_process(pid_t pid) const { return is_warm_ && pid == first_process_; }
  /// A process that was not the item has ended; if it was what keeps a warm container, that is over.
  void on_ended(pid_t pid);

  /// Since the last call.
  std::int64_t oom_kills();
  /// The item is over: a container that is not to be used again goes, with all it wrote.
  void put_away(bool succeeded);
  /// It goes.
  void discard();
  /// The cgroups too: for when drover cannot any more.
  void remove();
  /// How long one that is warm may still wait for something to do; -1: there is none.
  int idle_ms() const;

  bool is_warm() const { return is_warm_; }
  /// What asks an item of this image to end.
  int stop_signal() const { return stop_signal_; }

 private:
  std::string take_apart();  // from the machine's mounts
  std::string prepare();
  Launched call_runtime(OrderKind kind, const TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end);
  std::string runtime_problem(int status) const;
  Launched bring_in(TaskPlan& plan, const Setup& setup, int stdout_end, int stderr_end);
  struct Overlay;
  std::string make_overlay(const std::string& scratch, const std::string& lower, Overlay& overlay);
  static std::string overlay_problem(int error);
  std::vector<pid_t> others() const;

  // As drover sent it.
  std::string runtime_;
  std::string folder_;
  std::string lower_;    // overlay's option
  std::string unified_;  // a mount that the runtime must not see
  bool is_crun_ = false;
  bool is_warm_ = false;
  bool uses_init_ = true;
  bool renews_cgroup_ = false;
  ContainerReset reset_ = ContainerReset::overlay;
  std::uint32_t most_items_ = 0;
  int stop_signal_ = 0;
  std::vector<std::string> cgroup_folders_;
  std::vector<std::string> join_;
  std::string clone_into_;
  std::string kill_counts_;
  std::string procs_;
  UserNamespace user_namespace_;
  std::vector<std::string> leftovers_;  // folders of dead ones that drover itself could not remove
  Identity identity_;

  bool is_apart_ = false;
  std::uint64_t number_ = 0;  // of the container
  std::uint64_t scratch_ = 0;
  std::string scratch_folder_;
  std::string item_scratch_;        // of a warm one's item
  std::vector<std::string> spare_;  // of items that wrote nothing, the longest unused first
  pid_t runtime_pid_ = -1;
  pid_t first_process_ = -1;
  std::uint32_t items_ = 0;  // that this one has had
  std::int64_t last_used_ms_ = 0;
  std::int64_t oom_kills_before_ = 0;
  Descriptor last_words_;
  Descriptor first_process_handle_;
  Cgroup cgroup_;
};

}  // namespace drover::slot

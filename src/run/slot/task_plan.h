// A task as exec wants it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "run/slot_protocol.h"

namespace drover::slot {

/// A frame in memory of its own, from its arrival until its attempt has started.
class TaskFrame {
 public:
  explicit TaskFrame(std::span<const char> frame)
      : bytes_(std::make_unique_for_overwrite<char[]>(frame.size())), size_(frame.size()) {
    std::memcpy(bytes_.get(), frame.data(), size_);
  }
  std::span<const char> bytes() const { return {bytes_.get(), size_}; }
  Token token() const { return FrameReader(bytes()).get<Token>(); }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

/// What exec gets, as pointers into a task's frame and the slot's environment.
struct TaskPlan {
  const char* program = "";
  const char* stdout_path = "";
  const char* stderr_path = "";
  bool wants_terminal = false;
  const char* search_path = nullptr;     // PATH in the environment
  std::vector<const char*> arguments;    // begins with a free place, for the shell that runs a script; ends in null
  std::vector<const char*> environment;  // ends in null

  /// What makes it impossible, for people; empty: nothing.
  std::string read(const TaskFrame& frame, const std::vector<const char*>& base_environment);
  /// In an environment that does not end in null yet.
  void find_search_path();
};

}  // namespace drover::slot

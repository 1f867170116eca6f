// The slot's cgroups, seen from inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ports/descriptor.h"

namespace drover::slot {

/// drover made them and set their limits. In version 1 the helper lives in them, since entering costs milliseconds, and
/// its items with it. In version 2 an item is born into one, which costs microseconds, and the helper stays outside.
class Cgroup {
 public:
  void enter(std::vector<std::string> join, const std::string& clone_into, const std::string& kill_counts);
  /// Back to those above, which stay.
  void leave();
  /// Removes them, and what was made below them: for when drover cannot any more. Nothing may be left in them but us.
  void remove();

  /// Goes over into fresh ones if the last item has left much in memory that the next would have to answer for, such
  /// as files in a tmpfs. `limit`: of memory.
  void renew_if_full(std::uint64_t limit);

  int birth_descriptor() const { return clone_into_.get(); }  // -1: items are born where the helper is
  bool is_fresh() const { return is_fresh_; }                 // since the last renew_if_full
  bool counts_kills() const { return static_cast<bool>(kill_counts_); }
  /// How many processes of this slot the kernel has killed for want of memory.
  std::int64_t oom_kills() const;

 private:
  std::string memory_folder() const;
  std::uint64_t memory_in_use() const;

  std::vector<std::string> folders_;
  Descriptor clone_into_;
  Descriptor kill_counts_;
  std::string kill_counts_path_;
  bool joined_ = false;
  int renewals_ = 0;
  bool is_fresh_ = false;
};

/// How many processes were killed for want of memory, in the text of the file that counts them.
std::int64_t oom_kills_in(const std::string& text);

}  // namespace drover::slot

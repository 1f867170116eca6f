// Failed attempts that failed in the same way: they ended alike, and their last lines have the same shape.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/records.h"

namespace drover::page {

/// "exit code 3", "signal 9 (SIGKILL)", "timed out", "out of memory", "could not start".
std::string how_it_ended(const Attempt& attempt);

/// The line that says most about an attempt: the last it printed, else what Drover says of it beyond how it ended.
std::string_view telling_line(const Attempt& attempt);

struct FailureGroup {
  std::string how;
  std::string shape;           // empty: nothing was printed
  bool is_rest = false;        // of different shapes, each rare, that there was no room to tell apart
  std::uint64_t items = 0;     // that failed for good in this way
  std::uint64_t attempts = 0;  // also those that were tried again
  Attempt example;             // one that settled its item, if there is any
};

/// Gathers groups in bounded memory: however many shapes there are, the large ones are kept.
class FailureGroups {
 public:
  explicit FailureGroups(std::function<std::string(std::string_view)> shape) : shape_(std::move(shape)) {}
  FailureGroups(FailureGroups&&) = default;  // not copied: known lines point to groups
  FailureGroups& operator=(FailureGroups&&) = default;

  /// Takes any attempt; those that neither failed nor were lost do not count.
  void add(const Attempt& attempt);
  /// By items, then attempts; the largest first.
  std::vector<FailureGroup> sorted() const;

 private:
  struct Ended {
    Ending ending = Ending::exited;
    std::int32_t code = 0;
    auto operator<=>(const Ended&) const = default;
  };
  struct Key {
    Ended ended;
    std::string shape;
    bool is_rest = false;
    auto operator<=>(const Key&) const = default;
  };

  FailureGroup& group_of(const Attempt& attempt);
  void forget_small_ones();

  std::function<std::string(std::string_view)> shape_;
  std::map<Key, FailureGroup> groups_;
  // Lines whose shape was asked for, every digit as 0: most items print one that differs from others in digits alone,
  // and finding its shape takes longer than anything else here.
  std::map<Ended, std::unordered_map<std::string, FailureGroup*>> known_lines_;
  std::size_t known_count_ = 0;
};

}  // namespace drover::page

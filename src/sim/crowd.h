// What makes a script a crowd's: queues that change and close, machines of many sizes of which some come late, and for
// each job its place among others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/happenings/jobs.h"
#include "sim/script.h"

namespace drover::sim {

class Crowd {
 public:
  explicit Crowd(std::uint64_t seed) : random_(seed ^ 0x63726f7764) {}

  /// What workers have, and when they come.
  void equip(std::vector<WorkerPlan>& workers, std::int64_t length_ms);
  /// Decides how many queues there are, beside the default one.
  void begin_queues() { queues_ = 1 + random_.below(4); }
  std::uint64_t queues() const { return queues_; }
  /// One of them, or the default one.
  std::string queue_name();
  /// The queue and share of a job, what it comes after, and how many of its items may run. Item by item after another
  /// one it has as many. One of the usual kind comes after no other, and all of it may run at a time.
  void place(Submit& submit, std::int64_t at_ms, bool any_kind);
  /// Now and then, something that nobody can run.
  void ask_too_much(Submit& submit);
  /// Workers that are to be spoilt, an hour in two.
  bool spoils() { return random_.one_in(2); }

  Random& random() { return random_; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }

 private:
  struct Known {
    std::uint64_t job;
    std::int64_t at_ms;
    std::uint64_t total;
  };

  std::string share_name();

  Random random_;
  std::uint64_t queues_ = 0;
  std::vector<Known> jobs_;
};

}  // namespace drover::sim

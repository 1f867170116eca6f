// A copy of a core as it stands, to try out what would happen if. Whoever was alive, drained or waited for work does so
// in the copy; there nobody dies of silence, so that time can pass.
#pragma once

#include <map>
#include <vector>

#include "core/core.h"

namespace drover::sim {

class Twin {
 public:
  explicit Twin(const Core& core);

  const Core& core() const { return core_; }

  Effect ask(const Command& command);
  /// One more worker, which holds nothing.
  WorkerId add_worker(const Supply& has);
  /// What a worker is given that has room for all that it can have, and wants one item.
  std::vector<Lease> ask_for_one(WorkerId worker);
  /// The worker goes in order, as one that drains does, and another process of it begins.
  void begin_anew(const Worker& worker);
  /// What is in workers' hands of this job ends well.
  void end_all_of(JobId job);
  /// These items of the job succeed, without anybody having run them; all: the job, whatever it was about.
  void make_succeed(JobId job, ItemIndex from, ItemIndex to);
  void make_succeed(JobId job);
  void wait_until(std::int64_t now_ms);

 private:
  void begin_from(const Core& core, Durable durable);
  void finish_what_is_due();

  Core core_;
  std::uint64_t tickets_ = 0;
  std::uint64_t workers_ = 0;
};

}  // namespace drover::sim

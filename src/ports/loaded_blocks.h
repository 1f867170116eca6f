// Which jobs' blocks a store loads: those that the core keeps in memory (Durable::blocks).
#pragma once

#include <set>

#include "core/records.h"

namespace drover {

/// Adds the jobs whose blocks are needed because of this one.
inline void add_jobs_with_blocks(const Job& job, std::set<JobId>& out) {
  if (job.ended()) return;
  out.insert(job.id);
  for (const Dependency& it : job.after) {
    if (it.each) out.insert(it.job);
  }
}

}  // namespace drover

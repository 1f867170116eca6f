// What a batch changes in the store. The core says it in these words, a store makes it durable, and at start the
// store says the puts again.
#pragma once

#include <variant>
#include <vector>

#include "core/records.h"

namespace drover {

struct PutCounters {
  Counters counters;
};
struct PutJob {
  Job job;
};
struct PutBlock {
  BlockRecord block;
};
struct PutOpenItem {
  OpenItem item;
};
struct DeleteOpenItem {
  JobId job;
  ItemIndex item;
};
struct PutGrant {
  Grant grant;
};
struct DeleteGrant {
  GrantId grant;
};
struct PutWorker {
  Worker worker;
};
struct AddAttempt {
  Attempt attempt;
};
/// The item is taken up again: the attempt that had settled it no longer does.
struct UnsettleAttempt {
  JobId job;
  ItemIndex item;
  AttemptNumber attempt;
};

/// The job and everything about it: blocks, open items, attempts, its manifest and its definition. Comes after all else
/// that a batch says of the job.
struct DeleteJob {
  JobId job;
};

using Mutation = std::variant<PutCounters, PutJob, PutBlock, PutOpenItem, DeleteOpenItem, PutGrant, DeleteGrant,
                              PutWorker, AddAttempt, UnsettleAttempt, DeleteJob>;

}  // namespace drover

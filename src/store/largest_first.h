// The attempts that settled a job's items, the longest or largest first. The table `peaks` says of each block of items
// what none of them exceeds: so few blocks are read, however many items the job has.
#pragma once

#include <cstdint>
#include <vector>

#include "ports/store.h"
#include "sqlite/database.h"

namespace drover {

Result<std::vector<Attempt>> largest_first(Database& db, JobId job, AttemptOrder order, std::uint64_t skip,
                                           std::uint64_t limit);

}  // namespace drover

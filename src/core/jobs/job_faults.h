// Faults that can be injected in what becomes of jobs and their items.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class JobFault : std::uint8_t {
  none,
  loss_spends_a_try,        // the item pays for its machine
  early_stop_one_too_soon,  // max_failures is off by one
  one_loss_too_many,        // lost_limit is off by one
  reopening_forgets_count,  // a reopened item starts counting attempts from 1
  return_forgets_history,   // an item whose grant is released loses its tries
  retry_delay_skipped,
  cancel_leaves_job_open,  // a cancelled job without grants goes on
  disabled_queue_served,
  dependency_ignored,       // a job does not wait for the one before it
  item_dependency_ignored,  // nor an item for the item before it
  sequential_out_of_order,  // of items that follow each other the second goes first
  loss_not_sheltered,       // an item that was lost too often runs on spot machines at once
  shelter_without_end,      // it waits for other machines without a limit
  hidden_counts_as_gone,    // a job until its stream is empty ends while others hold messages
};

}  // namespace drover

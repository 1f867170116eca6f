// Faults that can be injected into what becomes of streams and their messages.
#pragma once

#include <cstdint>

#include "base/injected_fault.h"

namespace drover {

enum class StreamFault : std::uint8_t {
  none,
  stale_receipt_deletes,  // a receipt deletes a message that somebody else has received since
  visible_too_soon,       // a message is received again when half of its time has run out
  group_not_blocked,      // a group is received from while some of it is in flight
  group_out_of_order,     // the second message of a group comes first
  one_receive_too_many,   // max_receives is off by one
  one_receive_too_few,
  duplicate_taken,         // a FIFO stream takes the same message twice
  attempt_keeps_messages,  // an attempt that ended holds on to what it received
  delay_skipped,
  purge_changes_nothing,
  restart_forgets_delay,         // a delayed message is visible after a restart
  expired_fifo_receipt_deletes,  // although its time has run out
  extension_ignored,             // a message is not hidden for longer, and its receiver is told that it is
  ended_attempt_served,          // an attempt that ended while it waited is given messages
  expires_too_soon,              // when half of its time is over
  expires_too_late,
  item_does_not_hold,   // others receive the message of an item that takes long
  failed_item_deletes,  // its message
  done_item_keeps,      // its message
  item_not_run_counts,  // as a receive
  job_over_holds_on,    // to the messages of its items
  fed_twice,            // what an outbox sends again is taken again
};

}  // namespace drover

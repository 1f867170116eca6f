// Why something does not run, in one true sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace drover {

class Core;

enum class WhyCode : std::uint8_t {
  ended,       // the job or the item has
  running,     // the item is
  stopping,    // the job was cancelled, ran out of time or failed too often: no more of it starts
  after_job,   // waits for another job's success
  after_item,  // waits for the same item of another job
  before_it,   // one item after the other, and an earlier one has not succeeded
  queue_disabled,
  no_message,       // its items are messages, and its stream has none to take
  retry_delay,      // waits until a time
  sheltered,        // was lost too often to run on spot machines, and waits for another for a while
  most_running,     // as many of the job's items are in workers' hands as may be
  machine_coming,   // no worker takes it, and a fleet's machine that could run it is on its way
  no_worker,        // there is none that is alive
  nobody_suits,     // no worker that is alive has what it asks for
  set_apart,        // those that suit it drain, take nothing, or are given nothing because items failed there
  share_held_back,  // what is left is kept for shares yet to come
  behind,           // those that suit it are busy, and others come first
  busy,             // those that suit it are busy, and it is next
  handed_out,       // in a worker's hands, not yet named as running
  next,             // nothing keeps it: it is handed out when a worker that is free asks for work
};
std::string_view to_string(WhyCode code);

/// `sentence` says it all; the rest is for programs.
struct Why {
  WhyCode code = WhyCode::next;
  std::string sentence;
  JobId job;                   // the other one, if another job is the reason
  std::string machine = {};    // that is coming
  std::string fleet = {};      // whose machine that is, or that launches none
  std::int64_t until_ms = 0;   // if a time is
  std::uint64_t places = 0;    // jobs ahead of it in its share
  std::uint64_t workers = 0;   // that suit it and take items; else that suit it; else that are there
  std::uint64_t in_hands = 0;  // items of its job that workers have
};

/// Of an item that waits, or of whatever the job would hand out next. What the core answers to AskWhy are the facts
/// (why_facts.h); this is both steps at once.
Why why(const Core& core, JobId job, std::optional<ItemIndex> item);

}  // namespace drover

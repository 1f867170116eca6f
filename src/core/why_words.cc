// What the facts are in words. Pure: it sees nothing else.
#include "base/text.h"
#include "base/units.h"
#include "core/why_facts.h"

namespace drover {

std::string_view to_string(WhyCode code) {
  switch (code) {
    case WhyCode::ended: return "ended";
    case WhyCode::running: return "running";
    case WhyCode::stopping: return "stopping";
    case WhyCode::after_job: return "after_job";
    case WhyCode::after_item: return "after_item";
    case WhyCode::before_it: return "before_it";
    case WhyCode::queue_disabled: return "queue_disabled";
    case WhyCode::no_message: return "no_message";
    case WhyCode::retry_delay: return "retry_delay";
    case WhyCode::sheltered: return "sheltered";
    case WhyCode::most_running: return "most_running";
    case WhyCode::machine_coming: return "machine_coming";
    case WhyCode::no_worker: return "no_worker";
    case WhyCode::nobody_suits: return "nobody_suits";
    case WhyCode::set_apart: return "set_apart";
    case WhyCode::share_held_back: return "share_held_back";
    case WhyCode::behind: return "behind";
    case WhyCode::busy: return "busy";
    case WhyCode::handed_out: return "handed_out";
    case WhyCode::next: return "next";
  }
  return "unknown";
}

namespace {

/// What is said after why no worker takes it.
struct MachineWords {
  Why why;

  Why operator()(const std::monostate&) { return std::move(why); }

  Why operator()(const reason::MachineComing& it) {
    if (it.has_labels && why.code != WhyCode::sheltered) why.code = WhyCode::machine_coming;
    why.machine = it.machine;
    why.fleet = it.fleet;
    return add(concat("machine ", it.machine, " of fleet '", it.fleet, "', shape '", it.shape, "', is ",
                      to_string(it.state), it.has_labels ? "" : ", and could run it if it has the required labels"));
  }

  Why operator()(const reason::NoMachine& it) {
    using How = reason::NoMachine::How;
    why.fleet = it.fleet;
    if (why.until_ms == 0) why.until_ms = it.until_ms;
    const std::string fleet = concat("fleet '", it.fleet, "' ");
    switch (it.how) {
      case How::paused: return add(concat(fleet, "is paused"));
      case How::deleting: return add(concat(fleet, "is being deleted"));
      case How::backing_off:
        return add(concat(fleet, "launches no ", it.of_spot ? "spot machines" : "machines", " for another ",
                          (it.in_ms + 999) / 1000, " s: ", it.trouble));
      case How::most_machines: return add(concat(fleet, "is at its maximum of ", plural(it.most, "machine")));
      case How::most_cpus: return add(concat(fleet, "is at its maximum of ", plural(it.most, "CPU")));
      case How::none_launched: break;
    }
    const std::string failed = it.trouble.empty() ? "" : concat(" (its last launch failed: ", it.trouble, ")");
    return add(
        concat(fleet, "has launched no machine for it", failed, "; 'drover fleet explain ", it.fleet, "' says why"));
  }

  Why add(const std::string& words) {
    why.sentence += "; " + words;
    return std::move(why);
  }
};

Why with_machines(const reason::Machines& machines, Why why) {
  return std::visit(MachineWords{std::move(why)}, machines);
}

std::string because(const std::string& reason) {
  return reason.empty() ? "" : concat(": ", reason);
}

/// One function for each reason.
struct Words {
  Why operator()(const reason::ItemEnded& it) const {
    return {WhyCode::ended,
            concat("item ", it.item.value, it.succeeded ? " has succeeded" : " has ended without success")};
  }

  Why operator()(const reason::ItemRuns& it) const {
    return {WhyCode::running, concat("item ", it.item.value, " has been running on worker ", it.worker, " for ",
                                     format_duration_us(it.for_ms * 1000), ", as attempt ", it.attempt)};
  }

  Why operator()(const reason::ItemAssigned& it) const {
    return {WhyCode::handed_out,
            concat("item ", it.item.value, " is assigned to ", it.worker.empty() ? "a worker" : "worker ", it.worker,
                   ", which has not reported it as running")};
  }

  Why operator()(const reason::GetsReady& it) const {
    return {WhyCode::handed_out, concat("worker ", it.worker, ": ", it.note)};
  }

  Why operator()(const reason::JobEnded& it) const {
    const std::string how = it.before_this_item               ? " ended before this item was started"
                            : it.state == JobState::cancelled ? " was cancelled"
                                                              : concat(" has ", to_string(it.state));
    return {WhyCode::ended, concat("job ", it.job, how, because(it.reason))};
  }

  Why operator()(const reason::JobStops& it) const {
    return {WhyCode::stopping, concat("job ", it.job, " starts no more items: ",
                                      it.reason.empty() ? std::string(to_string(it.cause)) : it.reason)};
  }

  Why operator()(const reason::Waits& it) const {
    const WhyCode code = it.item ? WhyCode::after_item : WhyCode::after_job;
    if (!it.job) {
      return {code, it.item ? "waits for an item of a job that is no longer known"
                            : "waits for a job that did not succeed and is no longer known"};
    }
    return {.code = code,
            .sentence = concat("waits for ", it.item ? concat("item ", it.item->value, " of ") : "", "job ", it.name,
                               ", ", it.percent_done, "% done"),
            .job = it.job};
  }

  Why operator()(const reason::EarlierItem& it) const {
    return {WhyCode::before_it,
            concat("items of this job run one at a time, and item ", it.item.value, " has not succeeded yet")};
  }

  Why operator()(const reason::QueueDisabled& it) const {
    return {WhyCode::queue_disabled, concat("queue '", it.queue, "' is disabled")};
  }

  Why operator()(const reason::RetryDelay& it) const {
    return {.code = WhyCode::retry_delay,
            .sentence = concat("item ", it.item.value, " failed ", plural(it.failures, "time"),
                               "; its next attempt is in ", format_duration_us(it.in_ms * 1000)),
            .until_ms = it.until_ms};
  }

  Why operator()(const reason::Sheltered& it) const {
    return with_machines(
        it.machines,
        {.code = WhyCode::sheltered,
         .sentence = concat("item ", it.item.value, " was lost ", plural(it.losses, "time"), ", so it waits up to ",
                            format_duration_us(it.in_ms * 1000), " for a machine that is not a spot machine"),
         .until_ms = it.until_ms});
  }

  Why operator()(const reason::LimitReached& it) const {
    return {WhyCode::most_running,
            concat(it.in_hands, " of its items ", it.in_hands == 1 ? "is" : "are",
                   " assigned to workers, which is the limit (", it.sequential ? "sequential" : "max_running", ")")};
  }

  Why operator()(const reason::AllOut& it) const {
    switch (it.how) {
      case reason::AllOut::How::assigned:
        return {WhyCode::running, concat("all remaining items (", it.items, ") are assigned to workers")};
      case reason::AllOut::How::being_reopened:
        return {WhyCode::running,
                concat("a retry is reopening the job's items; ", it.items, " running or waiting so far")};
      case reason::AllOut::How::running_or_waiting:
        return {WhyCode::running, concat("all remaining items (", it.items, ") are running or waiting for a retry")};
      case reason::AllOut::How::running: break;
    }
    return {WhyCode::running, "all remaining items are running"};
  }

  Why operator()(const reason::NoMessage& it) const {
    if (!it.is_there) return {WhyCode::no_message, concat("stream '", it.stream, "' was deleted")};
    std::string sentence = concat("stream '", it.stream, "' has no message to receive");
    if (it.in_flight > 0) sentence += concat("; ", it.in_flight, " in flight");
    if (it.delayed > 0) sentence += concat("; ", it.delayed, " delayed");
    return {WhyCode::no_message, std::move(sentence)};
  }

  Why operator()(const reason::NoWorker& it) const {
    return with_machines(
        it.machines,
        {WhyCode::no_worker, it.none_ever_joined ? "no worker has ever joined"
                             : it.known == 0     ? "no worker is connected"
                                                 : concat("none of ", plural(it.known, "worker"), " is connected")});
  }

  Why operator()(const reason::NobodySuits& it) const {
    return with_machines(it.machines, {.code = WhyCode::nobody_suits,
                                       .sentence = concat("needs ", what_nobody_has(it.demand, it.workers)),
                                       .workers = it.workers.all});
  }

  Why operator()(const reason::SetApart& it) const {
    const std::string who = concat("worker ", it.worker, it.quarantined ? " is quarantined" : " is draining");
    return with_machines(it.machines,
                         {.code = WhyCode::set_apart,
                          .sentence = it.suiting == 1 ? concat(who, ", and no other worker can run it")
                                                      : concat("none of the ", it.suiting,
                                                               " workers that could run it accepts items: ", who),
                          .workers = it.suiting});
  }

  Why operator()(const reason::HeldBack& it) const {
    return {.code = WhyCode::share_held_back,
            .sentence = concat("share '", it.share,
                               "' has reached its limit: the remaining capacity is reserved for inactive shares (",
                               it.reserved_percent, "% reserved)"),
            .workers = it.suiting};
  }

  Why operator()(const reason::Declined& it) const {
    return {.code = WhyCode::set_apart, .sentence = concat("worker ", it.worker, ": ", it.note), .workers = it.suiting};
  }

  Why operator()(const reason::NoneAccepts& it) const {
    return {.code = WhyCode::set_apart,
            .sentence = concat(it.worker.empty() ? concat("the ", it.suiting, " workers that could run it accept")
                                                 : concat("worker ", it.worker, ", which could run it, accepts"),
                               " no items right now"),
            .workers = it.suiting};
  }

  Why operator()(const reason::Turn& it) const {
    const std::string who = who_could_run_it(it);
    Why why = std::visit([&](const auto& ahead) { return behind(who, ahead); }, it.ahead);
    if (why.code != WhyCode::behind) why.code = it.is_free ? WhyCode::next : WhyCode::busy;
    why.workers = it.takers;
    return why;
  }

 private:
  static std::string who_could_run_it(const reason::Turn& it) {
    if (it.worker.empty() && it.is_free) return "a worker that could run it is idle but is not asking for work";
    if (it.worker.empty() && it.takers == 1) return "the worker that could run it is busy";
    if (it.worker.empty()) return concat("the ", it.takers, " workers that could run it are busy");
    const std::string who = concat("worker ", it.worker, ", which could run it, is ");
    if (!it.is_free) return concat(who, "busy");
    // It is about to ask, or no longer there.
    return concat(
        who, "idle but is not asking for work",
        it.silent_ms >= 1000 ? concat(" (last heard from ", format_duration_us(it.silent_ms * 1000), " ago)") : "");
  }

  static Why behind(const std::string& who, const reason::NobodyAhead&) {
    return {WhyCode::next, concat(who, "; it is next")};
  }

  static Why behind(const std::string& who, const reason::PerhapsSomebodyAhead&) {
    return {WhyCode::next, concat(who, ", and others may come first")};
  }

  static Why behind(const std::string& who, const reason::PlacesAhead& it) {
    return {.code = WhyCode::behind,
            .sentence = concat(who, ", and it is ", it.or_more ? "at least " : "", plural(it.places, "place"),
                               " behind job ", it.nearest_name,
                               it.share ? concat(" in the same share '", *it.share, "'") : " in the same queue"),
            .job = it.nearest,
            .places = it.places};
  }

  static Why behind(const std::string& who, const reason::ShareAhead& it) {
    return {.code = WhyCode::behind,
            .sentence = concat(who, ", and share '", it.share, "' has used ", it.has_used_less ? "less" : "no more",
                               " than share '", it.own_share, "' lately"),
            .job = it.job};
  }

  static Why behind(const std::string& who, const reason::QueueAhead& it) {
    using How = reason::QueueAhead::How;
    return {.code = WhyCode::behind,
            .sentence = concat(who, ", and queue '", it.queue,
                               it.how == How::higher_priority   ? "', which has a higher priority, has work"
                               : it.how == How::fewer_cpus_busy ? "', which has the same priority, has fewer CPUs busy"
                                                                : "', which has the same priority, is next in turn"),
            .job = it.job};
  }
};

std::string what_comes_first(const WhyFacts& facts) {
  const auto come_first = [](std::uint64_t items) {
    return concat(plural(items, "item"), " of its job ", items == 1 ? "comes" : "come", " first");
  };
  std::string out;
  if (facts.items_first > 0) out = concat(facts.or_more ? "at least " : "", come_first(facts.items_first));
  if (facts.sheltered_first == 0) return out;
  if (out.empty()) return concat(come_first(facts.sheltered_first), " except on spot machines");
  return concat(out, ", and ", facts.sheltered_first, " more except on spot machines");
}

}  // namespace

Why in_words(const WhyFacts& facts) {
  Why why = std::visit(Words{}, facts.reason);
  why.in_hands = facts.in_hands;
  if (const std::string first = what_comes_first(facts); !first.empty()) {
    why.sentence = concat(first, "; ", why.sentence);
  }
  return why;
}

}  // namespace drover

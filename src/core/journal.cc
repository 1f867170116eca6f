#include "core/journal.h"

#include <iterator>

namespace drover {

JobId Journal::new_job() {
  count_up();
  return JobId{counters_.next_job++};
}

GrantId Journal::new_grant() {
  count_up();
  return GrantId{counters_.next_grant++};
}

WorkerId Journal::new_worker() {
  count_up();
  return WorkerId{counters_.next_worker++};
}

StreamId Journal::new_stream() {
  count_up();
  return StreamId{counters_.next_stream++};
}

MessageNumber Journal::new_message_block() {
  const MessageNumber first = next_message_block();
  count_up();
  ++counters_.next_message_block;
  return first;
}

void Journal::refuse(Ticket to, ErrorCode code, std::string message, std::string next) {
  say(to, Refused{Error{code, std::move(message), std::move(next)}});
}

void Journal::note(EventKind kind, const Job& job, std::string detail) {
  count_up();
  write(AddEvent{{EventId{counters_.next_event++}, now_ms_, kind, job.uuid.text(), job.name, std::move(detail)}});
}

void Journal::note(EventKind kind, const std::string& name, std::string detail) {
  count_up();
  write(AddEvent{{EventId{counters_.next_event++}, now_ms_, kind, {}, name, std::move(detail)}});
}

std::vector<JobId> Journal::take_touched() {
  const std::set<JobId> touched = std::exchange(touched_, {});
  return {touched.begin(), touched.end()};
}

void Journal::write(Mutation mutation) {
  count_change();
  written_.push_back(std::move(mutation));
}

void Journal::write_time() {
  if (counters_.now_ms == now_ms_) return;
  counters_.now_ms = now_ms_;
  counters_changed_ = true;
}

void Journal::take_counters(std::vector<Mutation>& out) {
  if (std::exchange(counters_changed_, false)) out.emplace_back(PutCounters{counters_});
}

void Journal::take_written(std::vector<Mutation>& out) {
  std::move(written_.begin(), written_.end(), std::back_inserter(out));
  written_.clear();
}

}  // namespace drover

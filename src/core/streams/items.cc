// Messages that are items of jobs: a job takes them when a worker has room, and holds them until their items are
// settled.
#include <algorithm>

#include "core/streams/stream_faults.h"
#include "core/streams/streams.h"

namespace drover {
namespace {

constexpr std::size_t kMostDeadAhead = 20;  // that are put aside at a time

}  // namespace

/// Puts aside messages that have been dead since the stream's settings were changed: pass_time() moves them. False:
/// there is nothing to take, or not yet.
bool Streams::clear_way(At it) {
  if (it.index.in_flight >= kMostMessagesInFlight) return false;
  for (std::size_t left = kMostDeadAhead; left > 0; --left) {
    const OpenMessage* next = next_open(it);
    if (next == nullptr) return it.index.untouched > 0;
    if (!is_dead(it, *next)) return true;
    unindex(it, *next);
    index(it, *next);
    changed(it);
  }
  return false;
}

bool Streams::has_ready(const std::string& stream) {
  const auto found = now_.stream_by_name.find(stream);
  return found != now_.stream_by_name.end() && clear_way(at(found->second));
}

bool Streams::is_empty(const std::string& stream) const {
  const auto found = now_.stream_by_name.find(stream);
  if (found == now_.stream_by_name.end()) return true;
  return now_.streams_now.at(found->second).untouched == 0 && records_.messages.at(found->second).open.empty();
}

std::uint64_t Streams::take(const std::string& stream, JobId job, ItemIndex first, std::uint64_t most) {
  const auto found = now_.stream_by_name.find(stream);
  if (found == now_.stream_by_name.end()) return 0;
  const At it = at(found->second);
  std::uint64_t taken = 0;
  while (taken < most && clear_way(it)) {
    OpenMessage* next = next_open(it);
    OpenMessage& message = next != nullptr ? *next : open_untouched(it);
    set_holder(message, {});
    set_item(message, job, ItemIndex{first.value + taken});
    receive(it, message, injected(StreamFault::item_does_not_hold) ? it.stream.visibility_ms : kUntilSettledMs);
    ++taken;
  }
  if (taken > 0) changed(it);
  return taken;
}

void Streams::on_settled(JobId job, ItemIndex item, MessageResult result) {
  const auto found = now_.item_messages.find({job, item});
  if (found == now_.item_messages.end()) return;
  const auto where = found->second;
  now_.item_messages.erase(found);
  settle(where, result);
}

void Streams::settle(std::pair<StreamId, MessageNumber> where, MessageResult result) {
  const auto [stream, number] = where;
  if (!records_.streams.contains(stream)) return;
  const At it = at(stream);
  const auto found = it.messages.open.find(number);
  if (found == it.messages.open.end()) return;  // it was purged, or has expired
  OpenMessage& message = found->second;
  changed(it);
  if (injected(StreamFault::failed_item_deletes) && result == MessageResult::failed) result = MessageResult::processed;
  if (injected(StreamFault::done_item_keeps) && result == MessageResult::processed) result = MessageResult::failed;
  if (injected(StreamFault::item_not_run_counts) && result == MessageResult::untouched) result = MessageResult::failed;
  if (result == MessageResult::processed) return remove_open(it, number);
  unindex(it, message);
  set_item(message, {}, {});
  message.visible_ms = journal_.now_ms();
  if (result == MessageResult::failed) {
    message.visible_ms = std::max(message.visible_ms, message.received_ms + it.stream.visibility_ms);
  } else if (--message.receives == 0) {
    message.first_received_ms = message.received_ms = 0;
  }
  index(it, message);
  open_.add({stream, number});
  if (message.visible_ms <= journal_.now_ms()) move_if_dead(it, message);
}

void Streams::on_job_over(JobId job) {
  if (!injected(StreamFault::job_over_holds_on)) now_.jobs_over.push_back(job);
}

/// What an item of a job holds that is over. False: none holds anything any more.
bool Streams::release_one_of(JobId job) {
  const auto found = now_.item_messages.lower_bound({job, ItemIndex{0}});
  if (found == now_.item_messages.end() || found->first.first != job) return false;
  const ItemIndex item = found->first.second;
  on_settled(job, item, taker_->has_failed(job, item) ? MessageResult::failed : MessageResult::untouched);
  return true;
}

}  // namespace drover

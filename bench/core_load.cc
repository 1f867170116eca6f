#include "core_load.h"

#include "base/check.h"

namespace drover {

CoreLoad::CoreLoad(std::uint64_t items, std::uint64_t batch) : batch_(batch) {
  core_.apply(Ticket{1}, RegisterWorker{"local", kIncarnation, 0}, now_ms_);
  SubmitJob submit;
  submit.uuid = Uuid::from_random({1});
  submit.name = "bench";
  submit.definition = DefinitionId{1};
  submit.manifest = ManifestId{1};
  submit.total = items;
  core_.apply(Ticket{2}, submit, now_ms_);
  for (const Answer& answer : core_.take_answers()) {
    if (const auto* registered = std::get_if<WorkerRegistered>(&answer.effect)) worker_ = registered->worker;
  }
  while (held_.size() < std::min(batch_, items)) poll({}, kGrantItems);
}

Batch CoreLoad::setup() {
  return {core_.take_mutations()};
}

Batch CoreLoad::next() {
  now_ms_ += 10;
  for (std::uint64_t left = batch_; left > 0;) {
    std::vector<EndedAttempt> ended;
    for (; left > 0 && ended.size() < kGrantItems; --left) ended.push_back(end_next());
    const bool needs_more = held_.size() < batch_;
    poll(std::move(ended), needs_more ? kGrantItems : 0);
  }
  Batch batch{core_.take_mutations()};
  for (const Mutation& mutation : batch.mutations) {
    if (const auto* add = std::get_if<AddAttempt>(&mutation)) sample_ = add->attempt;
  }
  return batch;
}

void CoreLoad::poll(std::vector<EndedAttempt> ended, std::uint64_t want) {
  Poll poll;
  poll.report = {worker_, kIncarnation, std::move(ended), {}, {}};
  poll.number = PollNumber{++polls_};
  poll.want = want;
  core_.apply(Ticket{polls_ + 2}, poll, now_ms_);
  for (const Answer& answer : core_.take_answers()) {
    const auto* leased = std::get_if<PollAnswer>(&answer.effect);
    if (leased == nullptr) continue;
    for (const Lease& lease : leased->leases) {
      for (std::uint64_t i = 0; i < lease.count; ++i) held_.push_back({lease.grant, ItemIndex{lease.first.value + i}});
    }
  }
}

EndedAttempt CoreLoad::end_next() {
  DROVER_CHECK(!held_.empty(), "the job has an item for every one that ends");
  EndedAttempt ended;
  ended.token = held_.front();
  held_.pop_front();
  const auto spread = static_cast<std::int64_t>(ended.token.item.value % 97);
  ended.usage = {now_ms_ - 1, 700 + 5 * spread, 250 + spread, 300 + spread, 1200};
  return ended;
}

}  // namespace drover

// Items are handed out, and come back.
//
// The invariant everything here keeps: an open item without a row is covered by exactly one grant, which holds it; an
// open item with a row is held by the grant its row names, or waits.
#include <algorithm>

#include "base/check.h"
#include "core/jobs/job_faults.h"
#include "core/jobs/jobs.h"

namespace drover {
namespace {

// So many waiting items are taken up at a time when they are due.
constexpr std::size_t kMostWoken = 256;

}  // namespace

// Items that wait for a retry come first, then those that are kept from spot machines, then untouched ones, each as one
// range of neighbours.
Jobs::HandedOut Jobs::hand_out(JobId id, GrantId grant, std::uint64_t want, bool to_spot) {
  Job& job = job_at(id);
  JobIndex& index = now_.jobs.at(id);
  HandedOut out;
  const bool from_shelter =
      !index.sheltered.empty() && (places_.at(id).is_sheltered() || (index.ready.empty() && !to_spot));
  if (index.ready.empty() && !from_shelter) {
    auto [first, count] = untouched(job, want);
    if (count == 0 && !job.stream.empty()) {
      first = ItemIndex{job.total};
      count = take_messages(job, want);
      if (count == 0) {
        reconsider(job);
        return out;
      }
    }
    DROVER_CHECK(count > 0, "a job that is offered has something to hand out");
    out.first = first;
    out.count = count;
    for (std::uint64_t offset = 0; offset < count; ++offset) {
      set_mark(id, ItemIndex{first.value + offset}, ItemMark::open);
    }
    if (!waits_for_items(job)) index.pending_from = ItemIndex{first.value + count};
    return out;
  }
  std::set<ItemIndex>& waiting = from_shelter ? index.sheltered : index.ready;
  out.first = *waiting.begin();
  while (out.count < want && !waiting.empty() && waiting.begin()->value == out.first.value + out.count) {
    OpenItem item = records_.open_items.at({id, *waiting.begin()});
    waiting.erase(waiting.begin());
    if (from_shelter) now_.shelter_ends.erase({item.not_before_ms + job.spot.on_demand_after_ms, id, item.item});
    item.grant = grant;
    item.not_before_ms = 0;
    out.attempts.push_back(AttemptNumber{item.attempts + 1});
    put(item);
    ++out.count;
  }
  return out;
}

void Jobs::on_handed_out(JobId id, WorkerId worker, std::uint64_t count) {
  Job& job = job_at(id);
  if (job.started_ms == 0) begin(job);
  places_.on_handed_out(job, worker, count);
  reconsider(job);  // other jobs on its stream hear of it later
}

// The next items that nobody has had yet and that need not wait for others: where they begin, and how many of them are
// neighbours. Looking is paid for once: what was passed over is not looked at again.
std::pair<ItemIndex, std::uint64_t> Jobs::untouched(const Job& job, std::uint64_t want) {
  JobIndex& index = now_.jobs.at(job.id);
  const ItemBlocks& blocks = records_.blocks.at(job.id);
  if (!waits_for_items(job)) {
    const auto first = blocks.find(ItemMark::pending, index.pending_from);
    index.pending_from = first.value_or(ItemIndex{job.total});
    if (!first) return {};
    if (injected(JobFault::sequential_out_of_order) && job.sequential && blocks.count(ItemMark::pending) > 1) {
      return {blocks.find(ItemMark::pending, ItemIndex{first->value + 1}).value_or(*first), 1};
    }
    return {*first, blocks.run_length(ItemMark::pending, *first, want)};
  }
  if (job.sequential) {
    const auto first = blocks.find(ItemMark::pending, ItemIndex{0});
    return first && is_unlocked(job, *first) ? std::pair{*first, std::uint64_t{1}}
                                             : std::pair{ItemIndex{}, std::uint64_t{0}};
  }
  std::vector<ItemBlocks::Marked> all = {{&blocks, ItemMark::pending}};
  for (const Dependency& it : job.after) {
    if (!it.each || injected(JobFault::item_dependency_ignored)) continue;
    const Job* other = records_.find_job(it.job);
    if (other != nullptr && other->state == JobState::succeeded) continue;
    const ItemBlocks* theirs = records_.find_blocks(it.job);
    if (theirs == nullptr) return {};
    all.push_back({theirs, ItemMark::succeeded});
  }
  const auto first_in = [&](std::uint64_t block, std::uint64_t end_block) {
    return ItemBlocks::find_in_all(all, ItemIndex{block * ItemBlocks::kBlockItems},
                                   ItemIndex{std::min(job.total, end_block * ItemBlocks::kBlockItems)});
  };
  while (!index.unlocked.empty()) {
    const std::uint64_t block = *index.unlocked.begin();
    if (const auto first = first_in(block, block + 1)) return {*first, ItemBlocks::run_in_all(all, *first, want)};
    index.unlocked.erase(index.unlocked.begin());
  }
  const auto first = first_in(index.unlocked_from, blocks.block_count());
  index.unlocked_from = first ? ItemBlocks::block_of(*first) : blocks.block_count();
  if (!first) return {};
  return {*first, ItemBlocks::run_in_all(all, *first, want)};
}

bool Jobs::owns(const Grant& grant, ItemIndex item) const {
  if (!grant.covers(item) || records_.blocks.at(grant.job).get(item) != ItemMark::open) return false;
  const OpenItem* open = records_.find_open(grant.job, item);
  return open == nullptr || open->grant == grant.id;
}

std::vector<ItemIndex> Jobs::running_of(const Grant& grant) const {
  std::vector<ItemIndex> items;
  auto open = records_.open_items.lower_bound({grant.job, grant.first});
  for (; open != records_.open_items.end() && open->first.first == grant.job && grant.covers(open->first.second);
       ++open) {
    if (open->second.counted && open->second.grant == grant.id) items.push_back(open->second.item);
  }
  return items;
}

void Jobs::on_given_back(JobId id) {
  Job& job = job_at(id);
  reconsider(job);
  end_if_done(job);
}

void Jobs::make_waiting(JobId job, ItemIndex item) {
  OpenItem back = open_item_or_new(job, item);
  if (injected(JobFault::return_forgets_history)) back.tries = back.losses = 0;
  make_waiting(back, journal_.now_ms());
}

void Jobs::make_waiting(OpenItem item, std::int64_t not_before_ms) {
  item.grant = GrantId{};
  item.counted = false;
  item.started_ms = 0;
  item.not_before_ms = not_before_ms;
  put(item);
  now_.delayed.insert({not_before_ms, item.job, item.item});
  ++now_.jobs.at(item.job).delayed;
  wake_delayed();
}

void Jobs::make_pending(JobId job, ItemIndex item) {
  set_mark(job, item, ItemMark::pending);
  ItemIndex& from = now_.jobs.at(job).pending_from;
  from = std::min(from, item);
  if (waits_for_items(job_at(job))) look_again(now_.jobs.at(job), ItemBlocks::block_of(item));
}

void Jobs::wake_delayed() {
  // The others follow with the next command: next_deadline() has passed.
  std::size_t left = kMostWoken;
  while (!now_.delayed.empty() && std::get<0>(*now_.delayed.begin()) <= journal_.now_ms() && left-- > 0) {
    const auto [at_ms, job, item] = *now_.delayed.begin();
    now_.delayed.erase(now_.delayed.begin());
    --now_.jobs.at(job).delayed;
    make_ready(job_at(job), item);
    reconsider(job_at(job));
  }
  while (!now_.shelter_ends.empty() && std::get<0>(*now_.shelter_ends.begin()) <= journal_.now_ms() && left-- > 0) {
    if (injected(JobFault::shelter_without_end)) break;
    const auto [at_ms, job, item] = *now_.shelter_ends.begin();
    now_.shelter_ends.erase(now_.shelter_ends.begin());
    now_.jobs.at(job).sheltered.erase(item);
    now_.jobs.at(job).ready.insert(item);
    reconsider(job_at(job));
  }
}

// One that was lost too often waits for a machine that nobody takes away, for a while.
void Jobs::make_ready(const Job& job, ItemIndex index) {
  const OpenItem& item = records_.open_items.at({job.id, index});
  const SpotRules& spot = job.spot;
  const bool is_lost_often = spot.use == SpotUse::prefer && spot.on_demand_after_losses > 0 &&
                             item.losses >= spot.on_demand_after_losses && !injected(JobFault::loss_not_sheltered);
  const std::int64_t end_ms = item.not_before_ms + spot.on_demand_after_ms;
  if (!is_lost_often || end_ms <= journal_.now_ms()) {
    now_.jobs.at(job.id).ready.insert(index);
    return;
  }
  now_.jobs.at(job.id).sheltered.insert(index);
  now_.shelter_ends.insert({end_ms, job.id, index});
}

OpenItem Jobs::open_item_or_new(JobId job, ItemIndex item) const {
  const OpenItem* open = records_.find_open(job, item);
  return open != nullptr ? *open : OpenItem{.job = job, .item = item};
}

void Jobs::put(const OpenItem& item) {
  records_.open_items.insert_or_assign({item.job, item.item}, item);
  open_items_.add({item.job, item.item});
}

void Jobs::set_mark(JobId job, ItemIndex item, ItemMark mark) {
  records_.blocks.at(job).set(item, mark);
  blocks_.add({job, ItemBlocks::block_of(item)});
}

}  // namespace drover

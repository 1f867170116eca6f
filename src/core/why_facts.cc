// The question is answered in the order in which things keep an item from running: what it is, what its job waits for,
// who could run it at all, who comes first (why_turn.h). The first that holds is the reason.
#include "core/why_facts.h"

#include <algorithm>

#include "core/core.h"
#include "core/why_machines.h"
#include "core/why_turn.h"

namespace drover {
namespace {

// A question must not keep everybody waiting: beyond these it is answered from a part of what there is.
constexpr std::uint64_t kMostGrants = 500;   // that may be the one an item came with
constexpr std::uint64_t kMostWaiting = 500;  // that wait, for a retry or for items of other jobs

std::uint64_t percent_done(const Job& job) {
  return job.total == 0 ? 100 : (job.succeeded + job.failed + job.cancelled) * 100 / job.total;
}

/// What there is to say about one job, or one item of it.
class Gatherer {
 public:
  Gatherer(const Core& core, const Job& job, const ItemBlocks& blocks)
      : core_(core),
        durable_(core.durable()),
        now_(core.volatile_part()),
        job_(job),
        index_(now_.jobs.at(job.id)),
        place_(now_.places.at(job.id)),
        hands_(now_.in_hands.at(job.id)),
        blocks_(blocks) {}

  WhyFacts of_item(ItemIndex item) const {
    const ItemMark mark = job_.state == JobState::succeeded ? ItemMark::succeeded : blocks_.get(item);
    if (mark == ItemMark::succeeded || mark == ItemMark::ended) {
      return {reason::ItemEnded{item, mark == ItemMark::succeeded}};
    }
    const OpenItem* open = durable_.find_open(job_.id, item);
    if (mark == ItemMark::open && (open == nullptr || !open->waiting())) return {in_hands(item, open)};
    if (auto reason = of_job(open, true)) return {std::move(*reason)};
    if (auto reason = before_it(item, open)) return {std::move(*reason)};
    if (index_.sheltered.contains(item)) return {sheltered(*open)};
    WhyFacts facts{why_not_its_turn(core_, job_)};
    count_items_before(item, open, facts);
    return facts;
  }

  Reason of_next() const {
    if (auto reason = of_job(nullptr, false)) return std::move(*reason);
    if (!hands_.noted_by.empty()) {
      if (auto reason = getting_ready(*hands_.noted_by.begin())) return std::move(*reason);
    }
    if (place_.is_sheltered()) return sheltered(*durable_.find_open(job_.id, *index_.sheltered.begin()));
    const std::uint64_t open = blocks_.count(ItemMark::open);
    const bool has_messages = !job_.stream.empty() && place_.offered;
    if (blocks_.count(ItemMark::pending) == 0 && index_.ready.empty() && !has_messages) {
      if (place_.in_hands < open && place_.in_hands == 0) return next_retry();
      if (!job_.stream.empty()) return no_message();
      return reason::AllOut{open, job_.reopening != nullptr ? reason::AllOut::How::being_reopened
                                  : place_.in_hands == open ? reason::AllOut::How::assigned
                                                            : reason::AllOut::How::running_or_waiting};
    }
    if (!place_.offered && job_.sequential && open > 0 && place_.in_hands == 0) return next_retry();
    if (!place_.offered && waits_for_items()) {
      std::uint64_t looked_at = 0;
      for (auto item = blocks_.find(ItemMark::pending, ItemIndex{0}); item && ++looked_at <= kMostWaiting;
           item = blocks_.find(ItemMark::pending, ItemIndex{item->value + 1})) {
        if (auto reason = before_it(*item, nullptr)) return std::move(*reason);
      }
    }
    return why_not_its_turn(core_, job_);
  }

 private:
  bool waits_for_items() const {
    return std::ranges::any_of(job_.after, [](const Dependency& it) { return it.each; });
  }

  Reason no_message() const {
    const auto stream = now_.stream_by_name.find(job_.stream);
    if (stream == now_.stream_by_name.end()) return reason::NoMessage{job_.stream, false};
    const StreamIndex& index = now_.streams_now.at(stream->second);
    return reason::NoMessage{job_.stream, true, index.in_flight, index.hidden.size() - index.in_flight};
  }

  Reason in_hands(ItemIndex item, const OpenItem* open) const {
    const Grant* holder = open != nullptr ? &durable_.grants.at(open->grant) : newest_grant_of(item);
    if (holder == nullptr) return reason::ItemAssigned{item, ""};
    const std::string& worker = durable_.workers.at(holder->worker).name;
    if (open != nullptr && open->counted) {
      return reason::ItemRuns{item, worker, core_.now_ms() - open->started_ms, open->attempts};
    }
    if (auto reason = getting_ready(holder->worker)) return std::move(*reason);
    return reason::ItemAssigned{item, worker};
  }

  /// An item without a history is in the last grant that covers it.
  const Grant* newest_grant_of(ItemIndex item) const {
    std::uint64_t looked_at = 0;
    for (auto id = hands_.grants.rbegin(); id != hands_.grants.rend() && ++looked_at <= kMostGrants; ++id) {
      const Grant& grant = durable_.grants.at(*id);
      if (grant.covers(item)) return &grant;
    }
    return nullptr;
  }

  std::optional<Reason> getting_ready(WorkerId worker) const {
    const auto& notes = now_.sessions.at(worker).notes;
    const auto note = notes.find(job_.id);
    if (note == notes.end()) return std::nullopt;
    return reason::GetsReady{durable_.workers.at(worker).name, note->second};
  }

  /// What keeps the whole job, or this open item of it, from running on any worker.
  std::optional<Reason> of_job(const OpenItem* open, bool asks_about_item) const {
    if (job_.ended()) return reason::JobEnded{job_.name, job_.state, job_.reason, asks_about_item};
    if (job_.stop != StopCause::none) return reason::JobStops{job_.name, job_.stop, job_.reason};
    for (const Dependency& it : job_.after) {
      if (it.each) continue;
      const Job* other = durable_.find_job(it.job);
      if (other == nullptr || other->state != JobState::succeeded) return waits_for(other, std::nullopt);
    }
    const Queue* queue = durable_.find_queue(job_.place.queue);
    if (queue != nullptr && !queue->enabled) return reason::QueueDisabled{queue->name};
    // One that is due may be among those that the next command makes ready.
    const bool waits_for_retry = open != nullptr && open->waiting() && !index_.ready.contains(open->item) &&
                                 !index_.sheltered.contains(open->item);
    if (waits_for_retry && open->not_before_ms > core_.now_ms()) return retry_at(*open);
    if (job_.max_running > 0 && place_.in_hands >= job_.max_running) {
      return reason::LimitReached{place_.in_hands, job_.sequential};
    }
    return std::nullopt;
  }

  static Reason waits_for(const Job* other, std::optional<ItemIndex> item) {
    if (other == nullptr) return reason::Waits{{}, "", 0, item};
    return reason::Waits{other->id, other->name, percent_done(*other), item};
  }

  Reason retry_at(const OpenItem& open) const {
    return reason::RetryDelay{open.item, open.tries, open.not_before_ms,
                              std::max<std::int64_t>(0, open.not_before_ms - core_.now_ms())};
  }

  Reason sheltered(const OpenItem& open) const {
    const std::int64_t until_ms = open.not_before_ms + job_.spot.on_demand_after_ms;
    return reason::Sheltered{open.item, open.losses, until_ms, std::max<std::int64_t>(0, until_ms - core_.now_ms()),
                             machines_for(core_, job_, false)};
  }

  /// The first of its items that may run again; of very many, the first of some.
  Reason next_retry() const {
    const OpenItem* first = nullptr;
    auto item = durable_.open_items.lower_bound({job_.id, ItemIndex{0}});
    std::uint64_t looked_at = 0;
    for (; item != durable_.open_items.end() && item->first.first == job_.id && ++looked_at <= kMostWaiting; ++item) {
      if (item->second.waiting() && (first == nullptr || item->second.not_before_ms < first->not_before_ms))
        first = &item->second;
      if (job_.sequential) break;  // the others come after this one
    }
    return first == nullptr ? reason::AllOut{} : retry_at(*first);
  }

  /// Items that must succeed before this one. One that was tried waits only for those before it in its own job.
  std::optional<Reason> before_it(ItemIndex item, const OpenItem* open) const {
    if (const Dependency* it = open == nullptr ? unmet(item) : nullptr) {
      return waits_for(durable_.find_job(it->job), item);
    }
    if (!job_.sequential) return std::nullopt;
    for (const ItemMark mark : {ItemMark::open, ItemMark::pending}) {
      const auto first = blocks_.find(mark, ItemIndex{0});
      if (first && *first < item) return reason::EarlierItem{*first};
    }
    return std::nullopt;
  }

  /// The item of another job that an untouched one still waits for.
  const Dependency* unmet(ItemIndex item) const {
    for (const Dependency& it : job_.after) {
      if (it.each && !durable_.has_succeeded(it.job, item)) return &it;
    }
    return nullptr;
  }

  /// Those of its job that are handed out before it: whatever was tried before, and of each kind those of lower number.
  void count_items_before(ItemIndex item, const OpenItem* open, WhyFacts& facts) const {
    std::uint64_t looked_at = 0;
    const auto may_look = [&] {
      facts.or_more = ++looked_at > kMostWaiting;
      return !facts.or_more;
    };
    if (open != nullptr) {
      for (auto at = index_.ready.begin(); at != index_.ready.end() && *at < item && may_look(); ++at) {
        ++facts.items_first;
      }
      return;
    }
    facts.items_first = index_.ready.size();
    facts.sheltered_first = index_.sheltered.size();
    if (!waits_for_items()) {
      facts.items_first += blocks_.count_before(ItemMark::pending, item);
      return;
    }
    for (auto at = blocks_.find(ItemMark::pending, ItemIndex{0}); at && *at < item && may_look();
         at = blocks_.find(ItemMark::pending, ItemIndex{at->value + 1})) {
      if (unmet(*at) == nullptr) ++facts.items_first;
    }
  }

  const Core& core_;
  const Durable& durable_;
  const Volatile& now_;
  const Job& job_;
  const JobIndex& index_;
  const Place& place_;
  const JobInHands& hands_;
  const ItemBlocks& blocks_;
};

}  // namespace

WhyFacts why_facts(const Core& core, JobId id, std::optional<ItemIndex> item) {
  static const ItemBlocks none;
  const Job& job = core.durable().jobs.at(id);
  const ItemBlocks* blocks = core.durable().find_blocks(id);
  // Of the items of an ended job only the ledger knows; AskWhy has it read first.
  const bool is_unknown = blocks == nullptr && job.state != JobState::succeeded;
  const Gatherer gatherer(core, job, blocks != nullptr ? *blocks : none);
  WhyFacts facts = item && !is_unknown ? gatherer.of_item(*item) : WhyFacts{gatherer.of_next()};
  facts.in_hands = core.in_hands(id);
  return facts;
}

Why why(const Core& core, JobId job, std::optional<ItemIndex> item) {
  return in_words(why_facts(core, job, item));
}

}  // namespace drover

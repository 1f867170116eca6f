// Who is next: of all jobs that have something to hand out, the one a worker with so much room should be given.
//
// Jobs that ask for the same and require the same are a class; machines that have the same are a kind, and kinds with
// the same labels and fleet are a site. Which sites suit a class is worked out when somebody first needs to know. A
// class keeps its jobs by queue (higher priority first), within a queue by share (which has used least), within a share
// by priority, then as they came. So a worker looks only at classes that have something to hand out, in the order of
// their first queues, and stops where no later one can be better.
//
// A share is ordered by what it has used. What runs uses more from moment to moment, so an order that was right is
// soon a little low, never high: whoever comes first is looked at again, and put back if it is no longer first.
//
// Nothing here lasts: all of it follows from records. places.h tells what changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/resources.h"
#include "base/wide.h"
#include "core/queue.h"
#include "core/records.h"
#include "core/schedule/demand.h"
#include "core/schedule/room_index.h"

namespace drover {

/// How a worker stands to new items.
enum class Readiness : std::uint8_t {
  away,   // not heard of for longer than its term, or not registered
  apart,  // in quarantine, or draining
  busy,   // holds items
  free,   // holds nothing, and does not ask for work at this moment
  idle,   // holds nothing, and its poll waits
};
inline constexpr std::size_t kReadinesses = 5;

class Schedule {
 public:
  using ClassId = std::uint32_t;
  using KindId = std::uint32_t;
  using ShareId = std::uint32_t;
  using SiteId = std::uint32_t;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  Schedule() = default;
  Schedule(const Schedule&) = delete;  // shares point at lanes
  Schedule& operator=(const Schedule&) = delete;
  Schedule(Schedule&&) = default;
  Schedule& operator=(Schedule&&) = default;

  /// The order of queues: the higher priority first, then whoever has fewer CPUs busy, to within a sixteenth.
  struct QueueKey {
    std::uint32_t below_highest = 0;
    std::uint64_t milli_cpus = 0;
    std::uint32_t number = 0;
    auto operator<=>(const QueueKey&) const = default;
  };

  /// The order of jobs within a share: the higher priority first, then the older.
  struct Rank {
    std::uint32_t below_highest = 0;
    JobId job;
    auto operator<=>(const Rank&) const = default;
  };

  /// A queue as far as it matters here.
  struct Lane {
    QueueKey key;  // by which it stands in classes; its CPUs may have changed since
    bool fair = false;
    std::int64_t decay_ms = 1;
    std::int64_t usage_from_ms = 0;
    std::uint32_t reserved_percent = 0;
    std::uint64_t milli_cpus = 0;     // in workers' hands
    std::uint64_t active_shares = 0;  // those with something in workers' hands
    std::map<std::string, ShareId> shares;
    std::map<ClassId, std::uint64_t> offered;  // in how many shares

    std::uint64_t factor_at(std::int64_t at_ms) const { return usage_factor(at_ms - usage_from_ms, decay_ms); }
    std::uint64_t sum_at(std::int64_t at_ms) const { return usage_sum(at_ms - usage_from_ms, decay_ms); }
    /// What an item that takes so long counts while it is in a worker's hands, in milliseconds of now.
    std::uint64_t in_flight_ms(std::int64_t item_ms) const;
  };

  /// Whose items, and what of them is in workers' hands.
  struct Share {
    std::string name;
    Lane* lane = nullptr;
    std::uint32_t weight = ShareWeight::kOne;
    std::set<JobId> jobs;  // that have not ended
    Wide settled = 0;      // as in its record
    std::uint64_t items = 0;
    std::uint64_t milli_cpus = 0;
    Wide planned = 0;           // milli-CPUs times milliseconds that its items are expected to take, a second at most
    Wide next = 0;              // what one more of its items would count, as far as is known
    std::uint64_t running = 0;  // milli-CPUs of what is known to run
    Wide running_sum = 0;       // each of them times the usage_sum of that moment
    Wide key = 0;               // by which it stands in its classes
    std::map<ClassId, std::set<Rank>> offered;
  };

  /// Whether the machines of a site have the labels that a class requires, and serve its queues.
  enum class SiteFit : std::uint8_t { unknown, suits, lacks_labels, serves_others };

  /// What is known of the sites, for all classes that require the same labels and fleets, and are kept from spot
  /// machines or not.
  struct Requirement {
    std::uint64_t classes = 0;
    std::vector<SiteFit> sites;  // by their ids, as far as somebody has asked
  };

  struct Class {
    Demand demand;
    Requirement* requirement = nullptr;
    std::uint64_t jobs = 0;
    std::map<QueueKey, std::set<std::pair<Wide, ShareId>>> queues;
  };

  /// How many workers there are, by how they stand.
  struct WorkerCounts {
    std::array<std::uint64_t, kReadinesses> workers = {};

    std::uint64_t count(Readiness readiness) const { return workers[static_cast<std::size_t>(readiness)]; }
    std::uint64_t alive() const {
      return count(Readiness::apart) + count(Readiness::busy) + count(Readiness::free) + count(Readiness::idle);
    }
    void add(const WorkerCounts& more) {
      for (std::size_t i = 0; i < kReadinesses; ++i) workers[i] += more.workers[i];
    }
  };

  struct Kind : WorkerCounts {
    Resources has;
    SiteId site = kNone;
  };

  /// Some kinds in order of their sites and of what they have. Where all of them suit a class, or none does, nobody
  /// needs to look at each.
  struct KindBlock : WorkerCounts {
    static constexpr std::size_t kMostKinds = 64;
    std::vector<KindId> kinds;
    SiteId first_site = kNone;
    SiteId last_site = kNone;
    Resources least;  // of each resource that one of them has
    Resources most;
  };
  using KindBlocks = std::map<std::pair<SiteId, Resources>, KindBlock>;  // by the first that may be in them

  /// Machines with the same labels, of the same fleet.
  struct Site {
    Labels labels;
    std::string fleet;
    std::uint64_t kinds = 0;
    RoomIndex waiting;
  };

  struct Choice {
    JobId job;
    ClassId of = kNone;
    bool makes_room = false;  // there is less room than one item asks for; the worker shall make some
  };

  /// What a worker holds some of, by class.
  using Held = std::map<ClassId, std::uint32_t>;

  /// The lane of this queue, as the queue says. Nothing of it may be offered while it changes. It stays where it is.
  Lane& set_lane(const Queue& queue);
  Lane* find_lane(const std::string& queue);
  const Lane* find_lane(const std::string& queue) const;
  /// Only when no job is in it.
  void drop_lane(const std::string& queue);
  /// What is in workers' hands has changed, and with it perhaps whose turn it is.
  void touch(Lane& lane);

  ShareId share(Lane& lane, const std::string& name);
  Share& at(ShareId id) { return shares_[id]; }
  const Share& at(ShareId id) const { return shares_[id]; }
  /// One that has no jobs left is let go.
  void drop_share(ShareId id);
  /// The share has used, or is about to use, more or less than it had: it takes its new place.
  void reorder(ShareId id, std::int64_t now_ms);
  static Wide key_of(const Share& share, std::int64_t now_ms);

  ClassId enter(const Demand& demand);
  void leave(ClassId id);
  const Class& of(ClassId id) const { return classes_[id]; }

  void offer(ClassId of, ShareId share, Rank rank);
  void withdraw(ClassId of, ShareId share, Rank rank);
  bool has_offers(ClassId of) const { return !classes_[of].queues.empty(); }

  KindId join(const Supply& supply, WorkerId worker);
  /// The worker is of another kind from now on, or forgotten.
  void part(KindId id, WorkerId worker);
  void set_readiness(KindId id, WorkerId worker, Readiness before, Readiness now);
  const Kind& kind(KindId id) const { return kinds_[id]; }
  const KindBlocks& kind_blocks() const { return blocks_; }
  const std::set<WorkerId>& workers(KindId id, Readiness readiness) const {
    return workers_[id][static_cast<std::size_t>(readiness)];
  }
  SiteFit fit(SiteId site, ClassId of) const;
  bool suits_site(SiteId site, ClassId of) const;
  bool suits(KindId kind, ClassId of) const { return suits(kinds_[kind], of); }
  bool suits(const Kind& kind, ClassId of) const;
  std::uint64_t alive_workers() const { return alive_workers_; }

  void wait(KindId id, const Resources& room, std::uint64_t poll);
  /// Nothing happens when it does not wait.
  void wait_no_more(KindId id, const Resources& room, std::uint64_t poll);
  /// The poll that waits with the least room that holds an item of the class, so that large rooms stay whole. If there
  /// is none: one whose worker has some room and, as `makes_room` says, could make more. Only a few are asked; whoever
  /// was not is given its item when it next polls.
  std::optional<std::uint64_t> who_waits_for(ClassId of,
                                             const std::function<bool(std::uint64_t poll)>& makes_room) const;

  /// What a worker of this kind should be given next, if it has this room and already holds this.
  std::optional<Choice> choose(KindId kind, const Resources& room, const Held& held, std::int64_t now_ms);

  /// Of all machines; what is kept for shares yet to come is a part of it.
  std::uint64_t capacity_milli_cpus = 0;

  const std::map<std::string, Lane>& lanes() const { return lanes_; }
  /// When it is the queue's turn, by the CPUs it has busy now.
  static QueueKey turn_of(const Lane& lane);
  /// Whether what is kept for others keeps this share from having more.
  bool is_held_back(const Share& share, const Resources& ask) const;
  bool holds_alike(const Held& held, ClassId of) const;
  /// How many more items the share may have before what is kept for others is touched; one at least.
  std::uint64_t may_have(const Share& share, const Resources& ask) const;

 private:
  struct Candidate {
    QueueKey queue;
    Wide share_key;
    ShareId share;
    Rank rank;
    auto operator<=>(const Candidate&) const = default;
  };
  /// A free place in `all`, or a new one.
  template <class Slot>
  static std::uint32_t take_slot(std::deque<Slot>& all, std::vector<std::uint32_t>& free) {
    if (free.empty()) {
      all.emplace_back();
      return static_cast<std::uint32_t>(all.size() - 1);
    }
    const std::uint32_t id = free.back();
    free.pop_back();
    return id;
  }
  Wide not_kept(const Lane& lane, std::uint64_t active_shares) const;
  std::optional<Candidate> first_of(ClassId of, QueueKey no_later_than, std::int64_t now_ms);
  void stand_at(Share& share, ShareId id, Wide key);
  void take_turns();
  void set_first_queue(ClassId of);
  void set_priority(Lane& lane, std::uint32_t below_highest);
  void drop_priority(Lane& lane);
  SiteId enter_site(const Supply& supply);
  void leave_site(SiteId id);
  KindBlocks::iterator block_of(SiteId site, const Resources& has);
  void enter_block(KindId id);
  void leave_block(KindId id);
  void summarize(KindBlock& block) const;

  std::map<std::string, Lane> lanes_;
  std::uint32_t next_lane_ = 0;
  std::map<std::uint32_t, std::set<Lane*>> lanes_of_priority_;
  std::set<Lane*> touched_;  // what is done to one has nothing to do with the others
  // No command may pay for the move of all of them when there is one more.
  std::deque<Share> shares_;
  std::vector<ShareId> free_shares_;
  std::deque<Class> classes_;
  std::vector<QueueKey> first_queue_;                // of each class; none: the largest number
  std::set<std::pair<QueueKey, ClassId>> offering_;  // classes that have something to hand out, by their first queues
  std::vector<ClassId> free_classes_;
  std::map<Demand, ClassId> class_of_;
  std::map<std::tuple<Labels, std::vector<std::string>, bool>, Requirement> requirements_;
  std::deque<Kind> kinds_;
  KindBlocks blocks_;
  std::deque<std::array<std::set<WorkerId>, kReadinesses>> workers_;  // of each kind, by how they stand
  std::vector<KindId> free_kinds_;
  std::map<Supply, KindId> kind_of_;
  std::deque<Site> sites_;
  std::vector<SiteId> free_sites_;
  std::map<std::pair<Labels, std::string>, SiteId> site_of_;
  std::set<SiteId> waiting_sites_;  // where somebody waits
  std::uint64_t alive_workers_ = 0;
};

}  // namespace drover

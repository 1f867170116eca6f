// Who is next: of all jobs that have something to hand out, the one a worker with so much room should be given.
//
// Jobs that ask for the same and require the same are a class, machines that have the same are a kind; which kinds suit
// which classes is worked out once, when a class or a kind turns up. A class keeps its jobs by queue (higher priority
// first), within a queue by share (which has used least), within a share by priority, then as they came. So a worker
// looks at one number for each class that suits it, and then only at those classes whose first queue is the best.
//
// A share is ordered by what it has used. What runs uses more from moment to moment, so an order that was right is
// soon a little low, never high: whoever comes first is looked at again, and put back if it is no longer first.
//
// Nothing here lasts: all of it follows from Durable. Core tells what changes; see core/places.cc.
#pragma once

#include <cstdint>
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

namespace drover {

/// What an item's worker must have.
struct Demand {
  Resources ask;
  Labels require;

  auto operator<=>(const Demand&) const = default;
};

/// What a worker has.
struct Supply {
  Resources has;
  Labels labels;

  bool suits(const Demand& demand) const;
  auto operator<=>(const Supply&) const = default;
};

class Schedule {
 public:
  using ClassId = std::uint32_t;
  using KindId = std::uint32_t;
  using ShareId = std::uint32_t;
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
    std::uint64_t jobs = 0;  // that have not ended
    Wide settled = 0;        // as in its record
    std::uint64_t items = 0;
    std::uint64_t milli_cpus = 0;
    Wide planned = 0;           // milli-CPUs times milliseconds that its items are expected to take, a second at most
    Wide next = 0;              // what one more of its items would count, as far as is known
    std::uint64_t running = 0;  // milli-CPUs of what is known to run
    Wide running_sum = 0;       // each of them times the usage_sum of that moment
    Wide key = 0;               // by which it stands in its classes
    std::map<ClassId, std::set<Rank>> offered;
  };

  struct Class {
    Demand demand;
    std::uint64_t jobs = 0;
    std::map<QueueKey, std::set<std::pair<Wide, ShareId>>> queues;
    std::set<KindId> kinds;  // that suit it
  };

  struct Kind {
    Supply supply;
    std::uint64_t workers = 0;
    std::vector<ClassId> classes;                               // that it suits
    std::set<std::pair<std::uint64_t, std::uint64_t>> waiting;  // polls that wait: free milli-CPUs, and which
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

  KindId join(const Supply& supply);
  void part(KindId id);
  const Kind& kind(KindId id) const { return kinds_[id]; }
  void wait(KindId id, std::uint64_t free_milli_cpus, std::uint64_t poll) {
    kinds_[id].waiting.insert({free_milli_cpus, poll});
  }
  void wait_no_more(KindId id, std::uint64_t free_milli_cpus, std::uint64_t poll) {
    kinds_[id].waiting.erase({free_milli_cpus, poll});
  }

  /// What a worker of this kind should be given next, if it has this room and already holds this.
  std::optional<Choice> choose(KindId kind, const Resources& room, const Held& held, std::int64_t now_ms);

  /// Of all machines; what is kept for shares yet to come is a part of it.
  std::uint64_t capacity_milli_cpus = 0;

  const std::map<std::string, Lane>& lanes() const { return lanes_; }
  /// When it is the queue's turn, by the CPUs it has busy now.
  static QueueKey turn_of(const Lane& lane);
  /// Whether what is kept for others keeps this share from having more.
  bool is_held_back(const Share& share, const Resources& ask) const;
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
  Wide not_kept(const Lane& lane, std::uint64_t active_shares) const;
  std::optional<Candidate> first_of(ClassId of, QueueKey no_later_than, std::int64_t now_ms);
  void stand_at(Share& share, ShareId id, Wide key);
  void take_turns();
  void set_first_queue(ClassId of);

  std::map<std::string, Lane> lanes_;
  std::uint32_t next_lane_ = 0;
  std::map<std::uint32_t, std::uint64_t> lanes_of_priority_;
  std::set<Lane*> touched_;  // what is done to one has nothing to do with the others
  std::vector<Share> shares_;
  std::vector<ShareId> free_shares_;
  std::vector<Class> classes_;
  std::vector<QueueKey> first_queue_;  // of each class; none: the largest number
  std::vector<ClassId> free_classes_;
  std::map<Demand, ClassId> class_of_;
  std::vector<Kind> kinds_;
  std::vector<KindId> free_kinds_;
  std::map<Supply, KindId> kind_of_;
};

}  // namespace drover

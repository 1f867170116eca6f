// The part of the core that knows whose turn it is: the place of each job among others, what its share has used and is
// about to use, and the machines that look for work. Who is next is decided in schedule.h, which this part feeds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/catalog/catalog.h"
#include "core/journal.h"
#include "core/schedule/schedule.h"

namespace drover {

struct ShareRecords {
  std::map<std::pair<std::string, std::string>, ShareRecord> shares;

  Result<void> restore(const PutShare& put);
  void add_to(Hasher& hasher) const;
};

/// A job's place among others. What it is expected to take is learned; all else follows from records.
struct Place {
  bool scheduled = false;  // it has not ended, so it has one
  bool offered = false;    // it has something to hand out
  Schedule::ClassId of = Schedule::kNone;
  Schedule::ClassId sheltered = Schedule::kNone;  // while it has only sheltered items to hand out: their class
  Schedule::ShareId share = Schedule::kNone;
  Schedule::Rank rank;
  std::uint64_t in_hands = 0;            // items
  std::uint64_t running = 0;             // of them, those that were named as running
  std::int64_t planned_ms = kPlannedMs;  // what an item of it is expected to take
  bool has_ended_some = false;

  static constexpr std::int64_t kPlannedMs = 1000;

  bool is_sheltered() const { return sheltered != Schedule::kNone; }
  Schedule::ClassId offered_as() const { return is_sheltered() ? sheltered : of; }
};

struct PlacesNow {
  Schedule schedule;
  std::map<JobId, Place> places;
  std::map<WorkerId, Schedule::Held> held;  // how many of its items are of which class; none: it holds nothing
  std::set<JobId> running;                  // jobs of which something runs
  std::set<Schedule::ClassId> turned_up;    // somebody who waits may be given something of these
};

/// Who knows which items run.
class RunningItems {
 public:
  virtual ~RunningItems() = default;
  /// So many of the job's items run.
  virtual void each_running(JobId job, std::uint64_t count,
                            const std::function<void(const Job& job, std::int64_t started_ms)>& visit) const = 0;
};

class Places {
 public:
  Places(ShareRecords& records, PlacesNow& now, Journal& journal, Catalog& catalog)
      : records_(records), now_(now), journal_(journal), catalog_(catalog) {}
  void set_running_items(const RunningItems& running) { running_items_ = &running; }

  const Place& at(JobId job) const { return now_.places.at(job); }

  // Jobs.
  void add(JobId job) { now_.places[job]; }
  void forget(JobId job) { now_.places.erase(job); }
  /// Nothing of it is in workers' hands yet, as far as this part has heard.
  void take_place(const Job& job);
  /// When all of it that is in workers' hands has been told.
  void reorder(JobId job) { now_.schedule.reorder(now_.places.at(job).share, journal_.now_ms()); }
  /// Nothing of it is any more.
  void leave_place(const Job& job);
  /// Whether it has something to hand out.
  void set_offered(JobId job, bool offered);
  /// Whether all that it has to hand out are items that are kept from spot machines for now.
  void set_sheltered(JobId job, bool sheltered);
  /// Out of the schedule for a while: those that were offered.
  std::vector<JobId> hide(const std::vector<JobId>& jobs);
  void show_again(const std::vector<JobId>& hidden);
  /// How many of its items may be handed out before others are looked at again.
  std::uint64_t at_once(const Job& job) const;
  /// They are in the worker's hands from now on; or were already when the job took its place.
  void on_handed_out(const Job& job, WorkerId worker, std::uint64_t count);
  void into_hands(const Job& job, WorkerId worker, std::uint64_t count) {
    into_hands(now_.places.at(job.id), job, worker, count);
  }
  /// One item: one that was known to run since a time, or not.
  void out_of_hands(const Job& job, WorkerId worker, std::optional<std::int64_t> ran_since_ms);
  void begins_to_run(const Job& job, std::int64_t started_ms);
  void runs_no_more(const Job& job, std::int64_t started_ms);
  /// An attempt has taken this long: its share is charged for it.
  void charge(const Job& job, std::int64_t wall_ms);

  // Queues.
  std::set<JobId> jobs_in(const std::string& queue) const;
  /// One that has not ended.
  std::optional<JobId> any_job_in(const std::string& queue) const;
  void forget_usage(const std::string& queue);
  void set_lane(const Queue& queue) { now_.schedule.set_lane(queue); }
  void drop_lane(const std::string& queue);

  // Machines.
  Schedule::KindId join(const Supply& supply, WorkerId worker) { return now_.schedule.join(supply, worker); }
  void part(Schedule::KindId kind, WorkerId worker) { now_.schedule.part(kind, worker); }
  void set_readiness(Schedule::KindId kind, WorkerId worker, Readiness before, Readiness now) {
    now_.schedule.set_readiness(kind, worker, before, now);
  }
  /// What all machines have changes by this.
  void change_capacity(std::uint64_t before_milli_cpus, std::uint64_t now_milli_cpus);
  void wait(Schedule::KindId kind, const Resources& room, std::uint64_t poll) { now_.schedule.wait(kind, room, poll); }
  void wait_no_more(Schedule::KindId kind, const Resources& room, std::uint64_t poll) {
    now_.schedule.wait_no_more(kind, room, poll);
  }
  std::optional<Schedule::Choice> choose(Schedule::KindId kind, const Resources& room, WorkerId worker) {
    return now_.schedule.choose(kind, room, held_by(worker), journal_.now_ms());
  }

  /// There may be something for those who wait.
  bool has_turned_up() const { return !now_.turned_up.empty(); }
  /// Calls `serve` with a poll that waits for what turned up, at most `left` times, and counts down. False from it: the
  /// poll was given nothing.
  void serve_those_who_wait(std::size_t& left, const std::function<WorkerId(std::uint64_t poll)>& whose,
                            const std::function<bool(std::uint64_t poll)>& serve);
  /// Nobody waits yet.
  void clear_turned_up() { now_.turned_up.clear(); }

  void take_changes(std::vector<Mutation>& out);

 private:
  Schedule::Lane& lane_of(const std::string& queue);
  Schedule::Share& share_of(const Place& place) { return now_.schedule.at(place.share); }
  const Schedule::Held& held_by(WorkerId worker) const;
  void into_hands(Place& place, const Job& job, WorkerId worker, std::uint64_t count);
  void count_running(const Job& job, std::int64_t started_ms);
  void age_usage(const std::string& queue, Schedule::Lane& lane);
  void less_is_kept(const Schedule::Lane& lane);

  ShareRecords& records_;
  PlacesNow& now_;
  Journal& journal_;
  Catalog& catalog_;
  const RunningItems* running_items_ = nullptr;
  Changed<std::pair<std::string, std::string>> shares_{journal_};
};

}  // namespace drover

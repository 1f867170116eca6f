// Holds every step of the server against the rules of who is given what:
//
// - what a poll is answered with has the room that it told of; only the last item may have to wait for it; and nothing
//   of it is of a job that the worker asked not to be given now;
// - nothing of a disabled queue is handed out, nor of a job before what it comes after, nor more of it at a time than
//   may be, nor, of one whose items follow each other, anything but the first;
// - nobody is overtaken: of two jobs that a worker could have been given, and that were on offer all the while, the one
//   in a queue of higher priority comes first; within a share the one of higher priority, then the older;
// - what must not run on spot machines is handed to none, nor is an item that was lost too often, for a while;
// - a worker on which everything fails, while the same jobs do well elsewhere, is soon given nothing more.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/core.h"
#include "engine/stepper.h"
#include "sim/auditor.h"

namespace drover::sim {

class Referee {
 public:
  explicit Referee(Auditor& auditor) : auditor_(auditor) {}

  /// A command is on its way into the next step.
  void asked(Ticket ticket, const Command& command);
  void before_step(const Core& core);
  void after_step(const Core& core, const Step& step);
  /// What was asked is gone, and what was learned of workers with it.
  void server_stopped();

 private:
  struct Question {
    WorkerId worker;
    std::uint64_t want = 0;
    Resources room;
    std::vector<JobId> not_now;
  };
  /// A job that had something to hand out before the step.
  struct Offer {
    JobId job;
    std::uint32_t queue_priority = 0;
    Schedule::ShareId share = Schedule::kNone;
    Schedule::Rank rank;
    Demand demand;
    std::uint64_t pending = 0;
    std::set<ItemIndex> ready;
  };
  struct Streak {
    struct Elsewhere {
      std::uint64_t successes = 0;
      std::uint64_t failures = 0;
      std::uint64_t own = 0;
    };
    std::map<JobId, Elsewhere> jobs;
    bool is_due = false;          // it has to be noticed with the worker's next report
    std::uint64_t since_due = 0;  // answers since then that gave the worker items
  };

  void inspect_answer(const Core& core, const Question& question, const PollAnswer& answer);
  void inspect_lease(const Core& core, const Question& question, const Lease& lease);
  void inspect_spot_lease(const Core& core, const Job& job, const Lease& lease);
  void note_lost(const Core& core);
  void inspect_turn(const Core& core, const Question& question, const Lease& lease, const Resources& room);
  void inspect_hands(const Core& core);
  void follow_streaks(const Step& step);
  void take(const Attempt& row);
  std::string name(const Core& core, JobId job) const;

  Auditor& auditor_;
  std::map<Ticket, Question> questions_;
  bool queues_change_ = false;  // in this step
  std::vector<Offer> offers_;
  std::map<std::pair<JobId, ItemIndex>, std::int64_t> lost_since_;  // items that waited before the step
  std::map<WorkerId, Streak> streaks_;
  std::map<WorkerId, std::uint64_t> incarnations_;
};

}  // namespace drover::sim

// The worker's own machine, as pure as core: it is told what happened and what time it is, and says what to do. It
// spreads leased items over slots, as many side by side as what they ask for has room, in the order in which they came;
// hands a few ahead when they are short, watches deadlines, stops what must stop, and gathers what the server is to be
// told.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/lease.h"
#include "base/words.h"

namespace drover {

/// An item in the agent's hands.
struct AgentItem {
  Token token;
  JobId job;
  AttemptNumber attempt;
  std::int64_t timeout_ms = 0;
  std::int64_t grace_ms = 0;
  Resources ask;
  PollNumber poll;  // whose answer brought it
};

struct StartItem {
  std::size_t slot = 0;
  AgentItem item;
};
struct StopItem {
  std::size_t slot = 0;
  Token token;
  StopHow how = StopHow::terminate;
  std::int64_t ran_ms = 0;  // not before it has run for so long: when it began the slot knows best
};
/// Ask the slot for everything it has not started.
struct RecallSlot {
  std::size_t slot = 0;
};
using AgentAction = std::variant<StartItem, StopItem, RecallSlot>;

/// What the server is to be told.
struct AgentReport {
  std::vector<EndedAttempt> ended;
  std::vector<RunningAttempt> running;
  std::vector<Token> returned;
  std::vector<JobNote> notes = {};
  Leaving leaving = Leaving::no;
};

/// What the next poll says.
struct AgentPoll : AgentReport {
  PollNumber number;
  std::vector<PollNumber> given_up;  // whose answers are no longer waited for
  std::uint64_t want = 0;
  Resources room;                   // which the wanted items share
  std::vector<JobId> not_now = {};  // nothing more of these: what they need is not here; why, notes say
};

/// What runs in a slot right now.
struct RunningNow {
  std::size_t slot = 0;
  AgentItem item;
  std::int64_t since_ms = 0;
};

class Agent {
 public:
  /// Times given to an agent are epoch milliseconds that never go back.
  /// Items run side by side in so many slots, whatever they ask for.
  explicit Agent(std::size_t slots);
  /// As many as `has` holds, in slots that are there as soon as one is needed, at most so many.
  Agent(const Resources& has, std::size_t most_slots);

  /// The answer to a poll that was given up, or was answered before, changes nothing.
  void on_answer(PollNumber number, const std::vector<Lease>& leases, const std::vector<StopOrder>& stops,
                 std::int64_t now_ms);
  /// What comes with this grant is not started before on_ready(): something is still missing for it.
  void hold_back(GrantId grant) { held_back_.insert(grant); }
  void on_ready(GrantId grant, std::int64_t now_ms);
  // Jobs of which nothing can be started yet, such as those whose image is still being fetched: other jobs' items go
  // ahead of theirs.

  void set_aside(JobId job);
  void on_job_ready(JobId job, std::int64_t now_ms);
  /// What of it is here goes back, and the server is told that no machine can run it.
  void on_job_impossible(JobId job, const std::string& reason, std::int64_t now_ms);
  /// Something that the job needs cannot be had for now: what of it is here goes back without a trace, and no poll asks
  /// for more of it until accept().
  void decline(JobId job, const std::string& reason, std::int64_t now_ms);
  void accept(JobId job);
  bool declines_any() const { return !declined_.empty(); }
  /// What the job's item is cannot be known, on whatever machine: it fails, and that says nothing of this worker.
  void on_unreadable(Token token, const std::string& reason, std::int64_t now_ms);
  /// What it waits for, for people.
  void note(JobId job, const std::string& text);
  bool is_set_aside(JobId job) const { return aside_.contains(job); }
  /// Items of it are here and wait: not returned since, nor stopped.
  bool has_aside(JobId job) const {
    const auto found = aside_.find(job);
    return found != aside_.end() && !found->second.empty();
  }

  /// `ended.outcome` is what the process did; why it was stopped, if it was, the agent knows.
  void on_ended(std::size_t slot, EndedAttempt ended, bool was_stopped, std::int64_t now_ms);
  /// The item could not even be handed to its slot.
  void on_refused(std::size_t slot, Token token, std::string reason, std::int64_t now_ms);
  void on_returned(std::size_t slot, Token token, std::int64_t now_ms);
  void on_slot_died(std::size_t slot, const std::string& reason, std::int64_t now_ms);
  void on_slot_up(std::size_t slot, std::int64_t now_ms);
  void on_tick(std::int64_t now_ms);

  // What only a session with a far server needs.

  /// The poll's answer is no longer waited for. Later polls say so until one of them is answered.
  void give_up(PollNumber number);
  /// What a report or a poll said may not have arrived: it is said again. Of what has ended the session takes care.
  void tell_again(AgentReport report);
  /// The server was out of reach for longer than the leases last, and may have handed its items to others. What is not
  /// started goes back, and what runs is named again, so that the server says what of it is gone.
  void doubt_leases(std::int64_t now_ms);
  /// Items of these jobs must not run when their lease may have expired. For the whole life of the agent; none: no
  /// job's.
  using IsStrict = std::function<bool(JobId)>;
  void set_strict(IsStrict is_strict) { is_strict_ = std::move(is_strict); }
  bool may_be_strict() const { return is_strict_ != nullptr; }
  /// The leases are about to expire: items of strict jobs are killed, and those not started go back.
  void abandon_leases(std::int64_t now_ms);
  /// These are somebody else's by now.
  void on_gone(const std::vector<Token>& gone, std::int64_t now_ms);

  /// Start nothing more; what is not started goes back.
  void drain(std::int64_t now_ms);
  /// Drain, and kill what runs: it counts as lost, not as tried.
  void kill_all(std::int64_t now_ms);
  /// The machine is taken away at `until_ms`; 0: nobody knows when. It takes no more. Items that save what they have
  /// are told to; those that will not end by then are given up, for others to begin early. All that is lost is so free
  /// of charge.
  void on_interruption(std::int64_t until_ms, std::int64_t now_ms);
  /// Whether items of a job save what they have when they are told to end.
  void set_saves(std::function<bool(JobId)> saves) { saves_ = std::move(saves); }

  /// The machine is short of something: start nothing more for now, and ask for nothing; what is leased stays here.
  void hold(bool on, std::int64_t now_ms);
  /// The first item in a slot begins or ends to be staged: what it needs is fetched before it runs, or what it has left
  /// is uploaded after it. That does not count against its timeout.
  void on_staging(std::size_t slot, Token token, bool is_staged, std::int64_t now_ms);
  /// What an item needed was fetched in so long; 0: nothing was needed. Where that is much beside how long items run, a
  /// round of items is put by even if they are long, so that what the next one needs is fetched meanwhile.
  void learn_fetch(std::int64_t took_us);
  /// No more than so many items are handed to a slot ahead of the one that it runs.
  void limit_ahead(std::size_t most) { most_ahead_ = most; }
  /// There is less than there was: a device failed. What asks for more than that goes back.
  void shrink(const Resources& has, std::int64_t now_ms);
  /// Of all that there is, others on this machine use what is above `left`, until this says something else. Items that
  /// ask for more wait.
  void keep_to(const Resources& left, std::int64_t now_ms);
  /// What is not started goes back, for others to run.
  void return_unstarted(std::int64_t now_ms);

  std::vector<AgentAction> take_actions();
  /// There is something to tell or to ask.
  bool should_poll(std::int64_t now_ms) const { return has_news(now_ms) || wants_to_ask(); }
  /// Whether a poll or a report takes the attempts that have ended with it, or leaves them to take_ended().
  enum class Ended : std::uint8_t { taken, left };
  AgentPoll make_poll(std::int64_t now_ms, Ended ended = Ended::taken);
  /// There is something that the server should hear of now.
  bool has_news(std::int64_t now_ms) const { return has_ended_news(now_ms) || has_other_news(now_ms); }
  /// Attempts have ended, and it is time to tell.
  bool has_ended_news(std::int64_t now_ms) const;
  /// Something else is to be told.
  bool has_other_news(std::int64_t now_ms) const;
  /// No poll is under way, or none that asks for the items that there is room for, or one that asks for more.
  bool wants_to_ask() const;
  /// The news without a question.
  AgentReport make_report(std::int64_t now_ms, Ended ended = Ended::taken);
  /// The attempts that have ended since the last call: the caller tells the server.
  std::vector<EndedAttempt> take_ended() { return std::exchange(ended_, {}); }
  /// When on_tick() or a poll is due. What was due by `after_ms`, and could not be told yet, is left out.
  std::optional<std::int64_t> next_deadline(std::int64_t after_ms = std::numeric_limits<std::int64_t>::min()) const;

  bool draining() const { return draining_; }
  /// Nothing runs, nothing is held, nothing is left to tell.
  bool idle() const;
  /// Orders to stop that may still concern items here.
  std::size_t stop_orders() const { return stopped_.size(); }
  std::vector<RunningNow> running() const;
  std::size_t slots() const { return slots_.size(); }

 private:
  // An item that turns out to take longer than this gives back what waits behind it.
  static constexpr std::int64_t kPatienceMs = 100;
  // An item that runs this long is worth a row that says so. Shorter ones never cost one.
  static constexpr std::int64_t kNameAfterMs = 1000;
  // Where all that has room has been busy with one item each for this long, nothing is put by: others may be idle, and
  // asking when there is room costs next to nothing of such an item.
  static constexpr std::int64_t kLongMs = 2'000;

  enum class StopReason : std::uint8_t { none, timeout, cancelled, interrupted, lease_over, machine_leaves };
  struct Handed {
    AgentItem item;
    std::int64_t since_ms = 0;  // when it became the first in its slot
    StopReason stopping = StopReason::none;
    std::int64_t kill_at_ms = 0;  // when to kill, or kill again; 0: not stopping
    std::int64_t kill_ran_ms = 0;
    bool named = false;    // reported as running
    bool is_long = false;  // has run for so long that nothing is put by behind it
    bool is_staged = false;
  };
  struct Stopped {
    PollNumber up_to;  // what later polls brought of the job is none of this order's business
    StopMode mode = StopMode::finish_running;
  };
  struct SlotState {
    std::deque<Handed> handed;  // the first one runs
    bool up = true;
    bool recalled = false;
    Resources last_ask;
  };

  /// What the next poll asks for.
  struct Wish {
    std::uint64_t want = 0;
    Resources room;
  };

  const Stopped* stop_order_for(const AgentItem& item) const;
  void forget_stop_orders();
  bool is_abandoned(const AgentItem& item) const;
  bool has_work() const;
  std::size_t ahead() const;
  std::size_t width() const;
  Resources in_use() const;
  std::size_t free_slots() const;
  bool is_full() const;
  std::size_t target_backlog() const;
  std::size_t put_by_while_long() const;
  bool all_are_long() const;
  Wish wish() const;
  void fill(std::int64_t now_ms);
  void share();
  bool has_next() const { return !backlog_.empty() && !held_back_.contains(backlog_.front().token.grant); }
  std::optional<std::size_t> free_slot_for(const Resources& ask);
  void hand_first(std::size_t slot, std::int64_t now_ms);
  AgentItem take_from(std::size_t slot, Token token);
  void take_back(const AgentItem& item);
  void leaves_backlog(const AgentItem& item);
  void return_backlog();
  void return_strict();
  std::deque<AgentItem> take_aside(JobId job);
  void keep_few(std::deque<AgentItem>& waiting);
  std::size_t jobs_aside() const;
  std::vector<JobId> not_now() const;
  void tell(std::size_t slot, EndedAttempt ended, std::int64_t now_ms);
  void recall(std::size_t slot);
  void begin_stop(std::size_t slot, StopReason reason, std::int64_t now_ms);
  void next_in_slot(std::size_t slot, std::int64_t now_ms);
  void learn(JobId job, std::int64_t wall_us);
  void watch(std::size_t slot, std::int64_t now_ms);
  template <class Visit>
  void each_deadline(const SlotState& slot, Visit&& visit) const;

  struct Interrupted {
    std::int64_t until_ms = 0;  // 0: nobody knows
  };
  void interrupt(std::size_t slot, std::int64_t now_ms);

  std::optional<Interrupted> interrupted_;
  std::function<bool(JobId)> saves_;
  Resources all_;  // that the machine has
  Resources has_;  // of it, what others leave
  const std::size_t most_slots_;
  std::vector<SlotState> slots_;
  std::deque<AgentItem> backlog_;
  std::set<GrantId> held_back_;
  std::map<JobId, std::deque<AgentItem>> aside_;
  std::map<JobId, std::string> declined_;  // and why
  bool declined_news_ = false;             // which no poll has told
  Resources backlog_ask_;                  // of all in it
  std::map<JobId, Stopped> stopped_;
  bool draining_ = false;
  bool told_of_draining_ = false;
  bool killing_ = false;
  bool holding_ = false;
  std::size_t most_ahead_ = SIZE_MAX;
  double typical_us_ = 0;                  // how long items take lately; 0: not known
  std::map<JobId, double> typical_of_us_;  // those of each job, for the jobs that were here lately
  double fetch_us_ = 0;    // how long it takes lately to fetch what an item needs; 0: nothing is fetched
  Resources typical_ask_;  // what they ask for lately
  bool yielded_ = false;   // what had no room was put back; nothing is asked for until something here has ended
  std::vector<AgentAction> actions_;

  std::vector<EndedAttempt> ended_;
  std::int64_t report_at_ms_ = 0;                                          // when what has ended is told at the latest
  std::int64_t failed_ms_ = std::numeric_limits<std::int64_t>::min() / 2;  // when an attempt failed last
  std::vector<Token> returned_;
  std::map<JobId, JobNote> notes_;  // to be told
  PollNumber last_poll_;
  PollNumber newest_answer_;
  IsStrict is_strict_;
  PollNumber abandoned_up_to_;       // what these polls brought of strict jobs may not run
  std::set<PollNumber> unanswered_;  // on their way or parked; there always is one, to carry orders back
  std::optional<Wish> asked_;        // by the last one, which is not answered
  struct GivenUp {
    PollNumber number;
    PollNumber told_by;  // the first poll that said so; none yet: 0
  };
  std::vector<GivenUp> given_up_;
};

}  // namespace drover

// A worker's side of its session with a far server, as pure as the agent it speaks for: it says what to send, is told
// what came back, and what did not. The driver owns sockets and clocks.
//
// What it promises: one poll is always under way; a poll whose answer does not come is named as given up; an attempt
// that has ended is first written to the spool and then told until it is acknowledged (hearing it twice changes
// nothing); while the server has no room for logs, ends travel apart from polls, so that leases, orders and items go
// on; what ended before the process was restarted is told in the name of the incarnation that ran it, before the new
// one registers and thereby loses it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/agent.h"
#include "agent/report_outbox.h"
#include "base/result.h"

namespace drover {

/// What an earlier process on this machine had in its spool and the server had not acknowledged.
struct LeftBehind {
  WorkerId worker;
  std::uint64_t incarnation = 0;
  std::vector<SpooledEnd> ended;
};

struct HelloCall {
  std::uint64_t incarnation = 0;
};
struct ReportCall {
  WorkerId worker;
  std::uint64_t incarnation = 0;
  AgentReport report;
};
struct PollCall {
  WorkerId worker;
  std::uint64_t incarnation = 0;
  AgentPoll poll;
  std::int64_t wait_ms = 0;
};

/// One request to send. Its number names it when its answer comes.
struct SessionCall {
  std::uint64_t number = 0;
  std::variant<HelloCall, ReportCall, PollCall> what;
  std::int64_t within_ms = 0;  // an answer that takes longer is not waited for
};

class ServerSession {
 public:
  struct Options {
    std::uint64_t first_call = 1;
  };

  ServerSession(Agent& agent, std::uint64_t incarnation, std::optional<LeftBehind> left_behind, Options options);

  /// The attempts whose end is to be told next: the driver writes them and their logs to the spool and calls
  /// on_spooled(). Empty while it is still busy with those before.
  std::vector<EndedAttempt> take_ended(std::int64_t now_ms);
  void on_spooled(std::vector<SpooledEnd> ended);
  /// The log of one that is uploaded ahead of its report is with the server.
  void on_uploaded(EndedAttempt ended) { outbox_.on_uploaded(std::move(ended)); }
  /// Attempts that the server has acknowledged, or does not want, since the last call of this. The spool need not keep
  /// them.
  std::vector<Token> take_told() { return outbox_.take_told(); }

  /// Attempts whose reports the server refused for good since the last call of this, and what became of each.
  struct RefusedEnd : ReportOutbox::Refused {
    std::string why;
  };
  std::vector<RefusedEnd> take_refused() { return std::exchange(refused_, {}); }

  /// What the worker has is no longer what it said.
  void register_again() {
    registered_ = false;
    has_changed_ = true;
  }
  /// What is to be sent now.
  std::vector<SessionCall> take_calls(std::int64_t now_ms);

  // What came of a call. Calls that were given up, or are not known, are ignored.
  void on_welcome(std::uint64_t call, WorkerId worker, std::int64_t term_ms, std::int64_t wait_ms, std::int64_t now_ms);
  void on_poll_answer(std::uint64_t call, const std::vector<Lease>& leases, const std::vector<StopOrder>& stops,
                      const std::vector<Token>& gone, bool drain, std::int64_t now_ms);
  void on_report_taken(std::uint64_t call, std::int64_t now_ms);
  /// The server refused the call, or it did not get there.
  void on_error(std::uint64_t call, const Error& error, std::int64_t now_ms);
  /// The server does not know us.
  void on_not_registered(std::uint64_t call);
  /// Another worker goes by our name.
  void on_replaced(std::uint64_t call, std::int64_t now_ms);
  /// The server has understood the call and will never take it as it is.
  void on_refused(std::uint64_t call, const std::string& why, std::int64_t now_ms);
  /// The server cannot keep what the call told of ends, for now.
  void on_not_kept(std::uint64_t call, std::int64_t now_ms);
  /// No answer will come.
  void on_failed(std::uint64_t call, std::int64_t now_ms);
  void on_tick(std::int64_t now_ms);

  std::optional<std::int64_t> next_deadline(std::int64_t now_ms) const;

  /// What the spool holds: what the next process has to tell if this one is killed now.
  std::optional<LeftBehind> left_behind() const;
  /// How many attempts are in it.
  std::size_t untold() const { return outbox_.size(); }
  /// Nothing is under way but questions, and nothing is left to tell.
  bool all_told() const;
  bool registered() const { return registered_; }
  /// An answer to this call would be heard.
  bool awaits(std::uint64_t call) const { return calls_.contains(call); }
  /// The name was taken from us again and again: it is another's.
  bool has_lost_its_name() const { return replaced_ >= kMostReplaced; }

 private:
  static constexpr std::uint32_t kMostReplaced = 3;  // messages of a former process may arrive late

  struct UnderWay {
    SessionCall call;
    std::int64_t sent_ms = 0;
    std::int64_t until_ms = 0;
  };

  bool has_something_to_send(std::int64_t now_ms) const;
  bool waits_for_spool(std::int64_t now_ms) const;
  bool has_to_poll(std::int64_t now_ms) const { return agent_.wants_to_ask() && !waits_for_spool(now_ms); }
  bool has_to_report(std::int64_t now_ms) const;
  bool has_ends_to_tell(std::int64_t now_ms) const {
    return now_ms >= ends_not_before_ms_ && outbox_.has_some_to_take();
  }
  bool under_way(std::size_t kind) const;
  SessionCall send(decltype(SessionCall::what) what, std::int64_t bound_ms, std::int64_t now_ms);
  std::optional<UnderWay> take(std::uint64_t call);
  void heard(const UnderWay& call, std::int64_t now_ms);
  void on_ends_taken(std::uint64_t call);
  void tell_again(UnderWay call);
  void pause(std::uint32_t times, std::int64_t now_ms);
  std::int64_t pause_ms(std::uint32_t times) const;
  std::int64_t lease_over_ms() const;
  std::int64_t answer_ms() const;
  std::int64_t killing_ms() const;

  Agent& agent_;
  const std::uint64_t incarnation_;

  /// Who ran what is in the outbox, if that was an earlier process.
  struct Former {
    WorkerId worker;
    std::uint64_t incarnation = 0;
  };
  std::optional<Former> former_;
  std::int64_t former_heard_ms_ = 0;  // when the last call in its name was sent
  ReportOutbox outbox_;
  std::uint32_t ends_not_kept_ = 0;  // in a row; polls bring no ends then
  std::int64_t ends_not_before_ms_ = 0;
  std::optional<std::int64_t> spooling_since_ms_;
  std::vector<RefusedEnd> refused_;

  WorkerId worker_;  // who we were when last registered
  bool registered_ = false;
  bool has_changed_ = false;  // what a hello says, since the last one was made
  bool disowned_ = false;     // the server did not know us: what we held is gone
  std::int64_t term_ms_ = 0;
  std::int64_t wait_ms_ = 0;
  std::int64_t renewed_ms_ = 0;  // when the last call that was answered had been sent
  bool abandoned_ = false;       // since then

  std::map<std::uint64_t, UnderWay> calls_;
  std::uint64_t next_call_;
  std::uint32_t failures_ = 0;  // in a row
  std::uint32_t replaced_ = 0;  // within a lease's time
  std::int64_t replaced_ms_ = 0;
  std::int64_t not_before_ms_ = 0;
};

}  // namespace drover

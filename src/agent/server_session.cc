#include "agent/server_session.h"

#include <algorithm>
#include <utility>

namespace drover {
namespace {

// An answer that does not come within this, beyond what it may wait, does not come; nor does one that takes as long as
// a lease lasts.
constexpr std::int64_t kAnswerMs = 10'000;
// After a failure the next call waits, each time longer, up to this or a quarter of a lease.
constexpr std::int64_t kFirstPauseMs = 250;
constexpr std::int64_t kLongestPauseMs = 10'000;
// A poll waits this long for the spool, to tell what has just ended. A disk that takes longer holds up no poll.
constexpr std::int64_t kSpoolMs = 250;
// What must not run beyond its lease is killed this long before, or a quarter of it, since killing takes time.
constexpr std::int64_t kKillingMs = 5'000;
// So often something is said in an earlier process's name while its logs are still on their way to the server: well
// within a lease, whose length only a welcome tells.
constexpr std::int64_t kKeepFormerMs = 1'000;

/// What it tells besides asking; nullptr: nothing.
template <class Call>
auto report_of(Call& call) -> decltype(&std::get<ReportCall>(call.what).report) {
  if (auto* it = std::get_if<ReportCall>(&call.what)) return &it->report;
  if (auto* it = std::get_if<PollCall>(&call.what)) return &it->poll;
  return nullptr;
}

}  // namespace

ServerSession::ServerSession(Agent& agent, std::uint64_t incarnation, std::optional<LeftBehind> left_behind,
                             Options options)
    : agent_(agent), incarnation_(incarnation), next_call_(options.first_call) {
  if (!left_behind || left_behind->ended.empty()) return;
  former_ = {left_behind->worker, left_behind->incarnation};
  for (SpooledEnd& it : left_behind->ended) outbox_.add(std::move(it));
}

std::vector<EndedAttempt> ServerSession::take_ended(std::int64_t now_ms) {
  if (spooling_since_ms_) return {};
  // What has just ended rides with the next poll rather than wait for company.
  const bool is_polling = registered_ && now_ms >= not_before_ms_ && agent_.wants_to_ask();
  if (!is_polling && !agent_.has_ended_news(now_ms)) return {};
  std::vector<EndedAttempt> ended = agent_.take_ended();
  if (!ended.empty()) spooling_since_ms_ = now_ms;
  return ended;
}

void ServerSession::on_spooled(std::vector<SpooledEnd> ended) {
  spooling_since_ms_.reset();
  for (SpooledEnd& it : ended) outbox_.add(std::move(it));
}

std::vector<SessionCall> ServerSession::take_calls(std::int64_t now_ms) {
  std::vector<SessionCall> out;
  if (now_ms < not_before_ms_ || !has_something_to_send(now_ms)) return out;
  if (former_) {
    former_heard_ms_ = now_ms;
    out.push_back(send(ReportCall{former_->worker, former_->incarnation, {}}, answer_ms(), now_ms));
  } else if (!registered_) {
    has_changed_ = false;
    out.push_back(send(HelloCall{incarnation_}, answer_ms(), now_ms));
  } else {
    if (has_to_poll(now_ms)) {
      out.push_back(send(PollCall{worker_, incarnation_, agent_.make_poll(now_ms, Agent::Ended::left), wait_ms_},
                         wait_ms_ + answer_ms(), now_ms));
    }
    if (has_to_report(now_ms)) {
      out.push_back(
          send(ReportCall{worker_, incarnation_, agent_.make_report(now_ms, Agent::Ended::left)}, answer_ms(), now_ms));
    }
  }
  return out;
}

bool ServerSession::has_something_to_send(std::int64_t now_ms) const {
  if (former_) return !under_way(1) && (has_ends_to_tell(now_ms) || now_ms >= former_heard_ms_ + kKeepFormerMs);
  if (!registered_) return !under_way(0);
  return has_to_poll(now_ms) || has_to_report(now_ms);
}

bool ServerSession::waits_for_spool(std::int64_t now_ms) const {
  return spooling_since_ms_ && now_ms < *spooling_since_ms_ + kSpoolMs;
}

bool ServerSession::has_to_report(std::int64_t now_ms) const {
  return !under_way(1) && (agent_.has_other_news(now_ms) || has_ends_to_tell(now_ms));
}

bool ServerSession::under_way(std::size_t kind) const {
  return std::ranges::any_of(calls_, [&](const auto& it) { return it.second.call.what.index() == kind; });
}

SessionCall ServerSession::send(decltype(SessionCall::what) what, std::int64_t bound_ms, std::int64_t now_ms) {
  SessionCall call{next_call_++, std::move(what), bound_ms};
  // What has ended is in the outbox until it is acknowledged: what is remembered of the call is the rest.
  calls_.emplace(call.number, UnderWay{call, now_ms, now_ms + bound_ms});
  const bool brings_ends = ends_not_kept_ == 0 || (call.what.index() == 1 && now_ms >= ends_not_before_ms_);
  AgentReport* report = report_of(call);
  if (report != nullptr && brings_ends) report->ended = outbox_.take(call.number);
  return call;
}

std::optional<ServerSession::UnderWay> ServerSession::take(std::uint64_t call) {
  auto node = calls_.extract(call);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

std::int64_t ServerSession::lease_over_ms() const {
  return renewed_ms_ + term_ms_;
}

std::int64_t ServerSession::answer_ms() const {
  return term_ms_ > 0 ? std::min(kAnswerMs, term_ms_) : kAnswerMs;
}

std::int64_t ServerSession::killing_ms() const {
  return std::min(kKillingMs, term_ms_ / 4);
}

void ServerSession::heard(const UnderWay& call, std::int64_t now_ms) {
  failures_ = 0;
  not_before_ms_ = 0;
  if (registered_ && (now_ms >= lease_over_ms() || std::exchange(disowned_, false))) {
    agent_.doubt_leases(now_ms);
  }
  abandoned_ = false;
  renewed_ms_ = std::max(renewed_ms_, call.sent_ms);
}

void ServerSession::on_welcome(std::uint64_t call, WorkerId worker, std::int64_t term_ms, std::int64_t wait_ms,
                               std::int64_t now_ms) {
  const auto answered = take(call);
  if (!answered) return;
  term_ms_ = term_ms;
  wait_ms_ = wait_ms;
  if (renewed_ms_ == 0) renewed_ms_ = answered->sent_ms;
  worker_ = worker;
  registered_ = !has_changed_;
  heard(*answered, now_ms);
}

void ServerSession::on_poll_answer(std::uint64_t call, const std::vector<Lease>& leases,
                                   const std::vector<StopOrder>& stops, const std::vector<Token>& gone, bool drain,
                                   std::int64_t now_ms) {
  const auto answered = take(call);
  if (!answered) return;
  on_ends_taken(call);
  heard(*answered, now_ms);
  if (drain) agent_.drain(now_ms);
  agent_.on_gone(gone, now_ms);
  agent_.on_answer(std::get<PollCall>(answered->call.what).poll.number, leases, stops, now_ms);
}

void ServerSession::on_report_taken(std::uint64_t call, std::int64_t now_ms) {
  const auto answered = take(call);
  if (!answered) return;
  on_ends_taken(call);
  if (outbox_.empty()) former_.reset();
  heard(*answered, now_ms);
}

void ServerSession::on_ends_taken(std::uint64_t call) {
  if (!outbox_.has_taken(call)) return;
  outbox_.on_taken(call);
  ends_not_kept_ = 0;
  ends_not_before_ms_ = 0;
}

void ServerSession::on_error(std::uint64_t call, const Error& error, std::int64_t now_ms) {
  switch (error.code) {
    case ErrorCode::not_found: return on_not_registered(call);
    case ErrorCode::in_use: return on_replaced(call, now_ms);
    case ErrorCode::bad_input: return on_refused(call, error.message, now_ms);
    case ErrorCode::no_space:
    case ErrorCode::io:
    case ErrorCode::read_only:
    case ErrorCode::damaged: return on_not_kept(call, now_ms);
    default: return on_failed(call, now_ms);
  }
}

void ServerSession::on_not_registered(std::uint64_t call) {
  auto refused = take(call);
  if (!refused) return;
  if (former_) {
    former_.reset();  // nobody holds anything in that name any more
    outbox_.clear();
    return;
  }
  registered_ = false;
  disowned_ = true;
  if (refused) tell_again(std::move(*refused));
}

void ServerSession::on_replaced(std::uint64_t call, std::int64_t now_ms) {
  if (!awaits(call)) return;
  if (now_ms - replaced_ms_ > term_ms_) replaced_ = 0;
  replaced_ms_ = now_ms;
  // Several calls may have been under way: the name was lost once.
  const bool is_news = registered_;
  on_not_registered(call);
  if (is_news) pause(replaced_++, now_ms);
}

void ServerSession::on_failed(std::uint64_t call, std::int64_t now_ms) {
  auto failed = take(call);
  if (!failed) return;
  pause(failures_++, now_ms);
  tell_again(std::move(*failed));
}

// Only the ends wait; this worker's other calls go on.
void ServerSession::on_not_kept(std::uint64_t call, std::int64_t now_ms) {
  if (!outbox_.has_taken(call)) return on_failed(call, now_ms);
  if (auto refused = take(call)) tell_again(std::move(*refused));
  ends_not_before_ms_ = now_ms + pause_ms(ends_not_kept_++);
}

// What has ended and is refused is told bare, then given back, so a refusal ends after a few calls. What else the call
// said is told again. A call that tells of no end is tried again like one that failed.
void ServerSession::on_refused(std::uint64_t call, const std::string& why, std::int64_t now_ms) {
  if (!awaits(call)) return;
  const bool told_of_ends = outbox_.has_taken(call);
  if (!told_of_ends) return on_failed(call, now_ms);
  auto refused = take(call);
  if (const auto found = outbox_.on_refused(call, why)) {
    refused_.push_back({*found, why});
    // What an earlier process ran goes back when this one registers.
    if (found->what == ReportOutbox::Refused::What::given_up && !former_)
      agent_.tell_again({.returned = {found->token}});
  }
  if (outbox_.empty()) former_.reset();
  if (refused) tell_again(std::move(*refused));
}

void ServerSession::pause(std::uint32_t times, std::int64_t now_ms) {
  not_before_ms_ = now_ms + pause_ms(times);
}

std::int64_t ServerSession::pause_ms(std::uint32_t times) const {
  const std::int64_t longest_ms = term_ms_ > 0 ? std::min(kLongestPauseMs, term_ms_ / 4) : kLongestPauseMs;
  return std::min(longest_ms, kFirstPauseMs << std::min(times, 10U));
}

void ServerSession::tell_again(UnderWay call) {
  outbox_.on_lost(call.call.number);
  if (auto* poll = std::get_if<PollCall>(&call.call.what)) {
    agent_.give_up(poll->poll.number);
    agent_.tell_again(std::move(poll->poll));
  }
  if (auto* report = std::get_if<ReportCall>(&call.call.what)) agent_.tell_again(std::move(report->report));
}

void ServerSession::on_tick(std::int64_t now_ms) {
  std::vector<std::uint64_t> late;
  for (const auto& [number, call] : calls_) {
    if (call.until_ms <= now_ms) late.push_back(number);
  }
  for (const std::uint64_t number : late) on_failed(number, now_ms);
  if (agent_.may_be_strict() && term_ms_ > 0 && !abandoned_ && now_ms >= lease_over_ms() - killing_ms()) {
    abandoned_ = true;
    agent_.abandon_leases(now_ms);
  }
}

std::optional<std::int64_t> ServerSession::next_deadline(std::int64_t now_ms) const {
  std::optional<std::int64_t> soonest;
  const auto consider = [&](std::int64_t at_ms) { soonest = soonest ? std::min(*soonest, at_ms) : at_ms; };
  for (const auto& [number, call] : calls_) consider(call.until_ms);
  if (has_something_to_send(now_ms)) consider(not_before_ms_);
  if (ends_not_before_ms_ > now_ms) consider(ends_not_before_ms_);
  if (former_ && !under_way(1)) consider(std::max(not_before_ms_, former_heard_ms_ + kKeepFormerMs));
  if (spooling_since_ms_ && waits_for_spool(now_ms)) consider(*spooling_since_ms_ + kSpoolMs);
  if (agent_.may_be_strict() && term_ms_ > 0 && !abandoned_) consider(lease_over_ms() - killing_ms());
  return soonest;
}

std::optional<LeftBehind> ServerSession::left_behind() const {
  if (outbox_.empty()) return std::nullopt;
  if (former_) return LeftBehind{former_->worker, former_->incarnation, outbox_.all()};
  return LeftBehind{worker_, incarnation_, outbox_.all()};
}

bool ServerSession::all_told() const {
  return agent_.idle() && !spooling_since_ms_ && outbox_.empty() && std::ranges::all_of(calls_, [](const auto& it) {
           const AgentReport* said = report_of(it.second.call);
           return said == nullptr || said->returned.empty();
         });
}

}  // namespace drover

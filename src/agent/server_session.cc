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
// What must not run beyond its lease is killed this long before, or a quarter of it, since killing takes time.
constexpr std::int64_t kKillingMs = 5'000;

/// What it tells besides asking.
const AgentReport* said_by(const SessionCall& call) {
  if (const auto* it = std::get_if<ReportCall>(&call.what)) return &it->report;
  if (const auto* it = std::get_if<PollCall>(&call.what)) return &it->poll;
  return nullptr;
}

}  // namespace

ServerSession::ServerSession(Agent& agent, std::uint64_t incarnation, std::optional<LeftBehind> left_behind,
                             Options options)
    : agent_(agent),
      incarnation_(incarnation),
      left_behind_(std::move(left_behind)),
      options_(options),
      next_call_(options.first_call) {}

std::vector<SessionCall> ServerSession::take_calls(std::int64_t now_ms) {
  std::vector<SessionCall> out;
  if (now_ms < not_before_ms_ || !has_something_to_send(now_ms)) return out;
  if (left_behind_) {
    out.push_back(send(ReportCall{left_behind_->worker, left_behind_->incarnation, {left_behind_->ended, {}, {}}},
                       answer_ms(), now_ms));
  } else if (!registered_) {
    out.push_back(send(HelloCall{incarnation_}, answer_ms(), now_ms));
  } else {
    if (agent_.wants_to_ask()) {
      out.push_back(
          send(PollCall{worker_, incarnation_, agent_.make_poll(now_ms), wait_ms_}, wait_ms_ + answer_ms(), now_ms));
    }
    if (!under_way(1) && agent_.has_news(now_ms)) {
      out.push_back(send(ReportCall{worker_, incarnation_, agent_.make_report(now_ms)}, answer_ms(), now_ms));
    }
  }
  return out;
}

bool ServerSession::has_something_to_send(std::int64_t now_ms) const {
  if (left_behind_) return !under_way(1);
  if (!registered_) return !under_way(0);
  return agent_.wants_to_ask() || (!under_way(1) && agent_.has_news(now_ms));
}

bool ServerSession::under_way(std::size_t kind) const {
  return std::ranges::any_of(calls_, [&](const auto& it) { return it.second.call.what.index() == kind; });
}

SessionCall ServerSession::send(decltype(SessionCall::what) what, std::int64_t bound_ms, std::int64_t now_ms) {
  SessionCall call{next_call_++, std::move(what), bound_ms};
  calls_.emplace(call.number, UnderWay{call, now_ms, now_ms + bound_ms});
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
  if (registered_ && !abandoned_ && (now_ms >= lease_over_ms() || std::exchange(disowned_, false))) {
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
  registered_ = true;
  heard(*answered, now_ms);
}

void ServerSession::on_poll_answer(std::uint64_t call, const std::vector<Lease>& leases,
                                   const std::vector<StopOrder>& stops, const std::vector<Token>& gone, bool drain,
                                   std::int64_t now_ms) {
  const auto answered = take(call);
  if (!answered) return;
  heard(*answered, now_ms);
  if (drain) agent_.drain(now_ms);
  agent_.on_gone(gone, now_ms);
  agent_.on_answer(std::get<PollCall>(answered->call.what).poll.number, leases, stops, now_ms);
}

void ServerSession::on_report_taken(std::uint64_t call, std::int64_t now_ms) {
  const auto answered = take(call);
  if (!answered) return;
  left_behind_.reset();
  heard(*answered, now_ms);
}

void ServerSession::on_not_registered(std::uint64_t call, std::int64_t now_ms) {
  auto refused = take(call);
  if (!refused) return;
  if (left_behind_) {
    left_behind_.reset();  // nobody holds anything in that name any more
    return;
  }
  registered_ = false;
  disowned_ = true;
  tell_again(std::move(*refused), now_ms);
}

void ServerSession::on_replaced(std::uint64_t call, std::int64_t now_ms) {
  if (!awaits(call)) return;
  if (now_ms - replaced_ms_ > term_ms_) replaced_ = 0;
  replaced_ms_ = now_ms;
  // Several calls may have been under way: the name was lost once.
  const bool is_news = registered_;
  on_not_registered(call, now_ms);
  if (is_news) pause(replaced_++, now_ms);
}

void ServerSession::on_failed(std::uint64_t call, std::int64_t now_ms) {
  auto failed = take(call);
  if (!failed) return;
  pause(failures_++, now_ms);
  tell_again(std::move(*failed), now_ms);
}

void ServerSession::pause(std::uint32_t times, std::int64_t now_ms) {
  const std::int64_t longest_ms = term_ms_ > 0 ? std::min(kLongestPauseMs, term_ms_ / 4) : kLongestPauseMs;
  not_before_ms_ = now_ms + std::min(longest_ms, kFirstPauseMs << std::min(times, 10U));
}

void ServerSession::tell_again(UnderWay call, std::int64_t now_ms) {
  if (auto* poll = std::get_if<PollCall>(&call.call.what)) {
    agent_.give_up(poll->poll.number);
    agent_.tell_again(std::move(poll->poll), now_ms);
  }
  auto* report = std::get_if<ReportCall>(&call.call.what);
  if (report != nullptr && !left_behind_) agent_.tell_again(std::move(report->report), now_ms);
}

void ServerSession::on_tick(std::int64_t now_ms) {
  std::vector<std::uint64_t> late;
  for (const auto& [number, call] : calls_) {
    if (call.until_ms <= now_ms) late.push_back(number);
  }
  for (const std::uint64_t number : late) on_failed(number, now_ms);
  if (options_.strict_lease && term_ms_ > 0 && !abandoned_ && now_ms >= lease_over_ms() - killing_ms()) {
    abandoned_ = true;
    agent_.abandon_leases(now_ms);
  }
}

std::optional<std::int64_t> ServerSession::next_deadline(std::int64_t now_ms) const {
  std::optional<std::int64_t> soonest;
  const auto consider = [&](std::int64_t at_ms) { soonest = soonest ? std::min(*soonest, at_ms) : at_ms; };
  for (const auto& [number, call] : calls_) consider(call.until_ms);
  if (has_something_to_send(now_ms)) consider(not_before_ms_);
  if (options_.strict_lease && term_ms_ > 0 && !abandoned_) consider(lease_over_ms() - killing_ms());
  return soonest;
}

std::optional<LeftBehind> ServerSession::left_behind() const {
  if (left_behind_) return left_behind_;
  LeftBehind out{worker_, incarnation_, {}};
  for (const auto& [number, call] : calls_) {
    const AgentReport* report = said_by(call.call);
    if (report != nullptr) out.ended.insert(out.ended.end(), report->ended.begin(), report->ended.end());
  }
  const std::vector<EndedAttempt>& untold = agent_.untold();
  out.ended.insert(out.ended.end(), untold.begin(), untold.end());
  return out.ended.empty() ? std::nullopt : std::optional(std::move(out));
}

bool ServerSession::all_told() const {
  return agent_.idle() && !left_behind_ && std::ranges::all_of(calls_, [](const auto& it) {
           const AgentReport* said = said_by(it.second.call);
           return said == nullptr || (said->ended.empty() && said->returned.empty());
         });
}

}  // namespace drover

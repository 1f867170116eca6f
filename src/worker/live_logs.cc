#include "worker/live_logs.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace drover {
namespace {

constexpr std::int64_t kTellEachMs = 1'000;
// Whoever follows says so every few seconds.
constexpr std::int64_t kWatchMs = 10'000;
// After a failure, twice as long after each more, up to this.
constexpr std::int64_t kPauseMs = 2'000;
constexpr std::int64_t kLongestShowPauseMs = 30'000;
// However slow the line is, one of these arrives.
constexpr std::size_t kMostBytesInOne = std::size_t{1} << 20;

}  // namespace

bool LiveLogs::Live::is_due(std::int64_t now_ms) const {
  if (is_refused) return false;
  if (whole || fresh >= kFrameBytes || in_spool.size() > sent.frames) return true;
  if (now_ms >= watched_until_ms) return false;
  return tell || (fresh > 0 && now_ms >= next_ms);
}

LiveLogs::Live& LiveLogs::live_of(const Token& token) {
  const auto [it, is_new] = live_.try_emplace(token);
  if (is_new) it->second.number = next_number_++;
  return it->second;
}

LiveLogs::LiveByToken::iterator LiveLogs::find(const Round::Part& part) {
  const auto found = live_.find(part.token);
  return found != live_.end() && found->second.number == part.number ? found : live_.end();
}

void LiveLogs::on_printed(const Token& token, const LogKey& key, std::size_t bytes) {
  Live& it = live_of(token);
  it.key = key;
  it.fresh += bytes;
}

void LiveLogs::on_watched(const Token& token, const LogKey& key, std::int64_t now_ms) {
  Live& it = live_of(token);
  it.key = key;
  it.watched_until_ms = now_ms + kWatchMs;
  it.tell = true;
}

LiveLogs::Sent LiveLogs::end(const Token& token) {
  const auto node = live_.extract(token);
  return node.empty() ? Sent{} : node.mapped().sent;
}

void LiveLogs::finish(const Token& token, Bytes in_spool, Sent sent, Finished finished) {
  live_.erase(token);  // somebody may follow it since it ended
  Live& it = live_of(token);
  it.whole = std::move(in_spool);
  it.sent = std::move(sent);
  it.finished = std::move(finished);
}

std::optional<std::int64_t> LiveLogs::next_deadline(std::int64_t now_ms) const {
  if (under_way_) return std::nullopt;
  std::optional<std::int64_t> soonest;
  for (const auto& [token, it] : live_) {
    const bool is_due = it.is_due(now_ms);
    const bool will_be = !it.is_refused && it.fresh > 0 && std::max(now_ms, it.next_ms) < it.watched_until_ms;
    if (!is_due && !will_be) continue;
    const std::int64_t at_ms = is_due ? not_before_ms_ : std::max(it.next_ms, not_before_ms_);
    soonest = soonest ? std::min(*soonest, at_ms) : at_ms;
  }
  return soonest;
}

void LiveLogs::step(WorkerId worker, std::int64_t now_ms) {
  if (under_way_ || now_ms < not_before_ms_) return;
  auto round = std::make_shared<Round>(Round{.worker = worker, .began_ms = now_ms});
  for (const auto& [token, it] : live_) {
    if (it.is_due(now_ms)) round->parts.push_back({token, it.number});
    if (one_by_one_ && !round->parts.empty()) break;
  }
  if (round->parts.empty()) return;
  under_way_ = true;
  // Of what is over it is known where it is.
  const auto running = std::ranges::stable_partition(
      round->parts, [&](const Round::Part& part) { return live_.at(part.token).whole.has_value(); });
  for (const Round::Part& part : round->parts) {
    if (const auto& whole = live_.at(part.token).whole) round->spooled.emplace_back(*whole);
  }
  if (running.empty()) return send_round(round);
  for (const Round::Part& part : running) {
    Live& it = live_.at(part.token);
    it.fresh = 0;
    it.tell = false;
    it.next_ms = now_ms + kTellEachMs;
    // They are answered in this order.
    logs_.show(it.key, [this, round](const Result<Bytes>& place) {
      round->spooled.push_back(place);
      if (round->spooled.size() == round->parts.size()) post_([this, round] { send_round(round); });
    });
  }
}

void LiveLogs::send_round(const std::shared_ptr<Round>& round) {
  WorkerUpload upload{.frames = {}, .worker = round->worker, .shown = {}};
  LogReader spool(spool_);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < round->parts.size(); ++i) {
    std::size_t& count = round->frames.emplace_back(0);
    const auto found = find(round->parts[i]);
    if (found == live_.end()) continue;
    Live& it = found->second;
    const Result<Bytes>& place = round->spooled[i];
    // A disk that fails is the reports' business: they go by it too, or wait for this.
    if (!place) return try_later(*round);
    auto frames = spool.frames_of(ExtentList::decode(place->value), it.in_spool);
    if (!frames) return on_unreadable(*round, i, frames.error());
    it.in_spool = std::move(*frames);
    WorkerUpload::Shown shown{found->first, it.sent.places.encode(), {}};
    for (; it.sent.frames + count < it.in_spool.size() && bytes < kMostBytesInOne; ++count) {
      auto frame = spool.packed(it.in_spool[it.sent.frames + count]);
      if (!frame) return on_unreadable(*round, i, frame.error());
      bytes += frame->size();
      shown.frames.push_back(static_cast<std::uint32_t>(upload.frames.size()));
      upload.frames.push_back(std::move(*frame));
    }
    if (round->began_ms < it.watched_until_ms) upload.shown.push_back(std::move(shown));
  }
  if (upload.frames.empty() && upload.shown.empty()) return on_placed(*round, std::vector<std::string>{});
  send_(std::move(upload),
        [this, round](const Result<std::vector<std::string>>& places) { on_placed(*round, places); });
}

void LiveLogs::on_placed(const Round& round, const Result<std::vector<std::string>>& places) {
  if (!places && places.error().code == ErrorCode::bad_input) return on_refused(round);
  if (!places) {
    const ErrorCode code = places.error().code;
    return try_later(round, code == ErrorCode::unreachable || code == ErrorCode::timeout);
  }
  under_way_ = false;
  failures_ = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < round.parts.size(); ++i) {
    const auto found = find(round.parts[i]);
    for (std::size_t frame = 0; frame < round.frames[i]; ++frame, ++at) {
      if (found == live_.end()) continue;
      Sent& sent = found->second.sent;
      const ExtentList place = ExtentList::decode((*places)[at]);
      for (const Extent& extent : place.all()) sent.places.add(extent);
      ++sent.frames;
    }
    if (found == live_.end() || !found->second.whole) continue;
    if (found->second.sent.frames < found->second.in_spool.size()) continue;
    const auto done = live_.extract(found);
    done.mapped().finished(done.mapped().sent);
  }
}

// The server may have some of it. What is sent again it has twice, and only the second is told.
void LiveLogs::try_later(const Round& round, bool was_away) {
  was_away_ = was_away;
  not_before_ms_ = round.began_ms + std::min(kPauseMs << std::min(failures_, 10U), kLongestShowPauseMs);
  ++failures_;
  begin_again(round);
}

void LiveLogs::begin_again(const Round& round) {
  under_way_ = false;
  for (const Round::Part& part : round.parts) {
    if (const auto found = find(part); found != live_.end()) found->second.tell = true;
  }
}

void LiveLogs::on_server_heard() {
  if (!std::exchange(was_away_, false)) return;
  failures_ = 0;
  not_before_ms_ = 0;
}

// What is missing stays so: the rest of that log is left out. Anything else may be over soon.
void LiveLogs::on_unreadable(const Round& round, std::size_t part, const Error& error) {
  if (error.code != ErrorCode::not_found) return try_later(round);
  begin_again(round);
  leave_out(round.parts[part]);
}

// The server will never take it. Of several, it is not known which one it was: from now on each is sent by itself.
void LiveLogs::on_refused(const Round& round) {
  one_by_one_ = round.parts.size() > 1;
  if (one_by_one_) return try_later(round);
  under_way_ = false;
  leave_out(round.parts.front());
}

// What is left of it stays out of the server's logs. Its end is told all the same.
void LiveLogs::leave_out(const Round::Part& part) {
  const auto found = find(part);
  if (found == live_.end()) return;
  found->second.is_refused = true;
  if (!found->second.whole) return;
  const auto done = live_.extract(found);
  done.mapped().finished(done.mapped().sent);
}

}  // namespace drover

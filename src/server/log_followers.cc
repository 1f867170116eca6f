#include "server/log_followers.h"

#include <algorithm>

#include "base/text.h"
#include "server/log_source.h"

namespace drover {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr HolderCounts::Limits kFollowLimits{.total = 1'000, .each = 100, .reserved = 200};
// The worker believes for ten seconds that it is watched.
constexpr milliseconds kWatchEach{3'000};
// While nobody is known to run it.
constexpr milliseconds kLookEach{1'000};
constexpr milliseconds kPatience{3'000};
constexpr std::size_t kMostUnsentLog = std::size_t{512} << 10;

}  // namespace

LogFollowers::LogFollowers(Outside outside, std::string folder)
    : outside_(std::move(outside)),
      folder_(std::move(folder)),
      quota_("log followers", kFollowLimits),
      thread_([this] { run(); }) {}

LogFollowers::~LogFollowers() {
  stop();
}

void LogFollowers::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> LogFollowers::add(const LogQuestion& question, const std::function<std::shared_ptr<HttpStream>()>& begin) {
  auto share = quota_.take(question.holder);
  if (!share) return pass(share);
  auto it = std::make_shared<Follower>();
  it->share = std::move(*share);
  it->question = question;
  it->stream = begin();
  it->due = it->watch_due = Clock::now();
  if (!question.follow || question.tail > 0) it->waits_until = it->due + kPatience;
  it->attempt = question.attempt ? question.attempt : AttemptNumber{1};
  it->skip = question.skip;
  if (question.tail > 0) it->tail.emplace(question.tail);
  {
    const std::scoped_lock lock(mutex_);
    followers_.push_back(std::move(it));
    count_ = followers_.size();
  }
  wakes_.notify_one();
  return {};
}

void LogFollowers::wake(Follower& it) {
  it.due = Clock::now();
  it.was_woken = true;
  wakes_.notify_one();
}

void LogFollowers::on_shown(WorkerId worker, const Token& token, const ExtentList& extents) {
  if (count_ == 0) return;
  const std::scoped_lock lock(mutex_);
  for (const Place& it : followers_) {
    // Only who runs it has something to say of it.
    const auto& running = it->running;
    if (!running || running->token != token || running->worker != worker) continue;
    it->shown = extents;
    wake(*it);
  }
}

std::vector<Token> LogFollowers::followed(const std::vector<EndedAttempt>& ended) const {
  std::vector<Token> tokens;
  if (count_ == 0) return tokens;
  const std::scoped_lock lock(mutex_);
  for (const EndedAttempt& one : ended) {
    const bool is_followed = std::ranges::any_of(
        followers_, [&](const Place& it) { return it->running && it->running->token == one.token; });
    if (is_followed) tokens.push_back(one.token);
  }
  return tokens;
}

void LogFollowers::on_ended(const std::vector<Token>& tokens) {
  if (tokens.empty()) return;
  const std::scoped_lock lock(mutex_);
  for (const Place& it : followers_) {
    const auto& running = it->running;
    if (!running || std::ranges::find(tokens, running->token) == tokens.end()) continue;
    it->watch_due = Clock::now();
    wake(*it);
  }
}

void LogFollowers::on_key_removed() {
  if (count_ == 0) return;
  const std::scoped_lock lock(mutex_);
  for (const Place& it : followers_) wake(*it);
}

void LogFollowers::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    Time next = Clock::now() + std::chrono::hours(1);
    bool had_turns = false;
    std::vector<Place> asking;
    for (auto at = followers_.begin(); at != followers_.end();) {
      const Place it = *at++;
      if (it->in_turn) continue;
      if (it->due > Clock::now()) {
        next = std::min(next, it->due);
        continue;
      }
      // Nothing is said by it: it only shows whether somebody is there.
      if (!it->question.may_still() || !it->stream->write({})) {
        it->stream->end();
        followers_.remove(it);
        count_ = followers_.size();
        continue;
      }
      had_turns = it->in_turn = true;
      it->was_woken = false;
      if (it->watch_due <= Clock::now()) {
        asking.push_back(it);
      } else {
        read_later(it);
      }
    }
    if (!had_turns) {
      // With the lock that it looked with: who comes in between would notify nobody.
      wakes_.wait_until(lock, next);
      continue;
    }
    // The core may answer at once, and its answer takes the lock.
    lock.unlock();
    for (const Place& it : asking) ask_core(it);
    lock.lock();
  }
}

void LogFollowers::ask_core(const Place& it) {
  outside_.watch({it->question.job, it->question.item}, [this, it](const Result<Effect>& effect) {
    const std::scoped_lock lock(mutex_);
    const auto* watched = effect ? std::get_if<Watched>(&*effect) : nullptr;
    std::optional<Watched::Running> running;
    if (watched != nullptr) running = watched->running;
    if (!running || !it->running || running->token != it->running->token) it->shown.reset();
    it->running = running;
    it->watch_due = Clock::now() + (running ? kWatchEach : kLookEach);
    read_later(it);
  });
}

/// With the lock: nobody posts to the pool after stop().
void LogFollowers::read_later(const Place& it) {
  if (stopped_) return;
  const bool has_patience = it->running && !it->shown && Clock::now() < it->waits_until;
  if (has_patience) {
    it->in_turn = false;
    it->due = it->was_woken ? Clock::now() : std::min(it->watch_due, it->waits_until);
    wakes_.notify_one();
    return;
  }
  it->waits_until = {};
  outside_.later(it->question.holder, [this, it, running = it->running, shown = it->shown.value_or(ExtentList{})] {
    end_turn(it, read(*it, running, shown));
  });
}

void LogFollowers::end_turn(const Place& it, Turn turn) {
  if (turn == Turn::peer_is_slow) {
    // Without the lock: it may call at once.
    it->stream->when_unsent_below(kMostUnsentLog / 2, [this, it] { end_turn(it, Turn::peer_has_room); });
    return;
  }
  const std::scoped_lock lock(mutex_);
  it->in_turn = false;
  if (turn == Turn::over) {
    it->stream->end();
    followers_.remove(it);
    count_ = followers_.size();
    return;
  }
  it->due = turn == Turn::peer_has_room || it->was_woken ? Clock::now() : it->watch_due;
  wakes_.notify_one();
}

LogFollowers::Turn LogFollowers::read(Follower& it, const std::optional<Watched::Running>& running,
                                      const ExtentList& shown) const {
  auto known = outside_.look(it.question.job, it.question.item);
  if (!known) {
    return give_up(it, known.error());
  }
  const bool is_over =
      known->job_has_ended || (!known->attempts.empty() && known->attempts.back().settled) || !it.question.follow;
  while (true) {
    const auto row = std::ranges::find(known->attempts, it.attempt, &Attempt::attempt);
    const bool has_ended = row != known->attempts.end();
    const bool runs = !has_ended && running && running->attempt == it.attempt;
    if (has_ended || runs) {
      const Turn turn = write_frames(it, has_ended ? ExtentList::decode(row->log.extents.value) : shown);
      if (turn != Turn::waits) return turn;
    }
    const bool was_last = has_ended && (it.question.attempt || row->settled);
    // What it never ended with a newline. What runs may still end it.
    const bool goes_on = !has_ended && (it.question.whole_lines || (it.question.follow && !is_over));
    if (it.text && !goes_on && !write(it, it.text->finish())) return Turn::over;
    if (has_ended && !was_last) {
      it.attempt = AttemptNumber{it.attempt.value + 1};
      it.frames.clear();
      it.written = 0;
      it.text.reset();
      it.skip = 0;
      continue;
    }
    if (write_tail(it) == Turn::over) return Turn::over;
    return was_last || is_over ? Turn::over : Turn::waits;
  }
}

LogFollowers::Turn LogFollowers::write_frames(Follower& it, const ExtentList& extents) const {
  LogReader reader(folder_);
  auto frames = reader.frames_of(extents, it.frames);
  if (!frames) return give_up(it, frames.error());
  // A lost attempt's row knows of none of them.
  if (frames->size() < it.written) return Turn::waits;
  it.frames = std::move(*frames);
  while (it.written < it.frames.size()) {
    if (!it.tail && it.stream->unsent() >= kMostUnsentLog) return Turn::peer_is_slow;
    auto text = text_of(it).next(reader, it.frames[it.written]);
    if (!text) return give_up(it, text.error());
    ++it.written;
    if (!write(it, std::move(*text))) return Turn::over;
  }
  return Turn::waits;
}

LogText& LogFollowers::text_of(Follower& it) {
  if (!it.text) {
    it.text = std::make_unique<LogText>(LogKey{it.question.job, it.question.item, it.attempt}, it.question.form,
                                        it.question.only_stderr);
  }
  return *it.text;
}

LogFollowers::Turn LogFollowers::give_up(Follower& it, const Error& error) {
  it.stream->write(text_of(it).note(concat("[drover: the rest of the log cannot be read: ", error.message, "]")));
  return Turn::over;
}

/// False: the peer is gone.
bool LogFollowers::write(Follower& it, std::string text) {
  const std::size_t skipped = std::min<std::uint64_t>(it.skip, text.size());
  it.skip -= skipped;
  text.erase(0, skipped);
  if (text.empty()) return true;
  if (!it.tail) return it.stream->write(std::move(text));
  it.tail->add(text);
  return true;
}

LogFollowers::Turn LogFollowers::write_tail(Follower& it) const {
  if (!it.tail) return Turn::waits;
  const bool is_there = it.stream->write(it.tail->text());
  it.tail.reset();
  return is_there ? Turn::waits : Turn::over;
}

}  // namespace drover

#include "server/event_feed.h"

#include <boost/json.hpp>
#include <chrono>

#include "base/text.h"
#include "wire/views.h"

namespace drover {
namespace {

constexpr HolderCounts::Limits kFeedLimits{.total = 1000, .each = 100, .reserved = 200};
constexpr std::size_t kMostUnsentEvents = std::size_t{256} << 10;
constexpr std::size_t kEventsAtOnce = 500;
// So that those in between do not take the line for dead, and who is gone is noticed.
constexpr std::chrono::seconds kSignOfLife{15};
constexpr std::chrono::milliseconds kSlowPeer{200};

std::string in_words_of_sse(const Event& event) {
  return concat("id: ", event.id.value, "\nevent: ", to_string(event.kind),
                "\ndata: ", boost::json::serialize(event_to_json(event)), "\n\n");
}

}  // namespace

EventFeed::EventFeed(std::unique_ptr<StoreReader> reader, std::function<bool(const std::string&)> is_good)
    : reader_(std::move(reader)), is_good_(std::move(is_good)), quota_("event followers", kFeedLimits) {
  newest_ = reader_->newest_event().value_or(EventId{});  // what is wrong, who follows will be told
  thread_ = std::thread([this] { run(); });
}

EventFeed::~EventFeed() {
  stop();
}

void EventFeed::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EventFeed::happened(EventId last) {
  {
    const std::scoped_lock lock(mutex_);
    newest_ = last;
    if (count_ == 0) return;
  }
  wakes_.notify_all();
}

Result<void> EventFeed::add(EventId after, std::string job, const Holder& holder, std::string key_id,
                            const std::function<std::shared_ptr<HttpStream>()>& begin) {
  auto share = quota_.take(holder);
  if (!share) return pass(share);
  {
    const std::scoped_lock lock(mutex_);
    ++count_;
    joining_.push_back({.last = std::min(after, newest_),
                        .job = std::move(job),
                        .key_id = std::move(key_id),
                        .stream = begin(),
                        .share = std::move(*share)});
  }
  wakes_.notify_all();
  return {};
}

void EventFeed::run() {
  auto said_ms = std::chrono::steady_clock::now();
  bool some_are_slow = false;
  EventId served;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto wait = some_are_slow ? std::chrono::milliseconds(kSlowPeer) : std::chrono::milliseconds(kSignOfLife);
      wakes_.wait_for(lock, wait, [&] { return stopped_ || !joining_.empty() || served < newest_; });
      if (stopped_) break;
      followers_.splice(followers_.end(), joining_);
      served = newest_;
    }
    const auto now = std::chrono::steady_clock::now();
    const bool sign_of_life = now - said_ms >= kSignOfLife;
    if (sign_of_life) said_ms = now;
    some_are_slow = false;
    for (auto it = followers_.begin(); it != followers_.end();) {
      bool is_there = is_good_(it->key_id) && serve(*it);
      if (is_there && sign_of_life) is_there = it->stream->write(":\n\n");
      some_are_slow = some_are_slow || it->stream->unsent() > kMostUnsentEvents;
      if (is_there) {
        ++it;
        continue;
      }
      it->stream->end();
      it = followers_.erase(it);
      const std::scoped_lock lock(mutex_);
      --count_;
    }
  }
  for (Follower& it : followers_) it.stream->end();
  const std::scoped_lock lock(mutex_);
  for (Follower& it : joining_) it.stream->end();
}

// What it has not had yet, as far as it takes it. Whether it is still there.
bool EventFeed::serve(Follower& it) {
  if (it.stream->unsent() > kMostUnsentEvents) return true;
  std::string text;
  if (!std::exchange(it.has_begun, true)) text = "retry: 2000\n\n";
  std::size_t count = 0;
  auto read = reader_->each_event(it.last, [&](const Event& event) {
    if (event.id.value > it.last.value + 1 && it.last && count == 0) {
      // What was deleted meanwhile cannot be told any more; that there was something can.
      text += concat("event: missed\ndata: {\"from\":", it.last.value + 1, ",\"to\":", event.id.value - 1, "}\n\n");
    }
    it.last = event.id;
    if (it.job.empty() || event.job == it.job) text += in_words_of_sse(event);
    return ++count < kEventsAtOnce;
  });
  if (!read) return false;
  return text.empty() || it.stream->write(std::move(text));
}

}  // namespace drover

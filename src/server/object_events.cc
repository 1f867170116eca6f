#include "server/object_events.h"

#include <chrono>
#include <future>
#include <utility>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::uint64_t kAtOnce = 200;
constexpr auto kPauseAfterTrouble = std::chrono::seconds(1);

template <class T>
struct Waiting {
  std::promise<T> promise;
  std::future<T> answered = promise.get_future();
};

}  // namespace

ObjectEvents::ObjectEvents(Buckets& buckets, MessageExchange& exchange, Outside outside)
    : buckets_(buckets), exchange_(exchange), outside_(std::move(outside)), thread_([this] { run(); }) {}

void ObjectEvents::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ObjectEvents::wake() {
  {
    const std::scoped_lock lock(mutex_);
    has_new_ = true;
  }
  wakes_.notify_one();
}

void ObjectEvents::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [&] { return stops_ || has_new_; });
    if (stops_) return;
    has_new_ = false;
    lock.unlock();
    const bool is_done = bring_all();
    lock.lock();
    if (is_done) continue;
    has_new_ = true;
    wakes_.wait_for(lock, kPauseAfterTrouble, [&] { return stops_; });
  }
}

bool ObjectEvents::bring_all() {
  while (true) {
    const auto events = buckets_.events(brought_, kAtOnce);
    if (!events) {
      if (std::exchange(last_trouble_, events.error().message) != events.error().message) {
        outside_.notice(concat("events of objects cannot be read: ", events.error().message));
      }
      return false;
    }
    if (events->empty()) return true;
    if (!bring(*events)) return false;
    const std::scoped_lock lock(mutex_);
    if (stops_) return true;
  }
}

bool ObjectEvents::bring(const std::vector<ObjectEvent>& events) {
  std::map<std::string, std::vector<OutgoingMessage>> by_stream;
  for (const ObjectEvent& it : events) by_stream[it.stream].push_back(outside_.message(it));
  for (auto& [stream, messages] : by_stream) {
    const std::size_t count = messages.size();
    const auto sent = send(stream, std::move(messages));
    if (sent) continue;
    const bool is_gone = sent.error().code == ErrorCode::not_found;
    const std::string said = is_gone ? concat(count, " events of objects were for the stream '", stream,
                                              "', which does not exist: they are dropped")
                                     : concat("events of objects wait: ", sent.error().message);
    if (std::exchange(last_trouble_, said) != said || is_gone) outside_.notice(said);
    if (!is_gone) return false;
  }
  Waiting<bool> forgotten;
  const std::uint64_t up_to = events.back().number;
  buckets_.forget_events(up_to, [&](const BucketResult<void>& done) { forgotten.promise.set_value(done.has_value()); });
  // If they are still there after a start, the core knows them.
  if (forgotten.answered.get()) last_trouble_.clear();
  brought_ = up_to;
  return true;
}

Result<MessagesSent> ObjectEvents::send(const std::string& stream, std::vector<OutgoingMessage> messages) {
  Waiting<Result<MessagesSent>> sent;
  exchange_.send(
      stream, std::move(messages), [](std::move_only_function<void()> work) { work(); },
      [&](Result<MessagesSent> answer) { sent.promise.set_value(std::move(answer)); }, buckets_.feed());
  return sent.answered.get();
}

}  // namespace drover

#include "worker/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "base/check.h"

namespace drover {

Result<std::unique_ptr<EventLoop>> EventLoop::make() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (epoll < 0 || wake < 0) return std::unexpected(errno_error(errno, "cannot wait for events"));
  std::unique_ptr<EventLoop> loop(new EventLoop(epoll, wake));
  loop->watch(wake, [it = loop.get()] { it->run_posted(); });
  return loop;
}

EventLoop::~EventLoop() {
  close(epoll_);
  close(wake_);
}

void EventLoop::watch(int descriptor, Callback ready) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  DROVER_CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0, "a descriptor is watched once");
  watched_[descriptor] = {.ready = std::move(ready)};
}

void EventLoop::want_writable(int descriptor, bool wanted) {
  Watched& watched = watched_.at(descriptor);
  if (watched.writable == wanted) return;
  watched.writable = wanted;
  change(descriptor, watched);
}

void EventLoop::want_readable(int descriptor, bool wanted) {
  Watched& watched = watched_.at(descriptor);
  if (watched.readable == wanted) return;
  watched.readable = wanted;
  change(descriptor, watched);
}

void EventLoop::change(int descriptor, const Watched& watched) const {
  epoll_event event{.events = (watched.readable ? EPOLLIN : 0U) | (watched.writable ? EPOLLOUT : 0U),
                    .data = {.fd = descriptor}};
  DROVER_CHECK(epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event) == 0, "only what is watched can change");
}

void EventLoop::remove(int descriptor) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
  watched_.erase(descriptor);
}

void EventLoop::post(Callback work) {
  {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  // A full counter wakes the loop just as well.
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
}

void EventLoop::run_posted() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(wake_, &count, sizeof count);
  std::vector<Callback> posted;
  {
    const std::scoped_lock lock(mutex_);
    posted.swap(posted_);
  }
  for (const Callback& work : posted) work();
}

void EventLoop::turn(std::int64_t timeout_ms) {
  std::array<epoll_event, 64> events{};
  const int timeout = static_cast<int>(std::min<std::int64_t>(timeout_ms, std::numeric_limits<int>::max()));
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
  DROVER_CHECK(count >= 0 || errno == EINTR, "waiting cannot fail");
  for (int i = 0; i < count; ++i) {
    // Handling one event may have removed another's descriptor.
    const auto watched = watched_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (watched == watched_.end()) continue;
    const Callback ready = watched->second.ready;
    ready();
  }
}

}  // namespace drover

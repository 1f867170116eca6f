// One thread waiting on many descriptors. Other threads reach it with post().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"

namespace drover {

class EventLoop {
 public:
  using Callback = std::function<void()>;

  static Result<std::unique_ptr<EventLoop>> make();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Calls `ready` whenever the descriptor is readable (and writable, if asked for) or broken, until remove().
  void watch(int descriptor, Callback ready);
  void want_writable(int descriptor, bool wanted);
  /// What is not wanted waits, until it is wanted again.
  void want_readable(int descriptor, bool wanted);
  void remove(int descriptor);

  /// Runs `work` on the loop's thread, soon. From any thread.
  void post(Callback work);

  /// Waits for something to happen, at most `timeout_ms` (-1: for ever), and handles it.
  void turn(std::int64_t timeout_ms);

 private:
  EventLoop(int epoll, int wake) : epoll_(epoll), wake_(wake) {}
  void run_posted();

  struct Watched {
    Callback ready;
    bool writable = false;
    bool readable = true;
  };
  void change(int descriptor, const Watched& watched) const;

  int epoll_;
  int wake_;
  std::map<int, Watched> watched_;
  std::mutex mutex_;  // guards posted_
  std::vector<Callback> posted_;
};

}  // namespace drover

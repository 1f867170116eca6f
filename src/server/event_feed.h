// Those who follow what happens, as server-sent events. Each is known by the last event it was sent; what is newer is
// read from the ledger, so one that comes back after a while has missed nothing, as long as the events are kept.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ports/http.h"
#include "ports/store.h"
#include "server/quota.h"

namespace drover {

class EventFeed {
 public:
  /// Who may still follow is asked anew before each is told something.
  EventFeed(std::unique_ptr<StoreReader> reader, std::function<bool(const std::string& key_id)> is_good);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// There are events up to this one.
  void happened(EventId last);
  /// After this one, or from now on if it is none yet to come. Refused when too many follow.
  Result<void> add(EventId after, std::string job, const Holder& holder, std::string key_id,
                   const std::function<std::shared_ptr<HttpStream>()>& begin);
  void stop();

 private:
  struct Follower {
    EventId last;
    std::string job;  // its UUID; empty: all
    std::string key_id;
    std::shared_ptr<HttpStream> stream;
    Quota::Share share;
    bool has_begun = false;
  };

  void run();
  bool serve(Follower& follower);

  const std::unique_ptr<StoreReader> reader_;
  const std::function<bool(const std::string&)> is_good_;
  Quota quota_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  EventId newest_;
  std::list<Follower> joining_;
  std::size_t count_ = 0;
  bool stopped_ = false;

  std::list<Follower> followers_;  // the thread's alone
  std::thread thread_;
};

}  // namespace drover

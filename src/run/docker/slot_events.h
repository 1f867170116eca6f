// What happened in a slot, between the thread that sees it and the one that is told.
#pragma once

#include <mutex>
#include <vector>

#include "ports/descriptor.h"
#include "ports/runner.h"

namespace drover {

/// A queue with a descriptor that is readable while it holds something. Each call from any thread.
class SlotEvents {
 public:
  SlotEvents();

  int descriptor() const { return ready_.get(); }

  void add(SlotEvent event);
  /// What comes in small pieces travels as larger ones.
  void print(Token token, LogStream stream, std::int64_t time_ms, std::string_view bytes);
  /// Whoever prints should wait until it has been heard. take() will say that somebody waits.
  bool is_full();

  struct Taken {
    std::vector<SlotEvent> events;
    bool somebody_waits = false;
  };
  Taken take();

 private:
  void wake();

  Descriptor ready_;
  std::mutex mutex_;
  std::vector<SlotEvent> events_;
  std::size_t printed_bytes_ = 0;  // in events_
  bool somebody_waits_ = false;
};

}  // namespace drover

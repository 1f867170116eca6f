// The server's own buckets, and what brings their events to streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "objects/bucket_store.h"
#include "server/free_space.h"
#include "server/object_events.h"

namespace drover {

class OwnObjects {
 public:
  static Result<std::unique_ptr<OwnObjects>> open(const std::string& folder, std::function<std::int64_t()> now_ms,
                                                  const FreeSpace& space);
  ~OwnObjects();
  OwnObjects(const OwnObjects&) = delete;
  OwnObjects& operator=(const OwnObjects&) = delete;

  Buckets& buckets() { return *store_; }
  /// From now on. Those of before are brought, too.
  void bring_events(MessageExchange& exchange, ObjectEvents::Outside outside);

 private:
  OwnObjects() = default;

  std::unique_ptr<ObjectEvents> events_;  // before the store, whose thread wakes them
  std::atomic<ObjectEvents*> to_be_woken_ = nullptr;
  std::unique_ptr<BucketStore> store_;
};

}  // namespace drover

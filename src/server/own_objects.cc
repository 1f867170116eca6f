#include "server/own_objects.h"

#include <utility>

namespace drover {

Result<std::unique_ptr<OwnObjects>> OwnObjects::open(const std::string& folder, std::function<std::int64_t()> now_ms,
                                                     const FreeSpace& space) {
  std::unique_ptr<OwnObjects> out(new OwnObjects);
  auto store = BucketStore::open(folder, {.now_ms = std::move(now_ms),
                                          .has_room = [space](std::uint64_t bytes) { return space.check(bytes); },
                                          .on_events =
                                              [own = out.get()] {
                                                if (ObjectEvents* const it = own->to_be_woken_) it->wake();
                                              }});
  if (!store) return pass(store);
  out->store_ = std::move(*store);
  return out;
}

OwnObjects::~OwnObjects() {
  if (events_) events_->stop();
}

void OwnObjects::bring_events(MessageExchange& exchange, ObjectEvents::Outside outside) {
  events_ = std::make_unique<ObjectEvents>(*store_, exchange, std::move(outside));
  to_be_woken_ = events_.get();
}

}  // namespace drover

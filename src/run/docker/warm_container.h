// A container that several items are run in, one after another.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "run/docker/slot_place.h"

namespace drover {

/// The one that a slot has at a time, made when it is first wanted.
class WarmContainer : public std::enable_shared_from_this<WarmContainer> {
 public:
  explicit WarmContainer(std::shared_ptr<SlotPlace> place) : place_(std::move(place)) {}

  /// `then` gets the id of a container that runs, for one more item; or why there is none.
  void ready(std::function<void(Result<std::string>)> then);
  /// The next item gets another one.
  void discard();

 private:
  using Then = std::function<void(Result<std::string>)>;

  void fill(const std::string& id, Then then);
  void start(const std::string& id, Then then);

  const std::shared_ptr<SlotPlace> place_;
  std::string id_;  // empty: there is none
  std::uint32_t items_ = 0;
};

}  // namespace drover

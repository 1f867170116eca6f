// How much of what a server can do at a time one caller may have, and all of them together.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/holder.h"
#include "base/result.h"
#include "base/text.h"

namespace drover {

/// HolderCounts for several threads. It outlives what it gave.
class Quota {
 public:
  /// `what`, for people: "searches".
  Quota(std::string what, const HolderCounts::Limits& limits) : what_(std::move(what)), counts_(limits) {}

  /// Given back when the last copy of it is gone.
  using Share = std::shared_ptr<const void>;

  /// `in_use`: the limit is reached.
  Result<Share> take(const Holder& holder) {
    const std::scoped_lock lock(mutex_);
    switch (counts_.take(holder)) {
      case HolderCounts::Outcome::taken: break;
      case HolderCounts::Outcome::holder_has_enough:
        return fail(ErrorCode::in_use,
                    concat("this key has reached its limit of ", counts_.limits().each, " concurrent ", what_),
                    "wait until one of them has ended");
      case HolderCounts::Outcome::none_left:
        return fail(ErrorCode::in_use, concat("the server has reached its limit of concurrent ", what_), "retry later");
    }
    return Share(this, [this, holder](const void*) {
      const std::scoped_lock giving_back(mutex_);
      counts_.give_back(holder);
    });
  }

 private:
  const std::string what_;
  std::mutex mutex_;  // guards what follows
  HolderCounts counts_;
};

}  // namespace drover

// How much of what a server can do at a time one caller may have, and all of them together.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/holder.h"
#include "base/result.h"
#include "base/text.h"

namespace drover {

/// HolderCounts for several threads. What it gave may outlive it.
class Quota {
 public:
  /// `what`, for people: "searches".
  Quota(std::string what, const HolderCounts::Limits& limits)
      : what_(std::move(what)), limits_(limits), given_(std::make_shared<Given>(limits)) {}

  /// Given back when the last copy of it is gone.
  using Share = std::shared_ptr<const void>;

  /// `in_use`: the limit is reached.
  Result<Share> take(const Holder& holder) {
    const std::scoped_lock lock(given_->mutex);
    switch (given_->counts.take(holder)) {
      case HolderCounts::Outcome::taken: break;
      case HolderCounts::Outcome::holder_has_enough:
        return fail(ErrorCode::in_use,
                    concat("this key has reached its limit of ", limits_.each, " concurrent ", what_),
                    "wait until one of them has ended");
      case HolderCounts::Outcome::none_left:
        return fail(ErrorCode::in_use, concat("the server has reached its limit of concurrent ", what_), "retry later");
    }
    return Share(given_.get(), [given = given_, holder](const void*) {
      const std::scoped_lock giving_back(given->mutex);
      given->counts.give_back(holder);
    });
  }

 private:
  struct Given {
    explicit Given(const HolderCounts::Limits& limits) : counts(limits) {}

    std::mutex mutex;  // guards what follows
    HolderCounts counts;
  };

  const std::string what_;
  const HolderCounts::Limits limits_;
  const std::shared_ptr<Given> given_;
};

}  // namespace drover

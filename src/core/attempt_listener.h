// What other parts of the core may know of attempts, without knowing workers and jobs.
#pragma once

#include "base/words.h"

namespace drover {

class AttemptListener {
 public:
  virtual ~AttemptListener() = default;
  /// It has ended, was lost, or was never started: nobody holds it any more.
  virtual void on_attempt_over(Token attempt) = 0;
};

class AttemptHolders {
 public:
  virtual ~AttemptHolders() = default;
  /// Whether a worker holds it.
  virtual bool is_held(Token attempt) const = 0;
};

}  // namespace drover

// What a group of happenings brings into the world: those who act, and what is held against what must be true.
#pragma once

#include <cstdint>

#include "core/core.h"
#include "ports/store.h"

namespace drover::sim {

class WorldPart {
 public:
  WorldPart() = default;
  virtual ~WorldPart() = default;
  WorldPart(const WorldPart&) = delete;
  WorldPart& operator=(const WorldPart&) = delete;

  /// Every quarter of an hour, and once more when all faults are over.
  virtual void tend() {}
  /// A batch is durable, which was applied at this time.
  virtual void committed(const Batch& /*batch*/, std::int64_t /*applied_ms*/) {}
  /// What the server says to nobody in particular.
  virtual void said(const Effect& /*effect*/) {}
  virtual void server_stopped() {}
  /// Nothing is left that it has to do or to wait for.
  virtual bool idle() const { return true; }
  /// Everything was given time to end.
  virtual void at_end() {}
};

}  // namespace drover::sim

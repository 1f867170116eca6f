// The whole-state sanity check, written once: every test and the simulator call it after every step. Each part of the
// core has its own, which recounts from records and holds the rest against it.
#pragma once

#include <optional>
#include <string>

#include "base/text.h"
#include "core/core.h"

namespace drover {

/// The first thing that is wrong with the state, or nothing.
std::optional<std::string> find_fault(const Core& core);

/// Keeps the first fault.
class Faults {
 public:
  template <class... Parts>
  void expect(bool holds, const Parts&... what) {
    if (!holds && !first_) first_.emplace(concat(what...));
  }
  const std::optional<std::string>& first() const { return first_; }

 private:
  std::optional<std::string> first_;
};

/// What each of them looks at.
class Inspection {
 protected:
  Inspection(const Core& core, Faults& faults)
      : durable_(core.durable()), volatile_(core.volatile_part()), now_ms_(core.now_ms()), faults_(faults) {}

  template <class... Parts>
  void expect(bool holds, const Parts&... what) {
    faults_.expect(holds, what...);
  }

  const Durable& durable_;
  const Volatile& volatile_;
  const std::int64_t now_ms_;

 private:
  Faults& faults_;
};

void inspect_jobs(const Core& core, Faults& faults);
void inspect_workers(const Core& core, Faults& faults);
void inspect_places(const Core& core, Faults& faults);
void inspect_streams(const Core& core, Faults& faults);
void inspect_fleets(const Core& core, Faults& faults);

}  // namespace drover

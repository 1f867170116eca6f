// One injected fault, with the name that it has in the table. Each part lists its own, in a file beside this one.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/injected_fault.h"
#include "sim/seam_fault.h"

namespace drover::sim {

struct Mutant {
  /// At the seams of the world.
  Mutant(std::string of, SeamFaults at) : name(std::move(of)), seams(std::move(at)) {}
  /// In the code of a part.
  template <class Fault>
    requires(std::is_enum_v<Fault> && !std::is_same_v<Fault, SeamFault>)
  Mutant(std::string of, Fault in) : name(std::move(of)), fault([in] { injected_now<Fault> = in; }) {}

  std::string name;
  SeamFaults seams;
  std::function<void()> fault = [] {};
};

}  // namespace drover::sim

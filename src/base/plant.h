// Faults that can be planted in the code, to see whether the simulator finds them (make sim-mutants). Each part names
// its own, in an enum that begins with `none`. Only the program that tries them out is built with DROVER_PLANTS;
// everywhere else planted() is a constant.
#pragma once

namespace drover {

#ifdef DROVER_PLANTS
/// Of each enum, the one that is planted.
template <class Plant>
inline Plant planted_now = Plant::none;

template <class Plant>
bool planted(Plant plant) {
  return planted_now<Plant> == plant;
}
#else
template <class Plant>
constexpr bool planted(Plant /*none is*/) {
  return false;
}
#endif

}  // namespace drover

// Faults that can be injected in the code, to see whether the simulator finds them (make sim-mutants). Each part names
// its own, in an enum that begins with `none`. Only the program that tries them out is built with
// DROVER_FAULT_INJECTION; everywhere else injected() is a constant.
#pragma once

namespace drover {

#ifdef DROVER_FAULT_INJECTION
/// Of each enum, the one that is injected.
template <class Fault>
inline Fault injected_now = Fault::none;

template <class Fault>
bool injected(Fault fault) {
  return injected_now<Fault> == fault;
}
#else
template <class Fault>
constexpr bool injected(Fault /*none is*/) {
  return false;
}
#endif

}  // namespace drover

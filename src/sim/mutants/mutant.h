// One planted fault, with the name that it has in the table. Each part lists its own, in a file beside this one.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/plant.h"
#include "sim/plant.h"

namespace drover::sim {

struct Mutant {
  /// At the seams of the world.
  Mutant(std::string of, SeamPlants at) : name(std::move(of)), seams(std::move(at)) {}
  /// In the code of a part.
  template <class Plant>
    requires(std::is_enum_v<Plant> && !std::is_same_v<Plant, SeamPlant>)
  Mutant(std::string of, Plant in) : name(std::move(of)), plant([in] { planted_now<Plant> = in; }) {}

  std::string name;
  SeamPlants seams;
  std::function<void()> plant = [] {};
};

}  // namespace drover::sim

// A size of machine as its provider offers it.
#pragma once

#include "core/planner/snapshot.h"
#include "wire/shapes/price_list.h"

namespace drover {

struct OfferedShape {
  Shape shape;               // its price depends on the fleet
  ShapePrices offered = {};  // as its provider has said; nothing: it did not
};

}  // namespace drover

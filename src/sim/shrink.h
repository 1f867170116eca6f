// Cuts a script that shows a fault down to what is needed to show it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/script.h"

namespace drover::sim {

/// What goes wrong in a script, if anything does.
using Tryout = std::function<std::optional<std::string>(const Script&)>;

/// The same kind of failure in as few events, workers and items as can be found in `most_tries`.
Script shrink(Script script, const std::string& failure, const Tryout& tryout, int most_tries = 1500);

}  // namespace drover::sim

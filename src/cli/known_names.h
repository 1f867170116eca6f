// Names of runs, and of what a server has, for completion: what can be known in a moment, and never an error.
#pragma once

#include <vector>

#include "cli/complete_words.h"

namespace drover {

/// A NameSource: a server's if one is named, else those of runs on this machine, and of what the server here has.
std::vector<Candidate> known_names(ValueKind kind, const SaidBefore& said);

}  // namespace drover

// What asks the items of an image to end.
#pragma once

#include "ports/container.h"

namespace drover {

/// The image's own (STOPSIGNAL: "SIGUSR1", "USR1", "10", "SIGRTMIN+3"); SIGTERM where it says none, or none that is
/// known.
int stop_signal_of(const ImageDefaults& image);

}  // namespace drover

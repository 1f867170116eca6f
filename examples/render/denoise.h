// Smooths what chance left uneven, and nothing else: pixels are averaged with those around them that show the same
// surface and differ by no more than their uncertainty.
#pragma once

#include "film.h"

namespace render {

void denoise(Film& film);

}  // namespace render

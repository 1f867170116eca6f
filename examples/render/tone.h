// From measured light to a picture: exposure, a film's gentle shoulder, a touch of darkness in the corners.
#pragma once

#include "film.h"
#include "picture.h"

namespace render {

Picture develop(const Film& film);

}  // namespace render

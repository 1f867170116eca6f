// A camera with a real lens: it circles the middle of the scene, and what is nearer or farther than that blurs a
// little.
#pragma once

#include "sampler.h"
#include "vec3.h"

namespace render {

class Camera {
 public:
  /// Seen from the middle of the floor: the compass bearing and the height above the horizon, in degrees.
  Camera(float bearing, float elevation);

  /// The ray through a point of the picture: x from -1 to 1, y up, in the same unit.
  Ray ray_through(float x, float y, Point2 lens) const;

 private:
  Vec3 eye_;
  Frame frame_;  // its up looks from the scene back at the camera
  float focus_;
};

}  // namespace render

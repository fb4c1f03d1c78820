// Cube faces: where a direction meets a cube whose faces are the layers of an image.

#ifndef TWINMMU_SIM_PTX_TEXTURES_CUBE_FACES_H_
#define TWINMMU_SIM_PTX_TEXTURES_CUBE_FACES_H_

#include <array>
#include <cmath>
#include <cstdint>

namespace twinmmu::ptx {

// The faces are +x, -x, +y, -y, +z, -z; the place there goes from 0 to 1.
struct FacePlace {
  uint64_t face = 0;
  float x = 0;
  float y = 0;
};

inline FacePlace FaceOf(const std::array<float, 3>& direction) {
  const auto [x, y, z] = direction;
  const float ax = std::fabs(x);
  const float ay = std::fabs(y);
  const float az = std::fabs(z);
  FacePlace place;
  float s = 0;
  float t = 0;
  float along = 0;
  // Where several are as long, z goes before y and y before x; what is no number is short.
  if (!(az < ax) && !(az < ay)) {
    place.face = std::signbit(z) ? 5 : 4;
    s = std::signbit(z) ? -x : x;
    t = -y;
    along = az;
  } else if (!(ay < ax)) {
    place.face = std::signbit(y) ? 3 : 2;
    s = x;
    t = std::signbit(y) ? -z : z;
    along = ay;
  } else {
    place.face = std::signbit(x) ? 1 : 0;
    s = std::signbit(x) ? z : -z;
    t = -y;
    along = ax;
  }
  const auto on_face = [along](float part) {
    const float ratio = part / along;
    return std::isnan(ratio) ? 0.5f : (ratio + 1) / 2;
  };
  place.x = on_face(s);
  place.y = on_face(t);
  return place;
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_CUBE_FACES_H_

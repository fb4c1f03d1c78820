// Objects: the texture or surface that each lane of a step names, and its memory.

#ifndef TWINMMU_SIM_PTX_RUN_TEXTURES_OBJECTS_H_
#define TWINMMU_SIM_PTX_RUN_TEXTURES_OBJECTS_H_

#include <cstdint>
#include <memory>

#include "api/allocation.h"
#include "sim/ptx/program/texture_code.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/textures/sampler.h"
#include "sim/ptx/textures/texture.h"

namespace twinmmu::ptx {

inline const TextureCode& TextureOf(Warp& warp, const Step& step) {
  return warp.frame().function->textures[step.target];
}

// For one step.
class Objects {
 public:
  explicit Objects(Warp* warp) : warp_(*warp) {}

  // Null: there is no such object of the device, which is noted as a fault of `lane`.
  const Texture* Find(uint64_t handle, bool surface, int lane);
  // The same of one that has the geometry, whose array is still there.
  const Texture* Find(uint64_t handle, bool surface, const TextureGeometry& geometry, int lane);
  // What is known of a handle; null: nothing.
  const Texture* Look(uint64_t handle);
  // Whether it is of a variable that stands for nothing: reads give 0, and writes go nowhere.
  // Source: an H100 with driver 580.159.
  bool IsUnbound(const TextureCode& code, uint64_t handle) {
    return code.of_variable && Look(handle) == nullptr;
  }

  // The memory of an element that the image has. Null: none is mapped; false in *ok: there, a
  // fault is noted.
  char* ElementOf(const Texture& texture, const TexelPlace& place, Access access, int lane,
                  bool* ok);

 private:
  Warp& warp_;
  uint64_t handle_ = 0;
  std::shared_ptr<const Texture> last_;  // of `handle_`
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_TEXTURES_OBJECTS_H_

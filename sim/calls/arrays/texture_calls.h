// TextureCalls: texture and surface objects, which api/ has no place for.

#ifndef TWINMMU_SIM_CALLS_ARRAYS_TEXTURE_CALLS_H_
#define TWINMMU_SIM_CALLS_ARRAYS_TEXTURE_CALLS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/executor.h"
#include "api/sparse_arrays.h"
#include "sim/base/call_guard.h"
#include "sim/ptx/textures/texture.h"
#include "sim/ptx/textures/texture_table.h"

namespace twinmmu {

struct SimulatorState;
class SimulatedSparseArrays;

// CUDA_RESOURCE_DESC: what an object shows.
struct TextureResource {
  enum Kind : uint8_t { kArray, kMipmappedArray, kLinear, kPitched };
  Kind kind = kArray;
  Array array;
  MipmappedArray mipmap;
  // Of linear memory:
  DeviceAddress address;
  ArrayFormat format = ArrayFormat::kUint32;
  uint32_t channels = 1;
  uint64_t bytes = 0;  // of kLinear
  uint64_t width = 0;  // of kPitched, in elements
  uint64_t height = 0;
  uint64_t pitch = 0;  // in bytes
};

// CUDA_RESOURCE_VIEW_DESC: an array with other elements of the same size, and a part of it.
struct TextureView {
  ArrayFormat format = ArrayFormat::kUint32;
  uint32_t channels = 1;
  ArrayExtent extent;  // of the whole
  uint32_t first_level = 0;
  uint32_t last_level = 0;
  uint32_t first_layer = 0;
  uint32_t last_layer = 0;
};

// Objects are of the device they are made for, and name their memory without keeping it. Errors are
// INVALID_VALUE, and NOT_SUPPORTED for what is not simulated. What is valid was measured on an H100
// with driver 580.159.
class TextureCalls {
 public:
  // All must outlive this object.
  TextureCalls(SimulatorState* state, SimulatedSparseArrays* arrays, ptx::TextureTable* table)
      : state_(*state), arrays_(*arrays), table_(*table) {}

  // Handles. A view is for arrays.
  absl::StatusOr<uint64_t> CreateTexture(DeviceOrdinal device, const TextureResource& resource,
                                         const ptx::Sampling& sampling,
                                         const std::optional<TextureView>& view);
  absl::StatusOr<uint64_t> CreateSurface(DeviceOrdinal device, const TextureResource& resource);
  // Does nothing where there is no such object.
  void Destroy(uint64_t handle) { table_.Remove(handle); }

  // What a variable of a module stands for from now on, whose address is the handle; for a surface
  // there is nothing to sample. `call`: what the program called.
  absl::Status Bind(const char* call, DeviceAddress variable, DeviceOrdinal device,
                    const TextureResource& resource, const std::optional<ptx::Sampling>& sampling);
  void Unbind(DeviceAddress variable) { table_.Remove(variable.value()); }

  // How many elements of linear memory a texture can have.
  absl::StatusOr<uint64_t> MostLinearElements(DeviceOrdinal device, ArrayFormat format,
                                              uint32_t channels) const;

 private:
  // NOT_SUPPORTED, which the report says: how a texture reads it is not simulated.
  absl::Status CheckIsCovered(const char* call, DeviceOrdinal device,
                              const ptx::Sampling& sampling);
  absl::StatusOr<ptx::Image> ImageOf(const char* call, DeviceOrdinal device,
                                     const TextureResource& resource);
  absl::StatusOr<ptx::Image> LinearImage(const char* call, DeviceOrdinal device,
                                         const TextureResource& resource);

  SimulatorState& state_;
  SimulatedSparseArrays& arrays_;
  ptx::TextureTable& table_;
  const CallGuard guard_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_ARRAYS_TEXTURE_CALLS_H_

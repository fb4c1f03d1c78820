// What textures and surfaces are made of, as the driver's structures have it.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_REFERENCES_TEXTURES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_REFERENCES_TEXTURES_H_

#include <optional>

#include "api/allocation.h"
#include "sim/calls/arrays/texture_calls.h"
#include "sim/ptx/textures/texture.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {

// Nothing: there is no such resource, or no such way to sample.
std::optional<TextureResource> FromAbi(const cuda_abi::CUDA_RESOURCE_DESC& from,
                                       DeviceOrdinal device);
std::optional<ptx::Sampling> FromAbi(const cuda_abi::CUDA_TEXTURE_DESC& from);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_REFERENCES_TEXTURES_H_

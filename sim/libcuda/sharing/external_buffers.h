// Buffers over external memory, for calls that are about memory of all kinds.

#ifndef TWINMMU_SIM_LIBCUDA_SHARING_EXTERNAL_BUFFERS_H_
#define TWINMMU_SIM_LIBCUDA_SHARING_EXTERNAL_BUFFERS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "api/address.h"
#include "sim/libcuda/process.h"

namespace twinmmu::libcuda {

// Frees the buffer that begins there. nullopt: there is none.
std::optional<absl::Status> FreeExternalBuffer(DriverState& driver, DeviceAddress address);

// By what driver.external.buffers knows the buffer whose mapping has that address.
std::optional<uint64_t> ExternalBufferAt(const DriverState& driver, DeviceAddress address);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_SHARING_EXTERNAL_BUFFERS_H_

// What the calls that copy and fill boxes have in common.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_BOXES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_BOXES_H_

#include "api/sparse_arrays.h"
#include "sim/calls/arrays/box_copies.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"

namespace twinmmu::libcuda {

// Work that a call gives to a stream, or does itself.
inline SimulatedCopies::Asked AskedOf(const CallSite& site, DriverState& driver,
                                      const Context& context, cuda_abi::CUstream stream) {
  return {site.name(), WorkOf(driver, context, stream), SimulatedCopies::Returns::kWhenQueued};
}
inline SimulatedCopies::Asked AskedOf(const CallSite& site, DriverState& driver,
                                      const Context& context) {
  return {site.name(), WorkOf(driver, context).stream, SimulatedCopies::Returns::kWhenItMay};
}

// The stream of a call that names one, or else the default one.
inline cuda_abi::CUstream GivenStream() { return default_stream; }
inline cuda_abi::CUstream GivenStream(cuda_abi::CUstream stream) { return stream; }

// The context that an end of a copy names; without one it is that of the call.
inline DriverCode FindEnd(const CallSite& site, DriverState& driver, cuda_abi::CUcontext named,
                          Context** context) {
  return named == nullptr ? DriverCode::kSuccess : FindAlive(site, driver, named, context);
}

// One that does not exist is of the device of the context.
inline Array ArrayOf(DriverState& driver, const Context& context, cuda_abi::CUarray array) {
  const uint64_t id = ToNumber(array);
  return Array(driver.simulator->DeviceOfArray(id).value_or(context.device), id);
}
inline MipmappedArray MipmapOf(DriverState& driver, const Context& context,
                               cuda_abi::CUmipmappedArray mipmap) {
  const uint64_t id = ToNumber(mipmap);
  return MipmappedArray(driver.simulator->DeviceOfMipmappedArray(id).value_or(context.device), id);
}

// A copy between memory of two contexts. Of its reserved fields nothing is asked.
BoxCopy BoxCopyOf(DriverState& driver, const Context& to, const Context& from,
                  const cuda_abi::CUDA_MEMCPY3D& copy);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_BOXES_H_

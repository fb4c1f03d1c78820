// How programs get device memory without virtual memory management, for comparison.

#ifndef TWINMMU_TOOLS_BENCHMARK_USUAL_CALLS_H_
#define TWINMMU_TOOLS_BENCHMARK_USUAL_CALLS_H_

#include "api/address.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu {

// cuMemAlloc and cuMemAllocAsync, looked up in the driver that is loaded. Every call must succeed.
// A primary context must be current, as RawCalls leaves it.
class UsualCalls {
 public:
  UsualCalls();

  DeviceAddress Allocate(Bytes size);
  void Free(DeviceAddress address);

  // On a stream, from the device's own pool, which is told to keep what it gets back.
  DeviceAddress AllocateAsync(Bytes size);
  void FreeAsync(DeviceAddress address);

  // Inside the device; waits for it.
  void Copy(DeviceAddress to, DeviceAddress from, Bytes size);
  // Gives back what the device's pool keeps.
  void Trim();

 private:
  struct Functions;

  const Functions& functions_;
  cuda_abi::CUstream stream_ = nullptr;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_BENCHMARK_USUAL_CALLS_H_

// Pointer attributes, fills and threads.

#include <atomic>
#include <future>
#include <thread>

#include "conformance/programs/program.h"

namespace twinmmu::conformance {

DEVIATION_PROGRAM(kNoAttributesWhereNothingIsMapped, "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  return CodeOf(vmm.GetPointerAttribute(kDevice, PointerAttribute::kMapped, range.base));
}

DEVIATION_PROGRAM(kFillSizeWraps, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  MapNew(vmm, range);
  const FillPattern words{0, Bytes(4)};
  return CodeOf(executor.Fill(kDevice, range.base, words, uint64_t{1} << 62));
}

DEVIATION_PROGRAM(kRacingCallsAreNotOrdered, "one of two succeeds", "both succeed") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  const AllocationHandle handle = vmm.Create(granule, AllocationProperties()).value();
  for (int round = 0; round < 200; ++round, Must(vmm.Unmap(range))) {
    std::atomic<int> ready(0);
    const auto map = [&] {
      for (++ready; ready < 2;) std::this_thread::yield();
      return vmm.Map(range, handle).ok();
    };
    auto other = std::async(std::launch::async, map);
    if (map() && other.get()) return "both succeed";
  }
  return "one of two succeeds";
}

}  // namespace twinmmu::conformance

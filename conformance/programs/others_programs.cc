// Pointer attributes, fills and threads.

#include <atomic>
#include <future>
#include <thread>

#include "conformance/programs/deviation_program.h"

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

DEVIATION_PROGRAM(kAddressRangeOfHostMemoryBeginsAtZero, "the mapping", "the base is 0") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  AllocationProperties of_host;
  of_host.location = Location::HostNuma(0);
  Must(vmm.Map(range, vmm.Create(granule, of_host).value()));
  Must(vmm.SetAccess(range, {{kHere, Access::kRead}}));
  const AddressRange found = vmm.GetAddressRange(kDevice, range.base).value();
  if (found.base == range.base) return "the mapping";
  return found.base == DeviceAddress(0) ? "the base is 0" : "the base is another";
}

DEVIATION_PROGRAM(kFillRefusesWhatTheHostSeesBehindABorder, "CUDA_SUCCESS",
                  "CUDA_ERROR_INVALID_VALUE") {
  const AddressRange range = vmm.AddressReserve(2 * granule).value();
  const AddressRange last = range.subrange(granule, granule);
  AllocationProperties of_host;
  of_host.location = Location::HostNuma(0);
  MapNew(vmm, range.subrange(Bytes(0), granule));
  Must(vmm.Map(last, vmm.Create(granule, of_host).value()));
  Must(vmm.SetAccess(last, {{kHere, Access::kReadWrite}, {Location::Host(), Access::kRead}}));
  return CodeOf(executor.Fill(kDevice, range.base, FillPattern(), 2 * granule.value()));
}

}  // namespace twinmmu::conformance

// cuMemMap and cuMemUnmap.

#include "absl/strings/str_cat.h"
#include "conformance/programs/deviation_program.h"

namespace twinmmu::conformance {

DEVIATION_PROGRAM(kMapReachesBeyondTheReservation, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  const auto [range, behind] = ReserveSideBySide(vmm, granule);
  Must(vmm.AddressFree(behind));
  const AllocationHandle handle = vmm.Create(2 * granule, AllocationProperties()).value();
  return CodeOf(vmm.Map({range.base, 2 * granule, Bytes(0)}, handle));
}

DEVIATION_PROGRAM(kMapCrossesReservations, "CUDA_ERROR_INVALID_VALUE, free CUDA_SUCCESS",
                  "CUDA_SUCCESS, free CUDA_ERROR_INVALID_VALUE") {
  const auto [first, second] = ReserveSideBySide(vmm, granule);
  const AllocationHandle handle = vmm.Create(2 * granule, AllocationProperties()).value();
  const absl::Status mapped = vmm.Map({first.base, 2 * granule, Bytes(0)}, handle);
  return absl::StrCat(CodeOf(mapped), ", free ", CodeOf(vmm.AddressFree(second)));
}

DEVIATION_PROGRAM(kMapTakesOnlyWholeAllocations, "CUDA_SUCCESS", "CUDA_ERROR_NOT_SUPPORTED") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  const AllocationHandle handle = vmm.Create(2 * granule, AllocationProperties()).value();
  return CodeOf(vmm.Map(range, handle));
}

DEVIATION_PROGRAM(kUnmapIgnoresHoles, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  const AddressRange range = vmm.AddressReserve(3 * granule).value();
  MapNew(vmm, range.subrange(Bytes(0), granule));
  MapNew(vmm, range.subrange(2 * granule, granule));
  return CodeOf(vmm.Unmap(range));
}

DEVIATION_PROGRAM(kUnmapOfNothingSucceeds, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  MapNew(vmm, range);
  Must(vmm.Unmap(range));
  return CodeOf(vmm.Unmap(range));
}

DEVIATION_PROGRAM(kUnmapReachesBeyondTheReservation, "CUDA_ERROR_INVALID_VALUE, still mapped",
                  "CUDA_SUCCESS, no longer mapped") {
  const auto [empty, neighbour] = ReserveSideBySide(vmm, granule);
  MapNew(vmm, neighbour);
  const absl::Status unmapped = vmm.Unmap({empty.base, 2 * granule, Bytes(0)});
  const bool still = vmm.GetAccess(kHere, neighbour.base).ok();
  return absl::StrCat(CodeOf(unmapped), still ? ", still mapped" : ", no longer mapped");
}

DEVIATION_PROGRAM(kUnmapCrossesReservations, "CUDA_ERROR_INVALID_VALUE", "CUDA_SUCCESS") {
  const auto [first, second] = ReserveSideBySide(vmm, granule);
  MapNew(vmm, first);
  MapNew(vmm, second);
  return CodeOf(vmm.Unmap({first.base, 2 * granule, Bytes(0)}));
}

DEVIATION_PROGRAM(kUnmapOfAWrappedRangeSucceeds, "CUDA_ERROR_INVALID_VALUE, still mapped",
                  "CUDA_SUCCESS, still mapped") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  MapNew(vmm, range);
  const absl::Status unmapped = vmm.Unmap({range.base, Bytes(0) - granule, Bytes(0)});
  const bool still = vmm.GetAccess(kHere, range.base).ok();
  return absl::StrCat(CodeOf(unmapped), still ? ", still mapped" : ", no longer mapped");
}

DEVIATION_PROGRAM(kUnmapOfTheLastAddressTakesAllBelow, "CUDA_ERROR_INVALID_VALUE, still mapped",
                  "CUDA_SUCCESS, no longer mapped") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  MapNew(vmm, range);
  const DeviceAddress last(~uint64_t{0});
  const absl::Status unmapped = vmm.Unmap({last, range.end() - last, Bytes(0)});
  const bool still = vmm.GetAccess(kHere, range.base).ok();
  return absl::StrCat(CodeOf(unmapped), still ? ", still mapped" : ", no longer mapped");
}

DEVIATION_PROGRAM(kRdmaMemoryHangsOnItsFirstMapping, "CUDA_SUCCESS", "CUDA_ERROR_UNKNOWN") {
  const AddressRange first = vmm.AddressReserve(granule).value();
  const AddressRange second = vmm.AddressReserve(granule).value();
  AllocationProperties rdma;
  rdma.gpu_direct_rdma = 1;
  const AllocationHandle handle = vmm.Create(granule, rdma).value();
  Must(vmm.Map(first, handle));
  Must(vmm.Map(second, handle));
  Must(vmm.Unmap(first));
  Must(vmm.SetAccess(second, {{kHere, Access::kReadWrite}}));
  return CodeOf(vmm.Map(first, handle));
}

}  // namespace twinmmu::conformance

// cuMemSetAccess and cuMemGetAccess.

#include "absl/strings/str_cat.h"
#include "conformance/programs/deviation_program.h"

namespace twinmmu::conformance {

DEVIATION_PROGRAM(kSetAccessStopsAtAHole, "CUDA_ERROR_INVALID_VALUE: read-write, read-write",
                  "CUDA_SUCCESS: read, read-write") {
  const AddressRange range = vmm.AddressReserve(3 * granule).value();
  const AddressRange last = range.subrange(2 * granule, granule);  // behind a hole of a granule
  MapNew(vmm, range.subrange(Bytes(0), granule));
  MapNew(vmm, last);
  const absl::Status set = vmm.SetAccess(range, {{kHere, Access::kRead}});
  return absl::StrCat(CodeOf(set), ": ", ToString(vmm.GetAccess(kHere, range.base).value()), ", ",
                      ToString(vmm.GetAccess(kHere, last.base).value()));
}

DEVIATION_PROGRAM(kSetAccessAppliesWhatPrecedesAnUnsupportedGrant,
                  "CUDA_ERROR_NOT_SUPPORTED: read-write, read-write",
                  "CUDA_ERROR_NOT_SUPPORTED: read, read-write") {
  const AddressRange range = vmm.AddressReserve(2 * granule).value();
  const AddressRange last = range.subrange(granule, granule);  // adjacent to the first
  MapNew(vmm, range.subrange(Bytes(0), granule));
  MapNew(vmm, last);
  const AccessGrant grants[] = {{kHere, Access::kRead}, {Location::Host(), Access::kRead}};
  const absl::Status set = vmm.SetAccess(range, grants);
  return absl::StrCat(CodeOf(set), ": ", ToString(vmm.GetAccess(kHere, range.base).value()), ", ",
                      ToString(vmm.GetAccess(kHere, last.base).value()));
}

DEVIATION_PROGRAM(kHostIsAnsweredWithTheRightOfDevice0, "none", "read-write") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  MapNew(vmm, range);
  return ToString(vmm.GetAccess(Location::Host(), range.base).value());
}

DEVIATION_PROGRAM(kRdmaPeersHangOnTheFirstMapping, "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE") {
  const AddressRange first = vmm.AddressReserve(granule).value();
  const AddressRange second = vmm.AddressReserve(granule).value();
  AllocationProperties rdma;
  rdma.gpu_direct_rdma = 1;
  const AllocationHandle handle = vmm.Create(granule, rdma).value();
  Must(vmm.Map(first, handle));
  Must(vmm.Map(second, handle));
  Must(vmm.Unmap(first));
  const Location peer = Location::Device(DeviceOrdinal(1));
  return CodeOf(vmm.SetAccess(second, {{peer, Access::kReadWrite}}));
}

DEVIATION_PROGRAM(kHostIsNotToldFromDevice0, "read-write", "read") {
  const AddressRange range = vmm.AddressReserve(granule).value();
  AllocationProperties of_host;
  of_host.location = Location::HostNuma(0);
  Must(vmm.Map(range, vmm.Create(granule, of_host).value()));
  Must(vmm.SetAccess(range, {{Location::Host(), Access::kReadWrite}}));
  Must(vmm.SetAccess(range, {{kHere, Access::kRead}}));
  return ToString(vmm.GetAccess(Location::Host(), range.base).value());
}

}  // namespace twinmmu::conformance

#include "api/vmm.h"

namespace twinmmu {

absl::StatusOr<int> Vmm::GetHandleForAddressRange(DeviceOrdinal, const AddressRange&,
                                                  RangeHandleType, uint64_t) {
  return absl::UnimplementedError("this driver gives no handles of address ranges");
}

}  // namespace twinmmu

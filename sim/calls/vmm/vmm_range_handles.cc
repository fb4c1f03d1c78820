// Descriptors of address ranges, for drivers of other devices: dma-buf.

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

constexpr Bytes kHostPage = KiB(4);

// The linear memory of a device to whose pages all of `range` belongs; null: there is none.
const LinearAllocation* FindLinearPages(const LinearMemory& memory, const AddressRange& range) {
  const LinearAllocation* const found = memory.Find(range.base);
  if (found == nullptr || !found->on_device()) return nullptr;
  const Bytes rest = found->range.end() - range.base;
  return range.size <= RoundUp(rest, kHostPage) ? found : nullptr;
}

}  // namespace

// The allocations of `range`, all of one device.
absl::StatusOr<std::vector<uint32_t>> SimulatedVmm::AllocationsOf(const char* call,
                                                                  const AddressRange& range) const {
  std::vector<uint32_t> allocations;
  for (DeviceAddress address = range.base; address < range.end();) {
    const MappingRecord* const mapping = mmu_.MappingAt(address);
    if (mapping == nullptr) return InvalidValue(call, "nothing is mapped at ", ToString(address));
    const Location& location = mmu_.AllocationOf(*mapping).pages->location;
    if (location.type != LocationType::kDevice) {
      return InvalidValue(call, "the memory at ", ToString(address), " is of ", ToString(location));
    }
    if (!allocations.empty() && mmu_.memory[allocations.front()].pages->location != location) {
      return InvalidValue(call, "range ", ToString(range), " has memory of several devices");
    }
    allocations.push_back(mapping->allocation);
    address = mmu_.RangeOf(*mapping).end();
  }
  return allocations;
}

absl::StatusOr<int> SimulatedVmm::DoGetHandleForAddressRange(DeviceOrdinal device,
                                                             const AddressRange& range,
                                                             RangeHandleType type, uint64_t flags) {
  static constexpr char kCall[] = "cuMemGetHandleForAddressRange";
  absl::Status usable = CheckDevice(kCall, device);
  if (usable.ok()) usable = state_.sticky_error.Check(kCall);
  if (!usable.ok()) return usable;
  CallRecord call(state_, Call::kGetHandleForAddressRange, range);
  if (!mmu_.profile.Supports(DeviceAttribute::kDmaBufSupported, device.value())) {
    return Fail(DriverCode::kNotSupported, kCall, ToString(device), " does not have ",
                ToString(DeviceAttribute::kDmaBufSupported));
  }
  if (type != RangeHandleType::kDmaBufFileDescriptor) {
    return InvalidValue(kCall, "there is no handle type ", static_cast<int>(type));
  }
  const bool by_pcie = (flags & kRangeFlagPcie) != 0;  // then nobody looks at the others
  if (flags != 0 && !by_pcie) return InvalidValue(kCall, "there are no flags ", flags);
  if (!range.base.IsAligned(kHostPage) || range.size % kHostPage != Bytes(0) || range.empty()) {
    return InvalidValue(kCall, "range ", ToString(range), " is empty, or not of whole pages of ",
                        ToString(kHostPage));
  }
  const std::unique_lock lock(mmu_.mutex);
  const LinearAllocation* const linear = FindLinearPages(mmu_.linear, range);
  absl::StatusOr<std::vector<uint32_t>> allocations = std::vector<uint32_t>();
  if (linear == nullptr) allocations = AllocationsOf(kCall, range);
  if (!allocations.ok()) return allocations.status();
  if (by_pcie) {
    return Fail(DriverCode::kNotSupported, kCall, ToString(device), " gives none by way of PCIe");
  }
  PhysicalMemory::PinnedRange pinned;
  pinned.allocations = *std::move(allocations);
  pinned.size = range.size;
  if (linear != nullptr) {
    pinned.linear_block = linear->block_id;
    pinned.location = Location::Device(linear->device);
  }
  pinned.call = call.id();
  const absl::StatusOr<int> descriptor = mmu_.memory.PinByDescriptor(std::move(pinned));
  if (!descriptor.ok()) {
    return Fail(DriverCode::kOperatingSystem, kCall, descriptor.status().message());
  }
  call.Done(range, 0);
  return descriptor;
}

}  // namespace twinmmu

// Descriptors of address ranges, for drivers of other devices: dma-buf.

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "sim/call_record.h"
#include "sim/errors.h"
#include "sim/simulated_vmm.h"

namespace twinmmu {
namespace {

constexpr Bytes kHostPage = KiB(4);

}  // namespace

// The allocations of `range`, all of one device; plain memory has none.
absl::StatusOr<std::vector<uint32_t>> SimulatedVmm::AllocationsOf(const char* call,
                                                                  const AddressRange& range) const {
  std::vector<uint32_t> numbers;
  const PlainAllocation* const plain = mmu_.plain.FindAll(range);
  if (plain != nullptr && plain->on_device()) return numbers;
  for (DeviceAddress address = range.base; address < range.end();) {
    const MappingRecord* const mapping = mmu_.MappingAt(address);
    if (mapping == nullptr) return InvalidValue(call, "nothing is mapped at ", ToString(address));
    const Location& location = mmu_.AllocationOf(*mapping).pages->location;
    if (location.type != LocationType::kDevice) {
      return InvalidValue(call, "the memory at ", ToString(address), " is of ", ToString(location));
    }
    if (!numbers.empty() && mmu_.memory[numbers.front()].pages->location != location) {
      return InvalidValue(call, "range ", ToString(range), " has memory of several devices");
    }
    numbers.push_back(mapping->allocation);
    address = mmu_.RangeOf(*mapping).end();
  }
  return numbers;
}

absl::StatusOr<int> SimulatedVmm::GetHandleForAddressRange(DeviceOrdinal device,
                                                           const AddressRange& range,
                                                           RangeHandleType type, uint64_t flags) {
  static constexpr char kCall[] = "cuMemGetHandleForAddressRange";
  absl::Status usable = CheckDevice(kCall, device);
  if (usable.ok()) usable = mmu_.contexts.Check(kCall);
  if (!usable.ok()) return usable;
  CallRecord call(mmu_, Call::kGetRangeHandle, range);
  if (!mmu_.profile.Supports(DeviceAttribute::kDmaBufSupported, device.value())) {
    return Fail(DriverCode::kNotSupported, kCall, ToString(device), " does not have ",
                ToString(DeviceAttribute::kDmaBufSupported));
  }
  if (type != RangeHandleType::kDmaBufFileDescriptor) {
    return InvalidValue(kCall, "there is no handle type ", static_cast<int>(type));
  }
  if ((flags & ~kRangeFlagPcie) != 0) return InvalidValue(kCall, "there are no flags ", flags);
  if (!range.base.IsAligned(kHostPage) || range.size % kHostPage != Bytes(0) || range.empty()) {
    return InvalidValue(kCall, "range ", ToString(range), " is empty, or not of whole pages of ",
                        ToString(kHostPage));
  }
  const std::unique_lock lock(mmu_.mutex);
  absl::StatusOr<std::vector<uint32_t>> numbers = AllocationsOf(kCall, range);
  if (!numbers.ok()) return numbers.status();
  if (flags != 0) {
    return Fail(DriverCode::kNotSupported, kCall, ToString(device), " gives none by way of PCIe");
  }
  const absl::StatusOr<int> descriptor = mmu_.memory.PinByDescriptor(
      *std::move(numbers), range.size, Location::Device(device), call.number());
  if (!descriptor.ok()) {
    return Fail(DriverCode::kOperatingSystem, kCall, descriptor.status().message());
  }
  call.Done(range, 0);
  return descriptor;
}

}  // namespace twinmmu

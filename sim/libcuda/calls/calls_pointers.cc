// What is at an address.

#include <algorithm>
#include <cstring>
#include <optional>

#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/sharing/external_buffers.h"

namespace twinmmu::libcuda {
namespace {

constexpr auto kP2pTokens = static_cast<PointerAttribute>(5);
constexpr auto kIsHwDecompressCapable = static_cast<PointerAttribute>(21);
constexpr auto kLocalityDomainOrdinal = static_cast<PointerAttribute>(22);

// How many bytes of an answer are written.
size_t SizeOf(PointerAttribute attribute) {
  switch (attribute) {
    case PointerAttribute::kMemoryType:
    case PointerAttribute::kSyncMemops:
    case PointerAttribute::kIsManaged:
    case PointerAttribute::kDeviceOrdinal:
    case PointerAttribute::kIsLegacyCudaIpcCapable:
    case PointerAttribute::kMapped:
    case PointerAttribute::kIsGpuDirectRdmaCapable:
    case PointerAttribute::kAccessFlags:
      return sizeof(int);
    default:
      return attribute == kIsHwDecompressCapable || attribute == kLocalityDomainOrdinal
                 ? sizeof(int)
                 : sizeof(uint64_t);
  }
}

// Writes an answer, in as many bytes as the driver does.
void Write(PointerAttribute attribute, uint64_t value, void* data) {
  constexpr size_t kTokens = 12;  // a long and an int
  const uint64_t words[] = {value, 0};
  std::memcpy(data, words, attribute == kP2pTokens ? kTokens : SizeOf(attribute));
}

// The context that is current and alive, or null: here it is no error if there is none.
Context* CurrentOrNull() {
  const std::vector<StackedContext>& stack = ContextStack();
  Context* const context = stack.empty() ? nullptr : stack.back().context;
  return context != nullptr && context->alive ? context : nullptr;
}

absl::Status NoContext() {
  return MakeDriverStatus(
      {DriverCode::kInvalidContext, ErrorOrigin::kSimulator, "cuPointerGetAttribute"},
      "no context is current");
}

absl::StatusOr<uint64_t> AttributeOf(DriverState& driver, Context* context,
                                     PointerAttribute attribute, DeviceAddress address) {
  const DeviceOrdinal device = context != nullptr ? context->device : DeviceOrdinal(0);
  const absl::StatusOr<uint64_t> value = driver.vmm.GetPointerAttribute(device, attribute, address);
  if (!value.ok()) return value;
  if (attribute == PointerAttribute::kSyncMemops) {
    const std::optional<uint64_t> buffer = ExternalBufferAt(driver, address);
    if (buffer.has_value()) return driver.external.buffers.Find(*buffer)->sync_memops ? 1 : 0;
  }
  const bool is_pointer = attribute == PointerAttribute::kDevicePointer;
  if (context == nullptr) {  // nobody is there who has access
    if (is_pointer) return NoContext();
    return attribute == PointerAttribute::kAccessFlags ? 0 : *value;
  }
  return value;
}

// Of linear memory, and of buffers over external memory.
absl::Status SetSyncMemops(DriverState& driver, DeviceAddress address, bool value) {
  const std::optional<uint64_t> buffer = ExternalBufferAt(driver, address);
  if (!buffer.has_value()) return driver.simulator->linear().SetSyncMemops(address, value);
  driver.external.buffers.Edit(*buffer, [&](ExternalBuffer& it) { it.sync_memops = value; });
  return absl::OkStatus();
}

absl::Status CheckMapped(DriverState& driver, DeviceAddress address) {
  return driver.vmm.GetPointerAttribute(DeviceOrdinal(0), PointerAttribute::kMemoryType, address)
      .status();
}

// What cuPointerGetAttributes answers where cuPointerGetAttribute has an error, if anything.
std::optional<uint64_t> DefaultOf(DriverState& driver, PointerAttribute attribute,
                                  DeviceAddress address) {
  constexpr int kNoDevice = -2;
  const std::optional<AddressRange> reservation = driver.simulator->ReservationAt(address);
  switch (attribute) {
    case PointerAttribute::kHostPointer:
      return CheckMapped(driver, address).ok() ? 0 : address.value();
    case PointerAttribute::kDeviceOrdinal:
      return static_cast<uint32_t>(kNoDevice);
    case PointerAttribute::kRangeStartAddress:
      if (!reservation.has_value()) return std::nullopt;
      return reservation->base.value();
    case PointerAttribute::kRangeSize:
      if (!reservation.has_value()) return std::nullopt;
      return reservation->size.value();
    default:
      return 0;
  }
}

bool IsAttribute(const DriverState& driver, CUpointer_attribute attribute) {
  const bool has_domains = driver.simulator->profile().HasLocalityDomains();
  const PointerAttribute last = has_domains ? kLocalityDomainOrdinal : kIsHwDecompressCapable;
  return attribute > 0 && attribute <= static_cast<int>(last);
}

}  // namespace

extern "C" CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                          CUdeviceptr ptr) {
  return Enter(TWINMMU_HERE, {data}, [&](DriverState& driver) {
    const auto asked = static_cast<PointerAttribute>(attribute);
    const absl::StatusOr<uint64_t> value =
        AttributeOf(driver, CurrentOrNull(), asked, DeviceAddress(ptr));
    // Memory of a device has no host pointer, and none of the device without access to it: that
    // is an error, and null all the same.
    const bool is_null =
        (asked == PointerAttribute::kHostPointer || asked == PointerAttribute::kDevicePointer) &&
        GetDriverCode(value.status()) == DriverCode::kInvalidValue &&
        CheckMapped(driver, DeviceAddress(ptr)).ok();
    if (value.ok() || is_null) Write(asked, value.value_or(0), data);
    // Who has tokens may copy unseen: a side effect that the documentation names. (On an H200 with
    // driver 580.159 mappings have it, too, of which it cannot be set otherwise: not here.)
    if (value.ok() && asked == kP2pTokens) {
      SetSyncMemops(driver, DeviceAddress(ptr), true).IgnoreError();
    }
    return ToResult(value.status());
  });
}

extern "C" CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                          CUdeviceptr ptr) {
  return Enter(TWINMMU_HERE, {value}, [&](DriverState& driver) {
    if (const Captured unsafe = RefuseUnsafeCall(driver)) return ToResult(*unsafe);
    const DeviceAddress address(ptr);
    const absl::Status mapped = CheckMapped(driver, address);
    if (!mapped.ok()) return ToResult(mapped);
    // Of mappings none is set, whatever it is. Source: an H200 with driver 580.159.
    if (!driver.simulator->linear().Find(address).ok() &&
        !ExternalBufferAt(driver, address).has_value()) {
      return ToResult(DriverCode::kNotSupported);
    }
    if (static_cast<PointerAttribute>(attribute) != PointerAttribute::kSyncMemops) {
      return ToResult(DriverCode::kInvalidValue);
    }
    unsigned int sync = 0;
    std::memcpy(&sync, value, sizeof(sync));
    return ToResult(SetSyncMemops(driver, address, sync != 0));
  });
}

extern "C" CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes,
                                           void** data, CUdeviceptr ptr) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {attributes, data}, [&](DriverState& driver) {
    if (count == 0) return DriverCode::kInvalidValue;
    Context* const context = CurrentOrNull();
    if (std::find(data, data + count, nullptr) != data + count) return NullPointer(site);
    for (unsigned int i = 0; i < count; ++i) {
      if (!IsAttribute(driver, attributes[i])) return DriverCode::kInvalidValue;
      const auto asked = static_cast<PointerAttribute>(attributes[i]);
      if (asked == kP2pTokens) return DriverCode::kInvalidValue;  // those before it are written
      const absl::StatusOr<uint64_t> known =
          AttributeOf(driver, context, asked, DeviceAddress(ptr));
      const std::optional<uint64_t> answer =
          known.ok() ? *known : DefaultOf(driver, asked, DeviceAddress(ptr));
      if (answer.has_value()) Write(asked, *answer, data[i]);
    }
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda

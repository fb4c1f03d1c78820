// Devices.

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/device_identity.h"

namespace twinmmu::libcuda {
namespace {

constexpr auto kPciBusId = static_cast<DeviceAttribute>(33);

absl::StatusOr<int> AttributeOf(DriverState& driver, DeviceAttribute attribute, CUdevice dev) {
  const absl::StatusOr<int> value = driver.vmm.GetDeviceAttribute(attribute, DeviceOrdinal(dev));
  return value.ok() && attribute == kPciBusId ? BusOf(*value, dev) : value;
}

bool Exists(DriverState& driver, CUdevice dev) {
  const absl::StatusOr<int> count = driver.vmm.GetDeviceCount();
  return count.ok() && dev >= 0 && dev < *count;
}

std::string InWords(const PciAddress& address) {
  return absl::StrCat(absl::Hex(address.domain, absl::kZeroPad4), ":",
                      absl::Hex(address.bus, absl::kZeroPad2), ":",
                      absl::Hex(address.device, absl::kZeroPad2), ".0");
}

// Reads "domain:bus:device.function", "domain:bus:device" and "bus:device.function", all numbers
// in base 16.
bool ReadBusId(absl::string_view text, PciAddress* address, int* function) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('.', 1));
  std::vector<absl::string_view> parts = absl::StrSplit(halves.first, ':');
  const bool has_function = absl::StrContains(text, '.');
  if (has_function && parts.size() == 2) parts.insert(parts.begin(), "0");
  if (parts.size() != 3) return false;
  if (has_function && !absl::SimpleHexAtoi(halves.second, function)) return false;
  return absl::SimpleHexAtoi(parts[0], &address->domain) &&
         absl::SimpleHexAtoi(parts[1], &address->bus) &&
         absl::SimpleHexAtoi(parts[2], &address->device);
}

// As much as there is room for, and a 0 behind it.
void CopyText(const std::string& text, char* to, int size) {
  const size_t length = std::min(text.size(), static_cast<size_t>(size - 1));
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace

extern "C" CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return Enter(TWINMMU_HERE, {device}, [&](DriverState& driver) {
    if (!Exists(driver, ordinal)) return DriverCode::kInvalidDevice;
    *device = ordinal;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDeviceGetCount(int* count) {
  return Enter(TWINMMU_HERE, {count},
               [&](DriverState& driver) { return Give(driver.vmm.GetDeviceCount(), count); });
}

extern "C" CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    if (name == nullptr) return ToResult(NullPointer(site));
    if (!Exists(driver, dev)) return ToResult(DriverCode::kInvalidDevice);
    if (len <= 0) return ToResult(DriverCode::kInvalidValue);
    const absl::StatusOr<std::string> text = driver.vmm.GetDeviceName(DeviceOrdinal(dev));
    if (text.ok()) CopyText(NameOf(*text), name, len);
    return ToResult(text.status());
  });
}

extern "C" CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  return Enter(TWINMMU_HERE, {uuid}, [&](DriverState& driver) {
    if (!Exists(driver, dev)) return DriverCode::kInvalidDevice;
    const std::array<char, 16> bytes = UuidOf(driver.simulator->profile(), dev);
    std::memcpy(uuid->bytes, bytes.data(), bytes.size());
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2);

// A name of devices on Windows.
extern "C" CUresult cuDeviceGetLuid(char* luid, unsigned int* nodes, CUdevice dev) {
  return Enter(TWINMMU_HERE, {luid, nodes}, [&](DriverState& driver) {
    return Exists(driver, dev) ? DriverCode::kNotSupported : DriverCode::kInvalidDevice;
  });
}

// For a library of other machines (NvSciSync), which is not there.
extern "C" CUresult cuDeviceGetNvSciSyncAttributes(void* attributes, CUdevice dev, int flags) {
  constexpr int kSignals = 1;
  constexpr int kWaits = 2;
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    if (attributes == nullptr) return DriverCode::kInvalidHandle;
    if (!Exists(driver, dev)) return DriverCode::kInvalidDevice;
    const bool is_known = flags == kSignals || flags == kWaits || flags == (kSignals | kWaits);
    return is_known ? DriverCode::kNotSupported : DriverCode::kInvalidValue;
  });
}

extern "C" CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  return Enter(TWINMMU_HERE, {bytes}, [&](DriverState& driver) {
    *bytes = 0;
    if (!Exists(driver, dev)) return DriverCode::kInvalidDevice;
    *bytes = driver.simulator->profile().devices[static_cast<size_t>(dev)].memory.value();
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuDeviceTotalMem, cuDeviceTotalMem_v2);

extern "C" CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice dev) {
  return Enter(TWINMMU_HERE, {value}, [&](DriverState& driver) {
    return Give(AttributeOf(driver, static_cast<DeviceAttribute>(attribute), dev), value);
  });
}

extern "C" CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  return Enter(TWINMMU_HERE, {major, minor}, [&](DriverState& driver) {
    const auto high = AttributeOf(driver, DeviceAttribute::kComputeCapabilityMajor, dev);
    const auto low = AttributeOf(driver, DeviceAttribute::kComputeCapabilityMinor, dev);
    if (!high.ok() || !low.ok()) return ToResult(high.ok() ? low.status() : high.status());
    *major = *high;
    *minor = *low;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice dev) {
  return Enter(TWINMMU_HERE, {properties}, [&](DriverState& driver) {
    if (!Exists(driver, dev)) return DriverCode::kInvalidDevice;
    // The attributes that its fields are, in their order.
    static constexpr int kAttributes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    static_assert(sizeof(CUdevprop) == sizeof(kAttributes));
    int values[std::size(kAttributes)];
    for (size_t i = 0; i < std::size(kAttributes); ++i) {
      const auto attribute = static_cast<DeviceAttribute>(kAttributes[i]);
      values[i] = AttributeOf(driver, attribute, dev).value_or(0);
    }
    std::memcpy(properties, values, sizeof(values));
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDeviceGetPCIBusId(char* text, int len, CUdevice dev) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, [&](DriverState& driver) {
    if (text == nullptr) return NullPointer(site);
    if (!Exists(driver, dev)) return DriverCode::kInvalidDevice;
    if (len <= 0) return DriverCode::kInvalidValue;
    const std::string bus_id = InWords(PciAddressOf(driver.simulator->profile(), dev));
    CopyText(bus_id, text, len);
    const bool fits = bus_id.size() < static_cast<size_t>(len);
    return fits ? DriverCode::kSuccess : DriverCode::kInvalidValue;
  });
}

extern "C" CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* text) {
  return Enter(TWINMMU_HERE, {dev, text}, [&](DriverState& driver) {
    PciAddress asked;
    int function = 0;
    if (!ReadBusId(text, &asked, &function)) return DriverCode::kInvalidValue;
    for (int i = 0; function == 0 && Exists(driver, i); ++i) {
      if (!(PciAddressOf(driver.simulator->profile(), i) == asked)) continue;
      *dev = i;
      return DriverCode::kSuccess;
    }
    return DriverCode::kInvalidDevice;
  });
}

extern "C" CUresult cuDeviceCanAccessPeer(int* can, CUdevice dev, CUdevice peerDev) {
  return Enter(TWINMMU_HERE, {can}, [&](DriverState& driver) {
    return Give(driver.vmm.CanAccessPeer(DeviceOrdinal(dev), DeviceOrdinal(peerDev)), can);
  });
}

// Devices that reach each other do so like two joined by NVLink.
extern "C" CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute,
                                            CUdevice src, CUdevice dst) {
  return Enter(TWINMMU_HERE, {value}, [&](DriverState& driver) {
    const absl::StatusOr<bool> reaches =
        driver.vmm.CanAccessPeer(DeviceOrdinal(src), DeviceOrdinal(dst));
    if (!reaches.ok()) return ToResult(reaches.status());
    if (src == dst) return ToResult(DriverCode::kInvalidDevice);
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = *reaches ? 1 : 0;
        return CUDA_SUCCESS;
      default:
        return ToResult(DriverCode::kInvalidValue);
    }
  });
}

}  // namespace twinmmu::libcuda

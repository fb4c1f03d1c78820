// Devices, by number, UUID and place; and what tells them apart.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "sim/libcuda/device_identity.h"
#include "sim/libnvml/bus_ids.h"
#include "sim/libnvml/nvml_machine.h"

namespace twinmmu::nvml {
namespace {

using libcuda::PciAddress;
using libcuda::PciAddressOf;

// CUdevice_attribute.
constexpr int kPciIds = 139;
constexpr int kPciSubsystemIds = 140;

// "GPU-5477696e-4d4d-5520-7369-6d0000000000".
std::string UuidInWords(const NvmlMachine& machine, int device) {
  std::string text = "GPU";
  const std::array<char, 16> uuid = libcuda::UuidOf(machine.profile, device);
  for (size_t i = 0; i < uuid.size(); ++i) {
    const bool begins = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    absl::StrAppend(&text, begins ? "-" : "",
                    absl::Hex(static_cast<unsigned char>(uuid[i]), absl::kZeroPad2));
  }
  return text;
}

// The fields that all forms have.
template <typename Info>
void WritePlace(const NvmlMachine& machine, int device, Info* info) {
  const PciAddress at = PciAddressOf(machine.profile, device);
  info->domain = static_cast<unsigned int>(at.domain);
  info->bus = static_cast<unsigned int>(at.bus);
  info->device = static_cast<unsigned int>(at.device);
  info->pciDeviceId = static_cast<unsigned int>(machine.AttributeOf(device, kPciIds));
  info->pciSubSystemId = static_cast<unsigned int>(machine.AttributeOf(device, kPciSubsystemIds));
}

}  // namespace

extern "C" nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  return OnMachine({count}, [&](const NvmlMachine& machine) {
    *count = static_cast<unsigned int>(machine.profile.device_count());
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) {
  return nvmlDeviceGetCount_v2(count);
}

extern "C" nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int* count) {
  return OnMachine({count}, [&](const NvmlMachine&) {
    *count = 0;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  return OnMachine({device}, [&](const NvmlMachine& machine) {
    if (index >= machine.profile.devices.size()) return NVML_ERROR_INVALID_ARGUMENT;
    *device = HandleOf(static_cast<int>(index));
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

// In small letters only, as the driver's.
extern "C" nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return OnMachine({uuid, device}, [&](const NvmlMachine& machine) {
    const absl::string_view asked = absl::StripPrefix(uuid, "GPU-");
    for (int i = 0; i < machine.profile.device_count(); ++i) {
      if (UuidInWords(machine, i) != absl::StrCat("GPU-", asked)) continue;
      *device = HandleOf(i);
      return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  return OnMachine({bus_id, device}, [&](const NvmlMachine& machine) {
    std::array<uint32_t, 4> asked;
    if (!ReadBusId(bus_id, &asked)) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < machine.profile.device_count(); ++i) {
      const PciAddress at = PciAddressOf(machine.profile, i);
      const std::array<uint32_t, 4> own = {static_cast<uint32_t>(at.domain),
                                           static_cast<uint32_t>(at.bus),
                                           static_cast<uint32_t>(at.device), 0};
      if (own != asked) continue;
      *device = HandleOf(i);
      return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}
extern "C" nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

extern "C" nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
  return OnDevice(device, {index}, [&](const NvmlMachine&, int number) {
    *index = static_cast<unsigned int>(number);
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minor) {
  return nvmlDeviceGetIndex(device, minor);
}

extern "C" nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length) {
  return OnDevice(device, {name}, [&](const NvmlMachine& machine, int number) {
    const DeviceProfile& profile = machine.profile.devices[static_cast<size_t>(number)];
    return CopyText(libcuda::NameOf(profile.name), name, length);
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  return OnDevice(device, {uuid}, [&](const NvmlMachine& machine, int number) {
    return CopyText(UuidInWords(machine, number), uuid, length);
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t* info) {
  return OnDevice(device, {info}, [&](const NvmlMachine& machine, int number) {
    WritePlace(machine, number, info);
    WriteBusId(ShortBusId(PciAddressOf(machine.profile, number)), info->busId);
    return NVML_SUCCESS;
  });
}
// The first form ends behind the ids of the device.
extern "C" nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, void* info) {
  nvmlPciInfo_v2_t whole = {};
  const nvmlReturn_t result = nvmlDeviceGetPciInfo_v2(device, info != nullptr ? &whole : nullptr);
  if (result == NVML_SUCCESS) std::memcpy(info, &whole, offsetof(nvmlPciInfo_v2_t, pciSubSystemId));
  return result;
}
extern "C" nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return OnDevice(device, {info}, [&](const NvmlMachine& machine, int number) {
    WritePlace(machine, number, info);
    const PciAddress at = PciAddressOf(machine.profile, number);
    WriteBusId(ShortBusId(at), info->busIdLegacy);
    WriteBusId(LongBusId(at), info->busId);
    return NVML_SUCCESS;
  });
}

}  // namespace twinmmu::nvml

// What is between devices. Those that reach each other do so like devices that NVLink joins through
// a switch, as in cuDeviceGetP2PAttribute. Measured was one H100 without links: what a driver says
// of a device and itself, and that NVLink is NOT_SUPPORTED there. The rest is NVML's documentation.

#include <chrono>
#include <cstring>

#include "sim/libcuda/device_identity.h"
#include "sim/libnvml/bus_ids.h"
#include "sim/libnvml/nvml_machine.h"

namespace twinmmu::nvml {
namespace {

// CUdevice_attribute.
constexpr int kMajor = 75;
constexpr int kMinor = 76;
constexpr int kHostNumaId = 134;

bool Reaches(const NvmlMachine& machine, int from, int to) {
  return machine.profile.peers[static_cast<size_t>(from)][static_cast<size_t>(to)];
}

bool HasPeers(const NvmlMachine& machine, int device) {
  for (int other = 0; other < machine.profile.device_count(); ++other) {
    if (other != device && Reaches(machine, device, other)) return true;
  }
  return false;
}

// As many links as the GPUs of a data centre have that are of this compute capability.
unsigned int LinksOf(const NvmlMachine& machine, int device) {
  if (!HasPeers(machine, device)) return 0;
  switch (machine.AttributeOf(device, kMajor) * 10 + machine.AttributeOf(device, kMinor)) {
    case 70:
      return 6;
    case 80:
      return 12;
    case 90:
    case 100:
      return 18;
    default:
      return 0;
  }
}

// Runs body(machine, number) for a link that there is.
template <typename Body>
nvmlReturn_t OnLink(nvmlDevice_t device, unsigned int link, const void* result, const Body& body) {
  return OnDevice(device, {result}, [&](const NvmlMachine& machine, int number) -> nvmlReturn_t {
    const unsigned int links = LinksOf(machine, number);
    if (links == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (link >= links) return NVML_ERROR_INVALID_ARGUMENT;
    return body(machine, number);
  });
}

long long MicrosecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

// A driver says of a device and itself that nothing is supported, and of an index that it does not
// know that all is well.
extern "C" nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t peer, int index,
                                               int* status) {
  return OnDevice(device, {status}, [&](const NvmlMachine& machine, int number) -> nvmlReturn_t {
    const int other = NumberOf(machine, peer);
    if (other < 0) return NVML_ERROR_INVALID_ARGUMENT;
    const bool has_links = LinksOf(machine, number) != 0 && LinksOf(machine, other) != 0;
    bool can = number != other && Reaches(machine, number, other);
    if (index == NVML_P2P_CAPS_INDEX_NVLINK) can = can && has_links;
    if (index == NVML_P2P_CAPS_INDEX_PCI) can = can && !has_links;  // not measured
    if (index < NVML_P2P_CAPS_INDEX_READ || index >= NVML_P2P_CAPS_INDEX_UNKNOWN) can = true;
    *status = can ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t peer,
                                                            int* level) {
  return OnDevice(device, {level}, [&](const NvmlMachine& machine, int number) -> nvmlReturn_t {
    const int other = NumberOf(machine, peer);
    if (other < 0) return NVML_ERROR_INVALID_ARGUMENT;
    if (other == number) return NVML_ERROR_NOT_SUPPORTED;
    const bool same_node =
        machine.AttributeOf(number, kHostNumaId) == machine.AttributeOf(other, kHostNumaId);
    *level = same_node ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device, nvmlDevice_t other,
                                              int* is_same) {
  return OnDevice(device, {is_same}, [&](const NvmlMachine& machine, int) -> nvmlReturn_t {
    if (NumberOf(machine, other) < 0) return NVML_ERROR_INVALID_ARGUMENT;
    *is_same = device == other ? 1 : 0;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                                 unsigned int* is_active) {
  return OnLink(device, link, is_active, [&](const NvmlMachine&, int) {
    *is_active = 1;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link,
                                                      int capability, unsigned int* has) {
  return OnLink(device, link, has, [&](const NvmlMachine&, int) {
    enum { kPeerAccess = 0, kSystemMemory, kPeerAtomics, kSystemAtomics, kBridge, kValid };
    if (capability < kPeerAccess || capability > kValid) return NVML_ERROR_INVALID_ARGUMENT;
    *has = capability == kPeerAccess || capability == kPeerAtomics || capability == kValid ? 1 : 0;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                            int* type) {
  return OnLink(device, link, type, [&](const NvmlMachine&, int) {
    *type = NVML_NVLINK_DEVICE_TYPE_SWITCH;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                            nvmlPciInfo_t* info) {
  return OnLink(device, link, info, [&](const NvmlMachine& machine, int) {
    const int last = machine.profile.device_count() - 1;
    libcuda::PciAddress at = libcuda::PciAddressOf(machine.profile, last);
    at = {at.domain, libcuda::BusOf(at.bus, 1), 0};
    *info = {};
    info->domain = static_cast<unsigned int>(at.domain);
    info->bus = static_cast<unsigned int>(at.bus);
    WriteBusId(ShortBusId(at), info->busIdLegacy);
    WriteBusId(LongBusId(at), info->busId);
    return NVML_SUCCESS;
  });
}
// As nvmlDeviceGetPciInfo_v2 has it.
extern "C" nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int link,
                                                         nvmlPciInfo_v2_t* info) {
  nvmlPciInfo_t newest;
  const nvmlReturn_t result =
      nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, info != nullptr ? &newest : nullptr);
  if (result != NVML_SUCCESS) return result;
  *info = {};
  std::memcpy(info->busId, newest.busIdLegacy, sizeof(info->busId));
  info->domain = newest.domain;
  info->bus = newest.bus;
  return NVML_SUCCESS;
}

// Each value has an answer of its own.
extern "C" nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                                 nvmlFieldValue_t* values) {
  return OnDevice(device, {values}, [&](const NvmlMachine& machine, int number) {
    if (count <= 0) return NVML_ERROR_INVALID_ARGUMENT;
    constexpr unsigned int kUnsigned = 1;
    const unsigned int links = LinksOf(machine, number);
    for (nvmlFieldValue_t* value = values; value != values + count; ++value) {
      value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
      if (value->fieldId != NVML_FI_DEV_NVLINK_LINK_COUNT || links == 0) continue;
      value->nvmlReturn = NVML_SUCCESS;
      value->timestamp = MicrosecondsNow();
      value->latencyUsec = 0;
      value->valueType = kUnsigned;
      value->value.ullVal = 0;
      value->value.uiVal = links;
    }
    return NVML_SUCCESS;
  });
}

}  // namespace twinmmu::nvml

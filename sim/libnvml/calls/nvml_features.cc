// What a device is and how it is set, as its profile has it.

#include "sim/libnvml/nvml_machine.h"

namespace twinmmu::nvml {
namespace {

// CUdevice_attribute.
constexpr int kClockKhz = 13;
constexpr int kMultiprocessors = 16;
constexpr int kComputeMode = 20;
constexpr int kMemoryClockKhz = 36;
constexpr int kMemoryBusWidth = 37;
constexpr int kMajor = 75;
constexpr int kMinor = 76;
constexpr int kIsMultiGpuBoard = 84;

// nvmlClockType_t
enum { kGraphicsClock = 0, kSmClock = 1, kMemoryClock = 2, kVideoClock = 3 };

// nvmlDeviceArchitecture_t, by compute capability.
unsigned int ArchitectureOf(int major, int minor) {
  constexpr unsigned int kUnknown = ~0u;
  switch (major * 10 + minor) {
    case 70:
    case 72:
      return 5;  // Volta
    case 75:
      return 6;  // Turing
    case 80:
    case 86:
    case 87:
      return 7;  // Ampere
    case 89:
      return 8;  // Ada
    case 90:
      return 9;  // Hopper
    case 100:
    case 103:
    case 120:
      return 10;  // Blackwell
    default:
      return kUnknown;
  }
}

// How many cores for single precision a multiprocessor has.
int CoresOf(int major, int minor) { return major < 8 || (major == 8 && minor == 0) ? 64 : 128; }

nvmlReturn_t GiveAttribute(nvmlDevice_t device, int attribute, unsigned int* value) {
  return OnDevice(device, {value}, [&](const NvmlMachine& machine, int number) {
    *value = static_cast<unsigned int>(machine.AttributeOf(number, attribute));
    return NVML_SUCCESS;
  });
}

// What all simulated devices answer.
nvmlReturn_t Give(nvmlDevice_t device, unsigned int answer, unsigned int* value) {
  return OnDevice(device, {value}, [&](const NvmlMachine&, int) {
    *value = answer;
    return NVML_SUCCESS;
  });
}
nvmlReturn_t GiveZero(nvmlDevice_t device, unsigned int* value) { return Give(device, 0, value); }

}  // namespace

extern "C" nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major,
                                                           int* minor) {
  return OnDevice(device, {major, minor}, [&](const NvmlMachine& machine, int number) {
    *major = machine.AttributeOf(number, kMajor);
    *minor = machine.AttributeOf(number, kMinor);
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int* architecture) {
  return OnDevice(device, {architecture}, [&](const NvmlMachine& machine, int number) {
    *architecture =
        ArchitectureOf(machine.AttributeOf(number, kMajor), machine.AttributeOf(number, kMinor));
    return NVML_SUCCESS;
  });
}

// nvmlBrandType_t: 14 is NVIDIA, the brand of GPUs for data centres since Hopper.
extern "C" nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, unsigned int* brand) {
  return Give(device, 14, brand);
}

extern "C" nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int* count) {
  return OnDevice(device, {count}, [&](const NvmlMachine& machine, int number) {
    const int cores =
        CoresOf(machine.AttributeOf(number, kMajor), machine.AttributeOf(number, kMinor));
    *count = static_cast<unsigned int>(machine.AttributeOf(number, kMultiprocessors) * cores);
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int* bits) {
  return GiveAttribute(device, kMemoryBusWidth, bits);
}
extern "C" nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int* is_multi) {
  return GiveAttribute(device, kIsMultiGpuBoard, is_multi);
}
extern "C" nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned int* mode) {
  return GiveAttribute(device, kComputeMode, mode);
}

extern "C" nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type,
                                                  unsigned int* mhz) {
  return OnDevice(device, {mhz}, [&](const NvmlMachine& machine, int number) {
    if (type < kGraphicsClock || type > kVideoClock) return NVML_ERROR_INVALID_ARGUMENT;
    if (type == kVideoClock) return NVML_ERROR_NOT_SUPPORTED;
    const int khz = machine.AttributeOf(number, type == kMemoryClock ? kMemoryClockKhz : kClockKhz);
    *mhz = static_cast<unsigned int>(khz) / 1000;
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned int* mode) {
  return GiveZero(device, mode);
}
extern "C" nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, unsigned int* state) {
  return GiveZero(device, state);
}
extern "C" nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t device, unsigned int* state) {
  return GiveZero(device, state);
}
extern "C" nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int* count) {
  return GiveZero(device, count);
}
// As H100s, which have no place for a display.
extern "C" nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, unsigned int* mode) {
  return Give(device, 1, mode);
}
extern "C" nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, unsigned int* is_active) {
  return GiveZero(device, is_active);
}
extern "C" nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned int* mode) {
  return GiveZero(device, mode);
}

extern "C" nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                                      nvmlUtilization_t* rates) {
  return OnDevice(device, {rates}, [&](const NvmlMachine&, int) {
    *rates = {0, 0};
    return NVML_SUCCESS;
  });
}

}  // namespace twinmmu::nvml

// Parts of devices (MIG), of which there are none, and errors of memory, which there are not
// either.

#include "sim/libnvml/nvml_machine.h"

namespace twinmmu::nvml {
namespace {

// CUdevice_attribute.
constexpr int kEccEnabled = 32;
constexpr int kMajor = 75;

// Devices are no parts of others.
nvmlReturn_t RefuseWhole(nvmlDevice_t device, const void* result) {
  return OnDevice(device, {result},
                  [](const NvmlMachine&, int) { return NVML_ERROR_INVALID_ARGUMENT; });
}

}  // namespace

extern "C" nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current,
                                             unsigned int* pending) {
  return OnDevice(device, {current, pending}, [&](const NvmlMachine& machine, int number) {
    if (machine.AttributeOf(number, kMajor) < 8) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = 0;
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count) {
  return OnDevice(device, {count}, [&](const NvmlMachine&, int) {
    *count = 0;
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int* is_mig) {
  return nvmlDeviceGetMaxMigDeviceCount(device, is_mig);
}
extern "C" nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int,
                                                            nvmlDevice_t* part) {
  return OnDevice(device, {part}, [](const NvmlMachine&, int) { return NVML_ERROR_NOT_FOUND; });
}
extern "C" nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int* id) {
  return RefuseWhole(device, id);
}
extern "C" nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int* id) {
  return RefuseWhole(device, id);
}
extern "C" nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t part,
                                                                     nvmlDevice_t* device) {
  return RefuseWhole(part, device);
}

extern "C" nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned int* current,
                                             unsigned int* pending) {
  return OnDevice(device, {current, pending}, [&](const NvmlMachine& machine, int number) {
    *current = *pending = static_cast<unsigned int>(machine.AttributeOf(number, kEccEnabled));
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, unsigned int* mode) {
  unsigned int pending = 0;
  return nvmlDeviceGetEccMode(device, mode, &pending);
}
extern "C" nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int, int,
                                                    unsigned long long* count) {
  return OnDevice(device, {count}, [&](const NvmlMachine&, int) {
    *count = 0;
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrected,
                                                  unsigned int* uncorrected,
                                                  unsigned int* is_pending,
                                                  unsigned int* has_failed) {
  return OnDevice(device, {corrected, uncorrected, is_pending, has_failed},
                  [&](const NvmlMachine&, int) {
                    *corrected = *uncorrected = *is_pending = *has_failed = 0;
                    return NVML_SUCCESS;
                  });
}

}  // namespace twinmmu::nvml

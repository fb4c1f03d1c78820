// Memory in use, and by whom; and how much of a device's time.

#include <unistd.h>

#include <cstdint>

#include "sim/libnvml/nvml_machine.h"
#include "sim/libnvml/simulated_driver.h"

namespace twinmmu::nvml {
namespace {

constexpr unsigned int kNoInstance = ~0u;  // a GPU that is not divided

void Write(const MemoryInUse& memory, nvmlProcessInfo_v1_t* info) {
  *info = {static_cast<unsigned int>(getpid()), memory.used_by_process};
}
void Write(const MemoryInUse& memory, nvmlProcessInfo_t* info) {
  *info = {static_cast<unsigned int>(getpid()), memory.used_by_process, kNoInstance, kNoInstance};
}

// Of all processes this one alone is known: each has a machine of its own.
template <typename Info>
nvmlReturn_t ListProcesses(nvmlDevice_t device, unsigned int* count, Info* infos) {
  return OnDevice(device, {count}, [&](const NvmlMachine& machine, int number) {
    const MemoryInUse memory = MemoryOf(machine, number);
    const unsigned int room = *count;
    *count = memory.has_context ? 1 : 0;
    if (*count > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (*count == 0) return NVML_SUCCESS;
    if (infos == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    Write(memory, infos);
    return NVML_SUCCESS;
  });
}

template <typename Info>
nvmlReturn_t ListNone(nvmlDevice_t device, unsigned int* count, Info*) {
  return OnDevice(device, {count}, [&](const NvmlMachine&, int) {
    *count = 0;
    return NVML_SUCCESS;
  });
}

}  // namespace

extern "C" nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* info) {
  return OnDevice(device, {info}, [&](const NvmlMachine& machine, int number) {
    const MemoryInUse memory = MemoryOf(machine, number);
    *info = {memory.total, memory.total - memory.used, memory.used};
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* info) {
  return OnDevice(device, {info}, [&](const NvmlMachine& machine, int number) {
    if (info->version != TWINMMU_NVML_VERSION(nvmlMemory_v2_t, 2)) {
      return NVML_ERROR_FUNCTION_NOT_FOUND;  // so says driver 580.159
    }
    const MemoryInUse memory = MemoryOf(machine, number);
    *info = {info->version, memory.total, 0, memory.total - memory.used, memory.used};
    return NVML_SUCCESS;
  });
}

// The first form of each has no instances of divided GPUs.
#define TWINMMU_PROCESSES(name, List)                                         \
  extern "C" nvmlReturn_t name(nvmlDevice_t device, unsigned int* count,      \
                               nvmlProcessInfo_v1_t* infos) {                 \
    return List(device, count, infos);                                        \
  }                                                                           \
  extern "C" nvmlReturn_t name##_v2(nvmlDevice_t device, unsigned int* count, \
                                    nvmlProcessInfo_t* infos) {               \
    return List(device, count, infos);                                        \
  }                                                                           \
  extern "C" nvmlReturn_t name##_v3(nvmlDevice_t device, unsigned int* count, \
                                    nvmlProcessInfo_t* infos) {               \
    return List(device, count, infos);                                        \
  }
TWINMMU_PROCESSES(nvmlDeviceGetComputeRunningProcesses, ListProcesses)
TWINMMU_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, ListNone)
TWINMMU_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, ListNone)

namespace {

// There are samples of processes that used more than 0 % of a device, and none does here. An H200
// wants room for this many anyway; what it answers then was not measured, and is its
// documentation's.
nvmlReturn_t GiveNoSamples(const void* samples, unsigned int* count) {
  constexpr unsigned int kMost = 72;
  const bool has_room = samples != nullptr && *count >= kMost;
  *count = has_room ? 0 : kMost;
  return has_room ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INSUFFICIENT_SIZE;
}

}  // namespace

extern "C" nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, void* samples,
                                                        unsigned int* count,
                                                        unsigned long long /*last_seen*/) {
  return OnDevice(device, {count},
                  [&](const NvmlMachine&, int) { return GiveNoSamples(samples, count); });
}

extern "C" nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(
    nvmlDevice_t device, nvmlProcessesUtilizationInfo_t* info) {
  return OnDevice(device, {info}, [&](const NvmlMachine&, int) -> nvmlReturn_t {
    if (info->version != TWINMMU_NVML_VERSION(nvmlProcessesUtilizationInfo_t, 1)) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    return GiveNoSamples(info->procUtilArray, &info->processSamplesCount);
  });
}

}  // namespace twinmmu::nvml

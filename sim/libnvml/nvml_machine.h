// NvmlMachine: what NVML tells of, the machine of the settings. It makes no simulator, as NVML
// needs no cuInit: a program may count devices and fork afterwards.
//
//   extern "C" nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
//     return OnDevice(device, {index}, [&](const NvmlMachine&, int number) {
//       *index = static_cast<unsigned int>(number);
//       return NVML_SUCCESS;
//     });
//   }

#ifndef TWINMMU_SIM_LIBNVML_NVML_MACHINE_H_
#define TWINMMU_SIM_LIBNVML_NVML_MACHINE_H_

#include <algorithm>
#include <initializer_list>
#include <new>
#include <string>

#include "sim/profile/profile.h"
#include "third_party/cuda_abi/nvml_abi.h"

namespace twinmmu::nvml {

// All devices of the machine: NVML knows nothing of CUDA_VISIBLE_DEVICES.
struct NvmlMachine {
  Profile profile;

  // 0: the profile does not have it.
  int AttributeOf(int device, int attribute) const;
};

// Initialisations are counted. DRIVER_NOT_LOADED: the settings are wrong; stderr says how.
nvmlReturn_t Initialize();
nvmlReturn_t ShutDown();
// Null where none counts. Stays where it is for good.
const NvmlMachine* TheMachine();

// The handle of an existing device, and the number of one; -1: it is none.
nvmlDevice_t HandleOf(int device);
int NumberOf(const NvmlMachine& machine, nvmlDevice_t handle);

// The text and its 0; INSUFFICIENT_SIZE changes nothing.
nvmlReturn_t CopyText(const std::string& text, char* to, unsigned int size);

// Runs body(machine), after what every call checks.
template <typename Body>
nvmlReturn_t OnMachine(std::initializer_list<const void*> results, const Body& body) {
  const NvmlMachine* const machine = TheMachine();
  if (machine == nullptr) return NVML_ERROR_UNINITIALIZED;
  if (std::find(results.begin(), results.end(), nullptr) != results.end()) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  try {
    return body(*machine);
  } catch (const std::bad_alloc&) {
    return NVML_ERROR_MEMORY;
  }
}

// Runs body(machine, number of the device).
template <typename Body>
nvmlReturn_t OnDevice(nvmlDevice_t device, std::initializer_list<const void*> results,
                      const Body& body) {
  return OnMachine(results, [&](const NvmlMachine& machine) -> nvmlReturn_t {
    const int number = NumberOf(machine, device);
    return number < 0 ? NVML_ERROR_INVALID_ARGUMENT : body(machine, number);
  });
}

}  // namespace twinmmu::nvml

#endif  // TWINMMU_SIM_LIBNVML_NVML_MACHINE_H_

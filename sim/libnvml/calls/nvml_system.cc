// Initialisation, versions, errors.

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "sim/libnvml/nvml_machine.h"

namespace twinmmu::nvml {
namespace {

// The driver that was released with each CUDA version, by the toolkits' release notes; of the
// reference, the one that was measured.
std::string DriverVersionOf(const Profile& profile) {
  constexpr struct {
    int cuda;
    const char* driver;
  } kDrivers[] = {{13040, "615.71.09"}, {13010, "590.44.01"}, {13000, "580.159.04"},
                  {12040, "550.54.14"}, {12000, "525.60.13"}, {11000, "450.51.05"},
                  {10020, "440.33.01"}};
  for (const auto& known : kDrivers) {
    if (profile.driver_version >= known.cuda) return known.driver;
  }
  return "418.39";
}

std::string LibraryVersionOf(const Profile& profile) {
  return absl::StrCat(profile.driver_version / 1000, ".", DriverVersionOf(profile));
}

}  // namespace

extern "C" nvmlReturn_t nvmlInit_v2() { return Initialize(); }
extern "C" nvmlReturn_t nvmlInit() { return Initialize(); }
// No flag is refused.
extern "C" nvmlReturn_t nvmlInitWithFlags(unsigned int) { return Initialize(); }
extern "C" nvmlReturn_t nvmlShutdown() { return ShutDown(); }

extern "C" const char* nvmlErrorString(nvmlReturn_t error) {
  constexpr const char* kWords[] = {
      "Success",
      "Uninitialized",
      "Invalid Argument",
      "Not Supported",
      "Insufficient Permissions",
      "Already Initialized",
      "Not Found",
      "Insufficient Size",
      "Insufficient External Power",
      "Driver Not Loaded",
      "Timeout",
      "Interrupt Request Issue",
      "NVML Shared Library Not Found",
      "Function Not Found",
      "Corrupted infoROM",
      "GPU is lost",
      "GPU requires reset",
      "GPU access blocked by the operating system",
      "Driver/library version mismatch",
      "In use by another client",
      "Insufficient Memory",
      "No data",
      "vGPU ECC not supported",
      "Insufficient Resources",
      "Invalid Frequency",
      "Argument version mismatch",
      "Requested functionality has been deprecated",
      "System is not in ready state",
      "No supported GPUs were found",
      "Resource not in correct state to perform requested operation",
      "Reset type is not supported for given device",
  };
  constexpr int kCount = sizeof(kWords) / sizeof(kWords[0]);
  return error >= 0 && error < kCount ? kWords[error] : "Unknown Error";
}

extern "C" nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return OnMachine({version}, [&](const NvmlMachine& machine) {
    return CopyText(DriverVersionOf(machine.profile), version, length);
  });
}

// Also before nvmlInit, when it is that of the settings.
extern "C" nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  const nvmlReturn_t started = Initialize();
  if (started != NVML_SUCCESS) return started;
  const nvmlReturn_t result = OnMachine({version}, [&](const NvmlMachine& machine) {
    return CopyText(LibraryVersionOf(machine.profile), version, length);
  });
  ShutDown();
  return result;
}

extern "C" nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return OnMachine({version}, [&](const NvmlMachine& machine) {
    *version = machine.profile.driver_version;
    return NVML_SUCCESS;
  });
}
extern "C" nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

// As it was started; cut where there is no room.
extern "C" nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char* name,
                                                 unsigned int length) {
  return OnMachine({name}, [&](const NvmlMachine&) -> nvmlReturn_t {
    if (length == 0) return NVML_ERROR_INVALID_ARGUMENT;
    std::ifstream file(absl::StrCat("/proc/", pid, "/cmdline"));
    std::string words;
    if (!std::getline(file, words, '\0')) return NVML_ERROR_NOT_FOUND;
    if (words.size() >= length) words.resize(length - 1);
    return CopyText(words, name, length);
  });
}

extern "C" nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* state) {
  return OnMachine({state}, [&](const NvmlMachine&) {
    *state = {0, 0, 0};
    return NVML_SUCCESS;
  });
}

extern "C" nvmlReturn_t nvmlUnitGetCount(unsigned int* count) {
  return OnMachine({count}, [&](const NvmlMachine&) {
    *count = 0;
    return NVML_SUCCESS;
  });
}

}  // namespace twinmmu::nvml

// The fabric that devices of several hosts are joined by: it is there where the profile permits
// fabric handles. What a driver says of one was not measured.

#include <algorithm>
#include <iterator>

#include "sim/libnvml/nvml_machine.h"

namespace twinmmu::nvml {
namespace {

constexpr unsigned char kCluster[16] = {'T', 'w', 'i', 'n', 'M', 'M', 'U',
                                        ' ', 'f', 'a', 'b', 'r', 'i', 'c'};

// What all forms have. Where there is no fabric, a driver writes zeros.
template <typename Info>
void Write(const NvmlMachine& machine, Info* info) {
  const bool is_there = machine.profile.fabric_permitted;
  std::fill(std::begin(info->clusterUuid), std::end(info->clusterUuid), 0);
  if (is_there) std::copy(std::begin(kCluster), std::end(kCluster), info->clusterUuid);
  info->status = NVML_SUCCESS;
  info->cliqueId = 0;
  info->state = is_there ? NVML_GPU_FABRIC_STATE_COMPLETED : NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
}

}  // namespace

extern "C" nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t* info) {
  return OnDevice(device, {info}, [&](const NvmlMachine& machine, int) {
    Write(machine, info);
    return NVML_SUCCESS;
  });
}

// `info`: of the form that its version says.
extern "C" nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device,
                                                    nvmlGpuFabricInfo_v3_t* info) {
  return OnDevice(device, {info}, [&](const NvmlMachine& machine, int) {
    const bool is_third = info->version == TWINMMU_NVML_VERSION(nvmlGpuFabricInfo_v3_t, 3);
    if (!is_third && info->version != TWINMMU_NVML_VERSION(nvmlGpuFabricInfo_v2_t, 2)) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    Write(machine, info);
    info->healthMask = 0;
    if (is_third) info->healthSummary = 0;
    return NVML_SUCCESS;
  });
}

}  // namespace twinmmu::nvml

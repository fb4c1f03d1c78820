// Pins NVML's binary interface. This file failing to compile is the failure.

#include "third_party/cuda_abi/nvml_abi.h"

#include <cstddef>

#include "gtest/gtest.h"

namespace {

static_assert(sizeof(nvmlPciInfo_t) == 68);
static_assert(offsetof(nvmlPciInfo_t, domain) == 16);
static_assert(offsetof(nvmlPciInfo_t, pciDeviceId) == 28);
static_assert(offsetof(nvmlPciInfo_t, busId) == 36);
static_assert(sizeof(nvmlPciInfo_v2_t) == 52);
static_assert(offsetof(nvmlPciInfo_v2_t, pciSubSystemId) == 32);

static_assert(sizeof(nvmlMemory_t) == 24);
static_assert(offsetof(nvmlMemory_t, used) == 16);
static_assert(sizeof(nvmlMemory_v2_t) == 40);
static_assert(offsetof(nvmlMemory_v2_t, reserved) == 16);
static_assert(offsetof(nvmlMemory_v2_t, used) == 32);

static_assert(sizeof(nvmlUtilization_t) == 8);
static_assert(sizeof(nvmlProcessInfo_v1_t) == 16);
static_assert(sizeof(nvmlProcessInfo_t) == 24);
static_assert(offsetof(nvmlProcessInfo_t, gpuInstanceId) == 16);
static_assert(sizeof(nvmlProcessesUtilizationInfo_t) == 24);
static_assert(offsetof(nvmlProcessesUtilizationInfo_t, lastSeenTimeStamp) == 8);

static_assert(sizeof(nvmlFieldValue_t) == 40);
static_assert(offsetof(nvmlFieldValue_t, nvmlReturn) == 28);
static_assert(sizeof(nvmlGpuFabricInfo_t) == 28);
static_assert(offsetof(nvmlGpuFabricInfo_t, state) == 24);
static_assert(sizeof(nvmlGpuFabricInfo_v2_t) == 36);
static_assert(offsetof(nvmlGpuFabricInfo_v2_t, state) == 28);
static_assert(sizeof(nvmlGpuFabricInfo_v3_t) == 40);
static_assert(sizeof(nvmlConfComputeSystemState_t) == 12);

TEST(NvmlAbiTest, StructuresSayTheirSizeAndForm) {
  EXPECT_EQ(TWINMMU_NVML_VERSION(nvmlMemory_v2_t, 2), 0x02000028u);
}

}  // namespace

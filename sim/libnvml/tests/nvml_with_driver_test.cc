// NVML beside the driver, in one process: both tell of the same machine.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/libnvml/tests/nvml_library.h"

namespace twinmmu::nvml {
namespace {

// The program sees the last of three devices first, and the first not at all.
constexpr char kVisible[] = "2,1";

class NvmlWithDriverTest : public NvmlTest {
 protected:
  static void SetUpTestSuite() {
    LoadDriver();
    ASSERT_NE(Libraries().driver, nullptr);
    ASSERT_EQ(TWINMMU_DRIVER(cuInit, "cuInit")(0), CUDA_SUCCESS);
  }

  static unsigned long long UsedOf(nvmlDevice_t device) {
    nvmlMemory_t memory = {};
    EXPECT_EQ(Nvml("nvmlDeviceGetMemoryInfo", device, &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.free + memory.used, memory.total);
    return memory.used;
  }
};

TEST_F(NvmlWithDriverTest, CountsDevicesThatTheProgramDoesNotSee) {
  unsigned int count = 0;
  int visible = 0;
  EXPECT_EQ(Nvml("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(TWINMMU_DRIVER(cuDeviceGetCount, "cuDeviceGetCount")(&visible), CUDA_SUCCESS);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(visible, 2);
}

TEST_F(NvmlWithDriverTest, NamesDevicesAsTheDriverDoes) {
  char bus_id[32] = "";
  char name[96] = "";
  CUuuid uuid = {};
  EXPECT_EQ(TWINMMU_DRIVER(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId")(bus_id, 32, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(TWINMMU_DRIVER(cuDeviceGetName, "cuDeviceGetName")(name, 96, 0), CUDA_SUCCESS);
  EXPECT_EQ(TWINMMU_DRIVER(cuDeviceGetUuid, "cuDeviceGetUuid_v2")(&uuid, 0), CUDA_SUCCESS);
  nvmlDevice_t device = nullptr;
  ASSERT_EQ(Nvml("nvmlDeviceGetHandleByPciBusId_v2", &bus_id[0], &device), NVML_SUCCESS);
  EXPECT_EQ(device, Device(2)) << "the first of CUDA_VISIBLE_DEVICES";
  EXPECT_EQ(TextOf("nvmlDeviceGetName", device), name);
  char last[3];
  std::snprintf(last, sizeof(last), "%02x", static_cast<unsigned char>(uuid.bytes[15]));
  const std::string words = TextOf("nvmlDeviceGetUUID", device);
  EXPECT_EQ(words.substr(words.size() - 2), last);
  EXPECT_EQ(words.substr(0, 12), "GPU-5477696e");
}

TEST_F(NvmlWithDriverTest, SeesTheMemoryThatTheProgramUses) {
  const unsigned long long before = UsedOf(Device(2));
  const unsigned long long others = UsedOf(Device(1));
  CUcontext context = nullptr;
  ASSERT_EQ(TWINMMU_DRIVER(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")(&context, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(TWINMMU_DRIVER(cuCtxSetCurrent, "cuCtxSetCurrent")(context), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(TWINMMU_DRIVER(cuMemAlloc, "cuMemAlloc_v2")(&memory, size_t{64} << 20), CUDA_SUCCESS);
  EXPECT_EQ(UsedOf(Device(2)), before + (64u << 20));
  EXPECT_EQ(UsedOf(Device(1)), others);

  unsigned int count = 0;
  nvmlProcessInfo_t infos[2] = {};
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", Device(2), &count, &infos[0]),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 1u);
  count = 2;
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", Device(2), &count, &infos[0]),
            NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(infos[0].pid, static_cast<unsigned int>(getpid()));
  EXPECT_EQ(infos[0].usedGpuMemory, 64u << 20);
  nvmlProcessInfo_v1_t of_first_form = {};
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses", Device(2), &count, &of_first_form),
            NVML_SUCCESS);
  EXPECT_EQ(of_first_form.pid, static_cast<unsigned int>(getpid()));
  EXPECT_EQ(of_first_form.usedGpuMemory, 64u << 20);
  count = 2;
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", Device(1), &count, &infos[0]),
            NVML_SUCCESS);
  EXPECT_EQ(count, 0u);

  EXPECT_EQ(TWINMMU_DRIVER(cuMemFree, "cuMemFree_v2")(memory), CUDA_SUCCESS);
  EXPECT_EQ(UsedOf(Device(2)), before);
  EXPECT_EQ(TWINMMU_DRIVER(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")(0),
            CUDA_SUCCESS);
}

// The first of them. The driver knows nothing of it.
TEST_F(NvmlWithDriverTest, SeesNoUseOfDevicesThatTheProgramDoesNotSee) {
  EXPECT_EQ(UsedOf(Device(0)), UsedOf(Device(1)));
  unsigned int count = 2;
  nvmlProcessInfo_t infos[2] = {};
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", Device(0), &count, &infos[0]),
            NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
}

// Which has neither the contexts nor the memory of the program.
TEST_F(NvmlWithDriverTest, SeesNoUseOfDevicesInAChild) {
  CUcontext context = nullptr;
  ASSERT_EQ(TWINMMU_DRIVER(cuCtxCreate, "cuCtxCreate_v2")(&context, 0, 0), CUDA_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    unsigned int count = 2;
    nvmlProcessInfo_t infos[2] = {};
    const bool told =
        Nvml("nvmlInit_v2") == NVML_SUCCESS && Nvml("nvmlDeviceGetComputeRunningProcesses_v3",
                                                    Device(2), &count, &infos[0]) == NVML_SUCCESS;
    _exit(told && count == 0 ? 0 : 1);
  }
  int ended = 1;
  waitpid(child, &ended, 0);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(TWINMMU_DRIVER(cuCtxDestroy, "cuCtxDestroy_v2")(context), CUDA_SUCCESS);
}

TEST_F(NvmlWithDriverTest, SeesAProcessThatOnlyMadeAContext) {
  CUcontext context = nullptr;
  ASSERT_EQ(TWINMMU_DRIVER(cuCtxCreate, "cuCtxCreate_v2")(&context, 0, 0), CUDA_SUCCESS);
  unsigned int count = 2;
  nvmlProcessInfo_t infos[2] = {};
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", Device(2), &count, &infos[0]),
            NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(infos[0].pid, static_cast<unsigned int>(getpid()));
  EXPECT_EQ(TWINMMU_DRIVER(cuCtxDestroy, "cuCtxDestroy_v2")(context), CUDA_SUCCESS);
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", Device(2), &count, &infos[0]),
            NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(NvmlWithDriverTest, TellsTheDriversVersion) {
  int of_driver = 0;
  int of_nvml = 0;
  EXPECT_EQ(TWINMMU_DRIVER(cuDriverGetVersion, "cuDriverGetVersion")(&of_driver), CUDA_SUCCESS);
  EXPECT_EQ(Nvml("nvmlSystemGetCudaDriverVersion_v2", &of_nvml), NVML_SUCCESS);
  EXPECT_EQ(of_nvml, of_driver);
}

}  // namespace
}  // namespace twinmmu::nvml

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("TWINMMU_DEVICES", "3", 1);
  setenv("CUDA_VISIBLE_DEVICES", twinmmu::nvml::kVisible, 1);
  if (twinmmu::nvml::LoadNvml(argc, argv)) return RUN_ALL_TESTS();
  std::fprintf(stderr, "usage: nvml_with_driver_test NVML DRIVER\n%s\n", dlerror());
  return 2;
}

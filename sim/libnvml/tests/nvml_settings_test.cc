// NVML of other machines than the reference: each test is a process of its own, whose environment
// says which.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "sim/libnvml/tests/nvml_library.h"

namespace twinmmu::nvml {
namespace {

// What body() answers in a child with this variable; -1: the child did not end by itself.
template <typename Body>
int InChild(const char* variable, const char* value, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(variable, value, 1);
    _exit(body());
  }
  int ended = 0;
  return waitpid(child, &ended, 0) == child && WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

nvmlDevice_t FirstDevice() {
  nvmlDevice_t device = nullptr;
  Nvml("nvmlDeviceGetHandleByIndex_v2", 0u, &device);
  return device;
}

TEST(NvmlSettingsTest, WrongSettingsAreADriverThatIsNotLoaded) {
  EXPECT_EQ(InChild("TWINMMU_DEVICES", "many", [] { return Nvml("nvmlInit_v2"); }),
            NVML_ERROR_DRIVER_NOT_LOADED);
}

TEST(NvmlSettingsTest, AMachineMayHaveNoDevices) {
  EXPECT_EQ(InChild("TWINMMU_DEVICES", "0",
                    [] {
                      unsigned int count = 99;
                      if (Nvml("nvmlInit_v2") != NVML_SUCCESS) return 98;
                      Nvml("nvmlDeviceGetCount_v2", &count);
                      return static_cast<int>(count);
                    }),
            0);
}

TEST(NvmlSettingsTest, NoPeersHaveNoLinks) {
  EXPECT_EQ(InChild("TWINMMU_PROFILE", "no-peers",
                    [] {
                      Nvml("nvmlInit_v2");
                      unsigned int is_active = 0;
                      return Nvml("nvmlDeviceGetNvLinkState", FirstDevice(), 0u, &is_active);
                    }),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(InChild("TWINMMU_PROFILE", "no-peers",
                    [] {
                      Nvml("nvmlInit_v2");
                      nvmlDevice_t other = nullptr;
                      int status = -1;
                      Nvml("nvmlDeviceGetHandleByIndex_v2", 1u, &other);
                      Nvml("nvmlDeviceGetP2PStatus", FirstDevice(), other,
                           static_cast<int>(NVML_P2P_CAPS_INDEX_READ), &status);
                      return status;
                    }),
            NVML_P2P_STATUS_NOT_SUPPORTED);
}

TEST(NvmlSettingsTest, AnOlderDriverTellsItsVersions) {
  EXPECT_EQ(InChild("TWINMMU_PROFILE", "driver-12.4",
                    [] {
                      Nvml("nvmlInit_v2");
                      char text[80] = "";
                      int cuda = 0;
                      Nvml("nvmlSystemGetDriverVersion", &text[0], 80u);
                      Nvml("nvmlSystemGetCudaDriverVersion", &cuda);
                      return std::string(text) == "550.54.14" && cuda == 12040 ? 0 : 1;
                    }),
            0);
}

TEST(NvmlSettingsTest, AFabricIsThereIfTheProfilePermitsIt) {
  EXPECT_EQ(InChild("TWINMMU_PROFILE", "fabric-permitted",
                    [] {
                      Nvml("nvmlInit_v2");
                      nvmlGpuFabricInfo_t info = {};
                      info.cliqueId = 77;
                      Nvml("nvmlDeviceGetGpuFabricInfo", FirstDevice(), &info);
                      return info.cliqueId == 0 ? static_cast<int>(info.state) : -1;
                    }),
            NVML_GPU_FABRIC_STATE_COMPLETED);
}

TEST(NvmlSettingsTest, DevicesHavePartsFromComputeCapability8On) {
  const std::string path = testing::TempDir() + "/machine_without_parts.json";
  for (const auto& [major, expected] :
       {std::pair("7", NVML_ERROR_NOT_SUPPORTED), {"8", NVML_SUCCESS}}) {
    std::ofstream(path) << R"({"devices": [{"attributes": {"75": )" << major << "}}]}";
    EXPECT_EQ(InChild("TWINMMU_PROFILE", path.c_str(),
                      [] {
                        Nvml("nvmlInit_v2");
                        unsigned int current = 0, pending = 0;
                        return Nvml("nvmlDeviceGetMigMode", FirstDevice(), &current, &pending);
                      }),
              expected)
        << major;
  }
  std::remove(path.c_str());
}

// 64 in each of the 132 multiprocessors of the reference, or 128.
TEST(NvmlSettingsTest, HowManyCoresThereAreDependsOnTheComputeCapability) {
  const std::string path = testing::TempDir() + "/older_machine.json";
  for (const auto& [attributes, expected] : {std::pair(R"("75": 7, "76": 5)", 132 * 64),
                                             {R"("75": 8, "76": 0)", 132 * 64},
                                             {R"("75": 8, "76": 6)", 132 * 128},
                                             {R"("75": 9, "76": 0)", 132 * 128}}) {
    std::ofstream(path) << R"({"devices": [{"attributes": {)" << attributes << "}}]}";
    const unsigned int most = static_cast<unsigned int>(expected);
    EXPECT_EQ(InChild("TWINMMU_PROFILE", path.c_str(),
                      [&] {
                        Nvml("nvmlInit_v2");
                        unsigned int count = 0;
                        Nvml("nvmlDeviceGetNumGpuCores", FirstDevice(), &count);
                        return count == most ? 0 : 1;
                      }),
              0)
        << attributes;
  }
  std::remove(path.c_str());
}

TEST(NvmlSettingsTest, TheBudgetOfMemoryIsWhatIsFree) {
  EXPECT_EQ(InChild("TWINMMU_MEMORY", "512MiB",
                    [] {
                      Nvml("nvmlInit_v2");
                      nvmlMemory_t memory = {};
                      Nvml("nvmlDeviceGetMemoryInfo", FirstDevice(), &memory);
                      return memory.free == 512u << 20 ? 0 : 1;
                    }),
            0);
}

}  // namespace
}  // namespace twinmmu::nvml

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (twinmmu::nvml::LoadNvml(argc, argv)) return RUN_ALL_TESTS();
  std::fprintf(stderr, "usage: nvml_settings_test NVML DRIVER\n%s\n", dlerror());
  return 2;
}

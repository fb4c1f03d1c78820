// NVML alone, in a process without a driver. The answers to wrong arguments are those of driver
// 580.159, where that was asked.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sim/libnvml/nvml_symbols.h"
#include "sim/libnvml/tests/nvml_library.h"

namespace twinmmu::nvml {
namespace {

bool BeginsWith(const std::string& text, const std::string& begin) {
  return text.substr(0, begin.size()) == begin;
}

// Those that neither start NVML nor end it, nor work without it.
std::vector<NvmlSymbol> FunctionsThatNeedNvml() {
  std::vector<NvmlSymbol> found;
  for (const NvmlSymbol& symbol : kNvmlSymbols) {
    const std::string name = symbol.name;
    if (BeginsWith(name, "nvmlInit") || name == "nvmlShutdown" || name == "nvmlErrorString" ||
        name == "nvmlSystemGetNVMLVersion") {
      continue;
    }
    found.push_back(symbol);
  }
  return found;
}

// With zeros for whatever it takes.
nvmlReturn_t CallWithZeros(const char* name) {
  const uint64_t zero = 0;
  return Nvml(name, zero, zero, zero, zero, zero, zero);
}

TEST(NvmlFunctionsTest, AreUninitializedBeforeInit) {
  for (const NvmlSymbol& symbol : FunctionsThatNeedNvml()) {
    EXPECT_EQ(CallWithZeros(symbol.name), NVML_ERROR_UNINITIALIZED) << symbol.name;
  }
  EXPECT_EQ(Nvml("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
}

TEST(NvmlFunctionsTest, TellTheirVersionBeforeInit) {
  char text[80] = "";
  EXPECT_EQ(Nvml("nvmlSystemGetNVMLVersion", static_cast<char*>(text), 80u), NVML_SUCCESS);
  EXPECT_STREQ(text, "13.580.159.04");
  EXPECT_EQ(Nvml("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
}

TEST(NvmlFunctionsTest, WorkUntilTheLastShutdown) {
  unsigned int count = 0;
  EXPECT_EQ(Nvml("nvmlInit"), NVML_SUCCESS);
  EXPECT_EQ(Nvml("nvmlInitWithFlags", ~0u), NVML_SUCCESS);
  EXPECT_EQ(Nvml("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(Nvml("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(Nvml("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(Nvml("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
}

TEST(NvmlFunctionsTest, AreNamedInErrors) {
  auto* const words =
      reinterpret_cast<const char* (*)(int)>(dlsym(Libraries().nvml, "nvmlErrorString"));
  ASSERT_NE(words, nullptr);
  EXPECT_STREQ(words(0), "Success");
  EXPECT_STREQ(words(9), "Driver Not Loaded");
  EXPECT_STREQ(words(30), "Reset type is not supported for given device");
  EXPECT_STREQ(words(31), "Unknown Error");
  EXPECT_STREQ(words(-1), "Unknown Error");
}

using NvmlAloneTest = NvmlTest;

// A driver's crashes on some of them.
TEST_F(NvmlAloneTest, RefusesNullPointersAndWhatItDoesNotHave) {
  for (const NvmlSymbol& symbol : FunctionsThatNeedNvml()) {
    const bool modelled = *symbol.answer != '\0';
    EXPECT_EQ(CallWithZeros(symbol.name),
              modelled ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED)
        << symbol.name;
  }
}

TEST_F(NvmlAloneTest, RefusesHandlesThatNobodyGave) {
  char buffer[256];
  unsigned int value = 0;
  const auto neighbour = reinterpret_cast<nvmlDevice_t>(reinterpret_cast<char*>(Device(1)) + 1);
  for (const nvmlDevice_t handle :
       {reinterpret_cast<nvmlDevice_t>(1), neighbour, reinterpret_cast<nvmlDevice_t>(&buffer[8])}) {
    EXPECT_EQ(Nvml("nvmlDeviceGetIndex", handle, &value), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(Nvml("nvmlDeviceGetName", handle, &buffer[0], 96u), NVML_ERROR_INVALID_ARGUMENT);
  }
}

TEST_F(NvmlAloneTest, CountsTheDevicesOfTheProfile) {
  unsigned int count = 0;
  EXPECT_EQ(Nvml("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", count, &device), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", ~0u, &device), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlAloneTest, FindsADeviceByItsUuid) {
  const std::string uuid = TextOf("nvmlDeviceGetUUID", Device(1));
  EXPECT_EQ(uuid.size(), 40u);
  nvmlDevice_t found = nullptr;
  EXPECT_EQ(Nvml("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found), NVML_SUCCESS);
  EXPECT_EQ(found, Device(1));
  EXPECT_EQ(Nvml("nvmlDeviceGetHandleByUUID", uuid.c_str() + 4, &found), NVML_SUCCESS);
  for (const std::string& wrong :
       {uuid + "1", uuid.substr(0, 20), std::string(), std::string("junk")}) {
    EXPECT_EQ(Nvml("nvmlDeviceGetHandleByUUID", wrong.c_str(), &found), NVML_ERROR_NOT_FOUND)
        << wrong;
  }
}

TEST_F(NvmlAloneTest, FindsADeviceByItsBusId) {
  nvmlPciInfo_t info;
  ASSERT_EQ(Nvml("nvmlDeviceGetPciInfo_v3", Device(1), &info), NVML_SUCCESS);
  const std::string longest = info.busId;
  EXPECT_EQ(longest, "0000" + std::string(info.busIdLegacy));
  const auto find = [](const std::string& bus_id) {
    nvmlDevice_t found = nullptr;
    const nvmlReturn_t result = Nvml("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &found);
    EXPECT_EQ(found == nullptr, result != NVML_SUCCESS);
    EXPECT_TRUE(found == nullptr || found == Device(1));
    return result;
  };
  EXPECT_EQ(find(longest), NVML_SUCCESS);
  EXPECT_EQ(find(info.busIdLegacy), NVML_SUCCESS);
  EXPECT_EQ(find(longest.substr(9)), NVML_SUCCESS) << "without the domain";
  EXPECT_EQ(find(longest.substr(0, longest.size() - 2)), NVML_SUCCESS) << "without the function";
  EXPECT_EQ(find(longest + " junk"), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(find(""), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(find("junk"), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(find("0000:ff:1f.0"), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(find("ffffffff:ff:1f.0"), NVML_ERROR_NOT_FOUND);
}

TEST_F(NvmlAloneTest, WritesNoTextThatDoesNotFit) {
  char text[96];
  std::memset(text, 'z', sizeof(text));
  EXPECT_EQ(Nvml("nvmlDeviceGetUUID", Device(0), &text[0], 40u), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(text[0], 'z');
  EXPECT_EQ(Nvml("nvmlDeviceGetUUID", Device(0), &text[0], 41u), NVML_SUCCESS);
  EXPECT_EQ(text[40], '\0');
  EXPECT_EQ(text[41], 'z');
  EXPECT_EQ(Nvml("nvmlDeviceGetName", Device(0), &text[0], 0u), NVML_ERROR_INSUFFICIENT_SIZE);
}

TEST_F(NvmlAloneTest, TellsTheComputeCapabilityOfTheProfile) {
  int major = 0;
  int minor = -1;
  ASSERT_EQ(Nvml("nvmlDeviceGetCudaComputeCapability", Device(0), &major, &minor), NVML_SUCCESS);
  EXPECT_EQ(major, 9);
  EXPECT_EQ(minor, 0);
}

TEST_F(NvmlAloneTest, TellsTheArchitectureOfTheProfile) {
  constexpr unsigned int kHopper = 9;
  unsigned int architecture = 0;
  EXPECT_EQ(Nvml("nvmlDeviceGetArchitecture", Device(0), &architecture), NVML_SUCCESS);
  EXPECT_EQ(architecture, kHopper);
}

// Of graphics, multiprocessors and memory. There is none for video.
TEST_F(NvmlAloneTest, TellsTheClocksOfTheProfile) {
  const auto ask = [](int type, unsigned int* mhz) {
    return Nvml("nvmlDeviceGetMaxClockInfo", Device(0), type, mhz);
  };
  constexpr unsigned int kMhz[] = {1980, 1980, 3201};
  for (int type = 0; type < 3; ++type) {
    unsigned int mhz = 0;
    EXPECT_EQ(ask(type, &mhz), NVML_SUCCESS) << type;
    EXPECT_EQ(mhz, kMhz[type]) << type;
  }
  unsigned int mhz = 0;
  EXPECT_EQ(ask(3, &mhz), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(ask(4, &mhz), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(ask(-1, &mhz), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlAloneTest, TellsTheSamePlaceOfADeviceInNumbersAndInWords) {
  nvmlPciInfo_t info;
  nvmlPciInfo_v2_t older;
  std::memset(&info, 0x5a, sizeof(info));
  std::memset(&older, 0x5a, sizeof(older));
  ASSERT_EQ(Nvml("nvmlDeviceGetPciInfo_v3", Device(1), &info), NVML_SUCCESS);
  ASSERT_EQ(Nvml("nvmlDeviceGetPciInfo_v2", Device(1), &older), NVML_SUCCESS);
  char words[32];
  std::snprintf(words, sizeof(words), "%08X:%02X:%02X.0", info.domain, info.bus, info.device);
  EXPECT_STREQ(info.busId, words);
  std::snprintf(words, sizeof(words), "%04X:%02X:%02X.0", older.domain, older.bus, older.device);
  EXPECT_STREQ(older.busId, words);
  EXPECT_EQ(info.pciDeviceId & 0xffff, 0x10deu) << "NVIDIA";
  EXPECT_EQ(older.pciDeviceId, info.pciDeviceId);
  EXPECT_EQ(older.pciSubSystemId, info.pciSubSystemId);
}

TEST_F(NvmlAloneTest, TellsHowAProcessWasStarted) {
  std::string words;
  ASSERT_TRUE(std::getline(std::ifstream("/proc/self/cmdline"), words, '\0'));
  const auto ask = [](unsigned int pid, char* name, unsigned int length) {
    return Nvml("nvmlSystemGetProcessName", pid, name, length);
  };
  const auto self = static_cast<unsigned int>(getpid());
  std::vector<char> name(words.size() + 1, 'x');
  EXPECT_EQ(ask(self, name.data(), static_cast<unsigned int>(name.size())), NVML_SUCCESS);
  EXPECT_EQ(name.data(), words);
  EXPECT_EQ(ask(self, name.data(), 4), NVML_SUCCESS);
  EXPECT_EQ(name.data(), words.substr(0, 3));
  EXPECT_EQ(ask(self, name.data(), 0), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(ask(~0u, name.data(), 4), NVML_ERROR_NOT_FOUND);
}

TEST_F(NvmlAloneTest, TellsTheMemoryOfTheProfile) {
  nvmlMemory_t memory;
  ASSERT_EQ(Nvml("nvmlDeviceGetMemoryInfo", Device(0), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 150109880320u);
  EXPECT_EQ(memory.free, 149557477376u);
  EXPECT_EQ(memory.free + memory.used, memory.total);
  nvmlMemory_v2_t newer;
  newer.version = sizeof(newer);
  EXPECT_EQ(Nvml("nvmlDeviceGetMemoryInfo_v2", Device(0), &newer), NVML_ERROR_FUNCTION_NOT_FOUND);
  newer.version = TWINMMU_NVML_VERSION(nvmlMemory_v2_t, 2);
  ASSERT_EQ(Nvml("nvmlDeviceGetMemoryInfo_v2", Device(0), &newer), NVML_SUCCESS);
  EXPECT_EQ(newer.total, memory.total);
  EXPECT_EQ(newer.used, memory.used);
}

TEST_F(NvmlAloneTest, ListsNoProcessWithoutADriver) {
  unsigned int count = 3;
  nvmlProcessInfo_t infos[3];
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", Device(0), &count, &infos[0]),
            NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
}

// Every process uses 0 % of it, as nvmlDeviceGetUtilizationRates says. An H200 wants room for 72
// samples first.
TEST_F(NvmlAloneTest, HasNoSamplesOfHowMuchProcessesUseADevice) {
  char samples[72][40];
  const auto ask = [&](void* room, unsigned int* count) {
    return Nvml("nvmlDeviceGetProcessUtilization", Device(0), room, count, 0ull);
  };
  unsigned int count = 0;
  EXPECT_EQ(ask(nullptr, &count), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 72u);
  EXPECT_EQ(ask(&samples[0], &count), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(count, 0u);
  count = 16;
  EXPECT_EQ(ask(&samples[0], &count), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 72u);
}

TEST_F(NvmlAloneTest, HasNoSamplesOfTheNewerFormEither) {
  char samples[72][40];
  nvmlProcessesUtilizationInfo_t info = {};
  const auto ask = [&] { return Nvml("nvmlDeviceGetProcessesUtilizationInfo", Device(0), &info); };
  EXPECT_EQ(ask(), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_EQ(info.processSamplesCount, 0u);
  info.version = TWINMMU_NVML_VERSION(nvmlProcessesUtilizationInfo_t, 1);
  EXPECT_EQ(ask(), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(info.processSamplesCount, 72u);
  info.procUtilArray = reinterpret_cast<nvmlProcessUtilizationInfo_v1_t*>(&samples[0]);
  EXPECT_EQ(ask(), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(info.processSamplesCount, 0u);
}

TEST_F(NvmlAloneTest, JoinsPeersBySwitchedLinks) {
  int status = -1;
  EXPECT_EQ(
      Nvml("nvmlDeviceGetP2PStatus", Device(0), Device(1), NVML_P2P_CAPS_INDEX_NVLINK, &status),
      NVML_SUCCESS);
  EXPECT_EQ(status, NVML_P2P_STATUS_OK);
  int type = -1;
  EXPECT_EQ(Nvml("nvmlDeviceGetNvLinkRemoteDeviceType", Device(0), 17u, &type), NVML_SUCCESS);
  EXPECT_EQ(type, NVML_NVLINK_DEVICE_TYPE_SWITCH);
  EXPECT_EQ(Nvml("nvmlDeviceGetNvLinkRemoteDeviceType", Device(0), 18u, &type),
            NVML_ERROR_INVALID_ARGUMENT);
  nvmlPciInfo_t device;
  nvmlPciInfo_t remote;
  EXPECT_EQ(Nvml("nvmlDeviceGetPciInfo_v3", Device(1), &device), NVML_SUCCESS);
  EXPECT_EQ(Nvml("nvmlDeviceGetNvLinkRemotePciInfo_v2", Device(0), 0u, &remote), NVML_SUCCESS);
  EXPECT_STRNE(remote.busId, device.busId);
}

TEST_F(NvmlAloneTest, SaysOfADeviceAndItselfWhatADriverSays) {
  int value = -1;
  for (int index = NVML_P2P_CAPS_INDEX_READ; index <= NVML_P2P_CAPS_INDEX_PCI; ++index) {
    EXPECT_EQ(Nvml("nvmlDeviceGetP2PStatus", Device(0), Device(0), index, &value), NVML_SUCCESS);
    EXPECT_EQ(value, NVML_P2P_STATUS_NOT_SUPPORTED) << index;
  }
  EXPECT_EQ(Nvml("nvmlDeviceGetP2PStatus", Device(0), Device(0), 7, &value), NVML_SUCCESS);
  EXPECT_EQ(value, NVML_P2P_STATUS_OK);
  EXPECT_EQ(Nvml("nvmlDeviceGetTopologyCommonAncestor", Device(0), Device(0), &value),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Nvml("nvmlDeviceOnSameBoard", Device(0), Device(0), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 1);
}

TEST_F(NvmlAloneTest, AnswersEachFieldByItself) {
  nvmlFieldValue_t values[2] = {};
  values[0].fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT;
  values[1].fieldId = 90;
  EXPECT_EQ(Nvml("nvmlDeviceGetFieldValues", Device(0), 2, &values[0]), NVML_SUCCESS);
  EXPECT_EQ(values[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(values[0].value.uiVal, 18u);
  EXPECT_EQ(values[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Nvml("nvmlDeviceGetFieldValues", Device(0), 0, &values[0]),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlAloneTest, HasNoFabricUnlessTheProfilePermitsIt) {
  nvmlGpuFabricInfo_v3_t info;
  std::memset(&info, 0x5a, sizeof(info));
  info.version = TWINMMU_NVML_VERSION(nvmlGpuFabricInfo_v2_t, 2);
  EXPECT_EQ(Nvml("nvmlDeviceGetGpuFabricInfoV", Device(0), &info), NVML_SUCCESS);
  EXPECT_EQ(info.state, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
  EXPECT_EQ(info.cliqueId, 0u);
  EXPECT_EQ(info.healthSummary, 0x5a) << "the second form has no such field";
  info.version = 0;
  EXPECT_EQ(Nvml("nvmlDeviceGetGpuFabricInfoV", Device(0), &info),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

TEST_F(NvmlAloneTest, WritesNoMoreThanEachFormHas) {
  char info[64];
  std::memset(info, 'z', sizeof(info));
  EXPECT_EQ(Nvml("nvmlDeviceGetPciInfo", Device(0), &info[0]), NVML_SUCCESS);
  EXPECT_EQ(info[32], 'z');
  EXPECT_EQ(Nvml("nvmlDeviceGetPciInfo_v2", Device(0), &info[0]), NVML_SUCCESS);
  EXPECT_NE(info[32], 'z');
  EXPECT_EQ(info[36], 'z');
}

TEST_F(NvmlAloneTest, HasNoPartsOfDevices) {
  unsigned int current = 1;
  unsigned int pending = 1;
  EXPECT_EQ(Nvml("nvmlDeviceGetMigMode", Device(0), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current + pending, 0u);
  nvmlDevice_t part = nullptr;
  EXPECT_EQ(Nvml("nvmlDeviceGetMigDeviceHandleByIndex", Device(0), 0u, &part),
            NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(Nvml("nvmlDeviceGetGpuInstanceId", Device(0), &current), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlAloneTest, HasNoRowsThatFail) {
  unsigned int corrected = 9, uncorrected = 9, is_pending = 9, has_failed = 9;
  EXPECT_EQ(Nvml("nvmlDeviceGetRemappedRows", Device(0), &corrected, &uncorrected, &is_pending,
                 &has_failed),
            NVML_SUCCESS);
  EXPECT_EQ(corrected, 0u);
  EXPECT_EQ(uncorrected, 0u);
  EXPECT_EQ(is_pending, 0u);
  EXPECT_EQ(has_failed, 0u);
}

TEST_F(NvmlAloneTest, IsUninitializedInAChild) {
  const nvmlDevice_t device = Device(0);
  const pid_t child = fork();
  if (child == 0) {
    unsigned int index = 0;
    const bool gone = Nvml("nvmlDeviceGetIndex", device, &index) == NVML_ERROR_UNINITIALIZED;
    const bool comes = Nvml("nvmlInit_v2") == NVML_SUCCESS &&
                       Nvml("nvmlDeviceGetIndex", device, &index) == NVML_SUCCESS;
    _exit(gone && comes ? 0 : 1);
  }
  int ended = 1;
  waitpid(child, &ended, 0);
  EXPECT_EQ(ended, 0);
}

// More than one thread may start it, and each sees it started.
TEST(NvmlFunctionsTest, MayBeStartedByManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      unsigned int count = 0;
      EXPECT_EQ(Nvml("nvmlInit_v2"), NVML_SUCCESS);
      EXPECT_EQ(Nvml("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
      EXPECT_EQ(Nvml("nvmlShutdown"), NVML_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Nvml("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
}

}  // namespace
}  // namespace twinmmu::nvml

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (twinmmu::nvml::LoadNvml(argc, argv)) return RUN_ALL_TESTS();
  std::fprintf(stderr, "usage: nvml_functions_test NVML DRIVER\n%s\n", dlerror());
  return 2;
}

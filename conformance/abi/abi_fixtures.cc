#include "conformance/abi/abi_fixtures.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace twinmmu::abi {
namespace {

// Set for a process that runs one test alone, to what its parent knows of the driver.
constexpr char kAlone[] = "TWINMMU_ABI_TEST_ALONE";
constexpr char kSimulated[] = "simulated";

bool SaysThatItIsSimulated() {
  if (const char* const known = std::getenv(kAlone)) return std::strcmp(known, kSimulated) == 0;
  char name[64] = "";
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetName(name, sizeof(name), 0), CUDA_SUCCESS);
  return std::string(name).rfind("TwinMMU simulated", 0) == 0;
}

// The environment of this process without what is meant for its own GoogleTest.
std::vector<std::string> Environment() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const bool is_own = text.rfind("GTEST_", 0) == 0 || text.rfind("XML_OUTPUT_FILE=", 0) == 0 ||
                        text.rfind("TEST_", 0) == 0;
    if (!is_own) kept.push_back(text);
  }
  return kept;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string ReadAll(int file) {
  std::string text;
  char part[4096];
  off_t at = 0;
  for (ssize_t got; (got = pread(file, part, sizeof(part), at)) > 0; at += got) {
    text.append(part, static_cast<size_t>(got));
  }
  return text;
}

// Runs this program again; what it wrote, and how it ended.
int RunAgain(std::vector<std::string> arguments, std::vector<std::string> environment,
             std::string* output) {
  const int file = memfd_create("output", 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, file, STDERR_FILENO);
  pid_t child = 0;
  int status = -1;
  if (posix_spawn(&child, "/proc/self/exe", &actions, nullptr, Pointers(arguments).data(),
                  Pointers(environment).data()) == 0) {
    waitpid(child, &status, 0);
  }
  posix_spawn_file_actions_destroy(&actions);
  *output = ReadAll(file);
  close(file);
  return status;
}

}  // namespace

const Traits& TraitsOf() {
  static const Traits traits = [] {
    const bool genuine = !SaysThatItIsSimulated();
    Traits made;
    made.survives_bad_pointers = !genuine;
    made.has_export_tables = genuine;
    made.keeps_old_forms = genuine;
    made.allows_multicast = !genuine;
    return made;
  }();
  return traits;
}

bool NewProcessTest::IsNewProcess() { return std::getenv(kAlone) != nullptr; }

bool NewProcessTest::RanInNewProcess(const std::vector<std::string>& environment) {
  if (IsNewProcess()) return false;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(test.test_suite_name()) + "." + test.name();
  std::vector<std::string> variables = environment;
  for (const std::string& kept : Environment()) variables.push_back(kept);
  variables.push_back(std::string(kAlone) + "=" +
                      (TraitsOf().survives_bad_pointers ? kSimulated : "genuine"));
  std::string output;
  const int status = RunAgain(
      {"/proc/self/exe", "--driver=" + DriverName(), "--gtest_filter=" + name}, variables, &output);
  EXPECT_EQ(status, 0) << name << " in another process: " << strsignal(WTERMSIG(status)) << "\n"
                       << output;
  if (output.find("[  SKIPPED ]") != std::string::npos) [] { GTEST_SKIP(); }();
  return true;
}

void DriverTest::SetUp() {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  EmptyStack();
}

void DriverTest::TearDown() { EmptyStack(); }

void ContextTest::SetUp() {
  DriverTest::SetUp();
  // Held until the process ends: making one anew for each test takes long on a GPU.
  static const CUcontext primary = [] {
    CUcontext made = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&made, 0), CUDA_SUCCESS);
    return made;
  }();
  context_ = primary;
  ASSERT_EQ(cuCtxPushCurrent(context_), CUDA_SUCCESS);
}

void TwoDevicesTest::SetUp() {
  ContextTest::SetUp();
  if (DeviceCount() < 2) GTEST_SKIP() << "needs two devices";
  static const CUcontext primary = [] {
    CUcontext made = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&made, 1), CUDA_SUCCESS);
    return made;
  }();
  second_ = primary;
}

int DriverVersion() {
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  return version;
}

void EmptyStack() {
  CUcontext popped = nullptr;
  while (cuCtxPopCurrent(&popped) == CUDA_SUCCESS) {
  }
}

int DeviceCount() {
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  return count;
}

size_t FreeMemory() {
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  return free;
}

CUmemAllocationProp PinnedOn(CUdevice device) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return properties;
}

Mapping::Mapping(CUdevice device, bool granted) {
  const CUmemAllocationProp properties = PinnedOn(device);
  EXPECT_EQ(cuMemCreate(&handle_, kChunk, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressReserve(&address_, kChunk, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(address_, kChunk, 0, handle_, 0), CUDA_SUCCESS);
  if (!granted) return;
  const CUmemAccessDesc grant = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemSetAccess(address_, kChunk, &grant, 1), CUDA_SUCCESS);
}

Mapping::~Mapping() {
  EXPECT_EQ(cuMemUnmap(address_, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(address_, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle_), CUDA_SUCCESS);
}

}  // namespace twinmmu::abi

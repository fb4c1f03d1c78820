// Before cuInit, at it, and which devices it finds.

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using InitTest = NewProcessTest;

TEST_F(InitTest, CallsBeforeItAreRefused) {
  if (RanInNewProcess()) return;
  CUdeviceptr address = 0;
  size_t free = 0;
  size_t total = 0;
  int value = 0;
  void* memory = nullptr;
  EXPECT_EQ(cuDeviceGet(&value, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
            CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuCtxPopCurrent(nullptr), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemAlloc(&address, 100), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemFree(0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemAllocHost(&memory, 100), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemAddressReserve(&address, kChunk, 0, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemUnmap(0, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemcpyHtoD(0, &value, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4096),
            CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_INITIALIZED);
}

TEST_F(InitTest, CallsBeforeItAreRefusedForThatAndNotForNullPointers) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(cuDeviceGetCount(nullptr), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemAllocHost(nullptr, 100), CUDA_ERROR_NOT_INITIALIZED);
}

TEST_F(InitTest, CallsBeforeItWriteNothing) {
  if (RanInNewProcess()) return;
  int count = 7;
  CUcontext context = reinterpret_cast<CUcontext>(7);
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(count, 7);
  EXPECT_EQ(context, reinterpret_cast<CUcontext>(7));
}

TEST_F(InitTest, VersionsErrorsAndFunctionsAreToldBeforeIt) {
  if (RanInNewProcess()) return;
  int version = 0;
  const char* text = nullptr;
  void* function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_GE(version, 10020);
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_NOT_INITIALIZED");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_NOT_INITIALIZED, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "initialization error");
  EXPECT_EQ(cuGetProcAddress("cuInit", &function, 12000, 0, &found), CUDA_SUCCESS);
  EXPECT_EQ(function, FindSymbol("cuInit"));
}

TEST_F(InitTest, AsksNoFlags) {
  if (RanInNewProcess()) return;
  int count = 0;
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuInit(7), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
}

TEST_F(InitTest, MayBeCalledAgain) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
}

TEST_F(InitTest, LeavesNoContextCurrent) {
  if (RanInNewProcess()) return;
  CUcontext context = reinterpret_cast<CUcontext>(7);
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  EXPECT_EQ(context, nullptr);
}

// --- CUDA_VISIBLE_DEVICES ------------------------------------------------------------------------

struct Visible {
  const char* name;
  const char* value;
  CUresult result;
  int devices;    // that there are then
  int needs = 1;  // devices of the machine
};

void PrintTo(const Visible& visible, std::ostream* out) { *out << '"' << visible.value << '"'; }

class VisibleDevicesTest : public NewProcessTest, public testing::WithParamInterface<Visible> {};

TEST_P(VisibleDevicesTest, ChooseWhatIsFound) {
  const Visible& visible = GetParam();
  if (!IsNewProcess() && visible.needs > 1) {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    if (DeviceCount() < visible.needs) GTEST_SKIP() << "needs two devices";
  }
  if (RanInNewProcess({std::string("CUDA_VISIBLE_DEVICES=") + visible.value})) return;
  int count = -1;
  EXPECT_EQ(cuInit(0), visible.result);
  if (visible.result == CUDA_SUCCESS) {
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, visible.devices);
  } else {
    CUdevice device = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuInit(0), visible.result) << "the second time";
  }
}

INSTANTIATE_TEST_SUITE_P(InitTest, VisibleDevicesTest,
                         testing::Values(Visible{"None", "", CUDA_ERROR_NO_DEVICE, 0},
                                         Visible{"First", "0", CUDA_SUCCESS, 1},
                                         Visible{"Absent", "99", CUDA_ERROR_NO_DEVICE, 0},
                                         Visible{"Negative", "-1", CUDA_ERROR_NO_DEVICE, 0},
                                         Visible{"Twice", "0,0", CUDA_ERROR_INVALID_DEVICE, 0},
                                         Visible{"CommaAtTheEnd", "0,", CUDA_SUCCESS, 1},
                                         Visible{"NoNumber", "abc", CUDA_ERROR_NO_DEVICE, 0},
                                         Visible{"AbsentSecond", "0,99,1", CUDA_SUCCESS, 1},
                                         Visible{"Second", "1", CUDA_SUCCESS, 1, 2},
                                         Visible{"SpaceInFront", " 1", CUDA_SUCCESS, 1, 2},
                                         Visible{"Both", "1,0", CUDA_SUCCESS, 2, 2}),
                         [](const testing::TestParamInfo<Visible>& tested) {
                           return tested.param.name;
                         });

}  // namespace
}  // namespace twinmmu::abi

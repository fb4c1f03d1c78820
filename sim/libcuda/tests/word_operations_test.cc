// Waits for words of memory, and writes of them, on devices that cannot do all. The simulated
// driver is linked in: no other one can be meant.

#include <cstdint>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuStreamWaitValue64_v2(CUstream, CUdeviceptr, uint64_t, unsigned int);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr, uint64_t, unsigned int);
}

namespace {

constexpr CUresult kNotSupported = 801;
constexpr unsigned int kEqual = 1;
constexpr unsigned int kNor = 3;

// A machine whose device has not got an attribute, and a word of its memory.
class WordOperationsTest : public testing::Test {
 protected:
  void StartWithout(int attribute) {
    Profile profile = Profile::ReferenceH200(1);
    profile.devices[0].attributes[static_cast<DeviceAttribute>(attribute)] = 0;
    Process::Get().Restart(profile);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&word_, 8), CUDA_SUCCESS);
  }

  CUdeviceptr word_ = 0;
};

TEST_F(WordOperationsTest, OnlyThoseOf64BitsNeedADeviceThatHasThem) {
  ASSERT_NO_FATAL_FAILURE(StartWithout(122));  // CAN_USE_64_BIT_STREAM_MEM_OPS
  EXPECT_EQ(cuStreamWriteValue32_v2(nullptr, word_, 7, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32_v2(nullptr, word_, 7, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue64_v2(nullptr, word_, 7, 0), kNotSupported);
  EXPECT_EQ(cuStreamWaitValue64_v2(nullptr, word_, 7, kEqual), kNotSupported);
}

TEST_F(WordOperationsTest, OnlyThoseOfTheConditionNorNeedADeviceThatHasIt) {
  ASSERT_NO_FATAL_FAILURE(StartWithout(123));  // CAN_USE_STREAM_WAIT_VALUE_NOR
  EXPECT_EQ(cuStreamWaitValue64_v2(nullptr, word_, 0, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32_v2(nullptr, word_, 0, kNor), kNotSupported);
}

}  // namespace
}  // namespace twinmmu::libcuda

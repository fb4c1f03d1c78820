// The library is closed and opened again, and called when main has ended.

#include <cstdio>
#include <cstdlib>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using ProcessEndTest = NewProcessTest;

// --- Closing the library -------------------------------------------------------------------------

TEST_F(ProcessEndTest, ClosingAndOpeningTheLibraryKeepsWhatItHas) {
  if (RanInNewProcess()) return;
  CUcontext context = nullptr;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  const Mapping mapping;
  const Buffer buffer(100);
  const int written = 42;
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), &written, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD(buffer.address(), mapping.address(), 4), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    CloseDriver();
    int read = 0;
    CUcontext current = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, context);
    EXPECT_EQ(cuMemcpyDtoH(&read, mapping.address(), 4), CUDA_SUCCESS);
    EXPECT_EQ(read, 42);
    EXPECT_EQ(cuMemcpyDtoH(&read, buffer.address(), 4), CUDA_SUCCESS);
    EXPECT_EQ(read, 42);
  }
}

TEST_F(ProcessEndTest, LibraryMayBeClosedBeforeItIsInitialised) {
  if (RanInNewProcess()) return;
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  CloseDriver();
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
}

// --- After main ----------------------------------------------------------------------------------

// Makes calls when it is destroyed. The process then ends at once, with 0 if they did as they may:
// succeed, or say that the driver is shutting down.
struct CallsAtTheEnd {
  ~CallsAtTheEnd() {
    CUdeviceptr address = 0;
    for (const CUresult result :
         {cuMemUnmap(mapped, kChunk), cuMemAddressFree(mapped, kChunk), cuMemRelease(handle),
          cuMemAlloc(&address, 100), cuMemFree(linear), cuMemFreeHost(host),
          cuStreamDestroy(stream), cuCtxDestroy(context)}) {
      if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED) continue;
      std::printf("a call after main: %d\n", static_cast<int>(result));
      std::fflush(stdout);
      std::_Exit(3);
    }
  }

  CUcontext context = nullptr;
  CUdeviceptr mapped = 0;
  CUdeviceptr linear = 0;
  CUmemGenericAllocationHandle handle = 0;
  void* host = nullptr;
  CUstream stream = nullptr;
};

void MakeWhatIsFreedAtTheEnd(CallsAtTheEnd& made) {
  const CUmemAllocationProp properties = PinnedOn(0);
  ASSERT_EQ(cuCtxCreate(&made.context, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemCreate(&made.handle, kChunk, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&made.mapped, kChunk, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(made.mapped, kChunk, 0, made.handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc(&made.linear, 100), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocHost(&made.host, 100), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&made.stream, 0), CUDA_SUCCESS);
}

TEST_F(ProcessEndTest, StaticObjectsMayFreeWhatTheyHoldAfterMain) {
  if (RanInNewProcess()) return;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  static CallsAtTheEnd at_the_end;
  MakeWhatIsFreedAtTheEnd(at_the_end);
}

TEST_F(ProcessEndTest, StaticObjectsOlderThanTheLibraryMayDoSoToo) {
  if (RanInNewProcess()) return;
  static CallsAtTheEnd at_the_end;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  MakeWhatIsFreedAtTheEnd(at_the_end);
}

}  // namespace
}  // namespace twinmmu::abi

// Objects of another context than the current one. Source: an H200 with driver 580.159.

#include "conformance/abi/contexts/context_objects.h"

namespace twinmmu::abi {
namespace {

constexpr Function<CUresult(CUfunction, int, int, int)> set_shape("cuFuncSetBlockShape");
constexpr Function<CUresult(CUfunction, int, int, CUstream)> launch_grid("cuLaunchGridAsync");

constexpr Function<CUresult(CUfunction*, CUkernel)> get_function("cuKernelGetFunction");

// The objects are of the primary context; another one is current.
class OtherContextTest : public ContextObjectsTest {
 protected:
  void SetUp() override {
    ContextObjectsTest::SetUp();
    ASSERT_EQ(cuCtxCreate(&other_, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_of_other_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuCtxDestroy(other_), CUDA_SUCCESS);
    ContextObjectsTest::TearDown();
  }

  CUcontext other_ = nullptr;
  CUstream stream_of_other_ = nullptr;
};

TEST_F(OtherContextTest, StreamsTakeWorkAllTheSame) {
  EXPECT_EQ(Launch(write_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), static_cast<uint32_t>(kWritten));
}

TEST_F(OtherContextTest, FunctionsAreLaunchedOnStreamsOfTheirContextOnly) {
  EXPECT_EQ(Launch(write_, stream_of_other_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(write_, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(write_, CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_HANDLE);
  void* arguments[] = {&memory_};
  EXPECT_EQ(cuLaunchKernel(write_, 0, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_ERROR_INVALID_HANDLE)
      << "comes before the shape";
}

TEST_F(OtherContextTest, NorAreTheyCapturedOnOthers) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamBeginCapture(stream_of_other_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(Launch(write_, stream_of_other_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamEndCapture(stream_of_other_, &graph), CUDA_SUCCESS) << "goes on";
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(OtherContextTest, AFunctionIsOfTheContextOfItsModule) {
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "write"), CUDA_SUCCESS);
  EXPECT_EQ(Launch(function, stream_of_other_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(function, stream_), CUDA_SUCCESS);
}

TEST_F(OtherContextTest, AFunctionStaysSoWhenAnotherModuleIsUnloaded) {
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kText), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(Launch(write_, stream_of_other_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(write_, stream_), CUDA_SUCCESS);
}

TEST_F(OtherContextTest, FunctionsOfLibrariesAreLaunchedInBothContexts) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction here = nullptr;
  CUfunction there = nullptr;
  EXPECT_EQ(load_library(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(get_kernel(&kernel, library, "write"), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(get_function(&there, kernel), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(other_), CUDA_SUCCESS);
  EXPECT_EQ(get_function(&here, kernel), CUDA_SUCCESS);
  EXPECT_EQ(Launch(there, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), static_cast<uint32_t>(kWritten));
  EXPECT_EQ(Launch(here, stream_of_other_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_of_other_), CUDA_SUCCESS);
  EXPECT_EQ(unload_library(library), CUDA_SUCCESS);
}

TEST_F(OtherContextTest, ThereIsNoTimeBetweenEventsOfTwoContexts) {
  float milliseconds = 0;
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, stream_of_other_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(OtherContextTest, StepwiseLaunchesAreOfTheCurrentContext) {
  EXPECT_EQ(set_shape(write_, 1, 1, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch_grid(write_, 1, 1, stream_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(OtherContextTest, TexturesAreNotToldNorMadeOfItsArrays) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array_;
  CUDA_TEXTURE_DESC sampling = {};
  CUtexObject texture = 0;
  CUtexObject denied = 0;
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &sampling, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(other_), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectCreate(&denied, &resource, &sampling, nullptr),
            CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuTexObjectGetResourceDesc(&resource, texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi

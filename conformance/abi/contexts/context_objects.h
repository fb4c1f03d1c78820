// Objects of the primary context, for tests of what other contexts, or none, make of them.

#ifndef TWINMMU_CONFORMANCE_ABI_CONTEXTS_CONTEXT_OBJECTS_H_
#define TWINMMU_CONFORMANCE_ABI_CONTEXTS_CONTEXT_OBJECTS_H_

#include <cstdint>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;
constexpr Function<CUresult(CUlibrary*, const void*, void*, void*, unsigned int, void*, void*,
                            unsigned int)>
    load_library("cuLibraryLoadData");
constexpr Function<CUresult(CUlibrary)> unload_library("cuLibraryUnload");
constexpr Function<CUresult(CUkernel*, CUlibrary, const char*)> get_kernel("cuLibraryGetKernel");

class ContextObjectsTest : public ContextTest {
 protected:
  // The kernel writes it where it is told to.
  static constexpr int kWritten = 7;
  static constexpr const char* kText =
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".visible .global .align 4 .u32 variable;\n"
      ".visible .entry write(.param .u64 to) {\n"
      "  .reg .b64 %d;\n"
      "  ld.param.u64 %d, [to];\n"
      "  st.global.u32 [%d], 7;\n"
      "  ret;\n}\n";

  void SetUp() override {
    ContextTest::SetUp();
    const CUDA_ARRAY_DESCRIPTOR row = {64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&event_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&memory_, 4096), CUDA_SUCCESS);
    ASSERT_EQ(cuArrayCreate(&array_, &row), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module_, kText), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&write_, module_, "write"), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
    EXPECT_EQ(cuArrayDestroy(array_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(memory_), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy(event_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  CUresult Launch(CUfunction function, CUstream stream) {
    void* arguments[] = {&memory_};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  }
  // Of the memory, once the stream is done.
  uint32_t FirstWord() const {
    uint32_t word = 0;
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoHAsync(&word, memory_, sizeof(word), stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return word;
  }

  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUarray array_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction write_ = nullptr;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_CONTEXTS_CONTEXT_OBJECTS_H_

// The heap from which kernels take memory by malloc: its size is a limit of the context, until the
// first kernel that may use it is launched.

#include <cstdint>
#include <string>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kBlock = 64 << 10;

// `take` takes blocks until there are none, and says how many it has; `leave` takes none.
constexpr char kCode[] = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 s);
.visible .entry take(.param .u64 to) {
  .reg .b64 %to, %p; .reg .b32 %n; .reg .pred %none;
  ld.param.u64 %to, [to]; mov.u32 %n, 0;
L: { .param .b64 s; .param .b64 r; st.param.b64 [s], 65536;
  call.uni (r), malloc, (s); ld.param.b64 %p, [r]; }
  setp.eq.u64 %none, %p, 0; @%none bra E; add.u32 %n, %n, 1; bra L;
E: st.global.u32 [%to], %n; ret; }
)";
constexpr char kPlainCode[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry leave(.param .u64 to) { ret; }
)";

// Each test in a process of its own, so that no kernel has used the heap.
class HeapLimitTest : public NewProcessTest {
 protected:
  void SetUp() override {
    if (!IsNewProcess()) return;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    Retain();
  }

  void Retain() {
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  }

  static CUfunction KernelOf(const char* code, const char* name) {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, code), CUDA_SUCCESS);
    CUfunction kernel = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&kernel, module, name), CUDA_SUCCESS);
    return kernel;
  }
  static uint32_t Run(CUfunction kernel) {
    const Buffer result(4);
    CUdeviceptr to = result.address();
    void* arguments[] = {&to};
    EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    uint32_t blocks = 0;
    EXPECT_EQ(cuMemcpyDtoH(&blocks, to, sizeof(blocks)), CUDA_SUCCESS);
    return blocks;
  }
  static CUresult Set(size_t size) { return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, size); }
  static size_t Get() {
    size_t size = 0;
    EXPECT_EQ(cuCtxGetLimit(&size, CU_LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS);
    return size;
  }

 private:
  CUcontext context_ = nullptr;
};

// How much of it fits, the driver's allocator decides: some 60 of 100 bytes of an H100.
TEST_F(HeapLimitTest, IsTheSizeOfTheHeap) {
  if (RanInNewProcess()) return;
  constexpr size_t kHeap = 48 << 20;
  EXPECT_EQ(Set(kHeap), CUDA_SUCCESS);
  const size_t taken = Run(KernelOf(kCode, "take")) * kBlock;
  EXPECT_GT(taken, kHeap / 2);
  EXPECT_LE(taken, kHeap);
}

TEST_F(HeapLimitTest, LeavesNothingWhenItIsReached) {
  if (RanInNewProcess()) return;
  const CUfunction take = KernelOf(kCode, "take");
  EXPECT_GT(Run(take), 0u);
  EXPECT_EQ(Run(take), 0u);
}

TEST_F(HeapLimitTest, StaysOnceTheHeapIsUsed) {
  if (RanInNewProcess()) return;
  const CUfunction take = KernelOf(kCode, "take");
  EXPECT_EQ(Set(16 << 20), CUDA_SUCCESS);
  Run(take);
  EXPECT_EQ(Set(48 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Set(16 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Get(), size_t{16} << 20);
}

TEST_F(HeapLimitTest, IsOpenAgainAfterAReset) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(Set(16 << 20), CUDA_SUCCESS);
  EXPECT_GT(Run(KernelOf(kCode, "take")), 0u);
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  Retain();
  EXPECT_EQ(Get(), size_t{8} << 20);
  EXPECT_EQ(Set(48 << 20), CUDA_SUCCESS);
  const size_t taken = Run(KernelOf(kCode, "take")) * kBlock;
  EXPECT_GT(taken, size_t{24} << 20);
}

TEST_F(HeapLimitTest, IsLeftOpenByOtherKernels) {
  if (RanInNewProcess()) return;
  const CUfunction take = KernelOf(kCode, "take");
  Run(KernelOf(kPlainCode, "leave"));
  EXPECT_EQ(Set(16 << 20), CUDA_SUCCESS);
  const size_t taken = Run(take) * kBlock;
  EXPECT_GT(taken, size_t{8} << 20);
}

// What is rounded up beyond the largest number is nothing.
TEST_F(HeapLimitTest, MayBeNothing) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(Set(~size_t{0}), CUDA_SUCCESS);
  EXPECT_EQ(Get(), 0u);
  EXPECT_EQ(Run(KernelOf(kCode, "take")), 0u);
}

TEST_F(HeapLimitTest, IsNoLargerThanTheDeviceAllows) {
  if (RanInNewProcess()) return;
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(Set(total), CUDA_SUCCESS);
  EXPECT_GT(Get(), size_t{1} << 30);
  EXPECT_LT(Get(), total / 2);
}

}  // namespace
}  // namespace twinmmu::abi

// Functions that take no part in memory.

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using DeclaredTest = ContextTest;

constexpr char kKernel[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry kernel() { ret; }\n";

TEST_F(DeclaredTest, TheProfilerStartsAndStopsWhetherThereIsOneOrNot) {
  const Function<CUresult()> start("cuProfilerStart");
  const Function<CUresult()> stop("cuProfilerStop");
  EXPECT_EQ(start(), CUDA_SUCCESS);
  EXPECT_EQ(stop(), CUDA_SUCCESS);
  EXPECT_EQ(stop(), CUDA_SUCCESS);
  EmptyStack();
  EXPECT_EQ(start(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(stop(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DeclaredTest, BanksOfSharedMemoryHave4BytesWhateverIsSet) {
  const Function<CUresult(int*)> get("cuCtxGetSharedMemConfig");
  const Function<CUresult(int)> set("cuCtxSetSharedMemConfig");
  for (const int asked : {0, 1, 2}) {
    int config = 77;
    EXPECT_EQ(set(asked), CUDA_SUCCESS) << asked;
    EXPECT_EQ(get(&config), CUDA_SUCCESS);
    EXPECT_EQ(config, 1) << asked;
  }
  EXPECT_EQ(set(3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(-1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeclaredTest, BanksOfAFunctionHave4Or8Bytes) {
  const Function<CUresult(CUfunction, int)> set("cuFuncSetSharedMemConfig");
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kKernel), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "kernel"), CUDA_SUCCESS);
  for (const int config : {0, 1, 2}) EXPECT_EQ(set(function, config), CUDA_SUCCESS) << config;
  for (const int none : {-1, 3}) EXPECT_EQ(set(function, none), CUDA_ERROR_INVALID_VALUE) << none;
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(DeclaredTest, AKernelPrefersACacheThatThereIs) {
  const Function<CUresult(void*, int, CUdevice)> prefer("cuKernelSetCacheConfig");
  void* library = nullptr;
  void* kernel = nullptr;
  ASSERT_EQ(Function<CUresult(void**, const void*, void*, void*, unsigned, void*, void*, unsigned)>(
                "cuLibraryLoadData")(&library, kKernel, nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(Function<CUresult(void**, void*, const char*)>("cuLibraryGetKernel")(&kernel, library,
                                                                                 "kernel"),
            CUDA_SUCCESS);
  for (const int cache : {0, 1, 2, 3}) EXPECT_EQ(prefer(kernel, cache, 0), CUDA_SUCCESS) << cache;
  for (const int none : {-1, 4}) EXPECT_EQ(prefer(kernel, none, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Function<CUresult(void*)>("cuLibraryUnload")(library), CUDA_SUCCESS);
}

TEST_F(DeclaredTest, CachesOfAContextCanBeReset) {
  const Function<CUresult()> reset("cuCtxResetPersistingL2Cache");
  EXPECT_EQ(reset(), CUDA_SUCCESS);
  EmptyStack();
  EXPECT_EQ(reset(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DeclaredTest, WritesOfOthersCanBeFlushed) {
  const Function<CUresult(int, int)> flush("cuFlushGPUDirectRDMAWrites");
  EXPECT_EQ(flush(0, 100), CUDA_SUCCESS);
  EXPECT_EQ(flush(0, 200), CUDA_SUCCESS);
  EXPECT_EQ(flush(0, 150), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(flush(1, 100), CUDA_ERROR_INVALID_VALUE);
}

void Ignore(void*, int, char*, size_t) {}

TEST_F(DeclaredTest, CallbacksOfTheLogComeAndGo) {
  if (DriverVersion() < 12090) GTEST_SKIP() << "the driver is older than these functions";
  const Function<CUresult(void (*)(void*, int, char*, size_t), void*, void**)> add(
      "cuLogsRegisterCallback");
  const Function<CUresult(void*)> remove("cuLogsUnregisterCallback");
  void* handle = nullptr;
  EXPECT_EQ(add(Ignore, nullptr, &handle), CUDA_SUCCESS);
  EXPECT_NE(handle, nullptr);
  EXPECT_EQ(remove(handle), CUDA_SUCCESS);
  EXPECT_EQ(add(nullptr, nullptr, &handle), CUDA_ERROR_INVALID_VALUE);
  if (!TraitsOf().survives_bad_pointers) return;
  EXPECT_EQ(remove(handle), CUDA_ERROR_INVALID_VALUE) << "a second time";
}

}  // namespace
}  // namespace twinmmu::abi

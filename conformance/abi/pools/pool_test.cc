#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {
namespace {

// Waits until the word at p is not 0.
constexpr char kWaits[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
    ".reg .pred %p; .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [p];\n"
    "again: ld.volatile.global.u32 %r, [%a]; setp.eq.u32 %p, %r, 0; @%p bra again;\nret;\n}\n";

constexpr Function<CUresult(CUmodule*, const void*)> load_module("cuModuleLoadData");
constexpr Function<CUresult(CUmodule)> unload_module("cuModuleUnload");
constexpr Function<CUresult(CUfunction*, CUmodule, const char*)> get_function(
    "cuModuleGetFunction");
constexpr Function<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, CUstream, void**, void**)>
    launch("cuLaunchKernel");

}  // namespace

void PoolTest::SetUp() {
  ContextTest::SetUp();
  if (HasFatalFailure()) return;
  if (DriverVersion() < 11020) GTEST_SKIP() << "the driver is older than pools";
  ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  pool_ = MakePool();
}

void PoolTest::TearDown() {
  if (gate_ != nullptr) Open();
  if (stream_ != nullptr) {
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(other_), CUDA_SUCCESS);
  }
  for (const CUmemoryPool pool : pools_) EXPECT_EQ(destroy_pool(pool), CUDA_SUCCESS);
  if (module_ != nullptr) {
    EXPECT_EQ(unload_module(module_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeHost(const_cast<unsigned*>(gate_)), CUDA_SUCCESS);
  }
  ContextTest::TearDown();
}

CUmemoryPool PoolTest::MakePool(const PoolProps& props) {
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  if (pool != nullptr) pools_.push_back(pool);
  return pool;
}

void PoolTest::KeepAll(CUmemoryPool pool) {
  uint64_t all = ~uint64_t{0};
  EXPECT_EQ(set_attribute(pool, kReleaseThreshold, &all), CUDA_SUCCESS);
}

CUdeviceptr PoolTest::Allocate(size_t size, CUstream stream) {
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_from(&address, size, pool_, stream), CUDA_SUCCESS) << size;
  return address;
}

uint64_t PoolTest::Get(CUmemoryPool pool, int attribute) {
  uint64_t value = 0;
  EXPECT_EQ(get_attribute(pool, attribute, &value), CUDA_SUCCESS) << attribute;
  return value;
}

void PoolTest::SetFlag(CUmemoryPool pool, int attribute, int value) {
  EXPECT_EQ(set_attribute(pool, attribute, &value), CUDA_SUCCESS) << attribute;
}

void PoolTest::Block(CUstream stream) {
  if (module_ == nullptr) {
    void* memory = nullptr;
    ASSERT_EQ(cuMemAllocHost(&memory, sizeof(unsigned)), CUDA_SUCCESS);
    gate_ = static_cast<unsigned*>(memory);
    ASSERT_EQ(load_module(&module_, kWaits), CUDA_SUCCESS);
  }
  *gate_ = 0;
  CUfunction kernel = nullptr;
  ASSERT_EQ(get_function(&kernel, module_, "k"), CUDA_SUCCESS);
  CUdeviceptr at = AddressOf(const_cast<unsigned*>(gate_));
  void* arguments[] = {&at};
  ASSERT_EQ(launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), CUDA_SUCCESS);
}

void PoolTest::Open() { *gate_ = 1; }

}  // namespace twinmmu::abi

// The host runs out of memory in calls for pools: each allocation of each call fails in turn, once,
// or with all that follow in that call. The call says OUT_OF_MEMORY, or does without; then all is
// as it was, and the same call works. The simulated driver is linked in.

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"
#include "sim/testing/failing_host.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" CUresult cuMemAllocFromPoolAsync(CUdeviceptr*, size_t, CUmemoryPool, CUstream);
extern "C" CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
extern "C" CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
extern "C" CUresult cuMemPoolDestroy(CUmemoryPool);
extern "C" CUresult cuMemPoolTrimTo(CUmemoryPool, size_t);
extern "C" CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute, void*);
extern "C" CUresult cuDeviceGetDefaultMemPool(CUmemoryPool*, CUdevice);

namespace {

using failing_host::Fails;

constexpr CUresult kOutOfMemory = 2;
constexpr size_t kLarge = size_t{40} << 20;  // more than a chunk

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr, usual = nullptr;
  CUdeviceptr first = 0, second = 0;
};

struct Step {
  const char* name;
  std::function<CUresult(World&)> run;
};

CUresult CreatePool(World& w) {
  CUmemPoolProps props = {};
  props.allocType = 1;
  props.location.type = 1;
  return cuMemPoolCreate(&w.pool, &props);
}
CUresult Allocate(World& w, CUdeviceptr* address) {
  return cuMemAllocFromPoolAsync(address, kLarge, w.pool, w.stream);
}

std::vector<Step> Script() {
  return {
      {"default pool", [](World& w) { return cuDeviceGetDefaultMemPool(&w.usual, 0); }},
      {"create", CreatePool},
      {"allocate", [](World& w) { return Allocate(w, &w.first); }},
      {"allocate another", [](World& w) { return Allocate(w, &w.second); }},
      {"fill", [](World& w) { return cuMemsetD8Async(w.second, 7, 64, w.stream); }},
      {"free", [](World& w) { return cuMemFreeAsync(w.first, w.stream); }},
      {"allocate again", [](World& w) { return Allocate(w, &w.first); }},
      {"free again", [](World& w) { return cuMemFreeAsync(w.first, w.stream); }},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"trim", [](World& w) { return cuMemPoolTrimTo(w.pool, 0); }},
      {"destroy", [](World& w) { return cuMemPoolDestroy(w.pool); }},
      {"free the last", [](World& w) { return cuMemFreeAsync(w.second, w.stream); }},
  };
}

// All that a program can see.
std::string StateOf(World& w) {
  std::ostringstream out;
  for (int attribute = 5; w.pool != nullptr && attribute <= 8; ++attribute) {
    uint64_t value = 0;
    out << cuMemPoolGetAttribute(w.pool, attribute, &value) << " attribute " << value << "\n";
  }
  for (const CUdeviceptr address : {w.first, w.second}) {
    unsigned int type = 0;
    out << cuPointerGetAttribute(&type, 2, address) << " memory " << type << "\n";
  }
  const auto info = Process::Get().driver()->vmm.GetMemoryInfo(DeviceOrdinal(0));
  out << (info.ok() ? info->free.value() : 0) << " free\n";
  return out.str();
}

void Restart(World& w) {
  Process::Get().Restart(Profile::ReferenceH200(2));
  ASSERT_NE(Process::Get().driver(), nullptr);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&w.context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent_v2(w.context), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&w.stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

class PoolMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(PoolMemoryFailureTest, NothingIsLost) {
  bool failed = true;
  for (uint64_t n = 0; failed && !HasFailure(); ++n) {
    SCOPED_TRACE(n);
    World world;
    Restart(world);
    failing_host::FailAt(Fails::kMemory, n, GetParam());
    failed = false;
    for (const Step& step : Script()) {
      SCOPED_TRACE(step.name);
      const std::string before = StateOf(world);
      CUresult result = CUDA_SUCCESS;
      bool hit = false;
      {
        const failing_host::Scope scope;
        result = step.run(world);
        hit = scope.failed();
      }
      failed = failed || hit;
      if (hit && result == kOutOfMemory) {
        EXPECT_EQ(StateOf(world), before);
        result = step.run(world);
      }
      EXPECT_EQ(result, CUDA_SUCCESS);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, PoolMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

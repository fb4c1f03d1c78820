// The host runs out of memory in launches of all forms, and in the calls that set the shape and the
// arguments of the oldest one: see memory_failure_steps.h. The simulated driver is linked in.

#include <cstdint>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemHostAlloc(void**, size_t, unsigned int);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuModuleGetFunctionCount(unsigned int*, CUmodule);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuFuncSetBlockShape(CUfunction, int, int, int);
CUresult cuFuncSetSharedSize(CUfunction, unsigned int);
CUresult cuParamSetSize(CUfunction, unsigned int);
CUresult cuParamSeti(CUfunction, int, unsigned int);
CUresult cuParamSetf(CUfunction, int, float);
CUresult cuParamSetv(CUfunction, int, void*, unsigned int);
CUresult cuLaunch(CUfunction);
CUresult cuLaunchGrid(CUfunction, int, int);
CUresult cuLaunchGridAsync(CUfunction, int, int, CUstream);
CUresult cuLaunchCooperativeKernel(CUfunction, unsigned int, unsigned int, unsigned int,
                                   unsigned int, unsigned int, unsigned int, unsigned int, CUstream,
                                   void**);
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS*, unsigned int, unsigned int);
}

namespace {

// Each thread adds its arguments to two words: what ran, and how often.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 at, .param .u32 count, .param .f32 sum) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<3>;
  .reg .f32 %f<3>;
  ld.param.u64 %rd1, [at];
  ld.param.u32 %r1, [count];
  ld.param.f32 %f1, [sum];
  atom.global.add.u32 %r2, [%rd1], %r1;
  atom.global.add.f32 %f2, [%rd1+4], %f1;
  ret;
}
)";

struct Sums {
  uint32_t count;
  float sum;
};

// What the steps hand on to each other.
struct World {
  // What still waits goes on.
  ~World() {
    if (gate != nullptr) OpenGate();
  }
  // The scheduler's thread reads it.
  void OpenGate() { __atomic_store_n(static_cast<uint32_t*>(gate), 1, __ATOMIC_RELEASE); }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;
  void* gate = nullptr;
  CUevent begun = nullptr;
  CUevent ended = nullptr;
  Sums read = {};
};
using Steps = std::vector<Step<World>>;

Steps Preparing() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, 4096); }},
      {"clear", [](World& w) { return cuMemsetD8_v2(w.memory, 0, sizeof(Sums)); }},
      {"allocate a gate", [](World& w) { return cuMemHostAlloc(&w.gate, 4096, 0); }},
      {"load", [](World& w) { return cuModuleLoadData(&w.module, kPtx); }},
      {"function", [](World& w) { return cuModuleGetFunction(&w.function, w.module, "add"); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 0); }},
  };
}

Steps Setting() {
  return {
      {"shape", [](World& w) { return cuFuncSetBlockShape(w.function, 2, 1, 1); }},
      {"shared memory", [](World& w) { return cuFuncSetSharedSize(w.function, 64); }},
      {"first argument",
       [](World& w) { return cuParamSetv(w.function, 0, &w.memory, sizeof(w.memory)); }},
      {"second", [](World& w) { return cuParamSeti(w.function, 8, 3); }},
      {"third", [](World& w) { return cuParamSetf(w.function, 12, 0.5F); }},
      {"their size", [](World& w) { return cuParamSetSize(w.function, 16); }},
  };
}

// The arguments of the newer launches.
struct Arguments {
  explicit Arguments(const World& w) : at(w.memory) {}
  CUdeviceptr at;
  uint32_t count = 100;
  float sum = 8;
  void* pointers[3] = {&at, &count, &sum};
};
CUresult LaunchCooperative(World& w) {
  Arguments arguments(w);
  return cuLaunchCooperativeKernel(w.function, 1, 1, 1, 1, 1, 1, 0, w.stream, arguments.pointers);
}
CUresult LaunchOnDevices(World& w) {
  Arguments arguments(w);
  CUDA_LAUNCH_PARAMS params = {w.function, 1, 1, 1, 1, 1, 1, 0, w.stream, arguments.pointers};
  return cuLaunchCooperativeKernelMultiDevice(&params, 1, 0);
}
CUresult LaunchEx(World& w, CUlaunchAttribute* attributes, unsigned int count) {
  Arguments arguments(w);
  const CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, w.stream, attributes, count};
  return cuLaunchKernelEx(&config, w.function, arguments.pointers, nullptr);
}
CUresult LaunchClusters(World& w) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim = {1, 1, 1};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[1].value.cooperative = 1;
  return LaunchEx(w, attributes, 2);
}
CUresult LaunchEarly(World& w) {
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  return LaunchEx(w, &attribute, 1);
}
CUresult LaunchWithEvents(World& w) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attributes[0].value.launchCompletionEvent.event = w.begun;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  attributes[1].value.programmaticEvent.event = w.ended;
  return LaunchEx(w, attributes, 2);
}

// A kernel that finds no memory when it runs has failed for good: they run when all is launched,
// and while another thread waits for them, in which nothing fails.
CUresult RunThem(World& w) {
  CUresult result = CUDA_SUCCESS;
  const auto run = [&] {
    w.OpenGate();
    result = cuCtxPushCurrent_v2(w.context);
    if (result == CUDA_SUCCESS) result = cuCtxSynchronize();
  };
  try {
    std::thread(run).join();
  } catch (const std::bad_alloc&) {
    return 2;  // CUDA_ERROR_OUT_OF_MEMORY
  }
  return result;
}

CUresult ReadSums(World& w) {
  const CUresult result = cuMemcpyDtoH_v2(&w.read, w.memory, sizeof(w.read));
  if (result != CUDA_SUCCESS) return result;
  EXPECT_EQ(w.read.count, 10 * 3 + 5 * 100);  // each launch once
  EXPECT_EQ(w.read.sum, 10 * 0.5 + 5 * 8);
  return result;
}

Steps Launches() {
  return {
      {"wait",
       [](World& w) {
         return cuStreamWaitValue32_v2(w.stream, reinterpret_cast<CUdeviceptr>(w.gate), 1, 0);
       }},
      {"launch", [](World& w) { return cuLaunch(w.function); }},
      {"launch a grid", [](World& w) { return cuLaunchGrid(w.function, 2, 1); }},
      {"launch a grid in a stream",
       [](World& w) { return cuLaunchGridAsync(w.function, 1, 2, w.stream); }},
      {"launch a cooperative one", LaunchCooperative},
      {"launch one on devices", LaunchOnDevices},
      {"launch clusters", LaunchClusters},
      {"launch an early one", LaunchEarly},
      {"create an event",
       [](World& w) { return cuEventCreate(&w.begun, CU_EVENT_DISABLE_TIMING); }},
      {"create another", [](World& w) { return cuEventCreate(&w.ended, CU_EVENT_DISABLE_TIMING); }},
      {"launch one with events", LaunchWithEvents},
      {"run", RunThem},
      {"read", ReadSums},
      {"unload", [](World& w) { return cuModuleUnload(w.module); }},
  };
}

Steps Script() { return Joined<World>({Preparing(), Setting(), Launches()}); }

// All that a program can see. What was launched shows when it has run.
std::string VisibleState(World& w) {
  std::ostringstream out;
  unsigned int count = 0;
  out << cuModuleGetFunctionCount(&count, w.module) << " module " << count << "\n";
  out << (w.stream == nullptr ? 0 : cuStreamQuery(w.stream)) << " stream\n";
  for (const CUevent event : {w.begun, w.ended}) {
    out << (event == nullptr ? 0 : cuEventQuery(event)) << " event\n";
  }
  out << w.read.count << " " << w.read.sum << " read\n";
  out << FreeOn(1);
  return out.str();
}

class LaunchMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(LaunchMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/280);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, LaunchMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

// The host runs out of memory in calls for modules, libraries, functions and kernels, for what is
// linked of files, and for how many blocks fit: see memory_failure_steps.h. The simulated driver is
// linked in.

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/modules.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

// What the backend does not call.
struct CUlinkState_st;
extern "C" {
CUresult cuModuleLoadFatBinary(CUmodule*, const void*);
CUresult cuModuleGetLoadingMode(int*);
CUresult cuModuleGetFunctionCount(unsigned int*, CUmodule);
CUresult cuModuleEnumerateFunctions(CUfunction*, unsigned int, CUmodule);
CUresult cuFuncLoad(CUfunction);
CUresult cuFuncIsLoaded(int*, CUfunction);
CUresult cuFuncGetModule(CUmodule*, CUfunction);
CUresult cuFuncGetName(const char**, CUfunction);
CUresult cuFuncGetParamInfo(CUfunction, size_t, size_t*, size_t*);
CUresult cuFuncGetAttribute(int*, int, CUfunction);
CUresult cuLibraryLoadFromFile(CUlibrary*, const char*, CUjit_option*, void**, unsigned int, int*,
                               void**, unsigned int);
CUresult cuLibraryUnload(CUlibrary);
CUresult cuLibraryGetKernelCount(unsigned int*, CUlibrary);
CUresult cuLibraryEnumerateKernels(CUkernel*, unsigned int, CUlibrary);
CUresult cuLibraryGetGlobal(CUdeviceptr*, size_t*, CUlibrary, const char*);
CUresult cuLibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary, const char*);
CUresult cuKernelGetLibrary(CUlibrary*, CUkernel);
CUresult cuKernelGetName(const char**, CUkernel);
CUresult cuKernelGetParamInfo(CUkernel, size_t, size_t*, size_t*);
CUresult cuKernelGetAttribute(int*, int, CUkernel, CUdevice);
CUresult cuKernelSetAttribute(int, int, CUkernel, CUdevice);
CUresult cuLinkCreate_v2(unsigned int, int*, void**, CUlinkState_st**);
CUresult cuLinkAddFile_v2(CUlinkState_st*, int, const char*, unsigned int, int*, void**);
CUresult cuLinkComplete(CUlinkState_st*, void**, size_t*);
CUresult cuLinkDestroy(CUlinkState_st*);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int*, CUfunction, int, size_t);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int*, CUfunction, int, size_t,
                                                              unsigned int);
CUresult cuOccupancyMaxPotentialBlockSize(int*, int*, CUfunction, size_t (*)(int), size_t, int);
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int*, int*, CUfunction, size_t (*)(int), size_t,
                                                   int, unsigned int);
CUresult cuOccupancyMaxPotentialClusterSize(int*, CUfunction, const CUlaunchConfig*);
CUresult cuOccupancyMaxActiveClusters(int*, CUfunction, const CUlaunchConfig*);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t*, CUfunction, int, int);
}

namespace {

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kOutOfMemory = 2;
constexpr int kDynamicSize = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kPtxInput = 1;

// Large enough that the free memory tells where it is loaded.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 room[3000000];
.visible .global .attribute(.managed) .u32 word;
.visible .entry first(.param .u64 at) { ret; }
.visible .entry second() { ret; }
)";
constexpr char kCaller[] = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func helper();
.visible .entry kernel() { call helper, (); ret; }
)";
constexpr char kHelper[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .func helper() { ret; }
)";

// Made once, whose paths last: the steps have no memory for them.
struct Files {
  static const Files& Get() {
    static const Files& all = *new Files;
    return all;
  }
  static std::string Write(const char* name, const char* text) {
    std::string path = testing::TempDir() + name;
    std::ofstream(path) << text;
    return path;
  }
  const std::string library = Write("library.ptx", kPtx);
  const std::string caller = Write("caller.ptx", kCaller);
  const std::string helper = Write("called.ptx", kHelper);
};

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr, other_context = nullptr, popped = nullptr;
  CUmodule module = nullptr, fat = nullptr, linked = nullptr, of_function = nullptr;
  CUfunction functions[2] = {};
  CUlibrary library = nullptr;
  CUkernel kernels[2] = {};
  CUdeviceptr address = 0;
  const char* name = nullptr;
  int number = 0, other = 0;
  size_t size = 0, offset = 0;
};
using Steps = std::vector<Step<World>>;

CUresult LoadWithLog(World& w) {
  char text[100] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {text, reinterpret_cast<void*>(sizeof(text))};
  return cuModuleLoadDataEx(&w.module, kPtx, 2, options, values);
}

Steps Modules() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"load", LoadWithLog},
      {"load a fat binary", [](World& w) { return cuModuleLoadFatBinary(&w.fat, kPtx); }},
      {"loading mode", [](World& w) { return cuModuleGetLoadingMode(&w.number); }},
      {"functions", [](World& w) { return cuModuleEnumerateFunctions(w.functions, 2, w.module); }},
      {"load a function", [](World& w) { return cuFuncLoad(w.functions[0]); }},
      {"is it loaded", [](World& w) { return cuFuncIsLoaded(&w.number, w.functions[0]); }},
      {"its module", [](World& w) { return cuFuncGetModule(&w.of_function, w.functions[0]); }},
      {"its name", [](World& w) { return cuFuncGetName(&w.name, w.functions[0]); }},
      {"its parameter",
       [](World& w) { return cuFuncGetParamInfo(w.functions[0], 0, &w.offset, &w.size); }},
  };
}

size_t SharedFor(int threads) { return static_cast<size_t>(threads); }

// Of which a cluster is two blocks.
struct Clusters {
  Clusters() {
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {2, 1, 1};
    config.gridDimX = 4;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 64;
    config.blockDimY = config.blockDimZ = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  CUlaunchAttribute attribute = {};
  CUlaunchConfig config = {};
};

Steps Occupancy() {
  return {
      {"blocks",
       [](World& w) {
         return cuOccupancyMaxActiveBlocksPerMultiprocessor(&w.number, w.functions[0], 64, 0);
       }},
      {"blocks with flags",
       [](World& w) {
         return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&w.number, w.functions[0], 64,
                                                                     0, 1);
       }},
      {"size of a block",
       [](World& w) {
         return cuOccupancyMaxPotentialBlockSize(&w.number, &w.other, w.functions[0], SharedFor, 0,
                                                 0);
       }},
      {"size with flags",
       [](World& w) {
         return cuOccupancyMaxPotentialBlockSizeWithFlags(&w.number, &w.other, w.functions[0],
                                                          nullptr, 0, 0, 1);
       }},
      {"size of a cluster",
       [](World& w) {
         const Clusters clusters;
         return cuOccupancyMaxPotentialClusterSize(&w.number, w.functions[0], &clusters.config);
       }},
      {"clusters",
       [](World& w) {
         const Clusters clusters;
         return cuOccupancyMaxActiveClusters(&w.number, w.functions[0], &clusters.config);
       }},
      {"shared memory",
       [](World& w) {
         return cuOccupancyAvailableDynamicSMemPerBlock(&w.size, w.functions[0], 2, 64);
       }},
  };
}

CUresult LoadLibrary(World& w) {
  return cuLibraryLoadFromFile(&w.library, Files::Get().library.c_str(), nullptr, nullptr, 0,
                               nullptr, nullptr, 0);
}
CUresult GetVariable(World& w) {
  return cuLibraryGetGlobal(&w.address, &w.size, w.library, "room");
}
CUresult GetAttribute(World& w, CUdevice device) {
  return cuKernelGetAttribute(&w.number, kDynamicSize, w.kernels[0], device);
}

Steps Libraries() {
  return {
      {"load a library", LoadLibrary},
      {"kernels", [](World& w) { return cuLibraryEnumerateKernels(w.kernels, 2, w.library); }},
      {"variable", GetVariable},
      {"managed variable",
       [](World& w) { return cuLibraryGetManaged(&w.address, &w.size, w.library, "word"); }},
      {"retain another device",
       [](World& w) { return cuDevicePrimaryCtxRetain(&w.other_context, 1); }},
      {"push it", [](World& w) { return cuCtxPushCurrent_v2(w.other_context); }},
      // A library that was loaded on a device for a call stays there, whatever becomes of the call.
      {"variable on another device", GetVariable},
      {"pop it", [](World& w) { return cuCtxPopCurrent_v2(&w.popped); }},
      {"attribute", [](World& w) { return GetAttribute(w, 0); }},
      {"set an attribute",
       [](World& w) { return cuKernelSetAttribute(kDynamicSize, 1024, w.kernels[0], 0); }},
      {"attribute that was set", [](World& w) { return GetAttribute(w, 0); }},
      {"attribute on another device", [](World& w) { return GetAttribute(w, 1); }},
      {"name of a kernel", [](World& w) { return cuKernelGetName(&w.name, w.kernels[0]); }},
      {"parameter of a kernel",
       [](World& w) { return cuKernelGetParamInfo(w.kernels[0], 0, &w.offset, &w.size); }},
  };
}

// What finds no memory was not added, and may be: or else the link has failed for good, as one that
// finds an error has.
CUresult AddFile(CUlinkState_st* link, const std::string& path) {
  const auto add = [&] {
    return cuLinkAddFile_v2(link, kPtxInput, path.c_str(), 0, nullptr, nullptr);
  };
  const CUresult added = add();
  if (added != kOutOfMemory) return added;
  const CUresult again = add();
  if (again != kInvalidValue) return again;
  void* image = nullptr;
  size_t size = 0;
  EXPECT_EQ(cuLinkComplete(link, &image, &size), kOutOfMemory);
  return added;
}

CUresult LinkAndLoad(World& w) {
  CUlinkState_st* link = nullptr;
  void* image = nullptr;
  size_t size = 0;
  CUresult result = cuLinkCreate_v2(0, nullptr, nullptr, &link);
  if (result != CUDA_SUCCESS) return result;
  for (const std::string* const path : {&Files::Get().caller, &Files::Get().helper}) {
    if (result != CUDA_SUCCESS) break;
    result = AddFile(link, *path);
  }
  if (result == CUDA_SUCCESS) {
    result = cuLinkComplete(link, &image, &size);
    if (result == kOutOfMemory) {
      EXPECT_EQ(cuLinkComplete(link, &image, &size), kOutOfMemory);
    }
  }
  if (result == CUDA_SUCCESS) result = cuModuleLoadDataEx(&w.linked, image, 0, nullptr, nullptr);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  return result;
}

Steps Ending() {
  return {
      {"link files", LinkAndLoad},
      {"unload what was linked", [](World& w) { return cuModuleUnload(w.linked); }},
      {"unload the library", [](World& w) { return cuLibraryUnload(w.library); }},
      {"unload the fat binary", [](World& w) { return cuModuleUnload(w.fat); }},
      {"unload", [](World& w) { return cuModuleUnload(w.module); }},
  };
}

Steps Script() { return Joined<World>({Modules(), Occupancy(), Libraries(), Ending()}); }

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  CUcontext current = nullptr;
  out << cuCtxGetCurrent(&current) << " current " << current << "\n";
  unsigned int count = 0;
  for (const CUmodule module : {w.module, w.fat, w.linked}) {
    out << cuModuleGetFunctionCount(&count, module) << " module " << count << "\n";
  }
  for (const CUfunction function : w.functions) {
    int dynamic = 0;
    out << cuFuncGetAttribute(&dynamic, kDynamicSize, function) << " function " << dynamic << "\n";
  }
  out << cuLibraryGetKernelCount(&count, w.library) << " library " << count << "\n";
  for (const CUkernel kernel : w.kernels) {
    CUlibrary library = nullptr;
    int dynamic = 0;
    out << cuKernelGetLibrary(&library, kernel) << " kernel " << library << "\n";
    out << cuKernelGetAttribute(&dynamic, kDynamicSize, kernel, 0) << " dynamic " << dynamic
        << "\n";
  }
  out << FreeOn(2);
  return out.str();
}

class FunctionMemoryFailureTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { Files::Get(); }
};

TEST_P(FunctionMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/450);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, FunctionMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

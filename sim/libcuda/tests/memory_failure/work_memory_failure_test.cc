// The host runs out of memory in calls that queue work of any kind, link, and make contexts: see
// memory_failure_steps.h. The simulated driver is linked in.

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

// What the backend does not call.
struct CUlinkState_st;
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemAllocPitch_v2(CUdeviceptr*, size_t*, size_t, size_t, unsigned int);
CUresult cuMemAllocManaged(CUdeviceptr*, size_t, unsigned int);
CUresult cuMemAdvise_v2(CUdeviceptr, size_t, int, CUmemLocation);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned int, CUstream);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D*, CUstream);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D*, CUstream);
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*,
                               size_t*, size_t, CUstream);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuStreamBatchMemOp_v2(CUstream, unsigned int, CUstreamBatchMemOpParams*, unsigned int);
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void*);
CUresult cuStreamAddCallback(CUstream, void (*)(CUstream, CUresult, void*), void*, unsigned int);
CUresult cuCtxCreate_v4(CUcontext*, void*, unsigned int, CUdevice);
CUresult cuCtxDestroy_v2(CUcontext);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxGetId(CUcontext, unsigned long long*);
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned int);
CUresult cuCtxDisablePeerAccess(CUcontext);
CUresult cuLinkCreate_v2(unsigned int, int*, void**, CUlinkState_st**);
CUresult cuLinkAddData_v2(CUlinkState_st*, int, void*, size_t, const char*, unsigned int, int*,
                          void**);
CUresult cuLinkComplete(CUlinkState_st*, void**, size_t*);
CUresult cuLinkDestroy(CUlinkState_st*);
CUresult cuModuleLoad(CUmodule*, const char*);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuModuleGetFunctionCount(unsigned int*, CUmodule);
CUresult cuFuncSetAttribute(CUfunction, int, int);
CUresult cuFuncGetAttribute(int*, int, CUfunction);
}

namespace {

constexpr size_t kSize = 4096;
constexpr unsigned int kEqual = 1;
constexpr int kDynamicSize = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kPtxInput = 1;

constexpr char kPtx[] = R"(
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

std::string HelperFile() {
  std::string path = testing::TempDir() + "helper.ptx";
  std::ofstream(path) << kHelper;
  return path;
}

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr, other = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0, pitched = 0, managed = 0;
  CUmodule linked = nullptr, of_file = nullptr;
  CUfunction function = nullptr;
};
using Steps = std::vector<Step<World>>;

CUmemLocation Device(int number) {
  CUmemLocation location = {};
  location.type = static_cast<decltype(location.type)>(1);
  location.id = number;
  return location;
}

CUresult CopyRectangle(World& w) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = static_cast<CUmemorytype>(2);
  copy.srcDevice = w.memory;
  copy.dstDevice = w.memory + 2048;
  copy.srcPitch = copy.dstPitch = 64;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  return cuMemcpy2DAsync_v2(&copy, w.stream);
}
CUresult CopyBox(World& w) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = static_cast<CUmemorytype>(2);
  copy.srcDevice = w.memory;
  copy.dstDevice = w.memory + 2048;
  copy.srcPitch = copy.dstPitch = 64;
  copy.srcHeight = copy.dstHeight = 4;
  copy.WidthInBytes = 32;
  copy.Height = copy.Depth = 2;
  return cuMemcpy3DAsync_v2(&copy, w.stream);
}
CUresult CopyBatch(World& w) {
  CUdeviceptr to[] = {w.memory + 1024, w.memory + 1088};
  CUdeviceptr from[] = {w.memory, w.memory + 64};
  size_t sizes[] = {64, 64};
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = static_cast<decltype(attributes.srcAccessOrder)>(1);
  size_t first = 0;
  return cuMemcpyBatchAsync_v2(to, from, sizes, 2, &attributes, &first, 1, w.stream);
}
CUresult WriteBatch(World& w) {
  CUstreamBatchMemOpParams operations[2] = {};
  for (auto& operation : operations) {
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = w.memory;
    operation.writeValue.value = 4;
  }
  return cuStreamBatchMemOp_v2(w.stream, 2, operations, 0);
}

Steps Work() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, kSize); }},
      {"allocate rows",
       [](World& w) {
         size_t pitch = 0;
         return cuMemAllocPitch_v2(&w.pitched, &pitch, 100, 4, 4);
       }},
      {"copy a rectangle", CopyRectangle},
      {"copy a box", CopyBox},
      {"copy a batch", CopyBatch},
      {"write", [](World& w) { return cuStreamWriteValue32_v2(w.stream, w.memory, 3, 0); }},
      {"wait", [](World& w) { return cuStreamWaitValue32_v2(w.stream, w.memory, 3, kEqual); }},
      {"write a batch", WriteBatch},
      {"call",
       [](World& w) {
         return cuLaunchHostFunc(
             w.stream, [](void*) {}, nullptr);
       }},
      {"call back",
       [](World& w) {
         return cuStreamAddCallback(
             w.stream, [](CUstream, CUresult, void*) {}, nullptr, 0);
       }},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
  };
}

Steps Managed() {
  return {
      {"allocate managed", [](World& w) { return cuMemAllocManaged(&w.managed, kSize, 1); }},
      {"advise", [](World& w) { return cuMemAdvise_v2(w.managed, kSize, 3, Device(0)); }},
      {"prefetch",
       [](World& w) { return cuMemPrefetchAsync_v2(w.managed, kSize, Device(0), 0, w.stream); }},
      {"synchronise managed", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"free managed", [](World& w) { return cuMemFree_v2(w.managed); }},
      {"free rows", [](World& w) { return cuMemFree_v2(w.pitched); }},
  };
}

// A link that finds no memory has failed for good, as one that finds an error has.
CUresult LinkAndLoad(World& w) {
  CUlinkState_st* link = nullptr;
  void* image = nullptr;
  size_t size = 0;
  const auto add = [&](const char* text, size_t length) {
    return cuLinkAddData_v2(link, kPtxInput, const_cast<char*>(text), length, "text", 0, nullptr,
                            nullptr);
  };
  CUresult result = cuLinkCreate_v2(0, nullptr, nullptr, &link);
  if (result != CUDA_SUCCESS) return result;
  result = add(kPtx, sizeof(kPtx));
  if (result == CUDA_SUCCESS) result = add(kHelper, sizeof(kHelper));
  if (result == CUDA_SUCCESS) result = cuLinkComplete(link, &image, &size);
  if (result == CUDA_SUCCESS) result = cuModuleLoadData(&w.linked, image);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  return result;
}

Steps Linking() {
  return {
      {"link", LinkAndLoad},
      {"load a file",
       [](World& w) {
         static const std::string* const path = new std::string(HelperFile());
         return cuModuleLoad(&w.of_file, path->c_str());
       }},
      {"function", [](World& w) { return cuModuleGetFunction(&w.function, w.linked, "kernel"); }},
      {"set an attribute",
       [](World& w) { return cuFuncSetAttribute(w.function, kDynamicSize, 1024); }},
  };
}

Steps Contexts() {
  return {
      {"create context", [](World& w) { return cuCtxCreate_v4(&w.other, nullptr, 0, 1); }},
      {"set current", [](World& w) { return cuCtxSetCurrent(w.context); }},
      {"enable peer", [](World& w) { return cuCtxEnablePeerAccess(w.other, 0); }},
      {"disable peer", [](World& w) { return cuCtxDisablePeerAccess(w.other); }},
      {"destroy context", [](World& w) { return cuCtxDestroy_v2(w.other); }},
  };
}

Steps Script() { return Joined<World>({Work(), Managed(), Linking(), Contexts()}); }

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  out << FreeOn(2);
  for (const CUdeviceptr address : {w.memory, w.pitched, w.managed}) {
    unsigned int type = 0;
    out << cuPointerGetAttribute(&type, static_cast<CUpointer_attribute>(2), address) << " memory "
        << type << "\n";
  }
  for (const CUmodule module : {w.linked, w.of_file}) {
    unsigned int count = 0;
    out << cuModuleGetFunctionCount(&count, module) << " module " << count << "\n";
  }
  int dynamic = 0;
  out << cuFuncGetAttribute(&dynamic, kDynamicSize, w.function) << " attribute " << dynamic << "\n";
  unsigned long long id = 0;
  out << (w.other == nullptr ? 0 : cuCtxGetId(w.other, &id)) << " context " << id << "\n";
  CUcontext current = nullptr;
  out << cuCtxGetCurrent(&current) << " current " << (current == w.context) << "\n";
  return out.str();
}

class WorkMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(WorkMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/100);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, WorkMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

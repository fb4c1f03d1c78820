// The host runs out of memory in copies and fills of every form, and in settings of contexts and
// streams: see memory_failure_steps.h. The simulated driver is linked in.

#include <cstdint>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/include/cuda.h"

namespace twinmmu {
namespace {

constexpr size_t kSize = 4096;
constexpr size_t kRow = 64;

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr, other = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0, there = 0, managed = 0, piece = 0;
  CUarray array = nullptr, volume = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  void* pinned = nullptr;
  std::vector<char> own = std::vector<char>(kSize, 3);
};
using Steps = std::vector<libcuda::Step<World>>;

CUresult CreateArray(World& w) {
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  descriptor.Width = 16;
  descriptor.Height = 16;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  descriptor.NumChannels = 1;
  return cuArrayCreate(&w.array, &descriptor);
}
CUresult CreateVolume(World& w) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = descriptor.Height = descriptor.Depth = 8;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  descriptor.NumChannels = 1;
  return cuArray3DCreate(&w.volume, &descriptor);
}

Steps Preparing() {
  return {
      {"retain the other", [](World& w) { return cuDevicePrimaryCtxRetain(&w.other, 1); }},
      {"set it current", [](World& w) { return cuCtxSetCurrent(w.other); }},
      {"allocate there", [](World& w) { return cuMemAlloc(&w.there, kSize); }},
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"set current", [](World& w) { return cuCtxSetCurrent(w.context); }},
      {"set a limit", [](World&) { return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048); }},
      {"cache", [](World&) { return cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1); }},
      {"allocate", [](World& w) { return cuMemAlloc(&w.memory, kSize); }},
      {"allocate managed", [](World& w) { return cuMemAllocManaged(&w.managed, kSize, 1); }},
      {"pin", [](World& w) { return cuMemAllocHost(&w.pinned, kSize); }},
      {"create stream", [](World& w) { return cuStreamCreateWithPriority(&w.stream, 1, -1); }},
      {"create event", [](World& w) { return cuEventCreate(&w.event, 0); }},
      {"allocate in order", [](World& w) { return cuMemAllocAsync(&w.piece, kSize, w.stream); }},
      {"attach", [](World& w) { return cuStreamAttachMemAsync(w.stream, w.managed, 0, 4); }},
      {"create array", CreateArray},
      {"create volume", CreateVolume},
      {"load", [](World& w) { return cuModuleLoadData(&w.module, libcuda::kEmptyKernel); }},
      {"function", [](World& w) { return cuModuleGetFunction(&w.function, w.module, "nothing"); }},
  };
}

Steps Fills() {
  return {
      {"fill words", [](World& w) { return cuMemsetD32(w.memory, 5, kSize / 4); }},
      {"fill halves", [](World& w) { return cuMemsetD16Async(w.memory, 6, 64, w.stream); }},
      {"fill words in order", [](World& w) { return cuMemsetD32Async(w.piece, 7, 64, w.stream); }},
      {"fill rows", [](World& w) { return cuMemsetD2D8(w.memory, kRow, 8, 32, 4); }},
      {"fill rows of halves", [](World& w) { return cuMemsetD2D16(w.memory, kRow, 9, 16, 4); }},
      {"fill rows of words", [](World& w) { return cuMemsetD2D32(w.memory, kRow, 10, 8, 4); }},
      {"fill rows in order",
       [](World& w) { return cuMemsetD2D8Async(w.memory, kRow, 11, 32, 4, w.stream); }},
  };
}

CUDA_MEMCPY2D ToArray(const World& w) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = w.own.data();
  copy.srcPitch = kRow;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = w.array;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  return copy;
}
CUresult CopyRows(World& w) {
  const CUDA_MEMCPY2D copy = ToArray(w);
  return cuMemcpy2D(&copy);
}
CUresult CopyRowsAnyhow(World& w) {
  const CUDA_MEMCPY2D copy = ToArray(w);
  return cuMemcpy2DUnaligned(&copy);
}
CUresult CopyBox(World& w) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = w.memory;
  copy.srcPitch = 8;
  copy.srcHeight = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = w.volume;
  copy.WidthInBytes = copy.Height = copy.Depth = 4;
  return cuMemcpy3D(&copy);
}
CUresult CopyBoxToPeer(World& w) {
  CUDA_MEMCPY3D_PEER copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = w.memory;
  copy.srcContext = w.context;
  copy.dstDevice = w.there;
  copy.dstContext = w.other;
  copy.srcPitch = copy.dstPitch = kRow;
  copy.srcHeight = copy.dstHeight = 4;
  copy.WidthInBytes = copy.Height = copy.Depth = 4;
  return cuMemcpy3DPeer(&copy);
}

Steps Copies() {
  return {
      {"copy anything", [](World& w) { return cuMemcpy(w.memory + 128, w.memory, 64); }},
      {"copy anything in order",
       [](World& w) { return cuMemcpyAsync(w.piece, w.memory, 64, w.stream); }},
      {"copy in", [](World& w) { return cuMemcpyHtoD(w.memory, w.own.data(), 256); }},
      {"copy in, in order",
       [](World& w) { return cuMemcpyHtoDAsync(w.memory, w.pinned, 256, w.stream); }},
      {"copy to a peer",
       [](World& w) { return cuMemcpyPeer(w.there, w.other, w.memory, w.context, 64); }},
      {"copy to a peer in order",
       [](World& w) {
         return cuMemcpyPeerAsync(w.there, w.other, w.memory, w.context, 64, w.stream);
       }},
      {"copy into the array", [](World& w) { return cuMemcpyHtoA(w.array, 0, w.own.data(), 64); }},
      {"copy into it in order",
       [](World& w) { return cuMemcpyHtoAAsync(w.array, 0, w.pinned, 64, w.stream); }},
      {"copy memory into it", [](World& w) { return cuMemcpyDtoA(w.array, 0, w.memory, 64); }},
      {"copy it to memory", [](World& w) { return cuMemcpyAtoD(w.memory, w.array, 0, 64); }},
      {"copy it out, in order",
       [](World& w) { return cuMemcpyAtoHAsync(w.pinned, w.array, 0, 64, w.stream); }},
      {"copy rows", CopyRows},
      {"copy rows anyhow", CopyRowsAnyhow},
      {"copy a box", CopyBox},
      {"copy a box to a peer", CopyBoxToPeer},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
  };
}

CUresult EncodeMap(World& w) {
  CUtensorMap map;
  const cuuint64_t dims[] = {16, 16};
  const cuuint64_t strides[] = {64};
  const cuuint32_t box[] = {8, 8};
  const cuuint32_t steps[] = {1, 1};
  return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
                                reinterpret_cast<void*>(w.memory), dims, strides, box, steps,
                                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
CUresult MarkSynchronous(World& w) {
  const unsigned int yes = 1;
  return cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, w.memory);
}

Steps Others() {
  return {
      {"mark synchronous", MarkSynchronous},
      {"encode a map", EncodeMap},
      {"write", [](World& w) { return cuStreamWriteValue64(w.stream, w.memory, 3, 0); }},
      {"wait", [](World& w) { return cuStreamWaitValue64(w.stream, w.memory, 3, 1); }},
      {"record", [](World& w) { return cuEventRecordWithFlags(w.event, w.stream, 0); }},
      {"free in order", [](World& w) { return cuMemFreeAsync(w.piece, w.stream); }},
      {"synchronise all", [](World&) { return cuCtxSynchronize(); }},
      {"destroy array", [](World& w) { return cuArrayDestroy(w.array); }},
      {"destroy volume", [](World& w) { return cuArrayDestroy(w.volume); }},
      {"free pinned", [](World& w) { return cuMemFreeHost(w.pinned); }},
      {"reset the other", [](World&) { return cuDevicePrimaryCtxReset(1); }},
      {"reset", [](World&) { return cuDevicePrimaryCtxReset(0); }},
  };
}

Steps Script() { return libcuda::Joined<World>({Preparing(), Fills(), Copies(), Others()}); }

int SumOf(const std::vector<char>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), 0,
                         [](int sum, char byte) { return (31 * sum + byte) & 0xffffff; });
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  CUcontext current = nullptr;
  out << cuCtxGetCurrent(&current) << " current " << current << "\n";
  std::vector<char> bytes(kSize);
  for (const CUdeviceptr address : {w.memory, w.there, w.managed, w.piece}) {
    unsigned int type = 0;
    out << cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) << " type "
        << type << "\n";
  }
  out << cuMemcpyDtoH(bytes.data(), w.memory, kSize) << " content " << SumOf(bytes) << "\n";
  out << cuMemcpyAtoH(bytes.data(), w.array, 0, 64) << " array " << SumOf(bytes) << "\n";
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  out << cuArray3DGetDescriptor(&descriptor, w.volume) << " volume\n";
  if (w.event != nullptr) out << cuEventQuery(w.event) << " event\n";
  int priority = 0;
  if (w.stream != nullptr) out << cuStreamGetPriority(w.stream, &priority) << " stream\n";
  size_t limit = 0;
  out << cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE) << " limit " << limit << "\n";
  out << libcuda::FreeOn(2);
  return out.str();
}

class CopyMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(CopyMemoryFailureTest, NothingIsLost) {
  libcuda::ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/100);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, CopyMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu

// The host runs out of memory in copies and fills of those forms that copy_memory_failure_test.cc
// does not have, which came later for the most part: see memory_failure_steps.h. The simulated
// driver is linked in.

#include <cstdint>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuMemcpyAtoH_v2(void*, CUarray, size_t, size_t);
CUresult cuMemcpyAtoA_v2(CUarray, size_t, CUarray, size_t, size_t);
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER*, CUstream);
CUresult cuMemcpy3DBatchAsync_v2(size_t, CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream);
CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP*, unsigned long long, CUstream);
CUresult cuMemcpyWithAttributesAsync(CUdeviceptr, CUdeviceptr, size_t, CUmemcpyAttributes*,
                                     CUstream);
CUresult cuMemsetD2D16Async(CUdeviceptr, size_t, unsigned short, size_t, size_t, CUstream);
CUresult cuMemsetD2D32Async(CUdeviceptr, size_t, unsigned int, size_t, size_t, CUstream);
}

namespace {

constexpr size_t kSize = 4096;
constexpr size_t kRow = 64;  // bytes of a row of an array
constexpr unsigned int kWidth = 16;
constexpr unsigned char kValue = 7;  // of what is copied into arrays

// What the steps hand on to each other. It begins on a machine that has all of these forms.
struct World {
  World() { Process::Get().Restart(*Profile::Named("driver-13.3")); }

  CUcontext context = nullptr, other = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr source = 0, memory = 0, there = 0;
  CUarray array = nullptr, copy = nullptr;
  std::vector<unsigned char> own = std::vector<unsigned char>(kSize);
  bool is_in_array = false, is_in_copy = false;
};
using Steps = std::vector<Step<World>>;

CUresult CreateArray(CUarray* array) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = descriptor.Height = kWidth;
  descriptor.Format = 3;  // words
  descriptor.NumChannels = 1;
  return cuArray3DCreate_v2(array, &descriptor);
}

Steps Preparing() {
  return {
      {"retain the other", [](World& w) { return cuDevicePrimaryCtxRetain(&w.other, 1); }},
      {"set it current", [](World& w) { return cuCtxSetCurrent(w.other); }},
      {"allocate there", [](World& w) { return cuMemAlloc_v2(&w.there, kSize); }},
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"set current", [](World& w) { return cuCtxSetCurrent(w.context); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, kSize); }},
      {"allocate what is copied", [](World& w) { return cuMemAlloc_v2(&w.source, kSize); }},
      {"create array", [](World& w) { return CreateArray(&w.array); }},
      {"create another", [](World& w) { return CreateArray(&w.copy); }},
  };
}

Steps Fills() {
  return {
      {"fill bytes", [](World& w) { return cuMemsetD8_v2(w.source, kValue, kSize); }},
      {"fill halves", [](World& w) { return cuMemsetD16_v2(w.memory, 5, kSize / 2); }},
      {"fill rows of halves",
       [](World& w) { return cuMemsetD2D16Async(w.memory, kRow, 6, 16, 4, w.stream); }},
      {"fill rows of words",
       [](World& w) { return cuMemsetD2D32Async(w.memory + 512, kRow, 8, 8, 4, w.stream); }},
      {"synchronise fills", [](World& w) { return cuStreamSynchronize(w.stream); }},
  };
}

CUmemcpy3DOperand Rows(CUdeviceptr address) {
  CUmemcpy3DOperand operand = {};
  operand.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  operand.op.ptr.ptr = address;
  return operand;
}
CUmemcpy3DOperand Elements(CUarray array) {
  CUmemcpy3DOperand operand = {};
  operand.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  operand.op.array.array = array;
  return operand;
}
CUDA_MEMCPY3D_BATCH_OP Box(const CUmemcpy3DOperand& to, const CUmemcpy3DOperand& from) {
  CUDA_MEMCPY3D_BATCH_OP copy = {};
  copy.src = from;
  copy.dst = to;
  copy.extent = {kWidth, 4, 1};
  copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return copy;
}
CUresult CopyBoxes(World& w) {
  CUDA_MEMCPY3D_BATCH_OP copies[] = {Box(Elements(w.array), Rows(w.source)),
                                     Box(Rows(w.memory + 1024), Rows(w.source))};
  const CUresult copied = cuMemcpy3DBatchAsync_v2(2, copies, 0, w.stream);
  w.is_in_array |= copied == CUDA_SUCCESS;
  return copied;
}
CUresult CopyArray(World& w) {
  const CUresult copied = cuMemcpyAtoA_v2(w.copy, 0, w.array, 0, kRow);
  w.is_in_copy |= copied == CUDA_SUCCESS;
  return copied;
}
CUresult CopyOneBox(World& w) {
  CUDA_MEMCPY3D_BATCH_OP copy = Box(Rows(w.memory + 2048), Elements(w.array));
  return cuMemcpy3DWithAttributesAsync(&copy, 0, w.stream);
}
CUresult CopyOne(World& w) {
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return cuMemcpyWithAttributesAsync(w.memory + 3072, w.source, 64, &attributes, w.stream);
}
CUresult CopyBoxToPeer(World& w) {
  CUDA_MEMCPY3D_PEER copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = w.source;
  copy.srcContext = w.context;
  copy.dstDevice = w.there;
  copy.dstContext = w.other;
  copy.srcPitch = copy.dstPitch = kRow;
  copy.srcHeight = copy.dstHeight = 4;
  copy.WidthInBytes = copy.Height = copy.Depth = 4;
  return cuMemcpy3DPeerAsync(&copy, w.stream);
}

Steps Copies() {
  return {
      {"copy memory", [](World& w) { return cuMemcpyDtoD_v2(w.memory + 128, w.source, 64); }},
      {"copy boxes", CopyBoxes},
      {"synchronise boxes", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"copy the array", CopyArray},
      {"copy one box", CopyOneBox},
      {"copy with attributes", CopyOne},
      {"copy a box to a peer", CopyBoxToPeer},
      {"copy out",
       [](World& w) { return cuMemcpyDtoHAsync_v2(w.own.data(), w.memory, kSize, w.stream); }},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"destroy array", [](World& w) { return cuArrayDestroy(w.array); }},
      {"destroy the other", [](World& w) { return cuArrayDestroy(w.copy); }},
      {"free", [](World& w) { return cuMemFree_v2(w.memory); }},
  };
}

Steps Script() { return Joined<World>({Preparing(), Fills(), Copies()}); }

int SumOf(const std::vector<unsigned char>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), 0,
                         [](int sum, int byte) { return (31 * sum + byte) & 0xffffff; });
}

// What is in the first row of an array, all of which was copied there if `is_there`: elements that
// are taken for smaller ones are not.
std::string RowOf(CUarray array, bool is_there) {
  std::vector<unsigned char> row(kRow);
  const CUresult copied = cuMemcpyAtoH_v2(row.data(), array, 0, kRow);
  if (is_there && copied == CUDA_SUCCESS) {
    EXPECT_EQ(row, std::vector<unsigned char>(kRow, kValue));
  }
  return std::to_string(copied) + " array " + std::to_string(SumOf(row)) + "\n";
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  if (w.stream != nullptr) out << cuStreamSynchronize(w.stream) << " stream\n";
  std::vector<unsigned char> bytes(kSize);
  for (const CUdeviceptr address : {w.source, w.memory, w.there}) {
    const CUresult copied = address == 0 ? -1 : cuMemcpyDtoH_v2(bytes.data(), address, kSize);
    out << copied << " content " << SumOf(bytes) << "\n";
  }
  out << RowOf(w.array, w.is_in_array) << RowOf(w.copy, w.is_in_copy);
  out << SumOf(w.own) << " copied out\n";
  CUcontext current = nullptr;
  out << cuCtxGetCurrent(&current) << " current " << current << "\n";
  out << FreeOn(2);
  return out.str();
}

class BatchMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(BatchMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/30);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, BatchMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

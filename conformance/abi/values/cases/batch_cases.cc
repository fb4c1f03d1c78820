// Batches of copies.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

void VaryAttributes(Trial& trial, CUmemcpyAttributes& attributes) {
  trial.Any(FIELD(attributes.srcAccessOrder));
  trial.Any(FIELD(attributes.flags));
  trial.Any(FIELD(attributes.srcLocHint.type));
  trial.Any(FIELD(attributes.srcLocHint.id));
  trial.Any(FIELD(attributes.dstLocHint.type));
  trial.Any(FIELD(attributes.dstLocHint.id));
}

void CopyBatch(Trial& trial) {
  CUdeviceptr to[] = {Memory(), Memory() + 4096};
  CUdeviceptr from[] = {OtherMemory(), OtherMemory() + 4096};
  size_t sizes[] = {64, 64};
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CUmemcpyAttributes others = attributes;
  size_t firsts[] = {0, 1};
  size_t copies = 2;
  size_t kinds = 2;
  trial.Size(FIELD(sizes[0]));
  trial.Size(FIELD(sizes[1]));
  trial.UpTo(2, FIELD(copies));
  trial.UpTo(2, FIELD(kinds));
  trial.Any(FIELD(firsts[0]));
  trial.Any(FIELD(firsts[1]));
  VaryAttributes(trial, attributes);
  trial.Any(FIELD(others.srcAccessOrder));
  CUmemcpyAttributes both[] = {attributes, others};
  trial.Answer(
      Call("cuMemcpyBatchAsync_v2", to, from, sizes, copies, both, firsts, kinds, Stream()));
}

CUDA_MEMCPY3D_BATCH_OP BoxInBatch() {
  CUDA_MEMCPY3D_BATCH_OP copy = {};
  copy.src.type = copy.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  copy.src.op.ptr.ptr = Memory();
  copy.dst.op.ptr.ptr = OtherMemory();
  copy.src.op.ptr.rowLength = copy.dst.op.ptr.rowLength = 128;
  copy.src.op.ptr.layerHeight = copy.dst.op.ptr.layerHeight = 8;
  copy.extent = {16, 4, 2};
  copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return copy;
}
void VaryMemory(Trial& trial, CUmemcpy3DOperand& end, const std::string& name) {
  auto& memory = end.op.ptr;
  trial.Size(memory.rowLength, (name + ".rowLength").c_str());
  trial.Size(memory.layerHeight, (name + ".layerHeight").c_str());
}
// A type of 2 is that of arrays, which are not at that address.
bool IsNoArray(uint64_t type) { return type != CU_MEMCPY_OPERAND_TYPE_ARRAY; }

void BoxBatch(Trial& trial) {
  CUDA_MEMCPY3D_BATCH_OP copy = BoxInBatch();
  unsigned long long flags = 0;
  size_t copies = 1;
  trial.Where(IsNoArray, FIELD(copy.src.type));
  trial.Where(IsNoArray, FIELD(copy.dst.type));
  VaryMemory(trial, copy.src, "copy.src");
  VaryMemory(trial, copy.dst, "copy.dst");
  trial.Any(FIELD(copy.src.op.ptr.locHint.type));
  trial.Any(FIELD(copy.src.op.ptr.locHint.id));
  trial.Any(FIELD(copy.dst.op.ptr.locHint.type));
  trial.Any(FIELD(copy.dst.op.ptr.locHint.id));
  trial.Size(FIELD(copy.extent.width));
  trial.Size(FIELD(copy.extent.height));
  trial.Size(FIELD(copy.extent.depth));
  trial.Any(FIELD(copy.srcAccessOrder));
  trial.Any(FIELD(copy.flags));
  trial.Any(FIELD(flags));
  trial.UpTo(1, FIELD(copies));
  trial.Answer(Call("cuMemcpy3DBatchAsync_v2", copies, &copy, flags, Stream()));
}
void ArrayBoxBatch(Trial& trial) {
  CUDA_MEMCPY3D_BATCH_OP copy = BoxInBatch();
  copy.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  copy.src.op.array = {Volume(), {0, 0, 0}};
  trial.Size(FIELD(copy.src.op.array.offset.x));
  trial.Size(FIELD(copy.src.op.array.offset.y));
  trial.Size(FIELD(copy.src.op.array.offset.z));
  VaryMemory(trial, copy.dst, "copy.dst");
  trial.Size(FIELD(copy.extent.width));
  trial.Size(FIELD(copy.extent.height));
  trial.Size(FIELD(copy.extent.depth));
  trial.Answer(Call("cuMemcpy3DBatchAsync_v2", 1, &copy, 0, Stream()));
}

// CUmemDecompressParams
struct Decompression {
  size_t srcNumBytes;
  size_t dstNumBytes;
  unsigned int* dstActBytes;
  CUdeviceptr src;
  CUdeviceptr dst;
  int algo;
  unsigned char padding[20];
};
static_assert(sizeof(Decompression) == 64);

void Decompress(Trial& trial) {
  Decompression params = {
      64, 64, reinterpret_cast<unsigned int*>(HostMemory()), Memory(), OtherMemory(), 1, {}};
  unsigned int flags = 0;
  size_t count = 1;
  trial.Any(FIELD(params.srcNumBytes));
  trial.Any(FIELD(params.dstNumBytes));
  trial.Any(FIELD(params.algo));
  trial.Any(FIELD(flags));
  trial.UpTo(1, FIELD(count));
  size_t failed = 0;
  trial.Answer(Call("cuMemBatchDecompressAsync", &params, count, flags, &failed, Stream()));
}

}  // namespace

std::vector<Case> BatchCases() {
  return {{"cuMemcpyBatchAsync", CopyBatch},
          {"cuMemcpy3DBatchAsync/device-device", BoxBatch},
          {"cuMemcpy3DBatchAsync/array-device", ArrayBoxBatch},
          {"cuMemBatchDecompressAsync", Decompress}};
}

}  // namespace twinmmu::abi

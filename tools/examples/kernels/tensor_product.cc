// The product of two matrices, as kernels for Hopper make it: one thread brings tiles into shared
// memory by tensor maps, an mbarrier says when they are there, and the warpgroup multiplies them by
// wgmma while the next ones are under way. The result goes back by a tensor map too.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/examples/check.h"

namespace {

constexpr unsigned int kRows = 128;    // of a and of the product
constexpr unsigned int kColumns = 64;  // of the product: b has its columns as rows
constexpr unsigned int kDepth = 256;
constexpr unsigned int kTile = 64;  // rows and columns of a tile; 64 halves are 128 bytes
constexpr unsigned int kSums = 32;  // of a thread

// "{%f0, %f1, ...}"
std::string Sums() {
  std::string list = "{";
  for (unsigned int i = 0; i < kSums; ++i) list += (i == 0 ? "%f" : ", %f") + std::to_string(i);
  return list + "}";
}

// A tile of a in stage %r4 is at %r5, one of b at %r6, its mbarrier at %r7; %r3 is the tile's first
// column. Shared memory: two stages of 8 KiB of a and 8 KiB of b; the first one then has the
// product.
const char kBegin[] = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tiles[];
.visible .entry multiply(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128],
                         .param .align 64 .b8 product[128], .param .u32 depth) {
  .reg .pred %p<6>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<12>;
  .reg .f32 %f<32>;
  .shared .align 8 .b64 full[2];
  mov.b64 %rd1, a;
  cvta.param.u64 %rd1, %rd1;
  mov.b64 %rd2, b;
  cvta.param.u64 %rd2, %rd2;
  mov.b64 %rd3, product;
  cvta.param.u64 %rd3, %rd3;
  ld.param.u32 %r2, [depth];
  mov.u32 %r1, %tid.x;
  mov.u32 %r8, tiles;
  mov.u32 %r9, full;
  mov.u32 %r10, %ctaid.x;
  shl.b32 %r10, %r10, 6;
  mov.u32 %r11, 0;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r9], 1;
  @%p1 mbarrier.init.shared::cta.b64 [%r9+8], 1;
  fence.proxy.async;
  bar.sync 0;

  // Two tiles are under way before the first product.
  mov.u32 %r3, 0;
  @!%p1 bra loop;
fill:
  LOAD
  add.u32 %r3, %r3, 64;
  setp.lt.u32 %p2, %r3, 128;
  @%p2 bra fill;
  mov.u32 %r3, 0;
)";

// By one thread.
const char kLoad[] = R"(
  shr.u32 %r4, %r3, 6;
  and.b32 %r4, %r4, 1;
  mad.lo.u32 %r5, %r4, 16384, %r8;
  add.u32 %r6, %r5, 8192;
  mad.lo.u32 %r7, %r4, 8, %r9;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 16384;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
      [%r5], [%rd1, {%r3, %r10}], [%r7];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
      [%r6], [%rd2, {%r3, %r11}], [%r7];
)";

// Descriptors: 128 bytes of swizzle, 1024 from each eight lines to the next.
const char kLoop[] = R"(
loop:
  shr.u32 %r12, %r3, 6;
  and.b32 %r13, %r12, 1;
  shr.u32 %r14, %r12, 1;
  and.b32 %r14, %r14, 1;
  mad.lo.u32 %r15, %r13, 8, %r9;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r15], %r14;
  @!%p3 bra wait;
  mad.lo.u32 %r16, %r13, 16384, %r8;
  shr.u32 %r17, %r16, 4;
  cvt.u64.u32 %rd4, %r17;
  add.u64 %rd4, %rd4, 0x4000004000010000;
  add.u64 %rd5, %rd4, 512;
  setp.ne.u32 %p4, %r3, 0;
  wgmma.fence.sync.aligned;
  PRODUCTS
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;

  // All have read the tiles: their place is free.
  bar.sync 0;
  add.u32 %r18, %r3, 128;
  setp.lt.u32 %p2, %r18, %r2;
  and.pred %p5, %p1, %p2;
  @!%p5 bra next;
  mov.u32 %r19, %r3;
  mov.u32 %r3, %r18;
  LOAD
  mov.u32 %r3, %r19;
next:
  add.u32 %r3, %r3, 64;
  setp.lt.u32 %p2, %r3, %r2;
  @%p2 bra loop;

  // Thread and register to row and column: a warp has 16 rows, four lanes a line of eight columns.
  shr.u32 %r20, %r1, 5;
  and.b32 %r21, %r1, 31;
  shr.u32 %r22, %r21, 2;
  mad.lo.u32 %r22, %r20, 16, %r22;
  and.b32 %r23, %r21, 3;
  shl.b32 %r23, %r23, 3;
  mad.lo.u32 %r24, %r22, 256, %r23;
  add.u32 %r24, %r24, %r8;
  STORES
  FENCE
  bar.sync 0;
  @!%p1 bra done;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r11, %r10}], [%r8];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
done:
  ret;
}
)";

void Replace(const std::string& word, const std::string& text, std::string* ptx) {
  size_t at = 0;
  while ((at = ptx->find(word, at)) != std::string::npos) {
    ptx->replace(at, word.size(), text);
    at += text.size();
  }
}

std::string Kernel() {
  std::string products;
  std::string stores;
  for (int step = 0; step < 4; ++step) {  // of 16 columns
    products += "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " + Sums() +
                ", %rd4, %rd5, %p4, 1, 1, 0, 0;\n  add.u64 %rd4, %rd4, 2;\n" +
                "  add.u64 %rd5, %rd5, 2;\n  setp.eq.u32 %p4, %r1, %r1;\n  ";
  }
  for (unsigned int i = 0; i < kSums; i += 2) {
    const unsigned int offset = i / 4 * 32 + i % 4 / 2 * 8 * 256;
    stores += "st.shared.v2.f32 [%r24+" + std::to_string(offset) + "], {%f" + std::to_string(i) +
              ", %f" + std::to_string(i + 1) + "};\n  ";
  }
  std::string ptx = std::string(kBegin) + kLoop;
  Replace("PRODUCTS", products, &ptx);
  Replace("STORES", stores, &ptx);
  Replace("LOAD", kLoad, &ptx);
  // What threads have stored, the copy by the tensor map sees behind this fence.
  const char* fence = "fence.proxy.async.shared::cta;";
#ifdef PLANTED_BUG
  fence = "";  // Wrong: it may read what was there before.
#endif
  Replace("FENCE", fence, &ptx);
  return ptx;
}

// A matrix whose rows lie one behind the other; tiles are of 64 by 64.
CUtensorMap MapOf(CUdeviceptr address, CUtensorMapDataType type, size_t element, unsigned int rows,
                  unsigned int columns, CUtensorMapSwizzle swizzle) {
  const cuuint64_t dims[] = {columns, rows};
  const cuuint64_t strides[] = {columns * element};
  const cuuint32_t box[] = {kTile, kTile};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  CHECK(cuTensorMapEncodeTiled(&map, type, 2, reinterpret_cast<void*>(address), dims, strides, box,
                               steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

// Small whole numbers: all sums are exact.
int ValueOf(unsigned int row, unsigned int column) {
  return static_cast<int>((row * 7 + column * 3) % 11) - 5;
}

uint16_t HalfOf(int value) {
  if (value == 0) return 0;
  const unsigned int magnitude = static_cast<unsigned int>(value < 0 ? -value : value);
  unsigned int exponent = 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  const unsigned int fraction = (magnitude << (10 - exponent)) & 0x3ff;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 | fraction);
}

std::vector<uint16_t> Matrix(unsigned int rows) {
  std::vector<uint16_t> halves(size_t{rows} * kDepth);
  for (unsigned int row = 0; row < rows; ++row) {
    for (unsigned int k = 0; k < kDepth; ++k) halves[row * kDepth + k] = HalfOf(ValueOf(row, k));
  }
  return halves;
}

CUdeviceptr CopyToDevice(const std::vector<uint16_t>& halves) {
  CUdeviceptr address;
  CHECK(cuMemAlloc(&address, halves.size() * sizeof(uint16_t)));
  CHECK(cuMemcpyHtoD(address, halves.data(), halves.size() * sizeof(uint16_t)));
  return address;
}

void Multiply(CUdeviceptr a, CUdeviceptr b, CUdeviceptr product) {
  CUmodule module;
  CUfunction multiply;
  CHECK(cuModuleLoadData(&module, Kernel().c_str()));
  CHECK(cuModuleGetFunction(&multiply, module, "multiply"));
  CUtensorMap map_of_a = MapOf(a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, sizeof(uint16_t), kRows, kDepth,
                               CU_TENSOR_MAP_SWIZZLE_128B);
  CUtensorMap map_of_b = MapOf(b, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, sizeof(uint16_t), kColumns,
                               kDepth, CU_TENSOR_MAP_SWIZZLE_128B);
  CUtensorMap map_of_product = MapOf(product, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float), kRows,
                                     kColumns, CU_TENSOR_MAP_SWIZZLE_NONE);
  unsigned int depth = kDepth;
  void* arguments[] = {&map_of_a, &map_of_b, &map_of_product, &depth};
  constexpr unsigned int kShared = 32 * 1024;
  // Reported:
  CHECK(cuLaunchKernel(multiply, kRows / kTile, 1, 1, 128, 1, 1, kShared, nullptr, arguments,
                       nullptr));
  CHECK(cuCtxSynchronize());
  CHECK(cuModuleUnload(module));
}

}  // namespace

int main() {
  CHECK(cuInit(0));
  const CUdevice device = use_device(0);
  const CUdeviceptr a = CopyToDevice(Matrix(kRows));
  const CUdeviceptr b = CopyToDevice(Matrix(kColumns));
  CUdeviceptr product;
  CHECK(cuMemAlloc(&product, kRows * kColumns * sizeof(float)));
  Multiply(a, b, product);
  std::vector<float> sums(kRows * kColumns);
  CHECK(cuMemcpyDtoH(sums.data(), product, sums.size() * sizeof(float)));
  unsigned int wrong = 0;
  for (unsigned int row = 0; row < kRows; ++row) {
    for (unsigned int column = 0; column < kColumns; ++column) {
      int sum = 0;
      for (unsigned int k = 0; k < kDepth; ++k) sum += ValueOf(row, k) * ValueOf(column, k);
      wrong += sums[row * kColumns + column] == static_cast<float>(sum) ? 0 : 1;
    }
  }
  std::printf("%zu sums, %u of them wrong\n", sums.size(), wrong);
  for (const CUdeviceptr address : {a, b, product}) CHECK(cuMemFree(address));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}

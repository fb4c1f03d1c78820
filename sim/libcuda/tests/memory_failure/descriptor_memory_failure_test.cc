// The host runs out of memory in calls that tell what arrays, textures and tensor maps are made of,
// and in those that make tensor maps: see memory_failure_steps.h. The simulated driver is linked
// in.

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_arrays.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/tensor_abi.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR*, CUarray);
CUresult cuTexObjectCreate(CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
                           const CUDA_RESOURCE_VIEW_DESC*);
CUresult cuTexObjectDestroy(CUtexObject);
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC*, CUtexObject);
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC*, CUtexObject);
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t*, CUarray_format, unsigned int, CUdevice);
CUresult cuTensorMapEncodeIm2col(CUtensorMap*, CUtensorMapDataType, unsigned int, void*,
                                 const uint64_t*, const uint64_t*, const int*, const int*,
                                 unsigned int, unsigned int, const uint32_t*, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill);
CUresult cuTensorMapEncodeIm2colWide(CUtensorMap*, CUtensorMapDataType, unsigned int, void*,
                                     const uint64_t*, const uint64_t*, int, int, unsigned int,
                                     unsigned int, const uint32_t*, CUtensorMapInterleave,
                                     CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
CUresult cuTensorMapReplaceAddress(CUtensorMap*, void*);
}

namespace {

constexpr unsigned int kSparse = 64;  // CUDA_ARRAY3D_SPARSE
constexpr size_t kSize = 65536;
constexpr unsigned int kWidth = 64, kWidthOfSparse = 1024;

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUarray array = nullptr, sparse = nullptr;
  CUmipmappedArray sparse_mipmap = nullptr;
  CUtexObject texture = 0;
  CUtensorMap columns = {}, wide = {};
};
using Steps = std::vector<Step<World>>;

CUresult CreateArray(CUarray* array, unsigned int width, unsigned int flags) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(width, flags);
  return cuArray3DCreate_v2(array, &descriptor);
}
CUresult CreateSparseMipmap(World& w) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(kWidthOfSparse, kSparse);
  return cuMipmappedArrayCreate(&w.sparse_mipmap, &descriptor, 3);
}
CUresult CreateTexture(World& w) {
  CUDA_RESOURCE_DESC resource = {};
  resource.res.array.hArray = w.array;
  CUDA_TEXTURE_DESC texture = {};
  texture.flags = CU_TRSF_READ_AS_INTEGER;
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = 13;  // CU_RES_VIEW_FORMAT_UINT_1X32
  view.width = view.height = kWidth;
  return cuTexObjectCreate(&w.texture, &resource, &texture, &view);
}

Steps Arrays() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, kSize); }},
      {"create array", [](World& w) { return CreateArray(&w.array, kWidth, 0); }},
      {"its descriptor",
       [](World& w) {
         CUDA_ARRAY_DESCRIPTOR descriptor = {};
         return cuArrayGetDescriptor_v2(&descriptor, w.array);
       }},
      {"create sparse array",
       [](World& w) { return CreateArray(&w.sparse, kWidthOfSparse, kSparse); }},
      {"its tiles",
       [](World& w) {
         CUDA_ARRAY_SPARSE_PROPERTIES properties = {};
         return cuArrayGetSparseProperties(&properties, w.sparse);
       }},
      {"create sparse mipmap", CreateSparseMipmap},
      {"tiles of that",
       [](World& w) {
         CUDA_ARRAY_SPARSE_PROPERTIES properties = {};
         return cuMipmappedArrayGetSparseProperties(&properties, w.sparse_mipmap);
       }},
      {"most elements",
       [](World&) {
         size_t elements = 0;
         return cuDeviceGetTexture1DLinearMaxWidth(&elements, kUnsigned32, 1, 0);
       }},
      {"texture", CreateTexture},
      {"how it is sampled",
       [](World& w) {
         CUDA_TEXTURE_DESC texture = {};
         return cuTexObjectGetTextureDesc(&texture, w.texture);
       }},
      {"its view",
       [](World& w) {
         CUDA_RESOURCE_VIEW_DESC view = {};
         return cuTexObjectGetResourceViewDesc(&view, w.texture);
       }},
  };
}

// Of words, in 3 images of 6 by 5 pixels of 8 channels.
constexpr int kWords = 2;  // CU_TENSOR_MAP_DATA_TYPE_UINT32
constexpr unsigned int kRank = 4, kChannels = 4, kPixels = 8;
constexpr uint64_t kDimensions[] = {8, 6, 5, 3};
constexpr uint64_t kStrides[] = {32, 256, 2048};
constexpr uint32_t kSteps[] = {1, 1, 1, 1};

CUresult EncodeColumns(World& w) {
  constexpr int kCorner[] = {-1, -1};
  return cuTensorMapEncodeIm2col(&w.columns, kWords, kRank, reinterpret_cast<void*>(w.memory),
                                 kDimensions, kStrides, kCorner, kCorner, kChannels, kPixels,
                                 kSteps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
CUresult EncodeWideColumns(World& w) {
  return cuTensorMapEncodeIm2colWide(
      &w.wide, kWords, kRank, reinterpret_cast<void*>(w.memory), kDimensions, kStrides, -1, -1,
      kChannels, kPixels, kSteps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128, CU_TENSOR_MAP_SWIZZLE_128B, 0,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

Steps Maps() {
  return {
      {"map of columns", EncodeColumns},
      {"map of wide columns", EncodeWideColumns},
      {"replace its address",
       [](World& w) {
         return cuTensorMapReplaceAddress(&w.wide, reinterpret_cast<void*>(w.memory + 512));
       }},
      {"destroy texture", [](World& w) { return cuTexObjectDestroy(w.texture); }},
      {"destroy sparse mipmap", [](World& w) { return cuMipmappedArrayDestroy(w.sparse_mipmap); }},
      {"destroy sparse array", [](World& w) { return cuArrayDestroy(w.sparse); }},
      {"destroy array", [](World& w) { return cuArrayDestroy(w.array); }},
  };
}

Steps Script() {
  Steps script = Arrays();
  for (const Step<World>& step : Maps()) script.push_back(step);
  return script;
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  for (const CUarray array : {w.array, w.sparse}) {
    CUDA_ARRAY_DESCRIPTOR descriptor = {};
    out << cuArrayGetDescriptor_v2(&descriptor, array) << " array " << descriptor.Width << "\n";
  }
  CUDA_ARRAY_SPARSE_PROPERTIES tiles = {};
  out << cuArrayGetSparseProperties(&tiles, w.sparse) << " tiles " << tiles.tileExtent.width
      << "\n";
  out << cuMipmappedArrayGetSparseProperties(&tiles, w.sparse_mipmap) << " tail "
      << tiles.miptailFirstLevel << "\n";
  CUDA_TEXTURE_DESC texture = {};
  out << cuTexObjectGetTextureDesc(&texture, w.texture) << " texture " << texture.flags << "\n";
  CUDA_RESOURCE_VIEW_DESC view = {};
  out << cuTexObjectGetResourceViewDesc(&view, w.texture) << " view " << view.width << "\n";
  for (const CUtensorMap& map : {w.columns, w.wide}) {
    for (const unsigned long long word : map.opaque) out << word << " ";
    out << "map\n";
  }
  out << FreeOn(1);
  return out.str();
}

class DescriptorMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(DescriptorMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/28);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, DescriptorMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

// The host runs out of memory in calls for texture and surface references, those of modules and
// those that a program makes: see memory_failure_steps.h. The simulated driver is linked in.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_arrays.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuModuleGetTexRef(CUtexref*, CUmodule, const char*);
CUresult cuModuleGetSurfRef(CUsurfref*, CUmodule, const char*);
CUresult cuSurfRefSetArray(CUsurfref, CUarray, unsigned int);
CUresult cuSurfRefGetArray(CUarray*, CUsurfref);
CUresult cuTexRefCreate(CUtexref*);
CUresult cuTexRefDestroy(CUtexref);
CUresult cuTexRefSetArray(CUtexref, CUarray, unsigned int);
CUresult cuTexRefSetMipmappedArray(CUtexref, CUmipmappedArray, unsigned int);
CUresult cuTexRefSetAddress_v2(size_t*, CUtexref, CUdeviceptr, size_t);
CUresult cuTexRefSetAddress2D_v3(CUtexref, const CUDA_ARRAY_DESCRIPTOR*, CUdeviceptr, size_t);
CUresult cuTexRefSetFormat(CUtexref, CUarray_format, int);
CUresult cuTexRefSetAddressMode(CUtexref, int, CUaddress_mode);
CUresult cuTexRefSetFilterMode(CUtexref, CUfilter_mode);
CUresult cuTexRefSetMipmapFilterMode(CUtexref, CUfilter_mode);
CUresult cuTexRefSetMipmapLevelBias(CUtexref, float);
CUresult cuTexRefSetMipmapLevelClamp(CUtexref, float, float);
CUresult cuTexRefSetMaxAnisotropy(CUtexref, unsigned int);
CUresult cuTexRefSetBorderColor(CUtexref, float*);
CUresult cuTexRefSetFlags(CUtexref, unsigned int);
CUresult cuTexRefGetAddress_v2(CUdeviceptr*, CUtexref);
CUresult cuTexRefGetArray(CUarray*, CUtexref);
CUresult cuTexRefGetMipmappedArray(CUmipmappedArray*, CUtexref);
CUresult cuTexRefGetFormat(CUarray_format*, int*, CUtexref);
CUresult cuTexRefGetAddressMode(CUaddress_mode*, CUtexref, int);
CUresult cuTexRefGetFilterMode(CUfilter_mode*, CUtexref);
CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode*, CUtexref);
CUresult cuTexRefGetMipmapLevelBias(float*, CUtexref);
CUresult cuTexRefGetMipmapLevelClamp(float*, float*, CUtexref);
CUresult cuTexRefGetMaxAnisotropy(int*, CUtexref);
CUresult cuTexRefGetBorderColor(float*, CUtexref);
CUresult cuTexRefGetFlags(unsigned int*, CUtexref);
}

namespace {

// ask(out): how wide are what the references of the module show.
constexpr char kReferences[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .texref t;
.visible .global .surfref s;
.visible .entry ask(.param .u64 out) {
  .reg .b64 %o; .reg .b32 %a, %b;
  ld.param.u64 %o, [out];
  txq.width.b32 %a, [t];
  suq.width.b32 %b, [s];
  st.global.u32 [%o], %a;
  st.global.u32 [%o + 4], %b;
  ret;
}
)";

constexpr unsigned int kSurfaces = 2;  // CUDA_ARRAY3D_SURFACE_LDST
constexpr size_t kPitch = 512;
constexpr unsigned int kWidthOfArray = 64, kWidthOfOther = 32, kWidthOfMipmap = 128,
                       kWidthOfMemory = 1024, kWidthOfRows = 16;

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr memory = 0;
  CUarray array = nullptr, other = nullptr;
  CUmipmappedArray mipmap = nullptr;
  CUtexref texture = nullptr, own = nullptr;
  CUsurfref surface = nullptr;
  unsigned int texture_width = 0, surface_width = 0;  // of what kernels see; 0: of nothing
};
using Steps = std::vector<Step<World>>;

CUresult CreateArray(CUarray* array, unsigned int width) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(width, kSurfaces);
  return cuArray3DCreate_v2(array, &descriptor);
}
CUresult CreateMipmap(World& w) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(kWidthOfMipmap, 0);
  return cuMipmappedArrayCreate(&w.mipmap, &descriptor, 3);
}

// Kernels see something of this width from now on.
CUresult Shows(CUresult result, unsigned int width, unsigned int* shown) {
  if (result == CUDA_SUCCESS) *shown = width;
  return result;
}
CUresult ShowArray(World& w) {
  return Shows(cuTexRefSetArray(w.texture, w.array, CU_TRSA_OVERRIDE_FORMAT), kWidthOfArray,
               &w.texture_width);
}
CUresult ShowMipmap(World& w) {
  return Shows(cuTexRefSetMipmappedArray(w.texture, w.mipmap, CU_TRSA_OVERRIDE_FORMAT),
               kWidthOfMipmap, &w.texture_width);
}
CUresult ShowMemory(World& w) {
  size_t offset = 0;
  return Shows(cuTexRefSetAddress_v2(&offset, w.texture, w.memory, 4 * kWidthOfMemory),
               kWidthOfMemory, &w.texture_width);
}
CUresult ShowRows(World& w) {
  const CUDA_ARRAY_DESCRIPTOR shape = {kWidthOfRows, 4, kUnsigned32, 1};
  return Shows(cuTexRefSetAddress2D_v3(w.texture, &shape, w.memory, kPitch), kWidthOfRows,
               &w.texture_width);
}
CUresult ShowOnSurface(World& w, CUarray array, unsigned int width) {
  return Shows(cuSurfRefSetArray(w.surface, array, 0), width, &w.surface_width);
}
CUresult Unload(World& w) {
  const CUresult unloaded = cuModuleUnload(w.module);
  if (unloaded == CUDA_SUCCESS) w.texture_width = w.surface_width = 0;
  return unloaded;
}

CUresult SetBorder(World& w) {
  float color[] = {0.25f, 0.5f, 0.75f, 1.0f};
  return cuTexRefSetBorderColor(w.texture, color);
}

// How a reference is read, and the first error.
CUresult Sampling(CUtexref reference, std::ostream& out) {
  CUarray_format format = 0;
  int channels = 0, anisotropy = 0;
  CUaddress_mode mode = 0;
  CUfilter_mode filter = 0, of_levels = 0;
  float bias = 0, least = 0, greatest = 0, color[4] = {};
  unsigned int flags = 0;
  const CUresult results[] = {
      cuTexRefGetFormat(&format, &channels, reference),
      cuTexRefGetAddressMode(&mode, reference, 1),
      cuTexRefGetFilterMode(&filter, reference),
      cuTexRefGetMipmapFilterMode(&of_levels, reference),
      cuTexRefGetMipmapLevelBias(&bias, reference),
      cuTexRefGetMipmapLevelClamp(&least, &greatest, reference),
      cuTexRefGetMaxAnisotropy(&anisotropy, reference),
      cuTexRefGetBorderColor(color, reference),
      cuTexRefGetFlags(&flags, reference),
  };
  out << format << " " << channels << " mode " << mode << " filters " << filter << " " << of_levels
      << " levels " << bias << " " << least << " " << greatest << " anisotropy " << anisotropy
      << " colour " << color[0] << " " << color[3] << " flags " << flags << "\n";
  const auto* const wrong = std::find_if(std::begin(results), std::end(results),
                                         [](CUresult result) { return result != CUDA_SUCCESS; });
  return wrong == std::end(results) ? CUDA_SUCCESS : *wrong;
}
CUresult AskForSampling(World& w) {
  std::ostringstream out;
  return Sampling(w.texture, out);
}

Steps Preparing() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, 4 * kWidthOfMemory); }},
      {"create array", [](World& w) { return CreateArray(&w.array, kWidthOfArray); }},
      {"create another", [](World& w) { return CreateArray(&w.other, kWidthOfOther); }},
      {"create mipmap", CreateMipmap},
      {"load", [](World& w) { return cuModuleLoadData(&w.module, kReferences); }},
      {"texture", [](World& w) { return cuModuleGetTexRef(&w.texture, w.module, "t"); }},
      {"surface", [](World& w) { return cuModuleGetSurfRef(&w.surface, w.module, "s"); }},
      {"create a reference", [](World& w) { return cuTexRefCreate(&w.own); }},
  };
}

Steps Showing() {
  return {
      {"show an array as a surface",
       [](World& w) { return ShowOnSurface(w, w.array, kWidthOfArray); }},
      {"which array is it",
       [](World& w) {
         CUarray array = nullptr;
         return cuSurfRefGetArray(&array, w.surface);
       }},
      {"show an array", ShowArray},
      {"which is it",
       [](World& w) {
         CUarray array = nullptr;
         return cuTexRefGetArray(&array, w.texture);
       }},
      {"show another as a surface",
       [](World& w) { return ShowOnSurface(w, w.other, kWidthOfOther); }},
      {"show a mipmap", ShowMipmap},
      {"which mipmap is it",
       [](World& w) {
         CUmipmappedArray mipmap = nullptr;
         return cuTexRefGetMipmappedArray(&mipmap, w.texture);
       }},
      {"show rows", ShowRows},
      {"show memory", ShowMemory},
      {"which memory is it",
       [](World& w) {
         CUdeviceptr address = 0;
         return cuTexRefGetAddress_v2(&address, w.texture);
       }},
      {"show an array by its own", [](World& w) { return cuTexRefSetArray(w.own, w.other, 0); }},
  };
}

Steps Reading() {
  return {
      {"set the format", [](World& w) { return cuTexRefSetFormat(w.texture, kUnsigned32, 1); }},
      {"set a mode",
       [](World& w) { return cuTexRefSetAddressMode(w.texture, 1, CU_TR_ADDRESS_MODE_BORDER); }},
      {"set the filter",
       [](World& w) { return cuTexRefSetFilterMode(w.texture, CU_TR_FILTER_MODE_LINEAR); }},
      {"set the filter of levels",
       [](World& w) { return cuTexRefSetMipmapFilterMode(w.texture, CU_TR_FILTER_MODE_LINEAR); }},
      {"set the bias", [](World& w) { return cuTexRefSetMipmapLevelBias(w.texture, 0.5f); }},
      {"set the levels",
       [](World& w) { return cuTexRefSetMipmapLevelClamp(w.texture, 1.0f, 2.0f); }},
      {"set the anisotropy", [](World& w) { return cuTexRefSetMaxAnisotropy(w.texture, 4); }},
      {"set the border", SetBorder},
      {"set flags", [](World& w) { return cuTexRefSetFlags(w.texture, CU_TRSF_READ_AS_INTEGER); }},
      {"ask for all that", AskForSampling},
  };
}

Steps Ending() {
  return {
      {"destroy the reference", [](World& w) { return cuTexRefDestroy(w.own); }},
      {"unload", Unload},
      {"destroy mipmap", [](World& w) { return cuMipmappedArrayDestroy(w.mipmap); }},
      {"destroy array", [](World& w) { return cuArrayDestroy(w.array); }},
      {"destroy the other", [](World& w) { return cuArrayDestroy(w.other); }},
  };
}

Steps Script() { return Joined<World>({Preparing(), Showing(), Reading(), Ending()}); }

// A call that fails may change what kernels see, and one that "does without" too.
void ExpectKernelsToSee(const World& w) {
  if (w.texture_width == 0 || w.surface_width == 0) return;
  CUfunction ask = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&ask, w.module, "ask"), CUDA_SUCCESS);
  CUdeviceptr out = w.memory;
  void* arguments[] = {&out};
  ASSERT_EQ(cuLaunchKernel(ask, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  unsigned int widths[2] = {};
  ASSERT_EQ(cuMemcpyDtoH_v2(widths, w.memory, sizeof(widths)), CUDA_SUCCESS);
  EXPECT_EQ(widths[0], w.texture_width);
  EXPECT_EQ(widths[1], w.surface_width);
}

// All that a program can see.
std::string VisibleState(World& w) {
  ExpectKernelsToSee(w);
  std::ostringstream out;
  for (const CUtexref reference : {w.texture, w.own}) {
    CUarray array = nullptr;
    out << cuTexRefGetArray(&array, reference) << " array " << array << "\n";
    CUmipmappedArray mipmap = nullptr;
    out << cuTexRefGetMipmappedArray(&mipmap, reference) << " mipmap " << mipmap << "\n";
    CUdeviceptr address = 0;
    out << cuTexRefGetAddress_v2(&address, reference) << " address " << address << "\n";
    out << Sampling(reference, out) << " reference\n";
  }
  CUarray array = nullptr;
  out << cuSurfRefGetArray(&array, w.surface) << " surface " << array << "\n";
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  for (const CUarray made : {w.array, w.other}) {
    out << cuArray3DGetDescriptor_v2(&descriptor, made) << " array\n";
  }
  out << FreeOn(1);
  return out.str();
}

class ReferenceMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(ReferenceMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/140);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, ReferenceMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda

#include "conformance/abi/textures/texture_fixture.h"

#include <cstring>

namespace twinmmu::abi {
namespace {

using Load = Function<CUresult(void**, const void*)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using Launch =
    Function<CUresult(void*, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                      unsigned int, unsigned int, CUstream, void**, void**)>;

std::string ModuleOf(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 t, .param .u64 in, .param .u64 out) {\n"
         ".reg .pred %p<4>; .reg .b64 %t, %in, %out, %at, %d<4>; .reg .b32 %x<4>, %o<4>;\n"
         ".reg .f32 %f<4>; .reg .b16 %h<4>;\n"
         "ld.param.u64 %t, [t]; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n"
         "mov.u32 %x0, %tid.x; mul.wide.u32 %at, %x0, 16;\n"
         "add.u64 %in, %in, %at; add.u64 %out, %out, %at;\n"
         "ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%in];\n"
         "mov.b32 %f0, %x0; mov.b32 %f1, %x1; mov.b32 %f2, %x2; mov.b32 %f3, %x3;\n"
         "mov.b32 %o0, 0; mov.b32 %o1, 0; mov.b32 %o2, 0; mov.b32 %o3, 0;\n" +
         body + "\nst.global.v4.b32 [%out], {%o0, %o1, %o2, %o3};\nret;\n}\n";
}

CUDA_MEMCPY3D BoxOf(size_t row, size_t height, size_t depth) {
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = row;
  copy.Height = height;
  copy.Depth = depth;
  return copy;
}

}  // namespace

uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float FloatOf(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

Words Floats(float a, float b, float c, float d) {
  return {BitsOf(a), BitsOf(b), BitsOf(c), BitsOf(d)};
}

void TextureTest::TearDown() {
  for (const CUtexObject object : textures_) EXPECT_EQ(cuTexObjectDestroy(object), CUDA_SUCCESS);
  for (const CUsurfObject object : surfaces_) EXPECT_EQ(cuSurfObjectDestroy(object), CUDA_SUCCESS);
  for (const CUarray array : arrays_) EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  for (const CUmipmappedArray mipmap : mipmaps_) {
    EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
  }
  for (const auto& [body, module] : modules_) {
    EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
  }
  ContextTest::TearDown();
}

CUarray TextureTest::MakeArray(size_t width, size_t height, size_t depth, CUarray_format format,
                               unsigned int channels, unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = width;
  descriptor.Height = height;
  descriptor.Depth = depth;
  descriptor.Format = format;
  descriptor.NumChannels = channels;
  descriptor.Flags = flags;
  CUarray array = nullptr;
  EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_SUCCESS);
  if (array != nullptr) arrays_.push_back(array);
  return array;
}

CUmipmappedArray TextureTest::MakeMipmap(size_t width, size_t height, unsigned int levels,
                                         unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = width;
  descriptor.Height = height;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  descriptor.Flags = flags;
  CUmipmappedArray mipmap = nullptr;
  EXPECT_EQ(cuMipmappedArrayCreate(&mipmap, &descriptor, levels), CUDA_SUCCESS);
  if (mipmap != nullptr) mipmaps_.push_back(mipmap);
  return mipmap;
}

void TextureTest::Write(CUarray array, const void* data, size_t row, size_t height, size_t depth) {
  CUDA_MEMCPY3D copy = BoxOf(row, height, depth);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = data;
  copy.srcPitch = row;
  copy.srcHeight = height;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
}

void TextureTest::Read(CUarray array, void* data, size_t row, size_t height, size_t depth) {
  CUDA_MEMCPY3D copy = BoxOf(row, height, depth);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = data;
  copy.dstPitch = row;
  copy.dstHeight = height;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
}

CUDA_RESOURCE_DESC TextureTest::ResourceOf(CUarray array) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  return resource;
}

CUDA_RESOURCE_DESC TextureTest::ResourceOf(CUmipmappedArray mipmap) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmap;
  return resource;
}

CUDA_TEXTURE_DESC TextureTest::Sampling(CUaddress_mode mode, CUfilter_mode filter,
                                        unsigned int flags) {
  CUDA_TEXTURE_DESC sampling = {};
  for (CUaddress_mode& dimension : sampling.addressMode) dimension = mode;
  sampling.filterMode = filter;
  sampling.flags = flags;
  return sampling;
}

CUtexObject TextureTest::MakeTexture(const CUDA_RESOURCE_DESC& resource,
                                     const CUDA_TEXTURE_DESC& sampling,
                                     const CUDA_RESOURCE_VIEW_DESC* view) {
  CUtexObject object = 0;
  EXPECT_EQ(cuTexObjectCreate(&object, &resource, &sampling, view), CUDA_SUCCESS);
  if (object != 0) textures_.push_back(object);
  return object;
}

CUsurfObject TextureTest::MakeSurface(CUarray array) {
  const CUDA_RESOURCE_DESC resource = ResourceOf(array);
  CUsurfObject object = 0;
  EXPECT_EQ(cuSurfObjectCreate(&object, &resource), CUDA_SUCCESS);
  if (object != 0) surfaces_.push_back(object);
  return object;
}

std::vector<Words> TextureTest::Run(const std::string& body, unsigned long long object,
                                    const std::vector<Words>& in) {
  std::vector<Words> out(in.size());
  void*& module = modules_[body];
  if (module == nullptr) {
    const std::string text = ModuleOf(body);
    EXPECT_EQ(Load("cuModuleLoadData")(&module, text.c_str()), CUDA_SUCCESS) << text;
  }
  void* kernel = nullptr;
  EXPECT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
  const size_t bytes = in.size() * sizeof(Words);
  CUdeviceptr from = 0;
  CUdeviceptr to = 0;
  EXPECT_EQ(cuMemAlloc(&from, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&to, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(from, in.data(), bytes), CUDA_SUCCESS);
  void* arguments[] = {&object, &from, &to};
  EXPECT_EQ(Launch("cuLaunchKernel")(kernel, 1, 1, 1, static_cast<unsigned int>(in.size()), 1, 1, 0,
                                     nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(out.data(), to, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(from), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(to), CUDA_SUCCESS);
  return out;
}

std::vector<float> TextureTest::Sample1d(CUtexObject texture, const std::vector<float>& at) {
  std::vector<Words> in;
  for (const float coordinate : at) in.push_back(Floats(coordinate));
  std::vector<float> read;
  for (const Words& words :
       Run("tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];", texture, in)) {
    read.push_back(FloatOf(words[0]));
  }
  return read;
}

}  // namespace twinmmu::abi

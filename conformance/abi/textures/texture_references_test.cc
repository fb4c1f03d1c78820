// Texture and surface references: .texref and .surfref variables of modules.
// Source: an H100 with driver 580.159.

#include <vector>

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

using TexRef = struct CUtexref_st*;
using SurfRef = struct CUsurfref_st*;

constexpr Function<CUresult(TexRef*, CUmodule, const char*)> get_texture("cuModuleGetTexRef");
constexpr Function<CUresult(SurfRef*, CUmodule, const char*)> get_surface("cuModuleGetSurfRef");
constexpr Function<CUresult(CUdeviceptr*, size_t*, CUmodule, const char*)> get_global(
    "cuModuleGetGlobal_v2");
constexpr Function<CUresult(TexRef*)> create("cuTexRefCreate");
constexpr Function<CUresult(TexRef)> destroy("cuTexRefDestroy");
constexpr Function<CUresult(TexRef, CUarray, unsigned int)> set_array("cuTexRefSetArray");
constexpr Function<CUresult(TexRef, CUmipmappedArray, unsigned int)> set_mipmap(
    "cuTexRefSetMipmappedArray");
constexpr Function<CUresult(size_t*, TexRef, CUdeviceptr, size_t)> set_address(
    "cuTexRefSetAddress_v2");
constexpr Function<CUresult(TexRef, const CUDA_ARRAY_DESCRIPTOR*, CUdeviceptr, size_t)> set_rows(
    "cuTexRefSetAddress2D_v3");
constexpr Function<CUresult(TexRef, int, int)> set_format("cuTexRefSetFormat");
constexpr Function<CUresult(TexRef, int, int)> set_mode("cuTexRefSetAddressMode");
constexpr Function<CUresult(TexRef, int)> set_filter("cuTexRefSetFilterMode");
constexpr Function<CUresult(TexRef, int)> set_mip_filter("cuTexRefSetMipmapFilterMode");
constexpr Function<CUresult(TexRef, float)> set_bias("cuTexRefSetMipmapLevelBias");
constexpr Function<CUresult(TexRef, float, float)> set_clamp("cuTexRefSetMipmapLevelClamp");
constexpr Function<CUresult(TexRef, unsigned int)> set_anisotropy("cuTexRefSetMaxAnisotropy");
constexpr Function<CUresult(TexRef, float*)> set_border("cuTexRefSetBorderColor");
constexpr Function<CUresult(TexRef, unsigned int)> set_flags("cuTexRefSetFlags");
constexpr Function<CUresult(CUdeviceptr*, TexRef)> get_address("cuTexRefGetAddress_v2");
constexpr Function<CUresult(CUarray*, TexRef)> get_array("cuTexRefGetArray");
constexpr Function<CUresult(CUmipmappedArray*, TexRef)> get_mipmap("cuTexRefGetMipmappedArray");
constexpr Function<CUresult(int*, int*, TexRef)> get_format("cuTexRefGetFormat");
constexpr Function<CUresult(int*, TexRef, int)> get_mode("cuTexRefGetAddressMode");
constexpr Function<CUresult(int*, TexRef)> get_filter("cuTexRefGetFilterMode");
constexpr Function<CUresult(int*, TexRef)> get_mip_filter("cuTexRefGetMipmapFilterMode");
constexpr Function<CUresult(float*, TexRef)> get_bias("cuTexRefGetMipmapLevelBias");
constexpr Function<CUresult(float*, float*, TexRef)> get_clamp("cuTexRefGetMipmapLevelClamp");
constexpr Function<CUresult(int*, TexRef)> get_anisotropy("cuTexRefGetMaxAnisotropy");
constexpr Function<CUresult(float*, TexRef)> get_border("cuTexRefGetBorderColor");
constexpr Function<CUresult(unsigned int*, TexRef)> get_flags("cuTexRefGetFlags");
constexpr Function<CUresult(CUfunction, int, TexRef)> set_of_function("cuParamSetTexRef");
constexpr Function<CUresult(SurfRef, CUarray, unsigned int)> set_surface("cuSurfRefSetArray");
constexpr Function<CUresult(CUarray*, SurfRef)> get_surface_array("cuSurfRefGetArray");

constexpr unsigned int kAsIntegers = 1;
constexpr unsigned int kOverrideFormat = 1;
constexpr unsigned int kSurfaces = 2;  // CUDA_ARRAY3D_SURFACE_LDST

// line(out, x): the texel x. point(out, x, y): the float at (x, y). count(out, x, y): the word of
// the surface, which is 1 more then. ask(out): widths.
constexpr char kKernels[] = R"(
.version 8.0 .target sm_70 .address_size 64
.visible .global .texref t;
.visible .global .texref other;
.visible .global .surfref s;
.visible .entry line(.param .u64 out, .param .s32 px) {
  .reg .b64 %o; .reg .b32 %x, %a, %b, %c, %d;
  ld.param.u64 %o, [out];
  ld.param.s32 %x, [px];
  tex.1d.v4.s32.s32 {%a, %b, %c, %d}, [t, {%x}];
  st.global.v4.u32 [%o], {%a, %b, %c, %d};
  ret;
}
.visible .entry point(.param .u64 out, .param .f32 px, .param .f32 py) {
  .reg .b64 %o; .reg .f32 %x, %y, %a, %b, %c, %d;
  ld.param.u64 %o, [out];
  ld.param.f32 %x, [px];
  ld.param.f32 %y, [py];
  tex.2d.v4.f32.f32 {%a, %b, %c, %d}, [t, {%x, %y}];
  st.global.v4.f32 [%o], {%a, %b, %c, %d};
  ret;
}
.visible .entry count(.param .u64 out, .param .s32 px, .param .s32 py) {
  .reg .b64 %o; .reg .b32 %x, %y, %a;
  ld.param.u64 %o, [out];
  ld.param.s32 %x, [px];
  ld.param.s32 %y, [py];
  suld.b.2d.b32.trap {%a}, [s, {%x, %y}];
  st.global.u32 [%o], %a;
  add.s32 %a, %a, 1;
  sust.b.2d.b32.trap [s, {%x, %y}], {%a};
  ret;
}
.visible .entry ask(.param .u64 out) {
  .reg .b64 %o; .reg .b32 %a, %b;
  ld.param.u64 %o, [out];
  txq.width.b32 %a, [t];
  suq.width.b32 %b, [s];
  st.global.u32 [%o], %a;
  st.global.u32 [%o + 4], %b;
  ret;
})";

class TextureReferenceTest : public TextureTest {
 protected:
  void SetUp() override {
    TextureTest::SetUp();
    ASSERT_EQ(cuModuleLoadData(&module_, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(get_texture(&texture_, module_, "t"), CUDA_SUCCESS);
    ASSERT_EQ(get_surface(&surface_, module_, "s"), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
    TextureTest::TearDown();
  }

  Words Launch(const char* name, std::vector<void*> arguments) {
    const Buffer out(sizeof(Words));
    CUdeviceptr address = out.address();
    CUfunction function = nullptr;
    Words words = {7, 7, 7, 7};
    EXPECT_EQ(cuModuleGetFunction(&function, module_, name), CUDA_SUCCESS);
    arguments.insert(arguments.begin(), &address);
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments.data(), nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(words.data(), address, sizeof(words)), CUDA_SUCCESS);
    return words;
  }
  Words Line(int x) { return Launch("line", {&x}); }
  float Point(float x, float y) { return FloatOf(Launch("point", {&x, &y})[0]); }
  uint32_t Count(int x, int y) { return Launch("count", {&x, &y})[0]; }

  CUmodule module_ = nullptr;
  TexRef texture_ = nullptr;
  SurfRef surface_ = nullptr;
};

TEST_F(TextureReferenceTest, AreThoseOfTheirModule) {
  TexRef found = nullptr;
  SurfRef surface = nullptr;
  EXPECT_EQ(get_texture(&found, module_, "t"), CUDA_SUCCESS);
  EXPECT_EQ(found, texture_);
  EXPECT_EQ(get_texture(&found, module_, "other"), CUDA_SUCCESS);
  EXPECT_NE(found, texture_);
  for (const char* name : {"s", "none", "line"}) {
    EXPECT_EQ(get_texture(&found, module_, name), CUDA_ERROR_NOT_FOUND) << name;
  }
  EXPECT_EQ(get_surface(&surface, module_, "t"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(get_texture(&found, module_, ""), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_texture(&found, module_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_texture(nullptr, module_, "t"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_texture(&found, nullptr, "t"), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_EQ(get_global(&address, &size, module_, "t"), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureReferenceTest, NewOnesClampAndHoldFloats) {
  TexRef made = nullptr;
  ASSERT_EQ(create(&made), CUDA_SUCCESS);
  for (const TexRef reference : {made, texture_}) {
    int value = 7;
    int channels = 7;
    for (const int dimension : {0, 1, 2}) {
      EXPECT_EQ(get_mode(&value, reference, dimension), CUDA_SUCCESS);
      EXPECT_EQ(value, 1);
    }
    EXPECT_EQ(get_format(&value, &channels, reference), CUDA_SUCCESS);
    EXPECT_EQ(value, 0x20);
    EXPECT_EQ(channels, 1);
    EXPECT_EQ(get_filter(&value, reference), CUDA_SUCCESS);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(get_mip_filter(&value, reference), CUDA_SUCCESS);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(get_anisotropy(&value, reference), CUDA_SUCCESS);
    EXPECT_EQ(value, 0);
    unsigned int flags = 7;
    EXPECT_EQ(get_flags(&flags, reference), CUDA_SUCCESS);
    EXPECT_EQ(flags, 0u);
    CUdeviceptr address = 7;
    EXPECT_EQ(get_address(&address, reference), CUDA_ERROR_INVALID_VALUE);
    CUarray array = nullptr;
    EXPECT_EQ(get_array(&array, reference), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(destroy(made), CUDA_SUCCESS);
}

TEST_F(TextureReferenceTest, KeepWhatTheyAreTold) {
  float values[4] = {1, 2, 3, 4};
  float found[4] = {};
  int number = 0;
  EXPECT_EQ(set_bias(texture_, 0.5f), CUDA_SUCCESS);
  EXPECT_EQ(get_bias(found, texture_), CUDA_SUCCESS);
  EXPECT_EQ(found[0], 0.5f);
  EXPECT_EQ(set_clamp(texture_, 3, 2), CUDA_SUCCESS);
  EXPECT_EQ(get_clamp(&found[0], &found[1], texture_), CUDA_SUCCESS);
  EXPECT_EQ(found[0], 3);
  EXPECT_EQ(found[1], 2);
  EXPECT_EQ(set_border(texture_, values), CUDA_SUCCESS);
  EXPECT_EQ(get_border(found, texture_), CUDA_SUCCESS);
  EXPECT_EQ(found[3], 4);
  EXPECT_EQ(set_anisotropy(texture_, 100), CUDA_SUCCESS);
  EXPECT_EQ(get_anisotropy(&number, texture_), CUDA_SUCCESS);
  EXPECT_EQ(number, 100);
  EXPECT_EQ(set_filter(texture_, 2), CUDA_SUCCESS);
  EXPECT_EQ(get_filter(&number, texture_), CUDA_SUCCESS);
  EXPECT_EQ(number, 2) << "whatever it is";
  EXPECT_EQ(set_mip_filter(texture_, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
  EXPECT_EQ(get_mip_filter(&number, texture_), CUDA_SUCCESS);
  EXPECT_EQ(number, CU_TR_FILTER_MODE_LINEAR);
}

TEST_F(TextureReferenceTest, RefuseWhatTheyCannotBe) {
  int number = 0;
  for (const int channels : {3, 5}) {
    EXPECT_EQ(set_format(texture_, 0x20, channels), CUDA_ERROR_INVALID_VALUE);
  }
  for (const int dimension : {-1, 3, 4}) {
    EXPECT_EQ(set_mode(texture_, dimension, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(get_mode(&number, texture_, dimension), CUDA_ERROR_INVALID_VALUE);
  }
  for (const int mode : {-1, 4}) {
    EXPECT_EQ(set_mode(texture_, 0, mode), CUDA_SUCCESS);
    EXPECT_EQ(get_mode(&number, texture_, 0), CUDA_SUCCESS);
    EXPECT_EQ(number, 1) << "it clamps";
  }
  for (const int filter : {-1, 2}) {
    EXPECT_EQ(set_mip_filter(texture_, filter), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(set_flags(texture_, 0x3f), CUDA_SUCCESS);
  for (const unsigned int flags : {0x40u, 0x80u, 0x80000000u}) {
    EXPECT_EQ(set_flags(texture_, flags), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(set_border(texture_, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureReferenceTest, NullIsNoReference) {
  int number = 0;
  size_t offset = 0;
  EXPECT_EQ(create(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_array(nullptr, nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_array(texture_, nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_mipmap(texture_, nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_address(&offset, nullptr, 0, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_rows(texture_, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_filter(&number, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_filter(nullptr, texture_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_format(nullptr, nullptr, texture_), CUDA_SUCCESS);
  EXPECT_EQ(set_surface(nullptr, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_surface(surface_, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_surface_array(nullptr, surface_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureReferenceTest, NullKeepsNothing) {
  int number = 0;
  float values[4] = {};
  EXPECT_EQ(set_bias(nullptr, 0.5f), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_clamp(nullptr, 0, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_anisotropy(nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_mip_filter(&number, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_bias(values, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_clamp(&values[0], &values[1], nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_anisotropy(&number, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_border(values, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(TextureReferenceTest, FunctionsHaveNoneOfTheirOwn) {
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module_, "line"), CUDA_SUCCESS);
  for (const int unit : {-1, 0, -2}) {
    EXPECT_EQ(set_of_function(function, unit, texture_), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(set_of_function(function, -1, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(set_of_function(nullptr, -1, texture_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(TextureReferenceTest, ReadZeroWhereTheyStandForNothing) {
  EXPECT_EQ(Line(0), (Words{0, 0, 0, 0}));
  EXPECT_EQ(Count(0, 0), 0u);
  EXPECT_EQ(Launch("ask", {})[0], 0u);
}

TEST_F(TextureReferenceTest, StandForNothingWhereTheirModuleIsLoadedAgain) {
  const Buffer memory(1024);
  EXPECT_EQ(cuMemsetD8(memory.address(), 1, 1024), CUDA_SUCCESS);
  size_t offset = 7;
  EXPECT_EQ(set_format(texture_, 0x0a, 1), CUDA_SUCCESS);
  EXPECT_EQ(set_flags(texture_, kAsIntegers), CUDA_SUCCESS);
  EXPECT_EQ(set_address(&offset, texture_, memory.address(), 1024), CUDA_SUCCESS);
  EXPECT_EQ(Line(3)[0], 0x01010101u);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleLoadData(&module_, kKernels), CUDA_SUCCESS);
  EXPECT_EQ(Line(3)[0], 0u);
}

TEST_F(TextureReferenceTest, ShowLinearMemory) {
  const Buffer memory(1024);
  std::vector<int> numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 1000 + static_cast<int>(i);
  EXPECT_EQ(cuMemcpyHtoD(memory.address(), numbers.data(), 1024), CUDA_SUCCESS);
  size_t offset = 7;
  EXPECT_EQ(set_format(texture_, 0x0a, 1), CUDA_SUCCESS);
  EXPECT_EQ(set_flags(texture_, kAsIntegers), CUDA_SUCCESS);
  EXPECT_EQ(set_address(&offset, texture_, memory.address(), 1024), CUDA_SUCCESS);
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(Line(3)[0], 1003u);
  EXPECT_EQ(Line(255)[0], 1255u);
  EXPECT_EQ(Line(256)[0], 0u);
  EXPECT_EQ(Line(-1)[0], 0u);
  EXPECT_EQ(set_format(texture_, 0x0a, 2), CUDA_SUCCESS);
  EXPECT_EQ(Line(3), (Words{1006, 1007, 0, 0}));
  EXPECT_EQ(set_address(&offset, texture_, memory.address() + 16, 64), CUDA_SUCCESS);
  EXPECT_EQ(offset, 16u) << "it begins at a multiple of 512";
  EXPECT_EQ(Line(4), (Words{1008, 1009, 0, 0}));
  EXPECT_EQ(Line(16), (Words{0, 0, 0, 0}));
  EXPECT_EQ(Launch("ask", {})[0], 10u);
}

TEST_F(TextureReferenceTest, TellWhereLinearMemoryBegins) {
  const Buffer memory(1 << 20);
  size_t offset = 7;
  CUdeviceptr address = 0;
  for (const size_t behind : {4, 16, 511}) {
    EXPECT_EQ(set_address(&offset, texture_, memory.address() + behind, 64), CUDA_SUCCESS);
    EXPECT_EQ(offset, behind);
    EXPECT_EQ(get_address(&address, texture_), CUDA_SUCCESS);
    EXPECT_EQ(address, memory.address());
  }
  EXPECT_EQ(set_address(nullptr, texture_, memory.address() + 4, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_address(nullptr, texture_, memory.address() + 512, 64), CUDA_SUCCESS);
  EXPECT_EQ(get_address(&address, texture_), CUDA_SUCCESS);
  EXPECT_EQ(address, memory.address() + 512);
}

TEST_F(TextureReferenceTest, RowsOfLinearMemoryAreAligned) {
  const Buffer memory(1 << 20);
  const auto set = [&](size_t behind, size_t width, size_t pitch) {
    const CUDA_ARRAY_DESCRIPTOR shape = {width, 4, CU_AD_FORMAT_FLOAT, 1};
    return set_rows(texture_, &shape, memory.address() + behind, pitch);
  };
  EXPECT_EQ(set(0, 16, 64), CUDA_SUCCESS);
  EXPECT_EQ(set(512, 8, 32), CUDA_SUCCESS);
  EXPECT_EQ(set(0, 8, 48), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(0, 16, 32), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(256, 8, 32), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(0, 131073, 524544), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  EXPECT_EQ(get_address(&address, texture_), CUDA_SUCCESS);
  EXPECT_EQ(address, memory.address() + 512);
}

// UNORM_INT_101010_2: 4 channels in 4 bytes.
TEST_F(TextureReferenceTest, PackedNumbersLieInLinearMemory) {
  constexpr int kPacked = 0x50;
  const Buffer memory(1 << 20);
  size_t offset = 77;
  EXPECT_EQ(set_format(texture_, kPacked, 4), CUDA_SUCCESS);
  EXPECT_EQ(set_address(&offset, texture_, memory.address(), size_t{4} << 30), CUDA_SUCCESS);
  EXPECT_EQ(set_address(&offset, texture_, memory.address(), size_t{5} << 30),
            CUDA_ERROR_INVALID_VALUE);
  const CUDA_ARRAY_DESCRIPTOR rows = {16, 4, static_cast<CUarray_format>(kPacked), 4};
  EXPECT_EQ(set_rows(texture_, &rows, memory.address(), 64), CUDA_SUCCESS);
  EXPECT_EQ(set_rows(texture_, &rows, memory.address(), 32), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureReferenceTest, ShowArraysAsTheyAreTold) {
  std::vector<float> numbers(64);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const CUarray array = MakeFilled(numbers, 8, 8);
  EXPECT_EQ(set_array(texture_, array, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(Point(2.5f, 3.5f), 26);
  EXPECT_EQ(Point(-1, 3.5f), 24);
  EXPECT_EQ(Point(9, 3.5f), 31);
  EXPECT_EQ(set_filter(texture_, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
  EXPECT_EQ(Point(3, 3), 22.5f);
  float border[4] = {5, 6, 7, 8};
  EXPECT_EQ(set_mode(texture_, 0, CU_TR_ADDRESS_MODE_BORDER), CUDA_SUCCESS);
  EXPECT_EQ(set_border(texture_, border), CUDA_SUCCESS);
  EXPECT_EQ(Point(-1, 3.5f), 5);
  EXPECT_EQ(set_flags(texture_, CU_TRSF_NORMALIZED_COORDINATES), CUDA_SUCCESS);
  EXPECT_EQ(set_mode(texture_, 0, CU_TR_ADDRESS_MODE_WRAP), CUDA_SUCCESS);
  EXPECT_EQ(Point(1.5f, 0.5f), 31.5f);
}

TEST_F(TextureReferenceTest, TakeTheFormatOfAnArrayIfAsked) {
  const CUarray array = MakeArray(8, 8);
  int format = 0;
  int channels = 0;
  EXPECT_EQ(set_format(texture_, 3, 2), CUDA_SUCCESS);
  EXPECT_EQ(set_array(texture_, array, 0), CUDA_SUCCESS);
  EXPECT_EQ(get_format(&format, &channels, texture_), CUDA_SUCCESS);
  EXPECT_EQ(format, 3);
  EXPECT_EQ(set_array(texture_, array, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(get_format(&format, &channels, texture_), CUDA_SUCCESS);
  EXPECT_EQ(format, 0x20);
  EXPECT_EQ(channels, 1);
  EXPECT_EQ(set_array(texture_, array, 2), CUDA_ERROR_INVALID_VALUE);
  CUarray found = nullptr;
  CUmipmappedArray mipmap = nullptr;
  EXPECT_EQ(get_array(&found, texture_), CUDA_SUCCESS);
  EXPECT_EQ(found, array);
  EXPECT_EQ(get_mipmap(&mipmap, texture_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_mipmap(texture_, MakeMipmap(8, 8, 2), kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(get_mipmap(&mipmap, texture_), CUDA_SUCCESS);
  EXPECT_EQ(get_array(&found, texture_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureReferenceTest, LaunchesHaveThemAsTheyWere) {
  const CUarray first = MakeFilled(std::vector<float>(64, 1), 8, 8);
  const CUarray second = MakeFilled(std::vector<float>(64, 2), 8, 8);
  const Buffer out(sizeof(Words));
  CUdeviceptr address = out.address();
  float at = 2.5f;
  void* arguments[] = {&address, &at, &at};
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module_, "point"), CUDA_SUCCESS);
  EXPECT_EQ(set_array(texture_, first, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(set_array(texture_, second, kOverrideFormat), CUDA_SUCCESS);
  float value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, address, sizeof(value)), CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(Point(2.5f, 2.5f), 2);
}

TEST_F(TextureReferenceTest, KernelsThatReadThemAreNotCaptured) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUfunction function = nullptr;
  const Buffer out(sizeof(Words));
  CUdeviceptr address = out.address();
  int at = 0;
  void* arguments[] = {&address, &at};
  ASSERT_EQ(cuModuleGetFunction(&function, module_, "line"), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(TextureReferenceTest, SurfacesAreReadAndWritten) {
  std::vector<uint32_t> numbers(64);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint32_t>(i);
  const CUarray array = MakeFilled(numbers, 8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurfaces);
  CUarray found = nullptr;
  EXPECT_EQ(get_surface_array(&found, surface_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_surface(surface_, MakeArray(8, 8), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_surface(surface_, array, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_surface(surface_, array, 0), CUDA_SUCCESS);
  EXPECT_EQ(get_surface_array(&found, surface_), CUDA_SUCCESS);
  EXPECT_EQ(found, array);
  EXPECT_EQ(Count(8, 3), 26u);
  EXPECT_EQ(Count(8, 3), 27u);
  EXPECT_EQ(Launch("ask", {})[1], 8u);
}

}  // namespace
}  // namespace twinmmu::abi

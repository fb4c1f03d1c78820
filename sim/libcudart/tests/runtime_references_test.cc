// Textures and surfaces of old, as a program of CUDA 11 has them. The argument is the file of
// libcudart.so.11.0.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/fat_binary_image.h"
#include "sim/libcudart/testing/older_runtime.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

TWINMMU_FAT_BINARY(kKernels, 70,
                   ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".global .texref numbers;\n"
                   ".global .texref bytes;\n"
                   ".global .surfref drawn;\n"
                   ".visible .entry Fetch(.param .u64 Fetch_to, .param .u32 Fetch_at) {\n"
                   "  .reg .b32 %r<2>;\n  .reg .f32 %f<9>;\n  .reg .b64 %rd<2>;\n"
                   "  ld.param.u64 %rd1, [Fetch_to];\n"
                   "  ld.param.u32 %r1, [Fetch_at];\n"
                   "  tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [numbers, {%r1}];\n"
                   "  tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [bytes, {%r1}];\n"
                   "  st.global.f32 [%rd1], %f1;\n"
                   "  st.global.f32 [%rd1+4], %f5;\n"
                   "  ret;\n}\n"
                   ".visible .entry Sample(.param .u64 Sample_to, .param .f32 Sample_at) {\n"
                   "  .reg .f32 %f<6>;\n  .reg .b64 %rd<2>;\n"
                   "  ld.param.u64 %rd1, [Sample_to];\n"
                   "  ld.param.f32 %f5, [Sample_at];\n"
                   "  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [numbers, {%f5, %f5}];\n"
                   "  st.global.f32 [%rd1], %f1;\n"
                   "  ret;\n}\n"
                   ".visible .entry Draw(.param .u32 Draw_at, .param .u32 Draw_value) {\n"
                   "  .reg .b32 %r<3>;\n"
                   "  ld.param.u32 %r1, [Draw_at];\n"
                   "  ld.param.u32 %r2, [Draw_value];\n"
                   "  sust.b.1d.b32.trap [drawn, {%r1}], {%r2};\n"
                   "  ret;\n}\n");

textureReference numbers = {};
textureReference bytes = {};
surfaceReference drawn = {};
char Fetch;
char Sample;
char Draw;

class RuntimeReferences : public testing::Test {
 protected:
  RuntimeReferences() : module_(OLD(__cudaRegisterFatBinary)(&kKernels)) {
    for (char* const kernel : {&Fetch, &Sample, &Draw}) {
      const char* const name = kernel == &Fetch ? "Fetch" : kernel == &Draw ? "Draw" : "Sample";
      OLD(__cudaRegisterFunction)
      (module_, kernel, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
    OLD(__cudaRegisterTexture)(module_, &numbers, nullptr, "numbers", 1, 0, 0);
    OLD(__cudaRegisterTexture)(module_, &bytes, nullptr, "bytes", 1, 1, 0);
    OLD(__cudaRegisterSurface)(module_, &drawn, nullptr, "drawn", 1, 0);
    numbers = {};
    numbers.channelDesc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    bytes = {};
    bytes.channelDesc = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    EXPECT_EQ(OLD(cudaMalloc)(&memory_, 4096), cudaSuccess);
    const std::vector<float> values = {0, 10, 20, 30, 40};
    EXPECT_EQ(OLD(cudaMemcpy)(memory_, values.data(), 20, cudaMemcpyHostToDevice), cudaSuccess);
    result_ = static_cast<char*>(memory_) + 2048;
  }
  ~RuntimeReferences() override {
    EXPECT_EQ(OLD(cudaFree)(memory_), cudaSuccess);
    OLD(__cudaUnregisterFatBinary)(module_);
    OLD(cudaGetLastError)();
  }

  template <typename At>
  std::vector<float> Run(char* kernel, At at) {
    std::vector<float> found(2);
    void* arguments[] = {&result_, &at};
    EXPECT_EQ(OLD(cudaLaunchKernel)(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr),
              cudaSuccess);
    EXPECT_EQ(OLD(cudaMemcpy)(found.data(), result_, 8, cudaMemcpyDeviceToHost), cudaSuccess);
    return found;
  }

  void** const module_;
  void* memory_ = nullptr;
  void* result_ = nullptr;
};

TEST_F(RuntimeReferences, FetchFromTheMemoryThatIsBound) {
  size_t offset = 1;
  EXPECT_EQ(OLD(cudaBindTexture)(&offset, &numbers, memory_, &numbers.channelDesc, 20),
            cudaSuccess);
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(Run(&Fetch, 3)[0], 30);
}

// As the texture was declared: texture<unsigned char, 1, cudaReadModeNormalizedFloat>.
TEST_F(RuntimeReferences, GiveIntegersAsFloatsWhereDeclaredSo) {
  const unsigned char most = 255;
  EXPECT_EQ(OLD(cudaMemcpy)(memory_, &most, 1, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(OLD(cudaBindTexture)(nullptr, &numbers, memory_, nullptr, 20), cudaSuccess);
  EXPECT_EQ(OLD(cudaBindTexture)(nullptr, &bytes, memory_, nullptr, 20), cudaSuccess);
  EXPECT_EQ(Run(&Fetch, 0)[1], 1);
}

TEST_F(RuntimeReferences, TellHowFarBehindItsBeginningTheMemoryIs) {
  size_t offset = 0;
  EXPECT_EQ(OLD(cudaGetTextureAlignmentOffset)(&offset, &numbers), cudaErrorInvalidTextureBinding);
  void* const second = static_cast<float*>(memory_) + 1;
  EXPECT_EQ(OLD(cudaBindTexture)(nullptr, &numbers, second, nullptr, 16), cudaErrorInvalidValue);
  EXPECT_EQ(OLD(cudaBindTexture)(&offset, &numbers, second, nullptr, 16), cudaSuccess);
  EXPECT_EQ(offset, 4u);
  offset = 0;
  EXPECT_EQ(OLD(cudaGetTextureAlignmentOffset)(&offset, &numbers), cudaSuccess);
  EXPECT_EQ(offset, 4u);
  EXPECT_EQ(OLD(cudaUnbindTexture)(&numbers), cudaSuccess);
  EXPECT_EQ(OLD(cudaGetTextureAlignmentOffset)(&offset, &numbers), cudaErrorInvalidTextureBinding);
}

TEST_F(RuntimeReferences, AreReadAsTheirVariablesSayWhenTheyAreBound) {
  constexpr int kLinear = 1;
  cudaArray_t array = nullptr;
  ASSERT_EQ(OLD(cudaMallocArray)(&array, &numbers.channelDesc, 2, 2, 0), cudaSuccess);
  const std::vector<float> values = {0, 8, 0, 8};
  ASSERT_EQ(OLD(cudaMemcpy2DToArray)(array, 0, 0, values.data(), 8, 8, 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(OLD(cudaBindTextureToArray)(&numbers, array, &numbers.channelDesc), cudaSuccess);
  EXPECT_EQ(Run(&Sample, 1.0f)[0], 8);
  numbers.filterMode = kLinear;
  EXPECT_EQ(Run(&Sample, 1.0f)[0], 8) << "not before it is bound again";
  EXPECT_EQ(OLD(cudaBindTextureToArray)(&numbers, array, &numbers.channelDesc), cudaSuccess);
  EXPECT_EQ(Run(&Sample, 1.0f)[0], 4);
  numbers.normalized = 1;
  EXPECT_EQ(OLD(cudaBindTextureToArray)(&numbers, array, &numbers.channelDesc), cudaSuccess);
  EXPECT_EQ(Run(&Sample, 0.5f)[0], 4);
  EXPECT_EQ(OLD(cudaUnbindTexture)(&numbers), cudaSuccess);
  EXPECT_EQ(OLD(cudaFreeArray)(array), cudaSuccess);
}

TEST_F(RuntimeReferences, ShowTheLevelsOfAnArray) {
  cudaMipmappedArray_t mipmap = nullptr;
  cudaArray_t level = nullptr;
  ASSERT_EQ(OLD(cudaMallocMipmappedArray)(&mipmap, &numbers.channelDesc, {2, 2, 0}, 2, 0),
            cudaSuccess);
  ASSERT_EQ(OLD(cudaGetMipmappedArrayLevel)(&level, mipmap, 0), cudaSuccess);
  const std::vector<float> values = {3, 4, 5, 6};
  ASSERT_EQ(OLD(cudaMemcpy2DToArray)(level, 0, 0, values.data(), 8, 8, 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(OLD(cudaBindTextureToMipmappedArray)(&numbers, mipmap, &numbers.channelDesc),
            cudaSuccess);
  EXPECT_EQ(Run(&Sample, 1.5f)[0], 6);
  const float smaller = 9;
  ASSERT_EQ(OLD(cudaGetMipmappedArrayLevel)(&level, mipmap, 1), cudaSuccess);
  ASSERT_EQ(OLD(cudaMemcpy2DToArray)(level, 0, 0, &smaller, 4, 4, 1, cudaMemcpyHostToDevice),
            cudaSuccess);
  numbers.minMipmapLevelClamp = numbers.maxMipmapLevelClamp = 1;
  EXPECT_EQ(OLD(cudaBindTextureToMipmappedArray)(&numbers, mipmap, &numbers.channelDesc),
            cudaSuccess);
  EXPECT_EQ(Run(&Sample, 0.5f)[0], 9) << "the level that the variable asks for";
  textureReference unknown = numbers;
  EXPECT_EQ(OLD(cudaBindTextureToMipmappedArray)(&unknown, mipmap, &numbers.channelDesc),
            cudaErrorInvalidTexture);
  EXPECT_EQ(OLD(cudaUnbindTexture)(&numbers), cudaSuccess);
  EXPECT_EQ(OLD(cudaFreeMipmappedArray)(mipmap), cudaSuccess);
}

TEST_F(RuntimeReferences, ShowRowsOfPitchedMemory) {
  const std::vector<float> row = {5, 6};
  EXPECT_EQ(
      OLD(cudaMemcpy)(static_cast<char*>(memory_) + 512, row.data(), 8, cudaMemcpyHostToDevice),
      cudaSuccess);
  size_t offset = 1;
  EXPECT_EQ(OLD(cudaBindTexture2D)(&offset, &numbers, memory_, &numbers.channelDesc, 2, 2, 512),
            cudaSuccess);
  EXPECT_EQ(offset, 0u);
  EXPECT_EQ(Run(&Sample, 1.5f)[0], 6);
}

TEST_F(RuntimeReferences, OfSurfacesAreWritten) {
  constexpr unsigned int kSurface = 2;  // cudaArraySurfaceLoadStore
  const cudaChannelFormatDesc words = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};
  cudaArray_t array = nullptr;
  ASSERT_EQ(OLD(cudaMallocArray)(&array, &words, 4, 0, kSurface), cudaSuccess);
  EXPECT_EQ(OLD(cudaBindSurfaceToArray)(&drawn, array, &words), cudaSuccess);
  int at = 8;
  int value = 77;
  void* arguments[] = {&at, &value};
  EXPECT_EQ(OLD(cudaLaunchKernel)(&Draw, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(OLD(cudaMemcpyFromArray)(&value, array, 8, 0, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 77);
  EXPECT_EQ(OLD(cudaFreeArray)(array), cudaSuccess);
}

TEST_F(RuntimeReferences, MustBeRegistered) {
  textureReference unknown = numbers;
  const textureReference* texture = nullptr;
  const surfaceReference* surface = nullptr;
  EXPECT_EQ(OLD(cudaGetTextureReference)(&texture, &numbers), cudaSuccess);
  EXPECT_EQ(texture, &numbers);
  EXPECT_EQ(OLD(cudaGetSurfaceReference)(&surface, &drawn), cudaSuccess);
  EXPECT_EQ(surface, &drawn);
  size_t offset = 0;
  EXPECT_EQ(OLD(cudaBindTexture)(&offset, &unknown, memory_, nullptr, 4), cudaErrorInvalidTexture);
  EXPECT_EQ(OLD(cudaBindTexture)(&offset, nullptr, memory_, nullptr, 4), cudaErrorInvalidTexture);
  EXPECT_EQ(OLD(cudaUnbindTexture)(&unknown), cudaErrorInvalidTexture);
  EXPECT_EQ(OLD(cudaGetTextureReference)(&texture, &unknown), cudaErrorInvalidTexture);
  EXPECT_EQ(OLD(cudaGetSurfaceReference)(&surface, &unknown), cudaErrorInvalidSurface);
  EXPECT_EQ(OLD(cudaBindSurfaceToArray)(nullptr, nullptr, nullptr), cudaErrorInvalidSurface);
}

TEST_F(RuntimeReferences, HaveChannelsOfOneSize) {
  numbers.channelDesc = {8, 16, 0, 0, cudaChannelFormatKindUnsigned};
  EXPECT_EQ(OLD(cudaBindTexture)(nullptr, &numbers, memory_, nullptr, 4),
            cudaErrorInvalidChannelDescriptor);
}

}  // namespace

int main(int argc, char** argv) {
  return twinmmu::cudart::RunTestsOfOlder("libcudart.so.11.0", argc, argv);
}

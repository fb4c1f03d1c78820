// Arrays: which ones a driver makes, and what it says of them. The codes are those of an H100
// (driver 580.159).

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

struct Shape {
  size_t width;
  size_t height;
  size_t depth;
  unsigned int flags;
};

class ArraysTest : public TextureTest {
 protected:
  static CUresult Create(const Shape& shape) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    descriptor.Width = shape.width;
    descriptor.Height = shape.height;
    descriptor.Depth = shape.depth;
    descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    descriptor.NumChannels = 1;
    descriptor.Flags = shape.flags;
    CUarray array = nullptr;
    const CUresult created = cuArray3DCreate(&array, &descriptor);
    if (created != CUDA_SUCCESS) return created;
    CUDA_ARRAY3D_DESCRIPTOR found = {};
    EXPECT_EQ(cuArray3DGetDescriptor(&found, array), CUDA_SUCCESS);
    EXPECT_EQ(found.Width, shape.width);
    EXPECT_EQ(found.Height, shape.height);
    EXPECT_EQ(found.Depth, shape.depth);
    EXPECT_EQ(found.Flags, shape.flags);
    EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
    return created;
  }

  static constexpr unsigned int kLayered = CUDA_ARRAY3D_LAYERED;
  static constexpr unsigned int kSurface = CUDA_ARRAY3D_SURFACE_LDST;
  static constexpr unsigned int kCube = CUDA_ARRAY3D_CUBEMAP;
  static constexpr unsigned int kGather = CUDA_ARRAY3D_TEXTURE_GATHER;
};

TEST_F(ArraysTest, HaveTheseShapes) {
  for (const Shape& shape :
       {Shape{8, 0, 0, 0}, Shape{8, 8, 0, 0}, Shape{8, 8, 8, 0}, Shape{8, 0, 4, kLayered},
        Shape{8, 8, 4, kLayered}, Shape{8, 8, 6, kCube}, Shape{8, 8, 12, kCube | kLayered},
        Shape{8, 8, 0, kSurface}, Shape{8, 8, 0, kGather}, Shape{8, 8, 6, kCube | kSurface},
        Shape{16, 16, 16385, 0}, Shape{32769, 8, 0, kSurface},
        Shape{8, 8, 2046, kCube | kLayered}}) {
    EXPECT_EQ(Create(shape), CUDA_SUCCESS) << shape.width << " x " << shape.height << " x "
                                           << shape.depth << ", flags " << shape.flags;
  }
}

TEST_F(ArraysTest, HaveNoOthers) {
  for (const Shape& shape : {Shape{0, 0, 0, 0},           Shape{8, 0, 8, 0},
                             Shape{0, 8, 0, 0},           Shape{8, 8, 0, kLayered},
                             Shape{8, 4, 6, kCube},       Shape{8, 8, 5, kCube},
                             Shape{8, 8, 12, kCube},      Shape{8, 8, 7, kCube | kLayered},
                             Shape{8, 0, 6, kCube},       Shape{8, 8, 8, kGather},
                             Shape{8, 0, 0, kGather},     Shape{8, 8, 4, kGather | kLayered},
                             Shape{8, 8, 0, 0x20},        Shape{131073, 0, 0, 0},
                             Shape{8, 65537, 0, 0},       Shape{16385, 16, 16, 0},
                             Shape{8, 8, 2049, kLayered}, Shape{8, 8, 2052, kCube | kLayered},
                             Shape{32769, 8, 0, kGather}, Shape{32769, 0, 0, kSurface}}) {
    EXPECT_EQ(Create(shape), CUDA_ERROR_INVALID_VALUE)
        << shape.width << " x " << shape.height << " x " << shape.depth << ", flags "
        << shape.flags;
  }
}

TEST_F(ArraysTest, OfTwoDimensionsDescribeThemselves) {
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  descriptor.Width = 9;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 2;
  CUarray array = nullptr;
  ASSERT_EQ(cuArrayCreate(&array, &descriptor), CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR found = {};
  EXPECT_EQ(cuArrayGetDescriptor(&found, array), CUDA_SUCCESS);
  EXPECT_EQ(found.Width, 9u);
  EXPECT_EQ(found.Height, 0u);
  EXPECT_EQ(found.Format, CU_AD_FORMAT_FLOAT);
  EXPECT_EQ(found.NumChannels, 2u);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
}

TEST_F(ArraysTest, WithMemoryOfTheirOwnHaveNoRequirementsAndNoPlanes) {
  const CUarray array = MakeArray(16, 16);
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  EXPECT_EQ(cuArrayGetMemoryRequirements(&requirements, array, 0), CUDA_ERROR_INVALID_VALUE);
  CUarray plane = nullptr;
  EXPECT_EQ(cuArrayGetPlane(&plane, array, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayGetPlane(&plane, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ArraysTest, MipmapsWithMemoryOfTheirOwnHaveNoRequirements) {
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  EXPECT_EQ(cuMipmappedArrayGetMemoryRequirements(&requirements, MakeMipmap(16, 16, 4), 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArraysTest, OfThreeDimensionsKeepWhatIsCopied) {
  std::vector<uint32_t> words;
  for (uint32_t i = 0; i < 5 * 4 * 3; ++i) words.push_back(i);
  const CUarray array = MakeFilled<uint32_t>(words, 5, 4, 3, CU_AD_FORMAT_UNSIGNED_INT32);
  std::vector<uint32_t> read(words.size());
  TextureTest::Read(array, read.data(), 20, 4, 3);
  EXPECT_EQ(read, words);
}

// UNORM_INT_101010_2, UNORM_INT8X1 to SNORM_INT16X4.
TEST_F(ArraysTest, OfNormalisedNumbersHaveOneNumberOfChannels) {
  struct Format {
    int number;
    unsigned int channels;
    size_t bytes;  // of an element
  };
  std::vector<Format> formats = {{0x50, 4, 4}};
  for (int i = 0; i < 12; ++i) {
    const unsigned int channels = 1u << (i % 3);
    formats.push_back({0xc0 + i, channels, channels * (i / 3 % 2 == 0 ? 1u : 2u)});
  }
  for (const auto& [number, channels, bytes] : formats) {
    const auto format = static_cast<CUarray_format>(number);
    for (const unsigned int other : {1u, 2u, 4u}) {
      if (other == channels) continue;
      CUarray none = nullptr;
      const CUDA_ARRAY_DESCRIPTOR wrong = {8, 2, format, other};
      EXPECT_EQ(cuArrayCreate(&none, &wrong), CUDA_ERROR_INVALID_VALUE) << number;
    }
    CUarray const array = MakeArray(8, 0, 0, format, channels, 0);
    std::vector<unsigned char> written(8 * bytes, 0x5a);
    std::vector<unsigned char> found(8 * bytes);
    EXPECT_EQ(cuMemcpyHtoA(array, 0, written.data(), written.size()), CUDA_SUCCESS) << number;
    EXPECT_EQ(cuMemcpyAtoH(found.data(), array, 0, found.size()), CUDA_SUCCESS) << number;
    EXPECT_EQ(found, written) << number;
    EXPECT_EQ(cuMemcpyAtoH(found.data(), array, 1, found.size()), CUDA_ERROR_INVALID_VALUE)
        << number << " is larger";
    CUDA_ARRAY_DESCRIPTOR told = {};
    EXPECT_EQ(cuArrayGetDescriptor(&told, array), CUDA_SUCCESS);
    EXPECT_EQ(told.Format, format);
    EXPECT_EQ(told.NumChannels, channels);
  }
}

}  // namespace
}  // namespace twinmmu::abi

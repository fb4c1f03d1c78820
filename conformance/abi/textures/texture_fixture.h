// TextureTest: arrays, textures and surfaces, and kernels that read and write them.

#ifndef TWINMMU_CONFORMANCE_ABI_TEXTURES_TEXTURE_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ABI_TEXTURES_TEXTURE_FIXTURE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

// What one thread of a kernel gets and gives.
using Words = std::array<uint32_t, 4>;

uint32_t BitsOf(float value);
float FloatOf(uint32_t bits);
// Four floats as words.
Words Floats(float a, float b = 0, float c = 0, float d = 0);

class TextureTest : public ContextTest {
 protected:
  void TearDown() override;

  // Freed at the end. `flags`: CUDA_ARRAY3D_...
  CUarray MakeArray(size_t width, size_t height = 0, size_t depth = 0,
                    CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned int channels = 1,
                    unsigned int flags = 0);
  CUmipmappedArray MakeMipmap(size_t width, size_t height, unsigned int levels,
                              unsigned int flags = 0);
  // Rows of packed bytes, from and to the whole array.
  static void Write(CUarray array, const void* data, size_t row, size_t height = 1,
                    size_t depth = 1);
  static void Read(CUarray array, void* data, size_t row, size_t height = 1, size_t depth = 1);
  template <typename T>
  CUarray MakeFilled(const std::vector<T>& data, size_t width, size_t height = 0, size_t depth = 0,
                     CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned int channels = 1,
                     unsigned int flags = 0) {
    const CUarray array = MakeArray(width, height, depth, format, channels, flags);
    Write(array, data.data(), data.size() * sizeof(T) / (height | !height) / (depth | !depth),
          height | !height, depth | !depth);
    return array;
  }

  static CUDA_RESOURCE_DESC ResourceOf(CUarray array);
  static CUDA_RESOURCE_DESC ResourceOf(CUmipmappedArray mipmap);
  static CUDA_TEXTURE_DESC Sampling(CUaddress_mode mode, CUfilter_mode filter,
                                    unsigned int flags = 0);
  // Destroyed at the end.
  CUtexObject MakeTexture(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& sampling,
                          const CUDA_RESOURCE_VIEW_DESC* view = nullptr);
  CUsurfObject MakeSurface(CUarray array);

  // Runs `body` of PTX in one thread for each of `in`: it has the object in %t, the words in %x0 to
  // %x3, the same as floats in %f0 to %f3, and what it leaves in %o0 to %o3 comes back.
  std::vector<Words> Run(const std::string& body, unsigned long long object,
                         const std::vector<Words>& in);
  // The same, in the first channel as floats, at coordinates in the first dimension.
  std::vector<float> Sample1d(CUtexObject texture, const std::vector<float>& at);

 private:
  std::map<std::string, void*> modules_;
  std::vector<CUarray> arrays_;
  std::vector<CUmipmappedArray> mipmaps_;
  std::vector<CUtexObject> textures_;
  std::vector<CUsurfObject> surfaces_;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_TEXTURES_TEXTURE_FIXTURE_H_

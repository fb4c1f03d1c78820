// A blurred image of bytes, whose texture shows them as numbers from 0 to 1.

#include <algorithm>

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/texture_convolution.inc"
    ;

constexpr int kWidth = 61;
constexpr int kHeight = 33;

class Image {
 public:
  explicit Image(const std::vector<uint8_t>& texels) {
    CUDA_ARRAY_DESCRIPTOR form = {};
    form.Width = kWidth;
    form.Height = kHeight;
    form.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    form.NumChannels = 1;
    CHECK(cuArrayCreate(&array_, &form));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.srcPitch = kWidth;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array_;
    copy.WidthInBytes = kWidth;
    copy.Height = kHeight;
    CHECK(cuMemcpy2D(&copy));
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array_;
    CUDA_TEXTURE_DESC texture = {};
    std::fill_n(texture.addressMode, 3, CU_TR_ADDRESS_MODE_CLAMP);
    texture.filterMode = CU_TR_FILTER_MODE_POINT;
    CHECK(cuTexObjectCreate(&texture_, &resource, &texture, nullptr));
  }
  ~Image() {
    CHECK(cuTexObjectDestroy(texture_));
    CHECK(cuArrayDestroy(array_));
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  CUtexObject texture() const { return texture_; }

 private:
  CUarray array_ = nullptr;
  CUtexObject texture_ = 0;
};

std::vector<double> OnTheHost(const std::vector<uint8_t>& texels) {
  constexpr double kWeights[] = {1, 4, 6, 4, 1};
  std::vector<double> out;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      double sum = 0;
      for (int i = 0; i < 25; ++i) {
        const int from_x = std::clamp(x + i % 5 - 2, 0, kWidth - 1);
        const int from_y = std::clamp(y + i / 5 - 2, 0, kHeight - 1);
        sum += kWeights[i % 5] * kWeights[i / 5] *
               texels[static_cast<size_t>(from_y * kWidth + from_x)];
      }
      out.push_back(sum / 256 / 255);
    }
  }
  return out;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<uint8_t> texels;
  for (int i = 0; i < kWidth * kHeight; ++i) {
    texels.push_back(static_cast<uint8_t>(numbers.Between(0, 255)));
  }
  const Image image(texels);
  const DeviceArray<float> out(texels.size());
  module.Launch("texture_convolution", {(kWidth + 15) / 16, 16, 0, (kHeight + 7) / 8, 8},
                image.texture(), out.address(), kWidth, kHeight);
  return CompareNearly("points", out.Read(), OnTheHost(texels), 1e-6);
}

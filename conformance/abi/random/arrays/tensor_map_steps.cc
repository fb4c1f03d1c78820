// Tensor maps, of tensors that need not be there.

#include <array>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/arrays/array_world.h"

namespace twinmmu::abi {
namespace {

constexpr CUdeviceptr kAddress = 0x7f0000000000;

template <typename Number>
std::string TextOf(const Number* numbers, size_t count) {
  std::string text = "(";
  for (size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : " ") + std::to_string(numbers[i]);
  }
  return text + ")";
}

// What both kinds of map have.
struct Tensor {
  int element = 0;
  unsigned rank = 0;
  CUdeviceptr address = kAddress;
  std::array<cuuint64_t, 8> dims = {1, 1, 1, 1, 1};
  std::array<cuuint64_t, 8> strides = {};
  std::array<cuuint32_t, 8> box = {1, 1, 1, 1, 1};
  std::array<cuuint32_t, 8> steps = {1, 1, 1, 1, 1};
  int interleave = 0;
  int swizzle = 0;
  int promotion = 0;
  int fill = 0;

  std::string Words() const {
    std::ostringstream out;
    out << element << ' ' << rank << " at " << (address - kAddress) << ' '
        << TextOf(dims.data(), rank) << ' ' << TextOf(strides.data(), rank - 1) << " steps "
        << TextOf(steps.data(), rank) << ' ' << interleave << ' ' << swizzle << ' ' << promotion
        << ' ' << fill;
    return out.str();
  }
};

Tensor AnyTensor(ProgramWorld& world, unsigned least_rank) {
  Tensor tensor;
  tensor.element = world.Of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  tensor.rank = least_rank + static_cast<unsigned>(world.Below(6 - least_rank));
  tensor.address += world.Of<CUdeviceptr>({0, 16, 32, 4096});
  cuuint64_t stride = 16;
  for (size_t i = 0; i < tensor.rank; ++i) {
    tensor.dims[i] = world.Of<cuuint64_t>({1, 3, 8, 64, 1000}) + (world.OneIn(4) ? 1 : 0);
    stride = stride * world.Of<cuuint64_t>({1, 2, 8}) + (world.OneIn(4) ? 16 : 0);
    tensor.strides[i] = stride;
    tensor.box[i] = world.Of<cuuint32_t>({1, 2, 4, 8});
    tensor.steps[i] = world.OneIn(4) ? world.Of<cuuint32_t>({2, 3, 8}) : 1;
  }
  tensor.box[0] = world.Of<cuuint32_t>({4, 8, 16, 32, 64});
  tensor.promotion = world.Of({0, 1, 2, 3});
  if (world.OneIn(3)) tensor.swizzle = world.Of({1, 2, 3});
  if (world.OneIn(6)) tensor.interleave = world.Of({1, 2});
  if (world.OneIn(6)) tensor.fill = 1;
  return tensor;
}

// Makes one thing wrong, in most cases.
void Damage(ProgramWorld& world, Tensor* tensor) {
  const size_t i = world.Below(tensor->rank);
  switch (world.Below(9)) {
    case 0:
      tensor->element = 16;
      return;
    case 1:
      tensor->address += 8;
      return;
    case 2:
      tensor->dims[i] = world.Of<cuuint64_t>({0, cuuint64_t{1} << 32, (cuuint64_t{1} << 32) + 1});
      return;
    case 3:
      tensor->strides[i] =
          world.Of<cuuint64_t>({0, 8, 72, cuuint64_t{1} << 40, (cuuint64_t{1} << 40) - 16});
      return;
    case 4:
      tensor->box[i] = world.Of<cuuint32_t>({0, 256, 257});
      // Interleaved, a driver takes larger boxes than others; how large ones is not known.
      if (tensor->interleave != 0 && tensor->box[i] == 256) tensor->box[i] = 257;
      return;
    case 5:
      tensor->steps[i] = world.Of<cuuint32_t>({0, 9});
      return;
    case 6:
      tensor->interleave = 3;
      return;
    case 7:
      tensor->promotion = 4;
      return;
    default:
      tensor->fill = world.Of({1, 2});
  }
}

void* PointerTo(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void SayBits(ProgramWorld& world, const CUtensorMap& map) {
  world.Gave(HashOfBytes(map.opaque, sizeof(map.opaque)));
}

// And its address replaced, if it is one.
void EncodeTiled(ProgramWorld& world) {
  Tensor tensor = AnyTensor(world, 1);
  if (world.OneIn(4)) Damage(world, &tensor);
  CUtensorMap map = {};
  const CUresult result = cuTensorMapEncodeTiled(
      &map, static_cast<CUtensorMapDataType>(tensor.element), tensor.rank,
      PointerTo(tensor.address), tensor.dims.data(), tensor.strides.data(), tensor.box.data(),
      tensor.steps.data(), static_cast<CUtensorMapInterleave>(tensor.interleave),
      static_cast<CUtensorMapSwizzle>(tensor.swizzle),
      static_cast<CUtensorMapL2promotion>(tensor.promotion),
      static_cast<CUtensorMapFloatOOBfill>(tensor.fill));
  if (!world.Say(result, "cuTensorMapEncodeTiled", tensor.Words(), "box",
                 TextOf(tensor.box.data(), tensor.rank))) {
    return;
  }
  SayBits(world, map);
  if (!world.OneIn(3)) return;
  const CUdeviceptr moved = world.Of<CUdeviceptr>({0, 16, 32, 0x7e1234567890, 0x7e1234567898});
  const CUdeviceptr address = moved > 32 || moved == 0 ? moved : kAddress + moved;
  if (world.Say(cuTensorMapReplaceAddress(&map, PointerTo(address)), "cuTensorMapReplaceAddress",
                moved)) {
    SayBits(world, map);
  }
}

void EncodeColumns(ProgramWorld& world) {
  Tensor tensor = AnyTensor(world, 3);
  if (world.OneIn(6)) Damage(world, &tensor);
  std::array<int, 3> lower = {};
  std::array<int, 3> upper = {};
  for (int& corner : lower) corner = world.Of({0, 0, -1, -1, -2, 1});
  for (int& corner : upper) corner = world.Of({0, 0, -1, -1, -2, 1});
  // Small images have no pixels between the corners.
  if (!world.OneIn(6)) {
    for (size_t i = 1; i + 1 < tensor.rank; ++i)
      tensor.dims[i] = world.Of<cuuint64_t>({8, 64, 100});
  }
  if (world.OneIn(10)) lower[0] = world.Of({-128, 128, -129, 127});
  const unsigned channels = world.Of({16u, 16u, 32u, 64u, 8u, 256u, 3u, 0u});
  const unsigned pixels = world.Of({1u, 8u, 8u, 32u, 32u, 128u, 1024u, 1025u, 0u});
  CUtensorMap map = {};
  const CUresult result =
      cuTensorMapEncodeIm2col(&map, static_cast<CUtensorMapDataType>(tensor.element), tensor.rank,
                              PointerTo(tensor.address), tensor.dims.data(), tensor.strides.data(),
                              lower.data(), upper.data(), channels, pixels, tensor.steps.data(),
                              static_cast<CUtensorMapInterleave>(tensor.interleave),
                              static_cast<CUtensorMapSwizzle>(tensor.swizzle),
                              static_cast<CUtensorMapL2promotion>(tensor.promotion),
                              static_cast<CUtensorMapFloatOOBfill>(tensor.fill));
  if (world.Say(result, "cuTensorMapEncodeIm2col", tensor.Words(), "corners",
                TextOf(lower.data(), tensor.rank - 2), TextOf(upper.data(), tensor.rank - 2),
                channels, pixels)) {
    SayBits(world, map);
  }
}

}  // namespace

RandomSteps TensorMapSteps() { return {{16, EncodeTiled}, {8, EncodeColumns}}; }

}  // namespace twinmmu::abi

// Copies to arrays, from them and between them.

#include <algorithm>

#include "conformance/runtime/array_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr size_t kMostBytes = 1 << 20;  // of an array
unsigned char host[2 * kMostBytes];

struct Place {
  cudaArray_t array = nullptr;
  ArrayShape shape;
  size_t x = 0;  // in bytes
  size_t y = 0;
  std::string words;
};

Place AnyPlace(RuntimeWorld& world) {
  const Object<cudaArray_t>& array = world.One(world.arrays);
  Place place;
  place.array = array.handle;
  place.shape = array_shapes[array.name];
  if (world.OneIn(2)) {
    place.x = world.Below(place.shape.extent.width) * place.shape.element();
    place.y = world.Below(place.shape.rows());
  } else if (world.OneIn(8)) {
    place.x = 1;
  }
  place.words = array.name + " " + std::to_string(place.x) + "," + std::to_string(place.y);
  return place;
}

void FillHost(RuntimeWorld& world, size_t size) {
  uint64_t state = world.Below(1 << 20) + 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    host[i] = static_cast<unsigned char>(state >> 56);
  }
}

// A number of bytes that are there, or one element more.
size_t AnyWidth(RuntimeWorld& world, const Place& place) {
  const size_t element = place.shape.element();
  const size_t left = (place.shape.row() - std::min(place.x, place.shape.row())) / element;
  if (world.OneIn(10)) return (left + 1) * element;
  return world.OneIn(10) || left == 0 ? 0 : (1 + world.Below(left)) * element;
}

size_t AnyHeight(RuntimeWorld& world, const Place& place) {
  const size_t left = place.shape.rows() - place.y;
  if (world.OneIn(12)) return left + 1;
  return world.OneIn(12) ? 0 : 1 + world.Below(left);
}

cudaMemcpyKind KindLike(RuntimeWorld& world, cudaMemcpyKind right, bool may_be_none = true) {
  if (!world.OneIn(6)) return world.OneIn(3) ? cudaMemcpyDefault : right;
  return static_cast<cudaMemcpyKind>(world.Of({0, 1, 2, 3, may_be_none ? 77 : 4}));
}

// Kinds that claim that what is on the host is not are for the driver to refuse.
void CopyRowsTo(RuntimeWorld& world) {
  if (world.arrays.empty()) return;
  const Place to = AnyPlace(world);
  const size_t width = AnyWidth(world, to);
  const size_t height = AnyHeight(world, to);
  const size_t pitch = world.OneIn(8) ? width / 2 : width + world.Of<size_t>({0, 0, 16});
  if (pitch * height > kMostBytes) return;
  FillHost(world, pitch * height);
  const cudaMemcpyKind kind = KindLike(world, cudaMemcpyHostToDevice);
  const cudaStream_t stream = SomeStream(world);
  const bool waits = world.OneIn(2);
  const bool is_none = world.OneIn(20);
  cudaArray_t const array = is_none ? nullptr : to.array;
  world.Say(
      waits ? cudaMemcpy2DToArray(array, to.x, to.y, host, pitch, width, height, kind)
            : cudaMemcpy2DToArrayAsync(array, to.x, to.y, host, pitch, width, height, kind, stream),
      waits ? "cudaMemcpy2DToArray" : "cudaMemcpy2DToArrayAsync", is_none ? "none" : to.words,
      pitch, width, height, int(kind), StreamName(world, stream));
  cudaDeviceSynchronize();
}

void CopyRowsFrom(RuntimeWorld& world) {
  if (world.arrays.empty()) return;
  const Place from = AnyPlace(world);
  const size_t width = AnyWidth(world, from);
  const size_t height = AnyHeight(world, from);
  const size_t pitch = world.OneIn(8) ? width / 2 : width + world.Of<size_t>({0, 0, 16});
  if (pitch * height > kMostBytes) return;
  std::fill_n(host, pitch * height, 0x5a);
  const cudaMemcpyKind kind = KindLike(world, cudaMemcpyDeviceToHost);
  const cudaStream_t stream = SomeStream(world);
  const bool waits = world.OneIn(2);
  const bool done = world.Say(
      waits ? cudaMemcpy2DFromArray(host, pitch, from.array, from.x, from.y, width, height, kind)
            : cudaMemcpy2DFromArrayAsync(host, pitch, from.array, from.x, from.y, width, height,
                                         kind, stream),
      waits ? "cudaMemcpy2DFromArray" : "cudaMemcpy2DFromArrayAsync", from.words, pitch, width,
      height, int(kind), StreamName(world, stream));
  cudaDeviceSynchronize();
  if (done) world.Gave(HashOf(host, pitch * height));
}

void CopyRowsBetween(RuntimeWorld& world) {
  if (world.arrays.size() < 2) return;
  const Place to = AnyPlace(world);
  const Place from = AnyPlace(world);
  if (to.array == from.array) return;
  const size_t width = AnyWidth(world, from);
  const size_t height = AnyHeight(world, from);
  const cudaMemcpyKind kind = KindLike(world, cudaMemcpyDeviceToDevice);
  world.Say(cudaMemcpy2DArrayToArray(to.array, to.x, to.y, from.array, from.x, from.y, width,
                                     height, kind),
            "cudaMemcpy2DArrayToArray", to.words, from.words, width, height, int(kind));
}

// Of whole arrays as if they were one row. Not of those with layers, which have more than that.
void CopyBytes(RuntimeWorld& world) {
  if (world.arrays.empty()) return;
  const Place place = AnyPlace(world);
  if (place.shape.extent.depth != 0) return;
  const size_t element = place.shape.element();
  const size_t at = place.y * place.shape.row() + place.x;
  const size_t left = (place.shape.bytes() - std::min(at, place.shape.bytes())) / element;
  const size_t size = (world.OneIn(8) ? left + 1 : world.Below(left + 1)) * element;
  const bool is_to = world.OneIn(2);
  const cudaMemcpyKind kind =
      KindLike(world, is_to ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, false);
  const cudaStream_t stream = SomeStream(world);
  const bool waits = world.OneIn(2);
  const auto say = [&](cudaError_t error, const char* call) {
    return world.Say(error, call, place.words, size, int(kind), StreamName(world, stream));
  };
  if (is_to) {
    FillHost(world, size);
    say(waits ? cudaMemcpyToArray(place.array, place.x, place.y, host, size, kind)
              : cudaMemcpyToArrayAsync(place.array, place.x, place.y, host, size, kind, stream),
        waits ? "cudaMemcpyToArray" : "cudaMemcpyToArrayAsync");
    cudaDeviceSynchronize();
    return;
  }
  std::fill_n(host, size, 0x5a);
  const bool done =
      say(waits ? cudaMemcpyFromArray(host, place.array, place.x, place.y, size, kind)
                : cudaMemcpyFromArrayAsync(host, place.array, place.x, place.y, size, kind, stream),
          waits ? "cudaMemcpyFromArray" : "cudaMemcpyFromArrayAsync");
  cudaDeviceSynchronize();
  if (done) world.Gave(HashOf(host, size));
}

// Boxes, between an array and the host, the device or another array.
void CopyBox(RuntimeWorld& world) {
  if (world.arrays.empty()) return;
  const Object<cudaArray_t> array = world.One(world.arrays);
  const Object<cudaArray_t> other = world.One(world.arrays);
  const ArrayShape& shape = array_shapes[array.name];
  const MemoryPart part = AnyPart(world, 1);
  const bool is_to = world.OneIn(2);
  const bool between = world.OneIn(4);
  if (between && other.name == array.name) return;
  const cudaPos pos = {world.OneIn(2) ? 0 : world.Below(shape.extent.width),
                       world.OneIn(2) ? 0 : world.Below(shape.rows()),
                       world.OneIn(2) ? 0 : world.Below(shape.layers())};
  cudaExtent extent = {1 + world.Below(shape.extent.width - pos.x),
                       1 + world.Below(shape.rows() - pos.y),
                       1 + world.Below(shape.layers() - pos.z)};
  if (world.OneIn(10)) (world.OneIn(2) ? extent.width : extent.height) += shape.extent.width;
  if (world.OneIn(12)) (world.OneIn(2) ? extent.depth : extent.height) = 0;
  const size_t pitch = extent.width * shape.element() + world.Of<size_t>({0, 0, 4});
  if (!between && part.size < pitch * extent.height * std::max<size_t>(extent.depth, 1)) return;
  const cudaPitchedPtr rows = {part.base, pitch, extent.width, extent.height};
  cudaMemcpy3DParms copy = {};
  (is_to ? copy.dstArray : copy.srcArray) = array.handle;
  (is_to ? copy.dstPos : copy.srcPos) = pos;
  if (between) {
    (is_to ? copy.srcArray : copy.dstArray) = other.handle;
  } else {
    (is_to ? copy.srcPtr : copy.dstPtr) = rows;
  }
  copy.extent = extent;
  const MemoryPart of_array = {nullptr, 0, array.name};
  const cudaMemcpyKind right = between ? cudaMemcpyDeviceToDevice
                               : is_to ? RightKind(world, of_array, part)
                                       : RightKind(world, part, of_array);
  // The CPU does not go where only the device may.
  copy.kind = part.words[0] == 'b' ? right : KindLike(world, right);
  const cudaStream_t stream = SomeStream(world);
  const bool waits = world.OneIn(2);
  world.Say(waits ? cudaMemcpy3D(&copy) : cudaMemcpy3DAsync(&copy, stream),
            waits ? "cudaMemcpy3D" : "cudaMemcpy3DAsync", is_to ? "to" : "from", array.name, pos.x,
            pos.y, pos.z, between ? other.name : part.words, pitch, ExtentWords(extent),
            int(copy.kind), StreamName(world, stream));
  if (!between && !is_to) GavePageable(world, part);
}

void ReadAll(RuntimeWorld& world) {
  if (world.arrays.empty()) return;
  const Object<cudaArray_t>& array = world.One(world.arrays);
  const ArrayShape& shape = array_shapes[array.name];
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array.handle;
  copy.dstPtr = {host, shape.row(), shape.extent.width, shape.rows()};
  copy.extent = {shape.extent.width, shape.rows(), shape.layers()};
  copy.kind = cudaMemcpyDeviceToHost;
  if (world.Say(cudaMemcpy3D(&copy), "cudaMemcpy3D", "all", array.name)) {
    world.Gave(HashOf(host, shape.bytes()));
  }
}

}  // namespace

Steps ArrayContentSteps() {
  return {{10, CopyRowsTo}, {10, CopyRowsFrom}, {6, CopyRowsBetween},
          {8, CopyBytes},   {12, CopyBox},      {8, ReadAll}};
}

}  // namespace random_runtime

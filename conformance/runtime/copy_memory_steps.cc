// Copies and fills: of bytes, of rows and of boxes, between memory of all kinds.

#include <algorithm>

#include "conformance/runtime/memory_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr size_t kMostRows = 8192;  // bytes that copies of rows and boxes may reach

void Copy(RuntimeWorld& world) {
  MemoryPart to = AnyPart(world, 1);
  MemoryPart from = AnyPart(world, 0);
  const size_t most = std::min({to.size, from.size, kPageableBytes});
  const size_t size = world.OneIn(12) ? 0 : 1 + world.Below(most);
  if (!AreApart(to, from, size)) return;
  if (from.is_pageable) FillPageable(world, 0);
  const cudaMemcpyKind kind = AnyKind(world, to, from);
  // Only so: otherwise the CPU could go there.
  if (world.OneIn(12) && kind == cudaMemcpyHostToDevice && !to.is_pageable) {
    (world.OneIn(2) ? to : from) = {nullptr, 0, "null"};
  }
  if (world.OneIn(2)) {
    world.Say(cudaMemcpy(to.base, from.base, size, kind), "cudaMemcpy", to.words, from.words, size,
              int(kind));
  } else {
    const cudaStream_t stream = SomeStream(world);
    world.Say(cudaMemcpyAsync(to.base, from.base, size, kind, stream), "cudaMemcpyAsync", to.words,
              from.words, size, int(kind), StreamName(world, stream));
  }
  GavePageable(world, to);
}

void CopyRows(RuntimeWorld& world) {
  const MemoryPart to = AnyPart(world, 1);
  const MemoryPart from = AnyPart(world, 0);
  if (!HaveRoom(to, from, kMostRows)) return;
  const size_t width = world.Of<size_t>({1, 16, 64, 100, 0});
  const size_t height = world.Of<size_t>({1, 2, 7, 33, 0});
  const size_t to_pitch = world.Of<size_t>({64, 100, 128, 200, 240, 16});
  const size_t from_pitch = world.Of<size_t>({64, 100, 128, 200, 240, 16});
  if (from.is_pageable) FillPageable(world, 0);
  const cudaMemcpyKind kind = AnyKindOfRows(world, to, from);
  if (world.OneIn(2)) {
    world.Say(cudaMemcpy2D(to.base, to_pitch, from.base, from_pitch, width, height, kind),
              "cudaMemcpy2D", to.words, to_pitch, from.words, from_pitch, width, height, int(kind));
  } else {
    const cudaStream_t stream = SomeStream(world);
    world.Say(
        cudaMemcpy2DAsync(to.base, to_pitch, from.base, from_pitch, width, height, kind, stream),
        "cudaMemcpy2DAsync", to.words, to_pitch, from.words, from_pitch, width, height, int(kind),
        StreamName(world, stream));
  }
  GavePageable(world, to);
}

cudaPitchedPtr AnyRows(RuntimeWorld& world, const MemoryPart& part) {
  return {part.base, world.Of<size_t>({64, 100, 128, 128, 16}), world.Of<size_t>({64, 100, 16, 0}),
          world.Of<size_t>({4, 5, 8, 8, 0})};
}

cudaPos AnyPos(RuntimeWorld& world) {
  return {world.Of<size_t>({0, 0, 0, 3}), world.Of<size_t>({0, 0, 1}), world.Of<size_t>({0, 0, 1})};
}

template <typename Rows, typename Pos>
std::string BoxWords(const std::string& name, const Rows& rows, const Pos& pos) {
  std::ostringstream out;
  out << name << " pitch " << rows.pitch << " of " << rows.xsize << 'x' << rows.ysize << " at "
      << pos.x << ',' << pos.y << ',' << pos.z;
  return out.str();
}

void CopyBox(RuntimeWorld& world) {
  const MemoryPart to = AnyPart(world, 1);
  const MemoryPart from = AnyPart(world, 0);
  if (!HaveRoom(to, from, kMostRows)) return;
  if (from.is_pageable) FillPageable(world, 0);
  const cudaPitchedPtr to_rows = AnyRows(world, to);
  const cudaPitchedPtr from_rows = AnyRows(world, from);
  const cudaPos to_pos = AnyPos(world);
  const cudaPos from_pos = AnyPos(world);
  const cudaExtent extent = {world.Of<size_t>({1, 16, 60, 0}), world.Of<size_t>({1, 2, 4, 5, 0}),
                             world.Of<size_t>({1, 1, 2, 3, 0})};
  const std::string to_words = BoxWords(to.words, to_rows, to_pos);
  const std::string from_words = BoxWords(from.words, from_rows, from_pos);
  const cudaStream_t stream = SomeStream(world);
  const auto say = [&](cudaError_t error, const char* call, int kind) {
    world.Say(error, call, to_words, from_words, extent.width, extent.height, extent.depth, kind,
              StreamName(world, stream));
  };
  if (world.OneIn(3) && !to.is_pageable && !from.is_pageable) {
    cudaMemcpy3DPeerParms copy = {};
    copy.srcPtr = from_rows;
    copy.dstPtr = to_rows;
    copy.srcPos = from_pos;
    copy.dstPos = to_pos;
    copy.extent = extent;
    copy.srcDevice = world.OneIn(8) ? 100 : 0;
    const bool waits = world.OneIn(2);
    say(waits ? cudaMemcpy3DPeer(&copy) : cudaMemcpy3DPeerAsync(&copy, stream),
        waits ? "cudaMemcpy3DPeer" : "cudaMemcpy3DPeerAsync", copy.srcDevice);
    return;
  }
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = from_rows;
  copy.dstPtr = to_rows;
  copy.srcPos = from_pos;
  copy.dstPos = to_pos;
  copy.extent = extent;
  copy.kind = AnyKindOfRows(world, to, from);
  const bool waits = world.OneIn(2);
  say(waits ? cudaMemcpy3D(&copy) : cudaMemcpy3DAsync(&copy, stream),
      waits ? "cudaMemcpy3D" : "cudaMemcpy3DAsync", int(copy.kind));
  GavePageable(world, to);
}

void CopyBetweenDevices(RuntimeWorld& world) {
  const MemoryPart to = AnyMapped(world);
  const MemoryPart from = AnyMapped(world);
  if (to.base == nullptr || from.base == nullptr) return;
  const size_t size = world.OneIn(8) ? 0 : 1 + world.Below(std::min(to.size, from.size));
  if (!AreApart(to, from, size)) return;
  const int to_device = world.OneIn(8) ? 100 : 0;
  const int from_device = world.OneIn(8) ? 100 : 0;
  if (world.OneIn(2)) {
    world.Say(cudaMemcpyPeer(to.base, to_device, from.base, from_device, size), "cudaMemcpyPeer",
              to.words, to_device, from.words, from_device, size);
  } else {
    const cudaStream_t stream = SomeStream(world);
    world.Say(cudaMemcpyPeerAsync(to.base, to_device, from.base, from_device, size, stream),
              "cudaMemcpyPeerAsync", to.words, to_device, from.words, from_device, size,
              StreamName(world, stream));
  }
}

void CopySeveral(RuntimeWorld& world) {
  constexpr size_t kCount = 2;
  void* to[kCount];
  const void* from[kCount];
  size_t sizes[kCount];
  size_t first[1] = {world.OneIn(12) ? size_t{1} : 0};
  cudaMemcpyAttributes attributes[1] = {};
  attributes[0].srcAccessOrder = static_cast<cudaMemcpySrcAccessOrder>(
      world.OneIn(12) ? world.Of({0, 9}) : world.Of({1, 1, 2, 3}));
  std::string words;
  std::string used;
  for (size_t i = 0; i < kCount; ++i) {
    const MemoryPart to_part = AnyMapped(world);
    const MemoryPart from_part = AnyMapped(world);
    if (to_part.base == nullptr || from_part.base == nullptr) return;
    to[i] = to_part.base;
    from[i] = from_part.base;
    sizes[i] = 1 + world.Below(std::min(to_part.size, from_part.size));
    if (!AreApart(to_part, from_part, sizes[i])) return;
    words += to_part.words + " " + from_part.words + " " + std::to_string(sizes[i]) + " ";
    // In which order they are made is for nobody to say.
    for (const MemoryPart* part : {&to_part, &from_part}) {
      const std::string name = part->words.substr(0, part->words.find('+')) + " ";
      if (i != 0 && used.find(name) != std::string::npos) return;
      if (i == 0) used += name;
    }
  }
  const size_t count = world.OneIn(10) ? 0 : kCount;
  const cudaStream_t stream = world.OneIn(8) ? nullptr : cudaStreamPerThread;
  world.Say(cudaMemcpyBatchAsync(to, from, sizes, count, attributes, first, 1, stream),
            "cudaMemcpyBatchAsync", words, count, first[0], int(attributes[0].srcAccessOrder),
            StreamName(world, stream));
}

void Fill(RuntimeWorld& world) {
  MemoryPart part = AnyMapped(world);
  if (part.base == nullptr) return;
  const int value = static_cast<int>(world.Below(1 << 20));
  size_t size = world.OneIn(10) ? 0 : 1 + world.Below(part.size);
  if (world.OneIn(10)) {
    size = size_t{1} << 30;  // past all that there is
  } else if (world.OneIn(10)) {
    part = {nullptr, 0, "null"};
  } else if (world.OneIn(12)) {
    part = {reinterpret_cast<char*>(pageable[1]), kPageableBytes, "pageable"};
    size = std::min<size_t>(size, kPageableBytes);
  }
  if (world.OneIn(2)) {
    world.Say(cudaMemset(part.base, value, size), "cudaMemset", part.words, value, size);
  } else {
    const cudaStream_t stream = SomeStream(world);
    world.Say(cudaMemsetAsync(part.base, value, size, stream), "cudaMemsetAsync", part.words, value,
              size, StreamName(world, stream));
  }
}

void FillRows(RuntimeWorld& world) {
  MemoryPart part = AnyMapped(world);
  if (part.size < kMostRows) return;
  if (world.OneIn(12)) part = {nullptr, 0, "null"};
  const int value = static_cast<int>(world.Below(256));
  const cudaStream_t stream = SomeStream(world);
  const bool waits = world.OneIn(2);
  if (world.OneIn(2)) {
    const size_t pitch = world.Of<size_t>({64, 100, 240, 16});
    const size_t width = world.Of<size_t>({1, 16, 60, 0});
    const size_t height = world.Of<size_t>({1, 7, 33, 0});
    world.Say(waits ? cudaMemset2D(part.base, pitch, value, width, height)
                    : cudaMemset2DAsync(part.base, pitch, value, width, height, stream),
              waits ? "cudaMemset2D" : "cudaMemset2DAsync", part.words, pitch, value, width, height,
              StreamName(world, stream));
    return;
  }
  const cudaPitchedPtr rows = AnyRows(world, part);
  const cudaExtent extent = {world.Of<size_t>({1, 16, 64, 65, 0}), world.Of<size_t>({1, 4, 8, 0}),
                             world.Of<size_t>({1, 2, 5, 0})};
  world.Say(
      waits ? cudaMemset3D(rows, value, extent) : cudaMemset3DAsync(rows, value, extent, stream),
      waits ? "cudaMemset3D" : "cudaMemset3DAsync", BoxWords(part.words, rows, cudaPos{}), value,
      extent.width, extent.height, extent.depth, StreamName(world, stream));
}

}  // namespace

Steps CopyMemorySteps() {
  return {{24, Copy},       {16, CopyRows}, {20, CopyBox}, {4, CopyBetweenDevices},
          {4, CopySeveral}, {10, Fill},     {8, FillRows}};
}

}  // namespace random_runtime

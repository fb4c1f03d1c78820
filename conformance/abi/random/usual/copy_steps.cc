// Copies and fills, of bytes and of rectangles.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

void Fill(ProgramWorld& world) {
  if (world.blocks.empty()) return;
  const RandomBlock part = world.Part();
  const unsigned value = static_cast<unsigned>(world.Below(1u << 31));
  const CUstream stream = world.AnyStream();
  const CUdeviceptr at = part.base + (world.OneIn(6) ? 1 : 0);
  const std::string where = world.NameOf(at);
  const std::string name = world.streams.NameOf(stream);
  switch (world.Below(4)) {
    case 0:
      world.Say(cuMemsetD8(part.base, static_cast<unsigned char>(value), part.size), "cuMemsetD8",
                part.name, value, part.size);
      return;
    case 1:
      world.Say(cuMemsetD16Async(at, static_cast<unsigned short>(value), part.size / 4, stream),
                "cuMemsetD16Async", where, value, part.size / 4, name);
      return;
    case 2:
      world.Say(cuMemsetD32Async(at, value, part.size / 8, stream), "cuMemsetD32Async", where,
                value, part.size / 8, name);
      return;
    default:
      world.Say(cuMemsetD8Async(part.base, static_cast<unsigned char>(value), part.size, stream),
                "cuMemsetD8Async", part.name, value, part.size, name);
  }
}

void FillRows(ProgramWorld& world) {
  if (world.blocks.empty()) return;
  const RandomBlock& block = world.OneBlock();
  const size_t width = world.Of<size_t>({1, 4, 16, 64});
  const size_t pitch = world.Of<size_t>({64, 68, 128, 16, 0});
  const size_t height = world.Of<size_t>({1, 2, 7, 0});
  if (block.size < 1024) return;
  const unsigned value = static_cast<unsigned>(world.Below(256));
  if (world.OneIn(2)) {
    world.Say(cuMemsetD2D8(block.base, pitch, static_cast<unsigned char>(value), width, height),
              "cuMemsetD2D8", block.name, pitch, value, width, height);
  } else {
    world.Say(cuMemsetD2D32(block.base, pitch, value, width / 4, height), "cuMemsetD2D32",
              block.name, pitch, value, width / 4, height);
  }
}

void Copy(ProgramWorld& world) {
  if (world.blocks.empty()) return;
  static unsigned char host[1 << 16];
  const RandomBlock to = world.Part();
  const RandomBlock from = world.Part();
  const size_t size = std::min(to.size, from.size);
  const bool apart = to.base + size <= from.base || from.base + size <= to.base;
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  switch (world.Below(4)) {
    case 0:
      for (unsigned char& byte : host) byte = static_cast<unsigned char>(world.Below(256));
      world.Say(cuMemcpyHtoD(to.base, host, to.size), "cuMemcpyHtoD", to.name, to.size);
      return;
    case 1:
      if (!apart) return;
      world.Say(cuMemcpyDtoD(to.base, from.base, size), "cuMemcpyDtoD", to.name, from.name, size);
      return;
    case 2:
      if (!apart) return;
      world.Say(cuMemcpyDtoDAsync(to.base, from.base, size, stream), "cuMemcpyDtoDAsync", to.name,
                from.name, size, name);
      return;
    default:
      if (!apart) return;
      world.Say(cuMemcpyAsync(to.base, from.base, size, stream), "cuMemcpyAsync", to.name,
                from.name, size, name);
  }
}

void CopyRows(ProgramWorld& world) {
  if (world.blocks.size() < 2) return;
  const RandomBlock& to = world.OneBlock();
  const RandomBlock& from = world.OneBlock();
  if (to.name == from.name || to.size < 2048 || from.size < 2048) return;
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = world.Of({CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED});
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.base;
  copy.dstDevice = to.base;
  copy.srcPitch = world.Of<size_t>({64, 100, 8, 0});
  copy.dstPitch = world.Of<size_t>({64, 128, 9, 0});
  copy.srcXInBytes = world.Of<size_t>({0, 0, 4});
  copy.dstY = world.Of<size_t>({0, 0, 1});
  copy.WidthInBytes = world.Of<size_t>({1, 33, 64, 0});
  copy.Height = world.Of<size_t>({1, 5, 0});
  world.Say(cuMemcpy2D(&copy), "cuMemcpy2D", to.name, from.name, int(copy.srcMemoryType),
            copy.srcPitch, copy.dstPitch, copy.srcXInBytes, copy.dstY, copy.WidthInBytes,
            copy.Height);
}

}  // namespace

RandomSteps CopySteps() { return {{16, Fill}, {6, FillRows}, {14, Copy}, {8, CopyRows}}; }

}  // namespace twinmmu::abi

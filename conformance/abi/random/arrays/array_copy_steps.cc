// Copies of lines between arrays, memory of devices and memory of the program; and fills of rows.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/arrays/array_world.h"

namespace twinmmu::abi {
namespace {

struct Line {
  RandomArray array;
  size_t offset = 0;
  size_t size = 0;
};

// A part of the first row; of an array of one dimension also what ends behind it.
Line AnyLine(ProgramWorld& world) {
  Line line;
  for (int tries = 0; tries < 6; ++tries) {
    line.array = AnyArray(world);
    if (line.array.name.empty() || !line.array.has_rows) break;
  }
  if (line.array.name.empty()) return line;
  const size_t grain = world.OneIn(5) ? 1 : line.array.element;
  line.offset = world.OneIn(2) ? 0 : world.Below(line.array.row) / grain * grain;
  line.size = (1 + world.Below(std::min<size_t>(line.array.row - line.offset, 4096)));
  line.size = std::max(line.size / grain, size_t{1}) * grain;
  if (!line.array.has_rows && world.OneIn(6)) {
    line.size = world.OneIn(4) ? 0 : line.array.row - line.offset + world.Of<size_t>({1, 4, 64});
  } else if (!line.array.has_rows && world.OneIn(20)) {
    line.offset = world.Of<size_t>({line.array.row, ~size_t{3}});
  }
  return line;
}

void CopyLineOfMemory(ProgramWorld& world, const Line& line) {
  if (world.blocks.empty()) return;
  RandomBlock part = world.Part(8192);
  size_t size = std::min(line.size, part.size);
  if (world.OneIn(12)) {
    part.base = 0;
    part.name = "0";
    size = std::max(size, size_t{1});
  }
  if (world.OneIn(2)) {
    world.Say(cuMemcpyAtoD(part.base, line.array.handle, line.offset, size), "cuMemcpyAtoD",
              part.name, line.array.name, line.offset, size);
  } else {
    world.Say(cuMemcpyDtoA(line.array.handle, line.offset, part.base, size), "cuMemcpyDtoA",
              line.array.name, line.offset, part.name, size);
  }
}

void CopyLineOfHost(ProgramWorld& world, const Line& line) {
  FillHost(world, line.size);
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const bool null = world.OneIn(12) && line.size != 0;
  const CUarray array = line.array.handle;
  const void* const from = null ? nullptr : host_from;
  void* const to = null ? nullptr : host_to;
  const char* const host = null ? "null" : "host";
  bool read = false;
  switch (world.Below(4)) {
    case 0:
      world.Say(cuMemcpyHtoA(array, line.offset, from, line.size), "cuMemcpyHtoA", line.array.name,
                line.offset, host, line.size);
      return;
    case 1:
      world.Say(cuMemcpyHtoAAsync(array, line.offset, from, line.size, stream), "cuMemcpyHtoAAsync",
                line.array.name, line.offset, host, line.size, name);
      return;
    case 2:
      read = world.Say(cuMemcpyAtoH(to, array, line.offset, line.size), "cuMemcpyAtoH",
                       line.array.name, line.offset, host, line.size);
      break;
    default:
      read = world.Say(cuMemcpyAtoHAsync(to, array, line.offset, line.size, stream),
                       "cuMemcpyAtoHAsync", line.array.name, line.offset, host, line.size, name);
      cuStreamSynchronize(stream);
  }
  if (read) world.Gave(HashOfBytes(host_to, line.size + 64));
}

void CopyLine(ProgramWorld& world) {
  const Line line = AnyLine(world);
  if (line.array.name.empty()) return;
  switch (world.Below(5)) {
    case 0:
    case 1:
      return CopyLineOfMemory(world, line);
    case 2:
    case 3:
      return CopyLineOfHost(world, line);
    default: {
      const Line other = AnyLine(world);
      if (other.array.name == line.array.name) return;
      const size_t size = std::min(line.size, other.size);
      world.Say(
          cuMemcpyAtoA(line.array.handle, line.offset, other.array.handle, other.offset, size),
          "cuMemcpyAtoA", line.array.name, line.offset, other.array.name, other.offset, size);
    }
  }
}

void FillRows(ProgramWorld& world) {
  if (world.blocks.empty()) return;
  const RandomBlock& block = world.OneBlock();
  const size_t element = world.Of<size_t>({1, 2, 4});
  const size_t width = world.Of<size_t>({1, 3, 8, 40, 0});
  const size_t height = world.Of<size_t>({1, 2, 5, 16, 0});
  const size_t pitch = world.OneIn(5) ? world.Of<size_t>({0, 3, 7, width * element + 1})
                                      : width * element + world.Of<size_t>({0, 4, 60});
  const size_t offset = world.Below(std::min<size_t>(block.size, 300)) / 4 * 4 +
                        (world.OneIn(6) ? world.Of<size_t>({1, 2}) : 0);
  if (height > 1 && (height - 1) * pitch + width * element + offset > block.size &&
      !world.OneIn(4)) {
    return;
  }
  const CUdeviceptr at = block.base + offset;
  const unsigned value = static_cast<unsigned>(world.Below(size_t{1} << 32));
  const auto byte = static_cast<unsigned char>(value);
  const auto word = static_cast<unsigned short>(value);
  const CUstream stream = world.AnyStream();
  const bool async = world.OneIn(2);
  CUresult result = CUDA_SUCCESS;
  if (async) {
    result = element == 1   ? cuMemsetD2D8Async(at, pitch, byte, width, height, stream)
             : element == 2 ? cuMemsetD2D16Async(at, pitch, word, width, height, stream)
                            : cuMemsetD2D32Async(at, pitch, value, width, height, stream);
  } else {
    result = element == 1   ? cuMemsetD2D8(at, pitch, byte, width, height)
             : element == 2 ? cuMemsetD2D16(at, pitch, word, width, height)
                            : cuMemsetD2D32(at, pitch, value, width, height);
  }
  world.Say(result, "cuMemsetD2D" + std::to_string(8 * element) + (async ? "Async" : ""),
            block.name, offset, pitch, value, width, height,
            async ? world.streams.NameOf(stream) : "");
}

}  // namespace

RandomSteps ArrayCopySteps() { return {{30, CopyLine}, {12, FillRows}}; }

}  // namespace twinmmu::abi

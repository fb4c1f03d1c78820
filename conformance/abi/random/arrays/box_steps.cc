// Copies of boxes between arrays, memory of devices and memory of the program.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/arrays/array_world.h"

namespace twinmmu::abi {
namespace {

struct Side {
  std::string name;
  int type = 0;
  RandomArray array;  // these are where it has room
  void* host = nullptr;
  CUdeviceptr device = 0;
  size_t block = 0;  // what the block has behind `device`
  size_t x = 0, y = 0, z = 0;
  size_t pitch = 0, height = 0;
  unsigned level = 0;

  bool of_array() const { return type == CU_MEMORYTYPE_ARRAY; }
  // The bytes from its base to its end.
  size_t Reach(const CUDA_MEMCPY3D& copy) const {
    if (copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0) return 0;
    const size_t a_row = pitch == 0 ? x + copy.WidthInBytes : pitch;
    const size_t a_layer = height == 0 ? y + copy.Height : height;
    return ((z + copy.Depth - 1) * a_layer + y + copy.Height - 1) * a_row + x + copy.WidthInBytes;
  }
};

Side AnySide(ProgramWorld& world, bool reads) {
  Side side;
  size_t which = world.Below(5);
  if (which < 2) {
    side.array = AnyArray(world);
    if (side.array.name.empty()) which = 4;
  } else if (which < 4 && world.blocks.empty()) {
    which = 4;
  }
  if (which < 2) {
    side.type = CU_MEMORYTYPE_ARRAY;
    side.name = side.array.name;
    return side;
  }
  side.array.row = world.Of<size_t>({4, 16, 64, 100, 200});
  side.array.rows = world.Of<size_t>({1, 4, 20});
  side.array.layers = world.Of<size_t>({1, 2, 6});
  if (which < 4) {
    const RandomBlock& block = world.OneBlock();
    const size_t offset = world.OneIn(2) ? 0 : world.Below(std::min<size_t>(block.size, 512));
    side.type = world.OneIn(4) ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_DEVICE;
    side.name = block.name;
    side.device = block.base + offset;
    side.block = block.size - offset;
    return side;
  }
  side.type = world.OneIn(4) ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST;
  side.name = "host";
  side.host = reads ? host_from : host_to;
  side.device = AddressOf(side.host);
  side.block = kHostBytes - 64;
  return side;
}

// Where in the side the box begins, and how the rows of memory lie.
void Place(ProgramWorld& world, const CUDA_MEMCPY3D& copy, bool flat, Side* side) {
  const auto before = [&](size_t room, size_t size) {
    return world.OneIn(2) ? 0 : world.Below(room - size + 1);
  };
  const size_t grain = side->of_array() && !world.OneIn(8) ? side->array.element : 1;
  side->x = before(side->array.row, copy.WidthInBytes) / grain * grain;
  side->y = before(side->array.rows, copy.Height);
  side->z = flat ? 0 : before(side->array.layers, copy.Depth);
  if (side->of_array()) return;
  side->pitch = side->x + copy.WidthInBytes + world.Of<size_t>({0, 0, 4, 13});
  side->height = flat ? 0 : side->y + copy.Height + world.Of<size_t>({0, 0, 1});
  if (copy.Depth == 1 && world.OneIn(5)) side->height = 0;
  if (copy.Depth == 1 && world.OneIn(8)) side->pitch = 0;
}

// Makes the copy wrong, in most cases.
void Damage(ProgramWorld& world, bool flat, CUDA_MEMCPY3D* copy, Side* side) {
  const bool of_memory = side->type != CU_MEMORYTYPE_ARRAY;
  switch (world.Below(7)) {
    case 0:
      if (of_memory && side->x + copy->WidthInBytes > 1) {
        side->pitch = side->x + copy->WidthInBytes - 1;
      }
      if (!of_memory) side->x = side->array.row;
      return;
    case 1:
      // Not 0, which leaves it out.
      if (of_memory && !flat && side->y + copy->Height > 1) {
        side->height = side->y + copy->Height - 1;
      }
      if (!of_memory) side->y = side->array.rows;
      return;
    case 2:
      if (!of_memory && !flat) side->z = side->array.layers;
      return;
    case 3:
      side->type = world.Of({0, 5, -1});
      return;
    case 4:
      if (!flat) side->level = 1;
      return;
    default:
      world.Of({&copy->WidthInBytes, &copy->Height, &copy->Depth})[0] = 0;
  }
}

CUDA_MEMCPY3D Described(CUDA_MEMCPY3D copy, const Side& to, const Side& from) {
  copy.srcMemoryType = static_cast<CUmemorytype>(from.type);
  copy.srcHost = from.host;
  copy.srcDevice = from.device;
  copy.srcArray = from.array.handle;
  copy.srcXInBytes = from.x;
  copy.srcY = from.y;
  copy.srcZ = from.z;
  copy.srcLOD = from.level;
  copy.srcPitch = from.pitch;
  copy.srcHeight = from.height;
  copy.dstMemoryType = static_cast<CUmemorytype>(to.type);
  copy.dstHost = to.host;
  copy.dstDevice = to.device;
  copy.dstArray = to.array.handle;
  copy.dstXInBytes = to.x;
  copy.dstY = to.y;
  copy.dstZ = to.z;
  copy.dstLOD = to.level;
  copy.dstPitch = to.pitch;
  copy.dstHeight = to.height;
  return copy;
}

CUDA_MEMCPY2D Flat(const CUDA_MEMCPY3D& box) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = box.srcMemoryType;
  copy.srcHost = box.srcHost;
  copy.srcDevice = box.srcDevice;
  copy.srcArray = box.srcArray;
  copy.srcXInBytes = box.srcXInBytes;
  copy.srcY = box.srcY;
  copy.srcPitch = box.srcPitch;
  copy.dstMemoryType = box.dstMemoryType;
  copy.dstHost = box.dstHost;
  copy.dstDevice = box.dstDevice;
  copy.dstArray = box.dstArray;
  copy.dstXInBytes = box.dstXInBytes;
  copy.dstY = box.dstY;
  copy.dstPitch = box.dstPitch;
  copy.WidthInBytes = box.WidthInBytes;
  copy.Height = box.Height;
  return copy;
}

CUDA_MEMCPY3D_PEER BetweenContexts(const CUDA_MEMCPY3D& box, CUcontext context) {
  CUDA_MEMCPY3D_PEER copy = {};
  copy.srcContext = context;
  copy.srcMemoryType = box.srcMemoryType;
  copy.srcHost = box.srcHost;
  copy.srcDevice = box.srcDevice;
  copy.srcArray = box.srcArray;
  copy.srcXInBytes = box.srcXInBytes;
  copy.srcY = box.srcY;
  copy.srcZ = box.srcZ;
  copy.srcLOD = box.srcLOD;
  copy.srcPitch = box.srcPitch;
  copy.srcHeight = box.srcHeight;
  copy.dstContext = context;
  copy.dstMemoryType = box.dstMemoryType;
  copy.dstHost = box.dstHost;
  copy.dstDevice = box.dstDevice;
  copy.dstArray = box.dstArray;
  copy.dstXInBytes = box.dstXInBytes;
  copy.dstY = box.dstY;
  copy.dstZ = box.dstZ;
  copy.dstLOD = box.dstLOD;
  copy.dstPitch = box.dstPitch;
  copy.dstHeight = box.dstHeight;
  copy.WidthInBytes = box.WidthInBytes;
  copy.Height = box.Height;
  copy.Depth = box.Depth;
  return copy;
}

std::string WordsOf(const Side& side) {
  std::ostringstream out;
  out << side.name << " type " << side.type << " at " << side.x << ' ' << side.y << ' ' << side.z
      << " pitch " << side.pitch << " height " << side.height << " level " << side.level;
  if (side.name[0] == 'b') out << " room " << side.block;
  return out.str();
}

bool Do(ProgramWorld& world, bool flat, const CUDA_MEMCPY3D& copy, const std::string& words) {
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const CUDA_MEMCPY2D rows = Flat(copy);
  bool done = false;
  if (flat) {
    switch (world.Below(3)) {
      case 0:
        return world.Say(cuMemcpy2D(&rows), "cuMemcpy2D", words);
      case 1:
        return world.Say(cuMemcpy2DUnaligned(&rows), "cuMemcpy2DUnaligned", words);
      default:
        done = world.Say(cuMemcpy2DAsync(&rows, stream), "cuMemcpy2DAsync", name, words);
    }
  } else {
    const CUDA_MEMCPY3D_PEER peer = BetweenContexts(copy, world.context);
    switch (world.Below(6)) {
      case 0:
        return world.Say(cuMemcpy3DPeer(&peer), "cuMemcpy3DPeer", words);
      case 1:
        done = world.Say(cuMemcpy3DPeerAsync(&peer, stream), "cuMemcpy3DPeerAsync", name, words);
        break;
      case 2:
      case 3:
        return world.Say(cuMemcpy3D(&copy), "cuMemcpy3D", words);
      default:
        done = world.Say(cuMemcpy3DAsync(&copy, stream), "cuMemcpy3DAsync", name, words);
    }
  }
  cuStreamSynchronize(stream);
  return done;
}

void CopyBox(ProgramWorld& world) {
  Side to = AnySide(world, /*reads=*/false);
  Side from = AnySide(world, /*reads=*/true);
  if (to.name == from.name && to.name != "host") return;
  const bool flat = world.OneIn(2);
  const size_t grain = world.OneIn(8) ? 1 : std::max(to.array.element, from.array.element);
  const size_t widest = std::min({to.array.row, from.array.row, size_t{256}});
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = 1 + world.Below(widest);
  copy.WidthInBytes = std::min(widest, std::max(copy.WidthInBytes / grain, size_t{1}) * grain);
  copy.Height = 1 + world.Below(std::min(to.array.rows, from.array.rows));
  copy.Depth =
      flat ? 1 : 1 + world.Below(std::min({to.array.layers, from.array.layers, size_t{8}}));
  Place(world, copy, flat, &to);
  Place(world, copy, flat, &from);
  if (world.OneIn(5)) Damage(world, flat, &copy, world.OneIn(2) ? &to : &from);
  const size_t reach = std::max(to.Reach(copy), from.Reach(copy));
  const auto fits = [&](const Side& side) {
    return side.of_array() || side.Reach(copy) <= side.block;
  };
  // What the program's memory does not hold would end it.
  if ((to.host != nullptr || from.host != nullptr) && reach > kHostBytes - 64) return;
  if ((!fits(to) || !fits(from)) && !world.OneIn(4)) return;
  FillHost(world, reach);
  std::ostringstream words;
  words << WordsOf(to) << " from " << WordsOf(from) << " box " << copy.WidthInBytes << ' '
        << copy.Height << ' ' << copy.Depth;
  const bool done = Do(world, flat, Described(copy, to, from), words.str());
  if (done && to.host != nullptr) world.Gave(HashOfBytes(host_to, to.Reach(copy) + 64));
}

}  // namespace

RandomSteps BoxSteps() { return {{60, CopyBox}}; }

}  // namespace twinmmu::abi

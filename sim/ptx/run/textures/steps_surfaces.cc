// suld, sust, sured.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sim/base/word_copies.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/textures/objects.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/run/word_changes.h"
#include "sim/ptx/textures/channels.h"

namespace twinmmu::ptx {
namespace {

// What came of looking for the memory of an access.
enum class Place { kFault, kNowhere, kMemory };

struct SurfacePlace {
  Place place = Place::kFault;
  char* memory = nullptr;
  const Image* image = nullptr;  // with kMemory
};

// A coordinate from 0 to `last`; false: it is not, and is not brought there.
bool Bring(int64_t* coordinate, int64_t last, SurfaceBounds bounds) {
  if (*coordinate >= 0 && *coordinate <= last) return true;
  if (bounds != SurfaceBounds::kClamp || last < 0) return false;
  *coordinate = std::clamp<int64_t>(*coordinate, 0, last);
  return true;
}

// `size`: of the access, in bytes; 0: a whole element.
SurfacePlace Find(Warp& warp, const TextureCode& code, Objects& objects, uint32_t size,
                  Access access, int lane) {
  const uint64_t handle = warp.Slot<uint64_t>(code.handle)[lane];
  if (objects.IsUnbound(code, handle)) return {Place::kNowhere, nullptr};
  const Texture* const surface = objects.Find(handle, /*surface=*/true, code.geometry, lane);
  if (surface == nullptr) return {};
  const Image& image = surface->image;
  const int64_t element = static_cast<int64_t>(image.element());
  if (size == 0) size = static_cast<uint32_t>(element);
  const auto fault = [&](GridFault::Kind kind, const char* why) {
    warp.Fault(kind, Lanes{1} << lane, why);
    return SurfacePlace();
  };
  int64_t at[3] = {0, 0, 0};
  for (size_t i = 0; i < code.at.size(); ++i) at[i] = warp.Slot<int32_t>(code.at[i])[lane];
  if (code.formatted) at[0] *= element;
  if (at[0] % size != 0) {
    const SurfacePlace misaligned =
        fault(GridFault::kMisalignedAddress, "it is an offset in a row of a surface");
    warp.block().fault().address = DeviceAddress(static_cast<uint64_t>(at[0]));
    warp.block().fault().size = Bytes(size);
    return misaligned;
  }
  const int64_t row = static_cast<int64_t>(image.extent.x) * element;
  int64_t layer = code.layer.empty() ? 0 : warp.Slot<int32_t>(code.layer[0])[lane];
  const int64_t rows = static_cast<int64_t>(image.extent.y);
  const int64_t slices = static_cast<int64_t>(image.extent.z);
  const bool inside = Bring(&at[0], (row / size - 1) * size, code.bounds) &&
                      Bring(&at[1], rows - 1, code.bounds) &&
                      Bring(&at[2], slices - 1, code.bounds) &&
                      Bring(&layer, static_cast<int64_t>(image.layers) - 1, code.bounds);
  if (!inside && code.bounds == SurfaceBounds::kTrap) {
    return fault(GridFault::kNoTexture, "the access reaches beyond the surface");
  }
  if (!inside) return {Place::kNowhere, nullptr};
  TexelPlace place;
  place.layer = static_cast<uint64_t>(layer);
  place.at = {static_cast<uint64_t>(at[0] / element), static_cast<uint64_t>(at[1]),
              static_cast<uint64_t>(at[2])};
  bool there = true;
  char* const memory = objects.ElementOf(*surface, place, access, lane, &there);
  if (!there) return {};
  if (memory == nullptr) return {Place::kNowhere, nullptr};
  return {Place::kMemory, memory + at[0] % element, &image};
}

uint32_t SizeOf(const TextureCode& code) {
  return static_cast<uint32_t>(code.bytes * code.values.size());
}

// The value of a register as bytes, and back.
void Take(Warp& warp, uint32_t slot, uint32_t bytes, int lane, char* to) {
  const uint32_t width = std::max(bytes, 2u);
  std::memcpy(to, warp.Slot<char>(slot) + static_cast<uint32_t>(lane) * width, bytes);
}
void Give(Warp& warp, uint32_t slot, uint32_t bytes, int lane, const char* from) {
  const uint32_t width = std::max(bytes, 2u);
  char* const to = warp.Slot<char>(slot) + static_cast<uint32_t>(lane) * width;
  std::memset(to, 0, width);
  std::memcpy(to, from, bytes);
}

// The values of registers as an element; channels that have none are 0.
void TakeElement(Warp& warp, const TextureCode& code, const Image& image, int lane, char* element) {
  const size_t count = std::min<size_t>(code.values.size(), image.channels);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t word = warp.Slot<uint32_t>(code.values[i])[lane];
    Store(image.format, i, StoredRegister(ChannelOf(image.format, i), word), element);
  }
}

struct Reduction {
  using Function = Perform;
  template <typename U, typename Operation>
  static Flow kPerform(Warp& warp, const Step& step, Lanes lanes) {
    const TextureCode& code = TextureOf(warp, step);
    Objects objects(&warp);
    for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      const SurfacePlace found = Find(warp, code, objects, sizeof(U), Access::kReadWrite, lane);
      if (found.place == Place::kFault) return Flow::kFault;
      if (found.place == Place::kNowhere) continue;
      const U value = warp.Slot<U>(code.values[0])[lane];
      Change(reinterpret_cast<U*>(found.memory), value, U{0}, Operation::Next);
      ++warp.changes;
    }
    return Flow::kNext;
  }
};

}  // namespace

Flow PerformSurfaceLoad(Warp& warp, const Step& step, Lanes lanes) {
  const TextureCode& code = TextureOf(warp, step);
  Objects objects(&warp);
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    alignas(kMaxAccess) char bytes[kMaxAccess] = {};
    const SurfacePlace found = Find(warp, code, objects, SizeOf(code), Access::kRead, lane);
    if (found.place == Place::kFault) return Flow::kFault;
    if (found.place == Place::kMemory) CopyByWords(bytes, found.memory, SizeOf(code));
    for (size_t i = 0; i < code.values.size(); ++i) {
      Give(warp, code.values[i], code.bytes, lane, bytes + i * code.bytes);
    }
  }
  return Flow::kNext;
}

Flow PerformSurfaceStore(Warp& warp, const Step& step, Lanes lanes) {
  const TextureCode& code = TextureOf(warp, step);
  Objects objects(&warp);
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    alignas(kMaxAccess) char bytes[kMaxAccess] = {};
    const uint32_t size = code.formatted ? 0 : SizeOf(code);
    const SurfacePlace found = Find(warp, code, objects, size, Access::kReadWrite, lane);
    if (found.place == Place::kFault) return Flow::kFault;
    if (found.place == Place::kNowhere) continue;
    if (code.formatted) {
      TakeElement(warp, code, *found.image, lane, bytes);
    } else {
      for (size_t i = 0; i < code.values.size(); ++i) {
        Take(warp, code.values[i], code.bytes, lane, bytes + i * code.bytes);
      }
    }
    CopyByWords(found.memory, bytes, size != 0 ? size : found.image->element());
    warp.NoteStore(Space::kGlobal);
  }
  return Flow::kNext;
}

Perform FindSurfaceReduction(absl::string_view operation, Type type) {
  return IsFloating(type) ? nullptr : FindForm<Reduction>(operation, type);
}

}  // namespace twinmmu::ptx

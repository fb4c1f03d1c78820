// tex, tld4, txq, suq, istypep.

#include <cstdint>
#include <cstring>

#include "sim/base/word_copies.h"
#include "sim/ptx/operations/half.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/textures/objects.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/textures/sampler.h"

namespace twinmmu::ptx {
namespace {

template <typename T>
T ValueOf(Warp& warp, uint32_t slot, int lane) {
  return warp.Slot<T>(slot)[lane];
}

TextureRead ReadOf(Warp& warp, const TextureCode& code, int lane) {
  TextureRead read;
  read.dimensions = code.geometry.dimensions;
  read.layered = code.geometry.layered;
  read.cube = code.geometry.cube;
  read.texels = code.integers;
  read.gathered = code.gathered;
  for (size_t i = 0; i < code.at.size(); ++i) {
    if (code.integers) {
      read.texel[i] = ValueOf<int32_t>(warp, code.at[i], lane);
    } else {
      read.at[i] = ValueOf<float>(warp, code.at[i], lane);
    }
  }
  if (!code.layer.empty()) read.layer = ValueOf<uint32_t>(warp, code.layer[0], lane);
  for (size_t i = 0; i < code.offset.size(); ++i) {
    read.offset[i] = ValueOf<int32_t>(warp, code.offset[i], lane);
  }
  if (!code.level.empty()) {
    read.level_from = TextureRead::kLevel;
    read.level = code.integers ? static_cast<float>(ValueOf<int32_t>(warp, code.level[0], lane))
                               : ValueOf<float>(warp, code.level[0], lane);
  }
  const size_t half = code.gradients.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    read.level_from = TextureRead::kGradients;
    read.x_gradient[i] = ValueOf<float>(warp, code.gradients[i], lane);
    read.y_gradient[i] = ValueOf<float>(warp, code.gradients[half + i], lane);
  }
  return read;
}

void StorePredicate(Warp& warp, uint32_t slot, int lane, bool value) {
  Lanes* const to = warp.Slot<Lanes>(slot);
  *to = (*to & ~(Lanes{1} << lane)) | Lanes{value} << lane;
}

void Store(Warp& warp, const TextureCode& code, const Texture& texture, const TexelWords& words,
           int lane) {
  uint16_t halves[4];
  if (code.halves || code.pairs) {
    const bool floats = GivesFloats(texture);
    for (size_t i = 0; i < words.size(); ++i) {
      halves[i] = floats ? HalfOf(BitCast<float>(words[i])) : static_cast<uint16_t>(words[i]);
    }
  }
  for (size_t i = 0; i < code.values.size(); ++i) {
    if (code.pairs) {
      warp.Slot<uint32_t>(code.values[i])[lane] = uint32_t{halves[2 * i + 1]} << 16 | halves[2 * i];
    } else if (code.halves) {
      warp.Slot<uint16_t>(code.values[i])[lane] = halves[i];
    } else {
      warp.Slot<uint32_t>(code.values[i])[lane] = words[i];
    }
  }
}

bool IsInside(const Image& image, const TexelPlace& place) {
  const ArrayExtent extent = image.ExtentOf(place.level);
  return place.at.x < extent.x && place.at.y < extent.y && place.at.z < extent.z &&
         place.layer < image.layers && place.level < image.levels;
}

// A level that is not there has no size.
uint32_t AnswerOf(const Texture& texture, TextureQuery query, uint32_t level) {
  const Image& image = texture.image;
  if (level >= image.levels) return 0;
  const ArrayExtent extent = image.ExtentOf(level);
  switch (query) {
    case TextureQuery::kWidth:
      return static_cast<uint32_t>(extent.x);
    case TextureQuery::kHeight:
      // Linear memory alone has no rows.
      return image.dimensions > 1 || image.elements != nullptr ? static_cast<uint32_t>(extent.y)
                                                               : 0;
    case TextureQuery::kDepth:
      break;
  }
  if (image.layered) return static_cast<uint32_t>(image.layers / (image.cube ? 6 : 1));
  return image.dimensions > 2 ? static_cast<uint32_t>(extent.z) : 0;
}

}  // namespace

Flow PerformTexture(Warp& warp, const Step& step, Lanes lanes) {
  const TextureCode& code = TextureOf(warp, step);
  Objects objects(&warp);
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint64_t handle = ValueOf<uint64_t>(warp, code.handle, lane);
    if (objects.IsUnbound(code, handle)) {
      Store(warp, code, Texture(), TexelWords(), lane);
      if (!code.resident.empty()) StorePredicate(warp, code.resident[0], lane, false);
      continue;
    }
    const Texture* const texture = objects.Find(handle, /*surface=*/false, code.geometry, lane);
    if (texture == nullptr) return Flow::kFault;
    bool there = true;
    bool resident = true;
    // What another thread may write meanwhile is read as kernels read.
    alignas(16) char element[16];
    const auto find = [&](const TexelPlace& place) -> const char* {
      if (!IsInside(texture->image, place)) return nullptr;
      const char* const memory = objects.ElementOf(*texture, place, Access::kRead, lane, &there);
      if (memory == nullptr) {
        resident = false;
        return nullptr;
      }
      CopyByWords(element, memory, texture->image.element());
      return element;
    };
    const TexelWords words = ReadTexture(*texture, ReadOf(warp, code, lane), find);
    if (!there) return Flow::kFault;
    Store(warp, code, *texture, words, lane);
    if (!code.resident.empty()) StorePredicate(warp, code.resident[0], lane, resident);
  }
  return Flow::kNext;
}

Flow PerformTextureQuery(Warp& warp, const Step& step, Lanes lanes) {
  const TextureCode& code = TextureOf(warp, step);
  Objects objects(&warp);
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint64_t handle = ValueOf<uint64_t>(warp, code.handle, lane);
    if (objects.IsUnbound(code, handle)) {
      warp.Slot<uint32_t>(code.values[0])[lane] = 0;
      continue;
    }
    const Texture* const texture = objects.Look(handle);
    if (texture == nullptr) {
      objects.Find(handle, /*surface=*/false, lane);
      return Flow::kFault;
    }
    const uint32_t level = code.level.empty() ? 0 : ValueOf<uint32_t>(warp, code.level[0], lane);
    warp.Slot<uint32_t>(code.values[0])[lane] =
        AnswerOf(*texture, static_cast<TextureQuery>(step.detail), level);
  }
  return Flow::kNext;
}

}  // namespace twinmmu::ptx

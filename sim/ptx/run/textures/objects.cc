#include "sim/ptx/run/textures/objects.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/textures/texture_table.h"

namespace twinmmu::ptx {
namespace {

std::string InWords(const TextureGeometry& geometry) {
  return absl::StrCat(geometry.dimensions, geometry.dimensions == 1 ? " dimension" : " dimensions",
                      geometry.layered ? ", with layers" : "", geometry.cube ? ", a cube" : "");
}

// Surfaces show the faces of a cube as layers.
bool Fits(const Texture& texture, const TextureGeometry& geometry) {
  const Image& image = texture.image;
  if (image.dimensions != geometry.dimensions) return false;
  if (texture.surface) return geometry.layered == (image.layered || image.cube);
  return image.layered == geometry.layered && image.cube == geometry.cube;
}

}  // namespace

const Texture* Objects::Look(uint64_t handle) {
  const GridContext& grid = warp_.block().grid();
  if (last_ == nullptr || handle != handle_) {
    if (grid.launch->textures == nullptr) return nullptr;
    last_ = grid.launch->textures->Find(handle, grid.launch->launched);
    handle_ = handle;
  }
  return last_ != nullptr && last_->device == grid.launch->device ? last_.get() : nullptr;
}

const Texture* Objects::Find(uint64_t handle, bool surface, int lane) {
  const Texture* const found = Look(handle);
  if (found != nullptr && found->surface == surface) return found;
  warp_.Fault(GridFault::kNoTexture, Lanes{1} << lane,
              absl::StrCat(handle, " is no ", surface ? "surface" : "texture", " object of ",
                           ToString(warp_.block().grid().launch->device)));
  return nullptr;
}

const Texture* Objects::Find(uint64_t handle, bool surface, const TextureGeometry& geometry,
                             int lane) {
  const Texture* const found = Find(handle, surface, lane);
  if (found == nullptr) return nullptr;
  if (!Fits(*found, geometry)) {
    warp_.Fault(
        GridFault::kNoTexture, Lanes{1} << lane,
        absl::StrCat("the instruction takes ", InWords(geometry), "; object ", handle, " has ",
                     InWords({found->image.dimensions, found->image.layered, found->image.cube})));
    return nullptr;
  }
  if (found->image.elements != nullptr && found->image.elements->gone()) {
    warp_.Fault(GridFault::kNoTexture, Lanes{1} << lane,
                absl::StrCat("the array of object ", handle, " was destroyed"));
    return nullptr;
  }
  if (found->image.elements != nullptr && found->image.elements->is_missing()) {
    warp_.Fault(GridFault::kNoTexture, Lanes{1} << lane,
                absl::StrCat("the array of object ", handle,
                             " is one of deferred mapping, and no memory is mapped to it"));
    return nullptr;
  }
  return found;
}

char* Objects::ElementOf(const Texture& texture, const TexelPlace& place, Access access, int lane,
                         bool* ok) {
  const Image& image = texture.image;
  if (image.elements != nullptr) {
    return image.elements->ElementAt(image.first_level + place.level,
                                     image.first_layer + place.layer, place.at);
  }
  const uint64_t size = image.element();
  const DeviceAddress address = image.address + Bytes(place.at.y * image.pitch + place.at.x * size);
  char* const memory = warp_.block().cache().Translate(address, size, access);
  if (memory == nullptr && *ok) {
    MemoryAccess wanted;
    wanted.bytes = static_cast<uint8_t>(size);
    wanted.access = access;
    warp_.FaultAt(GridFault::kIllegalAddress, lane, wanted, address.value());
    *ok = false;
  }
  return memory;
}

}  // namespace twinmmu::ptx

// TextureTable: the texture and surface objects of a machine, by handle.

#ifndef TWINMMU_SIM_PTX_TEXTURES_TEXTURE_TABLE_H_
#define TWINMMU_SIM_PTX_TEXTURES_TEXTURE_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "sim/ptx/textures/texture.h"

namespace twinmmu::ptx {

// A handle that Add gives is used once. Thread-safe; a leaf.
class TextureTable {
 public:
  uint64_t Add(std::shared_ptr<const Texture> texture) {
    const std::unique_lock lock(mutex_);
    objects_.emplace(last_ + 1, std::move(texture));
    return ++last_;
  }
  // Under a handle that is the caller's, in the place of what there may be.
  void Put(uint64_t handle, std::shared_ptr<const Texture> texture) {
    const std::unique_lock lock(mutex_);
    objects_[handle] = std::move(texture);
  }
  // False: there is none.
  bool Remove(uint64_t handle) {
    const std::unique_lock lock(mutex_);
    return objects_.erase(handle) != 0;
  }
  // Null: there is none.
  std::shared_ptr<const Texture> Find(uint64_t handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Texture>> objects_;
  uint64_t last_ = 0;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_TEXTURE_TABLE_H_

// TextureTable: the texture and surface objects of a machine, by handle.

#ifndef TWINMMU_SIM_PTX_TEXTURES_TEXTURE_TABLE_H_
#define TWINMMU_SIM_PTX_TEXTURES_TEXTURE_TABLE_H_

#include <cstdint>
#include <deque>
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
  // How many objects were removed before.
  using Moment = std::shared_ptr<const uint64_t>;

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
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return false;
    ForgetMoments();
    if (!moments_.empty()) removed_.emplace(removals_, *found);
    ++removals_;
    objects_.erase(found);
    return true;
  }
  // As long as somebody has it, what is there now is found by it. Null: nothing is.
  Moment Now() {
    const std::unique_lock lock(mutex_);
    if (objects_.empty()) return nullptr;
    Moment now = moments_.empty() ? nullptr : moments_.back().lock();
    if (now != nullptr && *now == removals_) return now;
    ForgetMoments();
    now = std::make_shared<const uint64_t>(removals_);
    moments_.push_back(now);
    return now;
  }
  // What is there, or was `then`. Null: there is none.
  std::shared_ptr<const Texture> Find(uint64_t handle, const Moment& then = nullptr) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found != objects_.end()) return found->second;
    if (then == nullptr) return nullptr;
    for (auto removed = removed_.lower_bound(*then); removed != removed_.end(); ++removed) {
      if (removed->second.first == handle) return removed->second.second;
    }
    return nullptr;
  }

 private:
  // What nobody has any more, and the objects that are found by nothing else.
  void ForgetMoments() {
    Moment first;
    while (!moments_.empty() && (first = moments_.front().lock()) == nullptr) moments_.pop_front();
    const uint64_t needed = first == nullptr ? removals_ : *first;
    removed_.erase(removed_.begin(), removed_.lower_bound(needed));
  }

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Texture>> objects_;
  // In the order in which they were removed.
  std::map<uint64_t, std::pair<uint64_t, std::shared_ptr<const Texture>>> removed_;
  std::deque<std::weak_ptr<const uint64_t>> moments_;
  uint64_t removals_ = 0;
  uint64_t last_ = 0;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_TEXTURE_TABLE_H_

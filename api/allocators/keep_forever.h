// KeepForever: for objects that work may still use, when nobody can wait for that work.

#ifndef TWINMMU_API_ALLOCATORS_KEEP_FOREVER_H_
#define TWINMMU_API_ALLOCATORS_KEEP_FOREVER_H_

#include <mutex>
#include <utility>
#include <vector>

namespace twinmmu {

// `object` is never destroyed: a leak is better than taking memory from running work. Any thread,
// at any time.
template <typename T>
void KeepForever(T object) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<T>();
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(object));
}

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_KEEP_FOREVER_H_

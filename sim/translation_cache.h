// TranslationCache: single loads and stores of a device, each checked, at the cost of a few
// compares.

#ifndef TWINMMU_SIM_TRANSLATION_CACHE_H_
#define TWINMMU_SIM_TRANSLATION_CACHE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "api/address.h"
#include "api/allocation.h"
#include "sim/mmu.h"

namespace twinmmu {

// What one thread needs to access memory as `device`. Every access holds mmu.mutex, shared, which
// pins the memory: it is there until the lock is let go. What was translated before then is still
// used after it if the page table has not changed meanwhile, by its generation. For one thread.
class TranslationCache {
 public:
  // `device` exists. `mmu` must outlive this object.
  TranslationCache(const Mmu& mmu, DeviceOrdinal device) : mmu_(mmu), device_(device) {}

  // Where the `size` bytes at `address` lie in the memory of the host; null if they are not all in
  // one mapping that the device may access in this way.
  char* Translate(DeviceAddress address, uint64_t size, Access access) {
    const Entry& entry = entries_[mmu_.PageOf(address) % kEntries];
    const uint64_t offset = (address - entry.base).value();
    const bool hit = entry.generation == mmu_.table.generation() && offset < entry.size &&
                     size <= entry.size - offset && Covers(entry.access, access);
    return hit ? entry.memory + offset : Walk(address, size, access);
  }

  // A fault, which does nothing: nullopt, false.
  template <typename T>
  std::optional<T> Load(DeviceAddress address) {
    const char* const memory = Translate(address, sizeof(T), Access::kRead);
    if (memory == nullptr) return std::nullopt;
    T value;
    std::memcpy(&value, memory, sizeof(T));
    return value;
  }
  template <typename T>
  bool Store(DeviceAddress address, const T& value) {
    char* const memory = Translate(address, sizeof(T), Access::kReadWrite);
    if (memory == nullptr) return false;
    std::memcpy(memory, &value, sizeof(T));
    return true;
  }

 private:
  static constexpr uint64_t kEntries = 64;
  // A span with one right, from the start of the page that the entry is for.
  struct Entry {
    DeviceAddress base;
    uint64_t size = 0;
    uint64_t generation = 0;  // of the page table, whose first is 1
    char* memory = nullptr;
    Access access = Access::kNone;
  };

  char* Walk(DeviceAddress address, uint64_t size, Access access);

  const Mmu& mmu_;
  const DeviceOrdinal device_;
  std::array<Entry, kEntries> entries_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TRANSLATION_CACHE_H_

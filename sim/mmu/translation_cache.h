// TranslationCache: single loads and stores of a device, each checked, at the cost of a few
// compares.

#ifndef TWINMMU_SIM_MMU_TRANSLATION_CACHE_H_
#define TWINMMU_SIM_MMU_TRANSLATION_CACHE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"
#include "sim/mmu/mmu.h"
#include "sim/mmu/used_mappings.h"

namespace twinmmu {

// What one thread needs to access memory as `device`. Every access holds mmu.mutex, shared, which
// pins the memory: it is there until the lock is let go. What was translated before then is still
// used after it if nothing was taken away meanwhile, by the generation. For one thread.
class TranslationCache {
 public:
  // `device` exists. `mmu`, and `used` if there is one, must outlive this object. `used` is
  // notified of each mapping in which something was found.
  TranslationCache(const Mmu& mmu, DeviceOrdinal device, UsedMappings* used = nullptr)
      : mmu_(mmu), device_(device), used_(used) {}

  // Addresses that lie one behind the other in the memory of the host, with the same access.
  struct Span {
    DeviceAddress base;
    uint64_t size = 0;
    uint64_t generation = 0;  // of Mmu, whose first is 2
    char* memory = nullptr;   // of `base`
    Access access = Access::kNone;
    bool armed = false;       // the alias monitor observes its memory
    uint32_t address_id = 0;  // of this one, or of linear memory: the id of the buffer
  };

  // A span around the `size` bytes at `address`, valid until the lock is let go or Find is called
  // again; null if they are not all in one mapping that the device may access in this way, nor in
  // linear memory that it can reach.
  const Span* Find(DeviceAddress address, uint64_t size, Access access) {
    const Span& mapped = mapped_[mmu_.PageOf(address) % kEntries];
    if (Holds(mapped, address, size, access)) return &mapped;
    const Span& linear = linear_[(address.value() >> kLinearShift) % kEntries];
    return Holds(linear, address, size, access) ? &linear : Walk(address, size, access);
  }

  // What the `size` bytes at a multicast address are: one replica for each device of the team.
  struct Multicast {
    std::vector<Replica> replicas;  // in the order of devices; their memory as of a Span
    uint32_t address_id = 0;
    std::string missing;  // why there are none; where there are or never could be any, empty
  };
  // False: they are not all in one mapping of a multicast object that the device may access in this
  // way, or replicas are missing. Can throw std::bad_alloc.
  bool FindMulticast(DeviceAddress address, uint64_t size, Access access, Multicast* found);

  // Where those bytes lie in the memory of the host, or null.
  char* Translate(DeviceAddress address, uint64_t size, Access access) {
    const Span* const span = Find(address, size, access);
    return span == nullptr ? nullptr : span->memory + (address - span->base).value();
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
  static constexpr int kLinearShift = 12;  // small allocations lie side by side

  bool Holds(const Span& span, DeviceAddress address, uint64_t size, Access access) const {
    const uint64_t offset = (address - span.base).value();
    return span.generation == mmu_.generation() && offset < span.size &&
           size <= span.size - offset && Covers(span.access, access);
  }
  const Span* Walk(DeviceAddress address, uint64_t size, Access access);
  const Span* WalkLinear(DeviceAddress address, uint64_t size, Access access);

  const Mmu& mmu_;
  const DeviceOrdinal device_;
  UsedMappings* const used_;
  std::array<Span, kEntries> mapped_;
  std::array<Span, kEntries> linear_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MMU_TRANSLATION_CACHE_H_

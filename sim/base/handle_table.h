// HandleTable: objects named by opaque 64-bit values that tell the dead from the living.

#ifndef TWINMMU_SIM_BASE_HANDLE_TABLE_H_
#define TWINMMU_SIM_BASE_HANDLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace twinmmu {

// A value is the slot (low half) and the generation of its occupant (high half), neither ever 0: a
// slot is used again, a value is not until its slot has had 2^32 occupants. Where Insert or Prepare
// throws std::bad_alloc nothing has changed; nothing else throws. Not thread-safe.
template <typename T>
class HandleTable {
 public:
  // Makes sure that the next Insert cannot fail.
  void Prepare() {
    if (!free_.empty()) return;
    // With room to erase every object.
    if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 16);
    slots_.emplace_back();
    free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
  }

  uint64_t Insert(T object) {
    Prepare();
    const uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].object = std::move(object);
    slots_[index].live = true;
    return ValueOf(index);
  }

  // Null for a value that was never given out or whose object is gone.
  T* Find(uint64_t value) {
    const uint64_t index = (value & 0xffffffffu) - 1;
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.live && slot.generation == value >> 32 ? &slot.object : nullptr;
  }
  const T* Find(uint64_t value) const { return const_cast<HandleTable*>(this)->Find(value); }

  // Whether `value` named an object that is gone.
  bool IsDead(uint64_t value) const {
    const uint64_t index = (value & 0xffffffffu) - 1;
    const uint64_t generation = value >> 32;
    return index < slots_.size() && generation != 0 && generation < slots_[index].generation;
  }

  void Erase(uint32_t index) {
    Slot& slot = slots_[index];
    slot.object = T();
    slot.live = false;
    if (++slot.generation == 0) slot.generation = 1;
    free_.push_back(index);
  }

  // For an object that is live.
  T& operator[](uint32_t index) { return slots_[index].object; }
  const T& operator[](uint32_t index) const { return slots_[index].object; }
  uint64_t ValueOf(uint32_t index) const {
    return uint64_t{slots_[index].generation} << 32 | (uint64_t{index} + 1);
  }
  static uint32_t IndexOf(uint64_t value) { return static_cast<uint32_t>(value) - 1; }
  size_t size() const { return slots_.size() - free_.size(); }
  // Calls visit(value, object) for each that is live.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (uint32_t index = 0; index < slots_.size(); ++index) {
      if (slots_[index].live) visit(ValueOf(index), slots_[index].object);
    }
  }

 private:
  struct Slot {
    uint32_t generation = 1;
    bool live = false;
    T object;
  };

  std::deque<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_HANDLE_TABLE_H_

// Sites: ids for the places in a program from which it calls.

#ifndef TWINMMU_SIM_LIBCUDA_REPORT_SITES_H_
#define TWINMMU_SIM_LIBCUDA_REPORT_SITES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/libcuda/report/report_layout.h"

namespace twinmmu::libcuda {

// While our CUDA runtime calls the driver in a thread: from where the program called it, and an
// address inside the function that was called; else null. `is_tried`: the runtime may do it again
// in another context, and the report does not have it that the current one is destroyed. The
// runtime sets all of them.
struct RuntimeCall {
  const void* caller;
  const void* function;
  bool is_tried = false;
};
// Read without a call even in a shared library.
extern thread_local RuntimeCall runtime_call __attribute__((tls_model("initial-exec")));

// The place (report_layout.h) of a call of the runtime. Bits 4 to 19 of an address inside a
// function are in no other one of its library.
inline const void* PlaceOfCall(const RuntimeCall& call) {
  const uint64_t function = reinterpret_cast<uintptr_t>(call.function) >> 4;
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(call.caller) ^
                                       function << kAddressBits);
}
inline const void* AddressOf(const void* place) {
  return reinterpret_cast<const void*>(AddressOf(reinterpret_cast<uintptr_t>(place)));
}

// Gives each place a small id, from 1. Thread-safe, without locks.
class Sites {
 public:
  static constexpr uint32_t kNone = 0;

  // The id of a place; kNone for null, and where there is no id left. `fresh` is set to true for
  // one caller only, the first one with this place.
  uint32_t IdOf(const void* place, bool* fresh) {
    const auto wanted = reinterpret_cast<uintptr_t>(place);
    if (wanted == 0) return kNone;
    for (uint64_t step = 0; step < kSteps; ++step) {
      const uint64_t index = (HashOf(wanted) + step) & (kCount - 1);
      uintptr_t found = places_[index].load(std::memory_order_relaxed);
      if (found == 0 && places_[index].compare_exchange_strong(found, wanted)) {
        *fresh = true;
        found = wanted;
      }
      if (found == wanted) return static_cast<uint32_t>(index + 1);
    }
    return kNone;
  }
  // The id of a place that has one, or kNone: then IdOf has to look further.
  uint32_t Known(const void* place) const {
    const auto wanted = reinterpret_cast<uintptr_t>(place);
    const uint64_t index = HashOf(wanted);
    const bool found = wanted != 0 && places_[index].load(std::memory_order_relaxed) == wanted;
    return found ? static_cast<uint32_t>(index + 1) : kNone;
  }

 private:
  static constexpr int kBits = 13;
  static constexpr size_t kCount = size_t{1} << kBits;
  static constexpr uint64_t kSteps = 64;

  // Multiplied by the golden ratio: neighbours go far apart.
  static uint64_t HashOf(uintptr_t place) {
    return (uint64_t{place} * 0x9e37'79b9'7f4a'7c15) >> (64 - kBits);
  }

  std::array<std::atomic<uintptr_t>, kCount> places_ = {};
};

// Where the code of a place is, a line each: the path of the program or library, the offset in it
// as its symbol table counts, in hexadecimal, the symbol with the distance to it, as far as the
// dynamic linker knows one, and the function of the runtime that this thread calls there, if any.
// What is not known is an empty line.
std::string DescribePlace(const void* place);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_REPORT_SITES_H_

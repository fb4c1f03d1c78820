// Sites: ids for the places in a program from which it calls.

#ifndef TWINMMU_SIM_LIBCUDA_REPORT_SITES_H_
#define TWINMMU_SIM_LIBCUDA_REPORT_SITES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace twinmmu::libcuda {

// Gives each return address a small id, from 1. Thread-safe, without locks.
class Sites {
 public:
  static constexpr uint32_t kNone = 0;

  // The id of an address; kNone for null, and where there is no id left. `fresh` is set to
  // true for one caller only, the first one with this address.
  uint32_t IdOf(const void* address, bool* fresh) {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    if (wanted == 0) return kNone;
    for (uint64_t step = 0; step < kSteps; ++step) {
      const uint64_t index = (HashOf(wanted) + step) & (kCount - 1);
      uintptr_t found = addresses_[index].load(std::memory_order_relaxed);
      if (found == 0 && addresses_[index].compare_exchange_strong(found, wanted)) {
        *fresh = true;
        found = wanted;
      }
      if (found == wanted) return static_cast<uint32_t>(index + 1);
    }
    return kNone;
  }
  // The id of an address that has one, or kNone: then NumberOf has to look further.
  uint32_t Known(const void* address) const {
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    const uint64_t index = HashOf(wanted);
    const bool found = wanted != 0 && addresses_[index].load(std::memory_order_relaxed) == wanted;
    return found ? static_cast<uint32_t>(index + 1) : kNone;
  }

 private:
  static constexpr int kBits = 13;
  static constexpr size_t kCount = size_t{1} << kBits;
  static constexpr uint64_t kSteps = 64;

  // Multiplied by the golden ratio: neighbours go far apart.
  static uint64_t HashOf(uintptr_t address) {
    return (uint64_t{address} * 0x9e37'79b9'7f4a'7c15) >> (64 - kBits);
  }

  std::array<std::atomic<uintptr_t>, kCount> addresses_ = {};
};

// While our CUDA runtime calls the driver in a thread: from where the program called it, and an
// address inside the function that was called; else null. The runtime sets both.
struct RuntimeCall {
  const void* caller;
  const void* function;
};
// Read without a call even in a shared library.
extern thread_local RuntimeCall runtime_call __attribute__((tls_model("initial-exec")));

// Where the code of an address comes from, a line each: the path of the program or library, the
// offset in it as its symbol table counts, in hexadecimal, the symbol with the distance to it, as
// far as the dynamic linker knows one, and the function of the runtime that is called there, if
// any. What is not known is an empty line.
std::string DescribeAddress(const void* address);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_REPORT_SITES_H_

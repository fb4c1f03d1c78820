// HostMemory: how much of the host's memory a machine takes for what its programs ask for, beyond
// the memory of its devices.

#ifndef TWINMMU_SIM_BASE_HOST_MEMORY_H_
#define TWINMMU_SIM_BASE_HOST_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <new>

#include "api/address.h"

namespace twinmmu {

// Thread-safe.
class HostMemory {
 public:
  explicit HostMemory(Bytes limit) : limit_(limit.value()) {}

  // What one holder has taken. It ends before the machine.
  class Share {
   public:
    explicit Share(HostMemory* all) : all_(*all) {}
    ~Share() { all_.taken_ -= bytes_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Throws std::bad_alloc where that is beyond the limit; then nothing has changed.
    void Resize(uint64_t bytes) {
      if (bytes > bytes_ && !all_.Take(bytes - bytes_)) throw std::bad_alloc();
      if (bytes < bytes_) all_.taken_ -= bytes_ - bytes;
      bytes_ = bytes;
    }
    uint64_t bytes() const { return bytes_; }

   private:
    HostMemory& all_;
    uint64_t bytes_ = 0;
  };

  Bytes limit() const { return Bytes(limit_); }
  Bytes taken() const { return Bytes(taken_); }

 private:
  bool Take(uint64_t bytes) {
    const uint64_t before = taken_.fetch_add(bytes);
    const bool fits = before <= limit_ && bytes <= limit_ - before;
    if (!fits) taken_ -= bytes;
    return fits;
  }

  const uint64_t limit_;
  std::atomic<uint64_t> taken_{0};
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_HOST_MEMORY_H_

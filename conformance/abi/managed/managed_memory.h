// Managed memory for tests.

#ifndef TWINMMU_CONFORMANCE_ABI_MANAGED_MANAGED_MEMORY_H_
#define TWINMMU_CONFORMANCE_ABI_MANAGED_MANAGED_MEMORY_H_

#include <array>
#include <cstddef>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

inline constexpr size_t kPage = 4096;  // of the host: what hints are kept for
inline constexpr size_t kMiB = size_t{1} << 20;

// In the current context. Freed at the end.
class Managed {
 public:
  explicit Managed(size_t size, unsigned int flags = CU_MEM_ATTACH_GLOBAL) : size_(size) {
    EXPECT_EQ(cuMemAllocManaged(&address_, size, flags), CUDA_SUCCESS);
  }
  ~Managed() { EXPECT_EQ(cuMemFree(address_), CUDA_SUCCESS); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;

  CUdeviceptr address() const { return address_; }
  size_t size() const { return size_; }
  void* pointer() const { return reinterpret_cast<void*>(address_); }
  volatile int* ints() const { return reinterpret_cast<volatile int*>(address_); }
  volatile char* bytes() const { return reinterpret_cast<volatile char*>(address_); }

 private:
  const size_t size_;
  CUdeviceptr address_ = 0;
};

// An attribute of pages that is a number.
inline int RangeAttribute(CUmem_range_attribute attribute, CUdeviceptr address, size_t size) {
  int value = 0x77777777;
  EXPECT_EQ(cuMemRangeGetAttribute(&value, sizeof(value), attribute, address, size), CUDA_SUCCESS);
  return value;
}

// LAST_PREFETCH_LOCATION, its type and its id.
using Where = std::array<int, 3>;
inline Where LastPrefetch(CUdeviceptr address, size_t size) {
  return {RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, address, size),
          RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, address, size),
          RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, address, size)};
}
inline Where LastPrefetch(const Managed& memory) {
  return LastPrefetch(memory.address(), memory.size());
}
inline constexpr Where kNeverPrefetched = {CU_DEVICE_INVALID, 0, CU_DEVICE_INVALID};

// PREFERRED_LOCATION, its type and its id.
inline Where Preferred(CUdeviceptr address, size_t size) {
  return {RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, address, size),
          RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, address, size),
          RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, address, size)};
}
inline constexpr Where kNotPreferred = {CU_DEVICE_INVALID, 0, CU_DEVICE_INVALID};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_MANAGED_MANAGED_MEMORY_H_

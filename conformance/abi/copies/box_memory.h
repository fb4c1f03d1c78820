// Memory for tests of copies and fills that have rows.

#ifndef TWINMMU_CONFORMANCE_ABI_COPIES_BOX_MEMORY_H_
#define TWINMMU_CONFORMANCE_ABI_COPIES_BOX_MEMORY_H_

#include <cstddef>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

using Content = std::vector<unsigned char>;

// Bytes that differ from their neighbours.
Content Numbered(size_t size);
void Write(CUdeviceptr address, const Content& bytes);
Content Read(CUdeviceptr address, size_t size);

// Neighbouring mappings, each with memory of its own; none where there is a hole.
class Mappings {
 public:
  explicit Mappings(const std::vector<bool>& is_mapped);
  ~Mappings();
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
  const std::vector<bool> is_mapped_;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_COPIES_BOX_MEMORY_H_

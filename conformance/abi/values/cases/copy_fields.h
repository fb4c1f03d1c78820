// The fields of a copy of a box.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_CASES_COPY_FIELDS_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_CASES_COPY_FIELDS_H_

#include <cstdint>
#include <vector>

#include "conformance/abi/values/trial.h"

namespace twinmmu::abi {

// What is of the host has no address, and is refused.
inline std::vector<uint64_t> MemoryTypes() { return {0, 1, 2, 3, 4, 5, 6, 0x7fffffff, 0xffffffff}; }

// CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER.
template <typename Copy>
void VaryBox(Trial& trial, Copy& copy) {
  trial.Size(FIELD(copy.srcXInBytes));
  trial.Size(FIELD(copy.srcY));
  trial.Size(FIELD(copy.srcZ));
  trial.Any(FIELD(copy.srcLOD));
  trial.OneOf(MemoryTypes(), FIELD(copy.srcMemoryType));
  trial.Size(FIELD(copy.srcPitch));
  trial.Size(FIELD(copy.srcHeight));
  trial.Size(FIELD(copy.dstXInBytes));
  trial.Size(FIELD(copy.dstY));
  trial.Size(FIELD(copy.dstZ));
  trial.Any(FIELD(copy.dstLOD));
  trial.OneOf(MemoryTypes(), FIELD(copy.dstMemoryType));
  trial.Size(FIELD(copy.dstPitch));
  trial.Size(FIELD(copy.dstHeight));
  trial.Size(FIELD(copy.WidthInBytes));
  trial.Size(FIELD(copy.Height));
  trial.Size(FIELD(copy.Depth));
}
}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_CASES_COPY_FIELDS_H_

// The driver's types for checkpoints of processes: written down from the documentation of
// CUDA 13.0.

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_CHECKPOINT_ABI_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_CHECKPOINT_ABI_H_

#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cuda_abi {

using CUprocessState = int;

struct CUcheckpointLockArgs {
  unsigned int timeoutMs;  // 0: there is no limit
  unsigned int reserved0;
  unsigned long long reserved1[7];
};

struct CUcheckpointCheckpointArgs {
  unsigned long long reserved[8];
};

struct CUcheckpointGpuPair {
  CUuuid oldUuid;
  CUuuid newUuid;
};

struct CUcheckpointRestoreArgs {
  CUcheckpointGpuPair* gpuPairs;
  unsigned int gpuPairsCount;
  char reserved[44];
  unsigned long long reserved1;
};

struct CUcheckpointUnlockArgs {
  unsigned long long reserved[8];
};

}  // namespace twinmmu::cuda_abi

#endif  // TWINMMU_THIRD_PARTY_CUDA_ABI_CHECKPOINT_ABI_H_

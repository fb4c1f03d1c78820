// Operations on words of memory, as streams and graphs make them in batches.

#ifndef TWINMMU_CONFORMANCE_ABI_STREAMS_BATCH_OPERATIONS_H_
#define TWINMMU_CONFORMANCE_ABI_STREAMS_BATCH_OPERATIONS_H_

#include <cstdint>

#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {

inline constexpr unsigned int kGeq = CU_STREAM_WAIT_VALUE_GEQ;
inline constexpr unsigned int kEqual = CU_STREAM_WAIT_VALUE_EQ;
inline constexpr unsigned int kAnd = CU_STREAM_WAIT_VALUE_AND;
inline constexpr unsigned int kNor = CU_STREAM_WAIT_VALUE_NOR;
inline constexpr unsigned int kFlush = CU_STREAM_WAIT_VALUE_FLUSH;

inline CUstreamBatchMemOpParams Operation(int type, CUdeviceptr address, uint64_t value,
                                          unsigned int flags = 0) {
  CUstreamBatchMemOpParams operation = {};
  operation.waitValue.operation = static_cast<CUstreamBatchMemOpType>(type);
  operation.waitValue.address = address;
  operation.waitValue.value64 = value;
  operation.waitValue.flags = flags;
  return operation;
}
inline CUstreamBatchMemOpParams Write(CUdeviceptr address, uint64_t value, unsigned int flags = 0) {
  return Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
inline CUstreamBatchMemOpParams Wait(CUdeviceptr address, uint64_t value,
                                     unsigned int flags = kEqual) {
  return Operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
inline CUstreamBatchMemOpParams Fence(CUstreamBatchMemOpType type, unsigned int flags) {
  CUstreamBatchMemOpParams operation = {};
  operation.memoryBarrier.operation = type;
  operation.memoryBarrier.flags = flags;
  return operation;
}

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_STREAMS_BATCH_OPERATIONS_H_

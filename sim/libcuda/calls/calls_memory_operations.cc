// Streams that wait for words of memory, and write them. The codes are those of an H100 with driver
// 580.159, which does not have the first version of these functions.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/memory_batches.h"

namespace twinmmu::libcuda {
namespace {

// Calls body(driver, context), with the context of the stream; that need not be the current one,
// but for default streams.
template <typename Body>
CUresult EnterInContextOf(const CallSite& site, CUstream stream, const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    const std::optional<StreamRecord> record = driver.streams.streams.Find(ToNumber(stream));
    Context* context = record.has_value() ? record->context : nullptr;
    const DriverCode found =
        context == nullptr ? CurrentContext(site, &context) : DriverCode::kSuccess;
    return found == DriverCode::kSuccess ? ToResult(body(driver, *context)) : ToResult(found);
  });
}

CUresult Do(const CallSite& site, BatchVersion version, CUstream stream,
            absl::Span<const CUstreamBatchMemOpParams> parameters) {
  return EnterInContextOf(site, stream, [&](DriverState& driver, Context& context) {
    if (!HasBatches(driver, context, version)) return ToResult(DriverCode::kNotSupported);
    const Captured captured = CaptureBatch(site, driver, context, version, parameters, stream);
    if (captured.has_value()) return *captured;
    std::vector<MemoryOperation> operations;
    const DriverCode valid = ToOperations(driver, context, version, parameters, &operations);
    if (valid != DriverCode::kSuccess) return ToResult(valid);
    const Stream work = WorkOf(driver, context, stream);
    return ToResult(driver.simulator->memory_operations().Submit(site.name(), work, operations));
  });
}

CUresult DoOne(const CallSite& site, BatchVersion version, CUstreamBatchMemOpType operation,
               CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags) {
  CUstreamBatchMemOpParams parameters = {};
  CUstreamBatchMemOpParams::Word& word = parameters.waitValue;  // and writeValue, which is the same
  word.operation = operation;
  word.address = address;
  word.value64 = value;
  word.flags = flags;
  return Do(site, version, stream, absl::MakeConstSpan(&parameters, 1));
}

CUresult DoBatch(const CallSite& site, BatchVersion version, CUstream stream, unsigned int count,
                 const CUstreamBatchMemOpParams* parameters, unsigned int flags) {
  const bool valid =
      flags == 0 && count < kTooManyOperations && (parameters != nullptr || count == 0);
  if (valid) return Do(site, version, stream, absl::MakeConstSpan(parameters, count));
  return EnterInContextOf(site, stream, [&](DriverState& driver, Context& context) {
    if (!HasBatches(driver, context, version)) return DriverCode::kNotSupported;
    return parameters == nullptr ? NullPointer(site) : DriverCode::kInvalidValue;
  });
}

}  // namespace

extern "C" CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                                        unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WAIT_VALUE_32, stream, address,
               value, flags);
}
TWINMMU_ALIAS(cuStreamWaitValue32_ptsz, cuStreamWaitValue32);

extern "C" CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                           unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WAIT_VALUE_32, stream, address,
               value, flags);
}
TWINMMU_ALIAS(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32_v2);

extern "C" CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                                        unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WAIT_VALUE_64, stream, address,
               value, flags);
}
TWINMMU_ALIAS(cuStreamWaitValue64_ptsz, cuStreamWaitValue64);

extern "C" CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                           unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WAIT_VALUE_64, stream, address,
               value, flags);
}
TWINMMU_ALIAS(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64_v2);

extern "C" CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                                         unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WRITE_VALUE_32, stream, address,
               value, flags);
}
TWINMMU_ALIAS(cuStreamWriteValue32_ptsz, cuStreamWriteValue32);

extern "C" CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                            unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WRITE_VALUE_32, stream,
               address, value, flags);
}
TWINMMU_ALIAS(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2);

extern "C" CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                                         unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WRITE_VALUE_64, stream, address,
               value, flags);
}
TWINMMU_ALIAS(cuStreamWriteValue64_ptsz, cuStreamWriteValue64);

extern "C" CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                            unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WRITE_VALUE_64, stream,
               address, value, flags);
}
TWINMMU_ALIAS(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2);

extern "C" CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams* parameters, unsigned int flags) {
  return DoBatch(TWINMMU_HERE, BatchVersion::kFirst, stream, count, parameters, flags);
}
TWINMMU_ALIAS(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp);

extern "C" CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                          CUstreamBatchMemOpParams* parameters,
                                          unsigned int flags) {
  return DoBatch(TWINMMU_HERE, BatchVersion::kSecond, stream, count, parameters, flags);
}
TWINMMU_ALIAS(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp_v2);

}  // namespace twinmmu::libcuda

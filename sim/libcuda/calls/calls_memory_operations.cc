// Streams that wait for words of memory, and write them. The codes are those of an H100 with driver
// 580.159, which does not have the first version of these functions.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/memory_batches.h"
#include "sim/libcuda/calls/of_thread.h"

namespace twinmmu::libcuda {
namespace {

// What devices say that they can. The first version of the functions has attributes of its own.
struct Capabilities {
  bool any;
  bool words_of_64_bits;
  bool nor;
  bool flush;  // of what other devices than GPUs wrote, which here is there when it is written
  unsigned int write_flags;
};
Capabilities CapabilitiesOf(DriverState& driver, const Context& context, BatchVersion version) {
  const auto has = [&](int attribute) {
    return driver.simulator->profile().Supports(static_cast<DeviceAttribute>(attribute),
                                                context.device.value());
  };
  const bool first = version == BatchVersion::kFirst;
  return {!first || has(92), has(first ? 93 : 122), has(first ? 94 : 123), has(98),
          first ? CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER : 0};
}

using Word = CUstreamBatchMemOpParams::Word;

// What is wrong with it, if anything is.
DriverCode ToWait(const Capabilities& can, const Word& word, MemoryOperation* operation) {
  const unsigned int condition = word.flags & ~CU_STREAM_WAIT_VALUE_FLUSH;
  if (condition > CU_STREAM_WAIT_VALUE_NOR) return DriverCode::kInvalidValue;
  if (condition == CU_STREAM_WAIT_VALUE_NOR && !can.nor) return DriverCode::kNotSupported;
  if (condition != word.flags && !can.flush) return DriverCode::kNotSupported;
  operation->kind = MemoryOperation::kWait;
  operation->condition = static_cast<MemoryOperation::Condition>(condition);
  return DriverCode::kSuccess;
}

// The second version takes no flags, though its documentation has one.
DriverCode ToWrite(const Capabilities& can, const Word& word, MemoryOperation* operation) {
  if ((word.flags & ~can.write_flags) != 0) return DriverCode::kInvalidValue;
  operation->kind = MemoryOperation::kWrite;
  operation->releases = word.flags == CU_STREAM_WRITE_VALUE_DEFAULT;
  return DriverCode::kSuccess;
}

bool Is64(CUstreamBatchMemOpType operation) {
  return operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
         operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

// A batch on its way to the simulator. A barrier is one with the writes behind it.
class Batch {
 public:
  explicit Batch(const Capabilities& can) : can_(can) {}

  // What is wrong with it, if anything is.
  DriverCode Add(const CUstreamBatchMemOpParams& parameters) {
    switch (parameters.operation) {
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        if (!can_.flush)
          return AreAligned() ? DriverCode::kNotSupported : DriverCode::kInvalidValue;
        return parameters.flushRemoteWrites.flags == 0 ? DriverCode::kSuccess
                                                       : DriverCode::kInvalidValue;
      case CU_STREAM_MEM_OP_BARRIER:
        fenced_ = true;
        return parameters.memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                   ? DriverCode::kSuccess
                   : DriverCode::kInvalidValue;
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return AddWord(parameters);
      default:
        return DriverCode::kInvalidValue;
    }
  }

  std::vector<MemoryOperation> TakeOperations() { return std::move(operations_); }

 private:
  DriverCode AddWord(const CUstreamBatchMemOpParams& parameters) {
    const bool waits = parameters.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                       parameters.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    const bool of_64_bits = Is64(parameters.operation);
    if (of_64_bits && !can_.words_of_64_bits) return DriverCode::kNotSupported;
    const Word& word = waits ? parameters.waitValue : parameters.writeValue;
    MemoryOperation operation;
    const DriverCode valid =
        waits ? ToWait(can_, word, &operation) : ToWrite(can_, word, &operation);
    operation.address = DeviceAddress(word.address);
    operation.width = Bytes(of_64_bits ? 8 : 4);
    operation.value = of_64_bits ? word.value64 : word.value;
    operation.releases |= fenced_;
    operations_.push_back(operation);
    return valid;
  }

  bool AreAligned() const {
    return std::all_of(operations_.begin(), operations_.end(), [](const MemoryOperation& each) {
      return each.address.value() % each.width.value() == 0;
    });
  }

  const Capabilities can_;
  bool fenced_ = false;
  std::vector<MemoryOperation> operations_;
};

}  // namespace

bool HasBatches(DriverState& driver, const Context& context, BatchVersion version) {
  return CapabilitiesOf(driver, context, version).any;
}

DriverCode ToOperations(DriverState& driver, const Context& context, BatchVersion version,
                        absl::Span<const CUstreamBatchMemOpParams> parameters,
                        std::vector<MemoryOperation>* operations) {
  Batch batch(CapabilitiesOf(driver, context, version));
  for (const CUstreamBatchMemOpParams& each : parameters) {
    const DriverCode valid = batch.Add(each);
    if (valid != DriverCode::kSuccess) return valid;
  }
  *operations = batch.TakeOperations();
  return DriverCode::kSuccess;
}

namespace {

CUresult Do(const CallSite& site, BatchVersion version, CUstream stream,
            absl::Span<const CUstreamBatchMemOpParams> parameters) {
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& current) {
    Context& context = OwnerOf(driver, stream, current);
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
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& current) {
    const Context& context = OwnerOf(driver, stream, current);
    if (!HasBatches(driver, context, version)) return DriverCode::kNotSupported;
    CheckLegacyUncaptured(driver, current, stream);
    return parameters == nullptr ? NullPointer(site) : DriverCode::kInvalidValue;
  });
}

}  // namespace

extern "C" CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                                        unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WAIT_VALUE_32, stream, address,
               value, flags);
}
TWINMMU_OF_THREAD(cuStreamWaitValue32_ptsz, cuStreamWaitValue32,
                  (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                           unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WAIT_VALUE_32, stream, address,
               value, flags);
}
TWINMMU_OF_THREAD(cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue32_v2,
                  (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                                        unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WAIT_VALUE_64, stream, address,
               value, flags);
}
TWINMMU_OF_THREAD(cuStreamWaitValue64_ptsz, cuStreamWaitValue64,
                  (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                           unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WAIT_VALUE_64, stream, address,
               value, flags);
}
TWINMMU_OF_THREAD(cuStreamWaitValue64_v2_ptsz, cuStreamWaitValue64_v2,
                  (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                                         unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WRITE_VALUE_32, stream, address,
               value, flags);
}
TWINMMU_OF_THREAD(cuStreamWriteValue32_ptsz, cuStreamWriteValue32,
                  (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                            unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WRITE_VALUE_32, stream,
               address, value, flags);
}
TWINMMU_OF_THREAD(cuStreamWriteValue32_v2_ptsz, cuStreamWriteValue32_v2,
                  (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                                         unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kFirst, CU_STREAM_MEM_OP_WRITE_VALUE_64, stream, address,
               value, flags);
}
TWINMMU_OF_THREAD(cuStreamWriteValue64_ptsz, cuStreamWriteValue64,
                  (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                            unsigned int flags) {
  return DoOne(TWINMMU_HERE, BatchVersion::kSecond, CU_STREAM_MEM_OP_WRITE_VALUE_64, stream,
               address, value, flags);
}
TWINMMU_OF_THREAD(cuStreamWriteValue64_v2_ptsz, cuStreamWriteValue64_v2,
                  (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags),
                  OfThread(stream), address, value, flags)

extern "C" CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                       CUstreamBatchMemOpParams* parameters, unsigned int flags) {
  return DoBatch(TWINMMU_HERE, BatchVersion::kFirst, stream, count, parameters, flags);
}
TWINMMU_OF_THREAD(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp,
                  (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* parameters,
                   unsigned int flags),
                  OfThread(stream), count, parameters, flags)

extern "C" CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                          CUstreamBatchMemOpParams* parameters,
                                          unsigned int flags) {
  return DoBatch(TWINMMU_HERE, BatchVersion::kSecond, stream, count, parameters, flags);
}
TWINMMU_OF_THREAD(cuStreamBatchMemOp_v2_ptsz, cuStreamBatchMemOp_v2,
                  (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* parameters,
                   unsigned int flags),
                  OfThread(stream), count, parameters, flags)

}  // namespace twinmmu::libcuda

#include "sim/libcuda/calls/memory_batches.h"

#include <utility>

namespace twinmmu::libcuda {
namespace {

using namespace cuda_abi;  // NOLINT: the driver's types, under the driver's names

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
        if (!can_.flush) return DriverCode::kNotSupported;
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

}  // namespace twinmmu::libcuda

#include "sim/libcuda/graphs/batch_nodes.h"

#include <memory>
#include <vector>

namespace twinmmu::libcuda {

CUresult MakeBatch(DriverState& driver, Context& context, BatchVersion version,
                   absl::Span<const CUstreamBatchMemOpParams> operations, BatchWork* made) {
  std::vector<MemoryOperation> checked;
  const DriverCode valid = ToOperations(driver, context, version, operations, &checked);
  if (valid != DriverCode::kSuccess) return ToResult(valid);
  // Whether there is memory is asked when the node runs.
  for (const MemoryOperation& operation : checked) {
    if (operation.address.value() % operation.width.value() != 0) return kInvalidValue;
  }
  made->context = &context;
  made->of_first_version = version == BatchVersion::kFirst;
  made->operations =
      std::make_shared<std::vector<CUstreamBatchMemOpParams>>(operations.begin(), operations.end());
  return CUDA_SUCCESS;
}

CUresult MakeBatch(const CallSite& site, DriverState& driver,
                   const CUDA_BATCH_MEM_OP_NODE_PARAMS& given, BatchWork* made) {
  if (given.ctx == nullptr) return kInvalidValue;
  Context* context = nullptr;
  const DriverCode known = FindAlive(site, driver, given.ctx, &context);
  if (known != DriverCode::kSuccess) return ToResult(known);
  if (given.count >= kTooManyOperations) return kInvalidValue;
  if (given.paramArray == nullptr && given.count != 0) return kInvalidValue;
  const CUresult fault = FaultOf(site, driver);
  if (fault != CUDA_SUCCESS) return fault;
  if (given.flags != 0) return kInvalidValue;
  return MakeBatch(driver, *context, BatchVersion::kSecond,
                   absl::MakeConstSpan(given.paramArray, given.count), made);
}

CUresult Submit(const CallSite& site, DriverState& driver, const BatchWork& work, Stream stream) {
  const BatchVersion version = work.of_first_version ? BatchVersion::kFirst : BatchVersion::kSecond;
  std::vector<MemoryOperation> operations;
  const DriverCode valid =
      ToOperations(driver, *work.context, version, *work.operations, &operations);
  if (valid != DriverCode::kSuccess) return ToResult(valid);
  return ToResult(driver.simulator->memory_operations().Submit(site.name(), stream, operations));
}

}  // namespace twinmmu::libcuda

#include "conformance/small_scope/pools/pool_machine.h"

#include "absl/strings/str_cat.h"

namespace twinmmu::conformance::small_scope {
namespace {

// abi::cuInit and so on.
using namespace abi;  // NOLINT

constexpr size_t kTagSize = sizeof(uint32_t);

void Need(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

std::string Wanted(const char* what, uint64_t expected, uint64_t found) {
  if (expected == found) return "";
  return absl::StrCat(what, ": ", expected, " expected, but it is ", found, "\n");
}

}  // namespace

PoolMachine::PoolMachine() {
  Need(cuInit(0));
  Need(cuDevicePrimaryCtxRetain(&context_, 0));
  Need(cuCtxSetCurrent(context_));
  for (CUstream& made : streams_) Need(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING));
  Need(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
}

PoolMachine::~PoolMachine() {
  if (!destroyed_) End();
  Need(cuEventDestroy(event_));
  for (const CUstream made : streams_) Need(cuStreamDestroy(made));
  Need(cuCtxSetCurrent(nullptr));
  Need(cuDevicePrimaryCtxRelease(0));
}

void PoolMachine::Begin(const PoolRules& rules) {
  memory_ = FreeMemory();
  PoolProps props;
  props.most = static_cast<size_t>(rules.most_chunks * kCellsOfChunk) * kCellSize;
  Need(create_pool(&pool_, &props));
  destroyed_ = false;
  origin_ = 0;
  Need(SetNumber(kFollowEventDependencies, rules.follow_events ? 1 : 0));
  Need(SetNumber(kAllowOpportunistic, rules.opportunistic ? 1 : 0));
  Need(SetNumber(kAllowInternalDependencies, rules.internal_dependencies ? 1 : 0));
}

PoolAnswer PoolMachine::Do(const PoolStep& step) {
  const auto answer = [](CUresult result) { return PoolAnswer{static_cast<DriverCode>(result)}; };
  switch (step.kind) {
    case PoolStep::kAllocate:
      return Allocate(StreamOf(step), step.number);
    case PoolStep::kFree:
      return answer(Free(StreamOf(step), step.number));
    case PoolStep::kSynchronizeStream:
      return answer(cuStreamSynchronize(StreamOf(step)));
    case PoolStep::kSynchronizeEvent:
      return answer(cuEventSynchronize(event_));
    case PoolStep::kRecord:
      return answer(cuEventRecord(event_, StreamOf(step)));
    case PoolStep::kWait:
      return answer(cuStreamWaitEvent(StreamOf(step), event_, 0));
    case PoolStep::kTrim:
      return answer(trim_pool(pool_, static_cast<size_t>(step.number * kCellsOfChunk) * kCellSize));
    case PoolStep::kSetThreshold:
      return answer(SetNumber(kReleaseThreshold, step.number != 0 ? ~uint64_t{0} : 0));
    case PoolStep::kForgetUsedHigh:
      return answer(SetNumber(kUsedHigh, 0));
    case PoolStep::kForgetReservedHigh:
      return answer(SetNumber(kReservedHigh, 0));
    case PoolStep::kDestroy: {
      const CUresult result = destroy_pool(pool_);
      if (result == CUDA_SUCCESS) destroyed_ = true;
      return answer(result);
    }
  }
  return {};
}

PoolAnswer PoolMachine::Allocate(CUstream stream, int cells) {
  Block block;
  block.size = static_cast<size_t>(cells) * kCellSize;
  const CUresult result = allocate_from(&block.address, block.size, pool_, stream);
  if (result != CUDA_SUCCESS) return {static_cast<DriverCode>(result)};
  if (origin_ == 0) origin_ = block.address;
  block.tag = ++last_tag_;
  Need(cuMemsetD32Async(block.address, block.tag, 1, stream));
  Need(cuMemsetD32Async(block.address + block.size - kTagSize, block.tag, 1, stream));
  const auto distance = static_cast<int64_t>(block.address - origin_);
  const auto cell = static_cast<int>(distance / static_cast<int64_t>(kCellSize));
  blocks_[cell] = block;
  return {DriverCode::kSuccess, cell};
}

CUresult PoolMachine::Free(CUstream stream, int cell) {
  const CUresult result = free_async(AddressOfCell(cell), stream);
  if (result == CUDA_SUCCESS) blocks_.erase(cell);
  return result;
}

CUresult PoolMachine::SetNumber(PoolAttributeNumber attribute, uint64_t value) {
  return set_attribute(pool_, attribute, &value);
}

std::string PoolMachine::Compare(const PoolModel& model) const {
  std::string wrong = CompareAttributes(model);
  const auto taken = static_cast<size_t>(model.counts().reserved) * kCellSize;
  wrong += Wanted("memory of the device that is taken", taken, memory_ - FreeMemory());
  for (int cell = 0; origin_ != 0 && cell < kCellsInView; ++cell) {
    const std::optional<int> cells = model.BlockAt(cell);
    CUdeviceptr base = 0;
    size_t size = 0;
    const CUresult result = cuMemGetAddressRange(&base, &size, AddressOfCell(cell));
    if (!cells.has_value() && result == CUDA_SUCCESS && base == AddressOfCell(cell)) {
      absl::StrAppend(&wrong, "a block begins at cell ", cell, "\n");
    }
    if (!cells.has_value()) continue;
    wrong += Wanted("cuMemGetAddressRange of a block", CUDA_SUCCESS, result);
    wrong += Wanted("begin of the block", AddressOfCell(cell), base);
    wrong += Wanted("size of the block", static_cast<size_t>(*cells) * kCellSize, size);
  }
  return wrong;
}

std::string PoolMachine::CompareAttributes(const PoolModel& model) const {
  const PoolRules& rules = model.rules();
  const PoolModel::Counts& counts = model.counts();
  const auto bytes = [](int cells) { return static_cast<size_t>(cells) * kCellSize; };
  const struct {
    const char* name;
    PoolAttributeNumber number;
    uint64_t value;
  } kAttributes[] = {
      {"follows events", kFollowEventDependencies, rules.follow_events ? 1u : 0u},
      {"is opportunistic", kAllowOpportunistic, rules.opportunistic ? 1u : 0u},
      {"has internal dependencies", kAllowInternalDependencies,
       rules.internal_dependencies ? 1u : 0u},
      {"release threshold", kReleaseThreshold, model.keeps_all() ? ~uint64_t{0} : 0},
      {"reserved", kReserved, bytes(counts.reserved)},
      {"most reserved", kReservedHigh, bytes(counts.reserved_high)},
      {"used", kUsed, bytes(counts.used)},
      {"most used", kUsedHigh, bytes(counts.used_high)},
  };
  const CUresult expected = model.destroyed() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  std::string wrong;
  for (const auto& attribute : kAttributes) {
    uint64_t value = 0;
    const CUresult result = get_attribute(pool_, attribute.number, &value);
    wrong += Wanted("result of cuMemPoolGetAttribute", expected, result);
    if (result == CUDA_SUCCESS) wrong += Wanted(attribute.name, attribute.value, value);
  }
  return wrong;
}

std::string PoolMachine::End() {
  std::string wrong = Wanted("result of cuCtxSynchronize", CUDA_SUCCESS, cuCtxSynchronize());
  for (const auto& [cell, block] : blocks_) {
    for (const CUdeviceptr end : {block.address, block.address + block.size - kTagSize}) {
      uint32_t tag = 0;
      wrong += Wanted("result of cuMemcpyDtoH", CUDA_SUCCESS, cuMemcpyDtoH(&tag, end, kTagSize));
      wrong += Wanted("what was written to a block", block.tag, tag);
    }
    wrong +=
        Wanted("result of cuMemFreeAsync", CUDA_SUCCESS, free_async(block.address, streams_[0]));
  }
  blocks_.clear();
  if (!destroyed_) {
    wrong += Wanted("result of cuMemPoolDestroy", CUDA_SUCCESS, destroy_pool(pool_));
  }
  destroyed_ = true;
  wrong += Wanted("result of cuCtxSynchronize", CUDA_SUCCESS, cuCtxSynchronize());
  wrong += Wanted("memory of the device at the end", memory_, FreeMemory());
  return wrong;
}

}  // namespace twinmmu::conformance::small_scope

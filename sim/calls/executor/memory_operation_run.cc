#include "sim/calls/executor/memory_operation_run.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/diagnostics/alias_reports.h"
#include "sim/diagnostics/call_record.h"
#include "sim/host/guarded_access.h"

namespace twinmmu {
namespace {

// A turn that came later than this came late, which is not what the word took.
constexpr std::chrono::microseconds kLongestTurn(100'000);

// An H100 refuses all other memory: managed memory, and that of pools.
bool HasWords(LinearKind kind) {
  return kind == LinearKind::kDevice || kind == LinearKind::kModule ||
         kind == LinearKind::kPinned || kind == LinearKind::kRegistered ||
         kind == LinearKind::kForeign;
}

// Whether neither the CPU nor another process can write the word, which is there.
bool IsOnlyForStreams(const Mmu& mmu, DeviceAddress address) {
  const MappingRecord* const mapping = mmu.MappingAt(address);
  if (mapping == nullptr) {
    const LinearAllocation* const linear = mmu.linear.Find(address);
    return linear != nullptr && linear->on_device() && !linear->shared;
  }
  const AllocationRecord& allocation = mmu.AllocationOf(*mapping);
  return !allocation.imported && allocation.mappings == 1 &&
         allocation.properties.requested_handle_types == HandleType::kNone &&
         mmu.At(address).access(mmu.host) == Access::kNone;
}

const char* InWords(MemoryOperation::Condition condition) {
  switch (condition) {
    case MemoryOperation::kGreaterOrEqual:
      return " to reach ";
    case MemoryOperation::kEqual:
      return " to be ";
    case MemoryOperation::kAnd:
      return " to have a bit of ";
    case MemoryOperation::kNor:
      break;
  }
  return " to lack a bit besides ";
}

}  // namespace

bool CanUseWord(const Mmu& mmu, DeviceOrdinal device, const AddressRange& range, Access access) {
  if (mmu.CanAccess(device, range, access)) return true;
  const LinearAllocation* const linear = mmu.linear.Find(range.base);
  return linear != nullptr && HasWords(linear->kind) && mmu.linear.CanReach(device, *linear);
}

MemoryOperationRun::MemoryOperationRun(SimulatorState* state, const char* call, Stream stream,
                                       const MemoryOperation& operation, uint64_t call_id,
                                       OperationOrder::Operation order,
                                       std::shared_ptr<const SiteSource> call_sites)
    : state_(*state),
      call_(call),
      stream_(stream),
      operation_(operation),
      call_id_(call_id),
      order_(std::move(order)),
      call_sites_(std::move(call_sites)),
      last_turn_(std::chrono::steady_clock::now()) {}

Progress MemoryOperationRun::Run(Turn turn) {
  if (state_.sticky_error.HasFault()) return Progress::kDone;
  if (!std::exchange(begun_, true)) {
    // Copies that found nobody who looks at their memory meanwhile are done.
    { const std::unique_lock lock(mmu_.mutex); }
    clocks_ = state_.order.Begin(order_);
  }
  Fault fault;
  const bool performed = Perform(&fault);
  if (!fault.range.empty()) {
    Raise(fault);
    return Progress::kDone;
  }
  if (performed) {
    state_.TellOthers(order_, call_id_, clocks_);
    state_.order.End(order_, clocks_);
    return Progress::kDone;
  }
  if (turn != Turn::kInVain && !IsOverBudget(turn)) return Progress::kWaiting;
  Endless(turn);
  return Progress::kDone;
}

bool MemoryOperationRun::Perform(Fault* fault) {
  const AddressRange range = operation_.range();
  const DeviceOrdinal device = stream_.device();
  const bool waits = operation_.kind == MemoryOperation::kWait;
  const std::shared_lock lock(mmu_.mutex);
  const Access access = waits ? Access::kRead : Access::kReadWrite;
  const bool can = CanUseWord(mmu_, device, range, access);
  const void* missing = nullptr;
  bool done = false;
  if (can) {
    ObservedWork::Part word{nullptr, range.base};
    mmu_.ForEachPiece(range, [&](char* memory, uint64_t) { word.memory = memory; });
    done = waits ? Look(word, &missing) : Write(word, &missing);
  }
  if (!can) *fault = Fault{call_, range, access, Location::Device(device)};
  if (missing != nullptr) *fault = Fault{call_, range, access, Location::Host()};
  return done;
}

bool MemoryOperationRun::Look(const ObservedWork::Part& word, const void** missing) {
  const uint64_t width = operation_.width.value();
  seen_ = 0;
  *missing = GuardedCopy(reinterpret_cast<char*>(&seen_), word.memory, width, true);
  std::atomic_thread_fence(std::memory_order_acquire);
  needs_streams_ = IsOnlyForStreams(mmu_, operation_.address);
  if (*missing != nullptr || !operation_.HoldsFor(seen_)) return false;
  Observed().ReadFlag(word, static_cast<uint32_t>(width));
  return true;
}

bool MemoryOperationRun::Write(const ObservedWork::Part& word, const void** missing) {
  const uint64_t width = operation_.width.value();
  const uint64_t value = operation_.value;
  std::atomic_thread_fence(std::memory_order_release);
  Observed().WriteFlag(word, static_cast<uint32_t>(width), operation_.releases, [&] {
    *missing = GuardedCopy(word.memory, reinterpret_cast<const char*>(&value), width, true);
  });
  return *missing == nullptr;
}

ObservedWork MemoryOperationRun::Observed() {
  return ObservedWork(&state_, stream_.device(), SiteOfCall(state_, call_sites_, call_), call_id_,
                      &clocks_);
}

void MemoryOperationRun::Raise(const Fault& fault) {
  constexpr auto kCode = DriverCode::kLaunchFailed;
  try {
    state_.sticky_error.Raise(call_, kCode, fault.Reason());
  } catch (const std::bad_alloc&) {
    state_.sticky_error.Raise(call_, kCode, "it faulted");  // short enough to need no memory
  }
  const std::shared_lock lock(mmu_.mutex);
  ReportFault(state_, call_id_, fault);
}

// Only what the program waits: as long as it does other things, a wait may take forever.
bool MemoryOperationRun::IsOverBudget(Turn turn) {
  const auto now = std::chrono::steady_clock::now();
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now - last_turn_);
  last_turn_ = now;
  const bool asked = turn == Turn::kWaitedFor || turn == Turn::kShared || turn == Turn::kAskedAfter;
  if (asked) waited_ += std::min(since, kLongestTurn);
  return waited_ > std::chrono::milliseconds(mmu_.profile.wait_budget_ms);
}

void MemoryOperationRun::Endless(Turn turn) {
  const std::shared_lock lock(mmu_.mutex);
  try {
    std::string words =
        absl::StrCat("stream ", stream_.value(), " of ", ToString(stream_.device()), " waits for ",
                     ToString(operation_.width), " at ", ToString(operation_.address),
                     InWords(operation_.condition), operation_.value, ", but they are ", seen_);
    if (turn == Turn::kInVain) {
      absl::StrAppend(&words, "; no other stream can go on, and nothing else can write them");
    } else {
      absl::StrAppend(&words, ", after ", mmu_.profile.wait_budget_ms,
                      " ms, the wait_budget_ms of the profile");
    }
    const Misuse misuse{DiagnosticKind::kEndlessWait, operation_.address, std::nullopt,
                        stream_.device()};
    CallRecord(state_, FindCall(call_), operation_.range(), 0, call_id_)
        .Report(Severity::kError, misuse, words);
    state_.sticky_error.Raise(call_, DriverCode::kLaunchTimeout, std::move(words));
  } catch (const std::bad_alloc&) {
    state_.sticky_error.Raise(call_, DriverCode::kLaunchTimeout, "it waits");
  }
}

}  // namespace twinmmu

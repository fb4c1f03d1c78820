#include "sim/calls/executor/kernel_run.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "api/record/event_writer.h"
#include "sim/diagnostics/call_record.h"
#include "sim/diagnostics/explain.h"
#include "sim/diagnostics/pooled_uses.h"
#include "sim/host/processors.h"

namespace twinmmu {
namespace {

constexpr char kCall[] = "cuLaunchKernel";

// The threads that count for the turn at the launch.
constexpr uint64_t kMostThreads = 1024;

// Instructions of threads in one turn. Ordinary kernels are done after the first one, at the launch
// on an eager machine; one whose threads go on and on is not.
constexpr uint64_t kPerThreadAtTheCall = uint64_t{1} << 16;
constexpr uint64_t kInPassing = uint64_t{1} << 12;
constexpr uint64_t kAskedAfter = uint64_t{1} << 18;
// For each thread of the host: starting them takes a small part of that.
constexpr uint64_t kShared = uint64_t{1} << 21;
constexpr uint64_t kWaitedFor = uint64_t{1} << 24;

// How many budgets a kernel has whose blocks go on storing results.
constexpr uint64_t kBudgetsWithResults = 30;

// What a kernel that waits is charged: about what it would cost if it ran.
constexpr uint64_t kPerMicrosecond = 125;

uint64_t Count(const Dim3& extent) {
  // No factor is more than 2^32, and no more than kMostThreads are told apart.
  uint64_t count = std::min<uint64_t>(extent.x, kMostThreads);
  count = std::min(count * std::min<uint64_t>(extent.y, kMostThreads), kMostThreads);
  return std::min(count * std::min<uint64_t>(extent.z, kMostThreads), kMostThreads);
}

// A machine with a seed does the same each time: then the blocks run on one thread.
int HostThreads(const Mmu& mmu, const LaunchConfig& config) {
  if (mmu.profile.stream_policy == StreamPolicy::kSeeded ||
      mmu.profile.alias_policy == coherence::Policy::kRandom) {
    return 1;
  }
  // Asked once: the host opens files to tell it.
  static const auto processors = static_cast<uint64_t>(Processors());
  return static_cast<int>(std::min(processors, Count(config.grid)));
}

std::string InWords(const Dim3& place) {
  return absl::StrCat("(", place.x, ", ", place.y, ", ", place.z, ")");
}

DriverCode CodeOf(ptx::GridFault::Kind kind) {
  using Kind = ptx::GridFault::Kind;
  switch (kind) {
    case Kind::kIllegalAddress:
    case Kind::kMulticastAddress:
    case Kind::kNoMulticastAddress:
    case Kind::kNoTexture:
      return DriverCode::kIllegalAddress;
    case Kind::kMisalignedAddress:
      return DriverCode::kMisalignedAddress;
    case Kind::kIllegalInstruction:
      return DriverCode::kIllegalInstruction;
    case Kind::kAssert:
      return DriverCode::kAssert;
    case Kind::kDeadlock:
    case Kind::kBudget:
      return DriverCode::kLaunchTimeout;
    case Kind::kNone:
    case Kind::kUndefined:
    case Kind::kTrap:
    case Kind::kStackOverflow:
    case Kind::kHeapMisuse:
    case Kind::kOutOfMemory:
      break;
  }
  return DriverCode::kLaunchFailed;
}

std::string WhatHappened(const ptx::GridFault& fault, DeviceOrdinal device, Bytes limit) {
  using Kind = ptx::GridFault::Kind;
  switch (fault.kind) {
    case Kind::kIllegalAddress:
      return absl::StrCat(ToString(fault.size), " at ", ToString(fault.address),
                          " are not mapped with ", ToString(fault.access), " access for ",
                          ToString(device));
    case Kind::kMulticastAddress:
      return absl::StrCat(ToString(fault.address),
                          " is an address of a multicast object; PTX defines nothing there but "
                          "multimem");
    case Kind::kNoMulticastAddress:
      return absl::StrCat(ToString(fault.address),
                          " is not an address of a multicast object; PTX does not define multimem "
                          "there");
    case Kind::kMisalignedAddress:
      return absl::StrCat("address ", ToString(fault.address), " is not a multiple of ",
                          ToString(fault.size));
    case Kind::kIllegalInstruction:
      return "the instruction has no meaning here";
    case Kind::kNoTexture:
      return "there is no such texture or surface, or it does not reach there";
    case Kind::kUndefined:
      return "PTX does not define what it does";
    case Kind::kTrap:
      return "it is a trap";
    case Kind::kAssert:
      return "an assertion does not hold";
    case Kind::kStackOverflow:
      return "calls are nested too deeply";
    case Kind::kHeapMisuse:
      return "the heap of the device is misused";
    case Kind::kDeadlock:
      return "every thread waits for another one";
    case Kind::kOutOfMemory:
      return absl::StrCat("the host that simulates it has no memory left, or it needs more than ",
                          ToString(limit), ", the host_memory_limit of the profile");
    case Kind::kNone:
    case Kind::kBudget:
      break;
  }
  return "it went on for too long";
}

// "kernel copy, PTX line 12 (copy.cu:7), ld.global.u32, thread (0, 0, 0) of block (1, 0, 0): ..."
std::string InWords(const ptx::GridFault& fault, DeviceOrdinal device, Bytes limit) {
  std::string words = ptx::InWords(fault.kernel, fault.place);
  if (fault.place.position.line != 0) {
    absl::StrAppend(&words, ", thread ", InWords(fault.thread), " of block ", InWords(fault.block));
  }
  absl::StrAppend(&words, ": ", WhatHappened(fault, device, limit));
  if (!fault.words.empty()) absl::StrAppend(&words, ": ", fault.words);
  return words;
}

// "kernel k, PTX line 9, cp.async.bulk, thread (0, 0, 0) of block (1, 0, 0), reads 0x480 in shared
// memory, which kernel k, PTX line 7, st.shared.u32 has written, with no fence.proxy.async in
// between"
std::string InWords(const ptx::AsyncHazard& hazard) {
  std::string words = absl::StrCat(
      hazard.second, ", thread ", InWords(hazard.thread), " of block ", InWords(hazard.block), ", ",
      hazard.second_writes ? "writes " : "reads ", ToString(hazard.address),
      hazard.shared ? " in shared memory" : "", ", which ", hazard.first);
  if (hazard.waits_missing) {
    return absl::StrCat(words, hazard.first_writes ? " writes" : " reads",
                        ": nothing has waited for that copy",
                        hazard.bulk ? "" : ", cp.async.wait_group or cp.async.wait_all would");
  }
  return absl::StrCat(words, " has written, with no fence.proxy.async in between");
}

}  // namespace

KernelRun::KernelRun(SimulatorState* state, ptx::Launch launch, uint64_t call_id,
                     OperationOrder::Operation operation, PooledWork work,
                     const std::shared_ptr<ptx::IdleBlocks>& idle)
    : state_(*state),
      device_(launch.device),
      kernel_(launch.kernel->name),
      call_id_(call_id),
      program_(launch.program),
      image_(launch.image),
      managed_(launch.managed),
      workspace_(launch.workspace),
      operation_(std::move(operation)),
      work_(std::move(work)),
      early_(launch.config.programmatic_stream_serialization),
      threads_(std::min(Count(launch.config.grid) * Count(launch.config.block), kMostThreads)),
      shared_(kInPassing),
      last_turn_(std::chrono::steady_clock::now()),
      host_threads_(HostThreads(state->mmu, launch.config)),
      grid_({&state->mmu, &state->sites, &state->aliases,
             [this](const ptx::AsyncHazard& hazard) { Report(hazard); },
             [this](const ptx::DivergentBarrier& barrier) { Report(barrier); }, idle},
            launch, host_threads_) {}

uint64_t KernelRun::AmountOf(Turn turn) const {
  switch (turn) {
    case Turn::kAtTheCall:
      return kPerThreadAtTheCall * threads_;
    case Turn::kInPassing:
      return kInPassing;
    case Turn::kAskedAfter:
    case Turn::kUnasked:
      return kAskedAfter;
    case Turn::kShared:
      return shared_;
    case Turn::kWaitedFor:
    case Turn::kInVain:
      break;
  }
  return kWaitedFor * static_cast<uint64_t>(host_threads_);
}

uint64_t KernelRun::OfEachThread(uint64_t work) const {
  return work / static_cast<uint64_t>(host_threads_);
}

bool KernelRun::IsFruitless() const {
  return OfEachThread(grid_.fruitless_work()) + waited_ > mmu_.profile.kernel_instruction_budget;
}

bool KernelRun::IsOverBudget(bool waited) {
  const auto now = std::chrono::steady_clock::now();
  if (waited) {
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now - last_turn_);
    // Where nobody gave it a turn for long, it was not the kernel that took so long.
    waited_ += static_cast<uint64_t>(std::min<int64_t>(since.count(), 100'000)) * kPerMicrosecond;
  }
  last_turn_ = now;
  return IsFruitless() || OfEachThread(grid_.unfinished_work()) / kBudgetsWithResults >
                              mmu_.profile.kernel_instruction_budget;
}

void KernelRun::Begin() {
  if (std::exchange(begun_, true)) return;
  if (ABSL_PREDICT_FALSE(state_.events != nullptr)) told_.begin_ns = record::EventWriter::Now();
  // Copies that found no kernel, and so do not expect to share their memory with one, are done.
  { const std::unique_lock lock(mmu_.mutex); }
  grid_.StartAfter(state_.order.Begin(operation_));
  if (early_) grid_.HoldWaits();
}

void KernelRun::NoteUses() {
  if (work_.place.number == 0) return;
  const std::shared_lock lock(mmu_.mutex);
  NoteUsesOfKernel(state_, kCall, device_, work_,
                   [&](uint64_t piece) { return grid_.HasUsed(static_cast<uint32_t>(piece)); });
}

// At its end it is not done: that comes after the end of the kernel ahead.
Progress KernelRun::RunEarly(Turn turn) {
  if (ran_to_end_ || state_.sticky_error.HasFault()) return Progress::kWaiting;
  Begin();
  const ptx::Grid::State state = grid_.Run(AmountOf(turn));
  NoteUses();
  switch (state) {
    case ptx::Grid::State::kFaulted:
      Fault(grid_.fault());
      return Progress::kAdvanced;
    case ptx::Grid::State::kWaiting:
      last_turn_ = std::chrono::steady_clock::now();  // that costs nothing
      return Progress::kWaiting;
    case ptx::Grid::State::kDone:
      ran_to_end_ = true;
      return Progress::kAdvanced;
    case ptx::Grid::State::kRunning:
      break;
  }
  if (IsOverBudget(/*waited=*/false)) OverBudget();
  return Progress::kAdvanced;
}

Progress KernelRun::End() {
  if (ABSL_PREDICT_FALSE(state_.events != nullptr) && begun_) TellLaunch(state_, told_, kernel_);
  if (workspace_ != DeviceAddress(0)) {
    const std::unique_lock lock(mmu_.mutex);
    mmu_.linear.Free(std::exchange(workspace_, DeviceAddress(0)));
  }
  return Progress::kDone;
}

Progress KernelRun::Run(Turn turn) {
  if (state_.sticky_error.HasFault()) return End();
  Begin();
  if (early_ && !std::exchange(reached_, true))
    grid_.ReleaseWaits(state_.order.Reached(operation_));
  const ptx::Grid::State state = grid_.Run(AmountOf(turn));
  NoteUses();
  switch (state) {
    case ptx::Grid::State::kDone:
      state_.TellOthers(operation_, call_id_, grid_.clocks());
      state_.order.End(operation_, grid_.clocks());
      return End();
    case ptx::Grid::State::kFaulted:
      Fault(grid_.fault());
      return End();
    case ptx::Grid::State::kRunning:
    case ptx::Grid::State::kWaiting:
      break;
  }
  const bool waited = state == ptx::Grid::State::kWaiting;
  // More and more, unless kernels wait for each other: then the sooner the next one comes.
  shared_ =
      waited ? kInPassing : std::min(2 * shared_, kShared * static_cast<uint64_t>(host_threads_));
  if (IsOverBudget(waited)) {
    OverBudget();
    return End();
  }
  return waited ? Progress::kWaiting : Progress::kAdvanced;
}

void RaiseFault(SimulatorState* state, DeviceOrdinal device, DriverCode code, const Misuse& misuse,
                uint64_t call_id, const std::string& words) {
  AddressRange range;
  if (misuse.address.has_value()) range = AddressRange{*misuse.address, Bytes(1), Bytes(0)};
  CallRecord(*state, Call::kLaunch, range, 0, call_id).Report(Severity::kError, misuse, words);
  state->sticky_error.Raise(kCall, code, words);
  if (ABSL_PREDICT_TRUE(state->events == nullptr)) return;
  TellFault(*state, device, misuse.address.value_or(DeviceAddress(0)), words);
}

std::vector<Neighbour> KernelRun::Variables() const {
  std::vector<Neighbour> variables;
  for (const ptx::GlobalInfo& global : program_->globals()) {
    if (global.reference != ptx::Reference::kNone || global.size == 0) continue;
    AddressRange range{image_ + Bytes(global.offset), Bytes(global.size), Bytes(0)};
    if (global.managed >= 0) range = (*managed_)[static_cast<size_t>(global.managed)];
    variables.push_back({range, absl::StrCat("variable ", global.name)});
  }
  return variables;
}

void KernelRun::Fault(const ptx::GridFault& fault) {
  const DriverCode code = CodeOf(fault.kind);
  const std::shared_lock lock(mmu_.mutex);
  Misuse misuse{DiagnosticKind::kFaultOfKernel, std::nullopt, std::nullopt, device_};
  try {
    // Where there are words, it is no address of the device's memory.
    const bool no_access = fault.kind == ptx::GridFault::kIllegalAddress && fault.words.empty();
    if (no_access) {
      const AddressRange range{fault.address, fault.size, Bytes(0)};
      misuse = WhyNoAccess(state_, device_, range, fault.access);
      misuse.why = misuse.kind;
      misuse.kind = DiagnosticKind::kFaultOfKernel;
    }
    if (fault.kind == ptx::GridFault::kHeapMisuse) misuse.kind = DiagnosticKind::kDeviceHeapMisuse;
    std::string words = InWords(fault, device_, mmu_.host_memory.limit());
    if (no_access) {
      const std::string near = NeighboursInWords(state_, fault.address, Variables());
      if (!near.empty()) absl::StrAppend(&words, "; nearest: ", near);
    }
    RaiseFault(&state_, device_, code, misuse, call_id_, words);
  } catch (const std::bad_alloc&) {
    state_.sticky_error.Raise(kCall, code, "it faulted");  // short enough to need no memory
  }
}

void KernelRun::Report(const ptx::AsyncHazard& hazard) {
  Misuse misuse{hazard.bulk ? DiagnosticKind::kMissingAsyncFence : DiagnosticKind::kDataRace,
                std::nullopt, std::nullopt, device_};
  AddressRange range;
  if (!hazard.shared) {
    misuse.address = hazard.address;
    range = AddressRange{hazard.address, Bytes(1), Bytes(0)};
  }
  try {
    CallRecord(state_, Call::kLaunch, range, 0, call_id_)
        .Report(Severity::kError, misuse, InWords(hazard));
  } catch (const std::bad_alloc&) {  // then it is not told
  }
}

void KernelRun::Report(const ptx::DivergentBarrier& barrier) {
  const Misuse misuse{DiagnosticKind::kDivergentBarrier, std::nullopt, std::nullopt, device_};
  try {
    CallRecord(state_, Call::kLaunch, AddressRange(), 0, call_id_)
        .Report(Severity::kError, misuse, barrier.second, ", thread ", InWords(barrier.thread),
                " of block ", InWords(barrier.block),
                ", waits for the barrier apart from lanes of "
                "its warp, which wait at ",
                barrier.first);
  } catch (const std::bad_alloc&) {  // then it is not told
  }
}

void KernelRun::OverBudget() {
  const Misuse misuse{DiagnosticKind::kFaultOfKernel, std::nullopt, std::nullopt, device_};
  const std::shared_lock lock(mmu_.mutex);
  try {
    RaiseFault(&state_, device_, DriverCode::kLaunchTimeout, misuse, call_id_,
               absl::StrCat("kernel ", kernel_, " is still running after ",
                            IsFruitless() ? "" : absl::StrCat(kBudgetsWithResults, " times "),
                            mmu_.profile.kernel_instruction_budget, " instructions",
                            host_threads_ > 1 ? absl::StrCat(" of each of ", host_threads_,
                                                             " threads of the host")
                                              : "",
                            ", the kernel_instruction_budget of the profile: ", grid_.WhoWaits(),
                            ". A kernel that is only long needs a larger budget"));
  } catch (const std::bad_alloc&) {
    state_.sticky_error.Raise(kCall, DriverCode::kLaunchTimeout, "it ran too long");
  }
}

}  // namespace twinmmu

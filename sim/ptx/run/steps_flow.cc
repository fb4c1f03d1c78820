// Branches, calls, and the ends of threads.

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/device/device_heap.h"
#include "sim/ptx/run/device/device_print.h"
#include "sim/ptx/run/device/graph_conditions.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

// What a sleep counts for: the turns of the others that it ends.
constexpr uint64_t kSleep = 100;

}  // namespace

// Of a part of the group: all of it is a case of Warp's, which a loop comes to in the end.
Flow PerformBranch(Warp& warp, const Step& step, Lanes lanes) {
  warp.KeepOnly(lanes, warp.running().pc + 1);
  warp.running().pc = step.target;
  return Flow::kMoved;
}

Flow PerformIndexedBranch(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const std::vector<uint32_t>& targets = warp.frame().function->target_lists[step.target];
  warp.KeepOnly(lanes, warp.running().pc + 1);
  const uint32_t* const indices = warp.Slot<uint32_t>(step.operands[0]);
  // Those with another index come here again.
  const Lanes alike = LanesLikeFirst(indices, lanes);
  const uint32_t index = indices[__builtin_ctz(lanes)];
  if (index >= targets.size()) {
    return warp.Fault(GridFault::kIllegalInstruction, alike,
                      absl::StrCat("index ", index, " of ", targets.size(), " branch targets"));
  }
  warp.KeepOnly(alike, warp.running().pc);
  warp.LosesPatience(warp.running().pc, targets[index]);
  warp.running().pc = targets[index];
  return Flow::kMoved;
}

namespace {

// Of the step that a warp is at.
SiteTable::Site SiteOf(Warp& warp, const Step& step) {
  const SiteTable::Site first = warp.block().grid().FirstSite();
  if (first == SiteTable::kUnknown) return first;
  return first + warp.frame().function->first_site + static_cast<uint32_t>(step.instruction);
}

// malloc(size)
Flow AllocateOnHeap(Warp& warp, const Step& step, const CallSite& site, Lanes lanes) {
  DeviceHeap* const heap = warp.block().grid().launch->heap.get();
  if (site.arguments.size() != 1 || site.results.size() != 1) return Flow::kNext;
  const SiteTable::Site place = SiteOf(warp, step);
  ForEachLane(lanes, [&](int lane) {
    uint64_t size = 0;
    const Passed& argument = site.arguments[0];
    std::memcpy(&size, warp.frame().PlaceOf(argument, lane),
                std::min<size_t>(argument.size, sizeof(size)));
    const uint64_t address = heap == nullptr ? 0 : heap->Allocate(size, place).value();
    // Whoever had it before has freed it.
    if (warp.block().aliases().watches_all()) {
      char* const memory =
          warp.block().cache().Translate(DeviceAddress(address), size, Access::kReadWrite);
      if (memory != nullptr) warp.block().aliases().Forget(memory, size);
    }
    const Passed& result = site.results[0];
    std::memcpy(warp.frame().PlaceOf(result, lane), &address,
                std::min<size_t>(result.size, sizeof(address)));
  });
  return Flow::kNext;
}

// free(address). A driver says LAUNCH_FAILED where something is freed twice, and nothing where it
// is no block of the heap.
Flow FreeOnHeap(Warp& warp, const CallSite& site, Lanes lanes) {
  DeviceHeap* const heap = warp.block().grid().launch->heap.get();
  if (site.arguments.size() != 1 || heap == nullptr) return Flow::kNext;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    uint64_t address = 0;
    const Passed& argument = site.arguments[0];
    std::memcpy(&address, warp.frame().PlaceOf(argument, lane),
                std::min<size_t>(argument.size, sizeof(address)));
    if (heap->Free(DeviceAddress(address)) != DeviceHeap::Freed::kBefore) continue;
    return warp.Fault(
        GridFault::kHeapMisuse, Lanes{1} << lane,
        absl::StrCat("free of ", ToString(DeviceAddress(address)), ", which was freed before"));
  }
  return Flow::kNext;
}

// A kernel that is not a node of a graph may not. Source: an H100 with driver 580.159.
Flow SetCondition(Warp& warp, const CallSite& site, Lanes lanes) {
  GraphConditions* const conditions = warp.block().grid().launch->conditions.get();
  if (conditions == nullptr) {
    return warp.Fault(GridFault::kIllegalAddress, lanes,
                      "cudaGraphSetConditional is for kernels of graphs");
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    uint64_t handle = 0;
    uint32_t value = 0;
    const Passed& first = site.arguments[0];
    const Passed& second = site.arguments[1];
    std::memcpy(&handle, warp.frame().PlaceOf(first, lane),
                std::min<size_t>(first.size, sizeof(handle)));
    std::memcpy(&value, warp.frame().PlaceOf(second, lane),
                std::min<size_t>(second.size, sizeof(value)));
    conditions->Set(handle, value);
  }
  return Flow::kNext;
}

}  // namespace

Flow PerformCall(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  const CallSite& site = warp.frame().function->calls[step.target];
  if (site.builtin == Builtin::kPrint) {
    const bool printed = Print(warp, site, lanes);
    return printed ? Flow::kNext : Flow::kFault;
  }
  if (site.builtin == Builtin::kAssert) return FailAssertion(warp, site, lanes);
  if (site.builtin == Builtin::kAllocate) return AllocateOnHeap(warp, step, site, lanes);
  if (site.builtin == Builtin::kFree) return FreeOnHeap(warp, site, lanes);
  if (site.builtin == Builtin::kSetCondition) return SetCondition(warp, site, lanes);
  warp.KeepOnly(lanes, warp.running().pc + 1);
  if (site.function >= 0) return warp.Call(site, site.function);
  const uint64_t* const addresses = warp.Slot<uint64_t>(step.operands[0]);
  const Lanes alike = LanesLikeFirst(addresses, lanes);
  const uint64_t address = addresses[__builtin_ctz(lanes)];
  const uint64_t index = (address - kFunctionWindow) / 16 - 1;
  const std::vector<FunctionCode>& functions = warp.block().grid().code->functions;
  const bool known = address % 16 == 0 && index < functions.size() && functions[index].defined &&
                     functions[index].address_taken && !functions[index].entry;
  if (!known) {
    return warp.Fault(GridFault::kIllegalInstruction, alike,
                      absl::StrCat("no function lies at ", ToString(DeviceAddress(address))));
  }
  warp.KeepOnly(alike, warp.running().pc);
  return warp.Call(site, static_cast<int>(index));
}

Flow PerformReturn(Warp& warp, const Step&, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  warp.KeepOnly(lanes, warp.running().pc + 1);
  return warp.Return();
}

Flow PerformExit(Warp& warp, const Step&, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  warp.KeepOnly(lanes, warp.running().pc + 1);
  warp.Exit();
  return Flow::kMoved;
}

Flow PerformTrap(Warp& warp, const Step&, Lanes lanes) {
  return lanes == 0 ? Flow::kNext : warp.Fault(GridFault::kTrap, lanes);
}

Flow PerformSleep(Warp& warp, const Step&, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  ++warp.polls;
  warp.work += kSleep;
  ++warp.running().pc;
  return Flow::kYield;
}

Flow PerformLetNextStart(Warp& warp, const Step&, Lanes lanes) {
  if (lanes == 0 || !warp.block().LetNextStart()) return Flow::kNext;
  ++warp.running().pc;
  return Flow::kYield;
}

Flow PerformGridWait(Warp& warp, const Step&, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  Block& block = warp.block();
  if (!block.grid().holds_waits) {
    block.PassGridWait(warp.number(), lanes);
    return Flow::kNext;
  }
  warp.KeepOnly(lanes, warp.running().pc + 1);
  ++warp.polls;
  return Flow::kYield;
}

Flow PerformNothing(Warp&, const Step&, Lanes) { return Flow::kNext; }

Flow PerformReadSpecial(Warp& warp, const Step& step, Lanes) {
  warp.ReadSpecial(static_cast<Special>(step.detail), step.operands[0]);
  return Flow::kNext;
}

// --- Warp: calls ---------------------------------------------------------------------------------

Flow Warp::Call(const CallSite& site, int function) {
  const GridContext& grid = block_.grid();
  const FunctionCode& callee = grid.code->functions[static_cast<size_t>(function)];
  Frame* const caller = running().frame;
  const Lanes lanes = running().lanes;
  const auto alike = [](const Passed& a, const Passed& b) { return a.size == b.size; };
  const bool fits =
      site.arguments.size() == callee.parameters.size() &&
      site.results.size() == callee.results.size() &&
      std::equal(site.arguments.begin(), site.arguments.end(), callee.parameters.begin(), alike) &&
      std::equal(site.results.begin(), site.results.end(), callee.results.begin(), alike);
  if (!fits) {
    return Fault(GridFault::kIllegalInstruction, lanes,
                 absl::StrCat(callee.name, " takes or returns something else"));
  }
  Frame* entered = nullptr;
  if (!Enter(callee, caller, running().pc, lanes, &entered)) {
    return Fault(
        GridFault::kStackOverflow, lanes,
        absl::StrCat("no room for a call of ", callee.name, " at depth ", caller->depth + 1));
  }
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    const Passed& argument = site.arguments[i];
    const uint32_t to = callee.parameters[i].at;
    ForEachLane(lanes, [&](int lane) {
      std::memcpy(entered->PassedOf(lane) + to, caller->PlaceOf(argument, lane), argument.size);
    });
  }
  for (const AddressedParameter& addressed : callee.addressed) {
    const Passed& parameter = callee.parameters[addressed.parameter];
    const uint64_t to = entered->local_base + addressed.local;
    ForEachLane(lanes, [&](int lane) {
      std::memcpy(local_.data() + local_stride_ * lane + to, entered->PassedOf(lane) + parameter.at,
                  parameter.size);
    });
  }
  running().frame = entered;
  running().pc = 0;
  return Flow::kMoved;
}

Flow Warp::Return() {
  Frame* const callee = running().frame;
  if (callee->parent == nullptr) {
    Exit();
    return Flow::kMoved;
  }
  Frame* const caller = callee->parent;
  const Lanes lanes = running().lanes;
  const CallSite& site = caller->function->calls[caller->function->steps[callee->call].target];
  for (size_t i = 0; i < site.results.size(); ++i) {
    const Passed& result = site.results[i];
    const uint32_t from = callee->function->results[i].at;
    ForEachLane(lanes, [&](int lane) {
      std::memcpy(caller->PlaceOf(result, lane), callee->PassedOf(lane) + from, result.size);
    });
  }
  running().frame = caller;
  running().pc = callee->call + 1;
  Leave(callee, lanes);
  return Flow::kMoved;
}

}  // namespace twinmmu::ptx

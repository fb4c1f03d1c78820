#include "sim/calls/executor/graph_memory.h"

#include <algorithm>
#include <cstring>
#include <shared_mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "sim/diagnostics/call_record.h"
#include "sim/diagnostics/explain.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr char kCall[] = "cuGraphLaunch";

bool IsSameMemory(const RememberedMemory& a, const RememberedMemory& b) {
  return a.mapped == b.mapped && a.memory == b.memory && a.offset == b.offset;
}

bool HasAddresses(const CopySide& side) {
  return side.kind == CopySide::kMemory || side.kind == CopySide::kHost ||
         side.kind == CopySide::kAnywhere;
}

}  // namespace

bool GraphMemory::FindFirst(const AddressRange& range, RememberedMemory* found) const {
  const Mmu& mmu = state_.mmu;
  const MappingRecord* const mapping = mmu.MappingAt(range.base);
  AddressRange whole;
  if (mapping != nullptr) {
    whole = mmu.RangeOf(*mapping);
    found->mapped = true;
    found->memory = mmu.AllocationOf(*mapping).pages->id;
    found->offset = mmu.SizeOf(mapping->offset).value() + (range.base - whole.base).value();
    found->made_by = mapping->call;
  } else {
    const LinearAllocation* const linear = mmu.linear.Find(range.base);
    if (linear == nullptr || !linear->on_device()) return false;
    const PooledPiece* const piece = linear->of_pool() ? mmu.pooled.Find(range.base) : nullptr;
    if (linear->of_pool() && (piece == nullptr || piece->freed_by != 0)) return false;
    whole = piece != nullptr ? piece->range : linear->range;
    found->memory = piece != nullptr ? piece->buffer_id : linear->buffer_id;
    found->offset = (range.base - whole.base).value();
    found->made_by = piece != nullptr ? piece->made_by : linear->made_by;
  }
  const Bytes size = std::min(range.size, whole.end() - range.base);
  found->range = AddressRange{range.base, size, Bytes(0)};
  return true;
}

void GraphMemory::Find(const AddressRange& range, std::vector<RememberedMemory>* memory) const {
  AddressRange rest = range;
  while (!rest.empty()) {
    RememberedMemory found;
    if (!FindFirst(rest, &found)) return;
    memory->push_back(found);
    rest = AddressRange{rest.base + found.range.size, rest.size - found.range.size, Bytes(0)};
  }
}

void GraphMemory::Remember(const CopyOperation& operation,
                           std::vector<RememberedMemory>* memory) const {
  if (operation.shape.empty()) return;
  const std::shared_lock lock(state_.mmu.mutex);
  for (const CopySide* side : {&operation.written, &operation.read}) {
    if (HasAddresses(*side)) Find(side->All(operation.shape), memory);
  }
}

void GraphMemory::RememberPointers(absl::Span<const char> arguments,
                                   std::vector<RememberedMemory>* memory) const {
  const std::shared_lock lock(state_.mmu.mutex);
  uint64_t word = 0;
  for (size_t i = 0; i + sizeof(word) <= arguments.size(); i += sizeof(word)) {
    std::memcpy(&word, arguments.data() + i, sizeof(word));
    RememberedMemory found;
    if (!FindFirst(AddressRange{DeviceAddress(word), Bytes(1), Bytes(0)}, &found)) continue;
    found.certain = false;
    memory->push_back(found);
  }
}

uint64_t GraphMemory::generation() const {
  const std::shared_lock lock(state_.mmu.mutex);
  return state_.mmu.generation();
}

bool GraphMemory::IsSame(const RememberedMemory& was, RememberedMemory* now, bool* there) const {
  *there = FindFirst(was.range, now);
  return *there && IsSameMemory(was, *now) && now->range.size == was.range.size;
}

bool GraphMemory::IsFresh(absl::Span<const RememberedMemory> memory) const {
  const std::shared_lock lock(state_.mmu.mutex);
  return std::all_of(memory.begin(), memory.end(), [&](const RememberedMemory& was) {
    RememberedMemory now;
    bool there = false;
    return IsSame(was, &now, &there);
  });
}

void GraphMemory::Warn(DeviceOrdinal device, absl::string_view node,
                       absl::Span<const RememberedMemory> memory) const {
  const std::shared_lock lock(state_.mmu.mutex);
  for (const RememberedMemory& was : memory) {
    RememberedMemory now;
    bool there = false;
    if (IsSame(was, &now, &there)) continue;
    Misuse misuse{DiagnosticKind::kStaleGraphMemory, was.range.base, std::nullopt, device};
    if (!there) {
      const Fault fault{kCall, was.range, Access::kRead, Location::Device(device)};
      const Misuse why = WhyFault(state_, fault);
      misuse.cause = why.cause;
      misuse.why = why.kind;
    }
    // A driver runs a graph on other memory, and a kernel may not use its arguments.
    const Severity severity = there || !was.certain ? Severity::kWarning : Severity::kError;
    const std::string instead = there
                                    ? absl::StrCat("call ", now.made_by, " put other memory there")
                                    : "nothing is there now";
    CallRecord call(state_, FindCall(kCall), was.range);  // from here on nothing fails
    call.Report(severity, misuse, node, was.certain ? " uses " : " has an argument that points to ",
                was.range, ", where call ", was.made_by,
                was.mapped ? " had mapped" : " had allocated", " memory when the node was made; ",
                instead);
    call.DoneShared();
  }
}

}  // namespace twinmmu

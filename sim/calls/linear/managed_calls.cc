#include "sim/calls/linear/managed_calls.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/diagnostics/call_record.h"
#include "sim/diagnostics/explain.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr auto kConcurrentManagedAccess = static_cast<DeviceAttribute>(89);
constexpr uint32_t kAttachSingle = 4;  // CU_MEM_ATTACH_SINGLE, the last of three flags
constexpr uint64_t kLegacyStream = 1;  // or 0

// Why `range` is not all in one allocation of managed memory. With mmu.mutex held.
absl::Status RefuseRange(SimulatorState& state, const char* call, const AddressRange& range) {
  const Misuse misuse = WhyFault(state, Fault{call, range, Access::kRead, Location::Host()});
  const bool beyond = misuse.kind == DiagnosticKind::kUseBeyondMemory;
  if (beyond || misuse.kind == DiagnosticKind::kUseAfterFreeOfMemory) {
    return RefuseCall(state, call, range, misuse, "range ", range, " is not ",
                      beyond ? "all in one allocation" : "allocated any more");
  }
  return InvalidValue(call, "range ", ToString(range), " is not managed memory");
}

// A bit of a set of devices; of advice that has no place, the location may be anything.
uint64_t BitOf(const Location& location) {
  return location.type == LocationType::kDevice ? uint64_t{1} << location.id : 0;
}

void Apply(Advice advice, const Location& location, ManagedHints* hints) {
  switch (advice) {
    case Advice::kSetReadMostly:
    case Advice::kUnsetReadMostly:
      hints->read_mostly = advice == Advice::kSetReadMostly;
      return;
    case Advice::kSetPreferredLocation:
      hints->preferred = location;
      return;
    case Advice::kUnsetPreferredLocation:
      hints->preferred.reset();
      return;
    case Advice::kSetAccessedBy:
      hints->accessed_by |= BitOf(location);
      hints->accessed_by_host |= location.type == LocationType::kHost;
      return;
    case Advice::kUnsetAccessedBy:
      hints->accessed_by &= ~BitOf(location);
      hints->accessed_by_host &= location.type != LocationType::kHost;
      return;
  }
}

}  // namespace

absl::StatusOr<const LinearAllocation*> ManagedCalls::FindManaged(const char* call,
                                                                  const AddressRange& range) const {
  if (range.empty()) return InvalidValue(call, "the size is 0");
  const LinearAllocation* const found = state_.mmu.linear.FindAll(range);
  if (found == nullptr || !found->managed()) return RefuseRange(state_, call, range);
  return found;
}

template <typename Visit>
absl::Status ManagedCalls::WithManaged(const char* call, const AddressRange& range,
                                       const Visit& visit) const {
  const absl::Status usable = state_.sticky_error.Check(call);
  if (!usable.ok()) return usable;
  const std::unique_lock lock(state_.mmu.mutex);
  const absl::StatusOr<const LinearAllocation*> found = FindManaged(call, range);
  if (!found.ok()) return found.status();
  visit(**found);
  return absl::OkStatus();
}

bool ManagedCalls::CanPrefetchTo(const Location& location) const {
  const Profile& profile = state_.mmu.profile;
  switch (location.type) {
    case LocationType::kDevice:
      return state_.mmu.HasDevice(DeviceOrdinal(location.id)) &&
             profile.Supports(kConcurrentManagedAccess, location.id);
    case LocationType::kHost:
    case LocationType::kHostNumaCurrent:
      return true;
    case LocationType::kHostNuma:
      return profile.HasHostNode(location.id);
    default:
      return false;
  }
}

absl::Status ManagedCalls::Prefetch(const char* call, Stream stream,
                                    absl::Span<const Target> targets) {
  return guard_.Guard(call, [&]() -> absl::Status {
    for (const Target& target : targets) {
      if (CanPrefetchTo(target.location)) continue;
      return InvalidValue(call, "nothing can be prefetched to ", ToString(target.location));
    }
    absl::Status done = streams_.SubmitTask(call, stream, [] {});
    if (done.ok()) done = state_.sticky_error.Check(call);
    if (!done.ok()) return done;
    const std::unique_lock lock(state_.mmu.mutex);
    HintsByPage& hints = state_.mmu.linear.hints();
    // Of several, those before one for which there is no memory are not done: they are in a copy.
    std::optional<HintsByPage> changed;
    if (targets.size() > 1) changed = hints;
    for (const Target& target : targets) {
      const absl::StatusOr<const LinearAllocation*> found = FindManaged(call, target.range);
      done = found.status();
      if (!done.ok()) break;
      (changed.has_value() ? *changed : hints)
          .Edit(target.range, (*found)->block,
                [&](ManagedHints& of_pages) { of_pages.prefetched = target.location; });
    }
    if (changed.has_value()) hints = *std::move(changed);
    return done;
  });
}

absl::Status ManagedCalls::Discard(const char* call, Stream stream,
                                   absl::Span<const AddressRange> ranges) {
  return guard_.Guard(call, [&] {
    absl::Status done = streams_.SubmitTask(call, stream, [] {});
    for (const AddressRange& range : ranges) {
      if (done.ok()) done = WithManaged(call, range, [](const LinearAllocation&) {});
    }
    return done;
  });
}

absl::Status ManagedCalls::Advise(const AddressRange& range, Advice advice,
                                  const Location& location) {
  static constexpr char kCall[] = "cuMemAdvise";
  return guard_.Guard(kCall, [&] {
    const bool by_location = advice == Advice::kSetPreferredLocation ||
                             advice == Advice::kSetAccessedBy || advice == Advice::kUnsetAccessedBy;
    const bool of_nodes =
        location.type == LocationType::kHostNuma || location.type == LocationType::kHostNumaCurrent;
    const bool known =
        location.type == LocationType::kDevice || location.type == LocationType::kHost || of_nodes;
    if (advice < Advice::kSetReadMostly || advice > Advice::kUnsetAccessedBy) {
      return InvalidValue(kCall, "there is no advice ", static_cast<uint32_t>(advice));
    }
    const bool accesses = by_location && advice != Advice::kSetPreferredLocation;
    if (!known || (by_location && !CanPrefetchTo(location)) || (accesses && of_nodes)) {
      return InvalidValue(kCall, "this cannot be advised for ", ToString(location));
    }
    // Nobody looks for what memory, and it has no effect. Source: an H200 with driver 580.159.
    if (of_nodes) return absl::OkStatus();
    bool of_pool = false;
    const absl::Status done = WithManaged(kCall, range, [&](const LinearAllocation& memory) {
      of_pool = memory.of_pool();
      if (of_pool) return;
      state_.mmu.linear.hints().Edit(range, memory.block,
                                     [&](ManagedHints& hints) { Apply(advice, location, &hints); });
    });
    if (!done.ok() || !of_pool) return done;
    return Fail(DriverCode::kNotSupported, kCall, "memory of a pool takes no advice");
  });
}

absl::StatusOr<ManagedHints> ManagedCalls::HintsOf(const AddressRange& range) const {
  static constexpr char kCall[] = "cuMemRangeGetAttribute";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<ManagedHints> {
    const absl::Status usable = state_.sticky_error.Check(kCall);
    if (!usable.ok()) return usable;
    if (range.empty()) return InvalidValue(kCall, "the size is 0");
    const std::unique_lock lock(state_.mmu.mutex);
    const LinearAllocation* const found = state_.mmu.linear.FindAll(range);
    if (found != nullptr && found->managed()) {
      return state_.mmu.linear.hints().InCommon(range, found->block);
    }
    return InvalidValue(kCall, "range ", ToString(range), " is not managed memory");
  });
}

bool ManagedCalls::HasMemory() const {
  const std::shared_lock lock(state_.mmu.mutex);
  bool found = false;
  state_.mmu.linear.ForEach([&](const LinearAllocation& memory) { found |= memory.managed(); });
  return found;
}

absl::Status ManagedCalls::Attach(Stream stream, DeviceAddress address, Bytes size,
                                  uint32_t flags) {
  static constexpr char kCall[] = "cuStreamAttachMemAsync";
  return guard_.Guard(kCall, [&] {
    if (flags == 0 || flags > kAttachSingle || (flags & (flags - 1)) != 0) {
      return InvalidValue(kCall, "flags ", flags, " are not one of GLOBAL, HOST and SINGLE");
    }
    if (flags == kAttachSingle && stream.value() <= kLegacyStream) {
      return InvalidValue(kCall, "the default stream cannot be the only one");
    }
    absl::Status done = streams_.SubmitTask(kCall, stream, [] {});
    if (!done.ok()) return done;
    const AddressRange asked{address, std::max(size, Bytes(1)), Bytes(0)};
    bool whole = true;
    done = WithManaged(kCall, asked, [&](const LinearAllocation& memory) {
      whole = !memory.of_pool() && address == memory.range.base &&
              (size == Bytes(0) || size == memory.range.size);
    });
    if (!done.ok() || whole) return done;
    return InvalidValue(kCall, "range ", ToString(asked), " is a part of an allocation");
  });
}

}  // namespace twinmmu

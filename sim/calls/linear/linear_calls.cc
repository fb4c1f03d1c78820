#include "sim/calls/linear/linear_calls.h"

#include <sys/mman.h>

#include <iterator>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "sim/base/errors.h"
#include "sim/calls/executor/simulated_copies.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr uint32_t kDeviceMap = 2;   // CU_MEMHOSTALLOC_DEVICEMAP, always told
constexpr uint32_t kAllocFlags = 7;  // all that exist
constexpr uint32_t kRegisterFlags = 15;
constexpr uint32_t kIoMemory = 4;
constexpr auto kHostRegister = static_cast<DeviceAttribute>(99);  // HOST_REGISTER_SUPPORTED
constexpr auto kManagedMemory = static_cast<DeviceAttribute>(83);
constexpr uint32_t kAttachGlobal = 1;  // CU_MEM_ATTACH_GLOBAL
constexpr uint32_t kAttachHost = 2;    // CU_MEM_ATTACH_HOST

DeviceAddress AddressOf(const void* memory) {
  return DeviceAddress(reinterpret_cast<uint64_t>(memory));
}

LinearAllocation Wanted(LinearKind kind, const LinearCalls::Context& context, uint32_t flags) {
  LinearAllocation wanted;
  wanted.kind = kind;
  wanted.device = context.device;
  wanted.owner = context.owner;
  wanted.flags = flags;
  wanted.sync_memops = wanted.managed();
  return wanted;
}

absl::StatusOr<AddressRange> Make(SimulatorState& state, LinearAllocation wanted, Bytes size) {
  const Call made = MakerOf(wanted.kind);
  CallRecord call(state, made, AddressRange{DeviceAddress(0), size, Bytes(0)});
  const std::unique_lock lock(state.mmu.mutex);
  wanted.made_by = call.id();
  wanted.buffer_id = state.mmu.NextBuffer();
  const absl::StatusOr<AddressRange> range = state.mmu.linear.Allocate(size, wanted);
  if (!range.ok()) return Fail(DriverCode::kOutOfMemory, call.name(), range.status().message());
  state.mmu.buffers_made = static_cast<uint32_t>(wanted.buffer_id);
  if (wanted.kind == LinearKind::kDevice && state.aliases.watches_all()) {
    const LinearAllocation& allocation = *state.mmu.linear.Find(range->base);
    state.aliases.Allocate(allocation.memory, size.value());
  }
  call.Done(*range, 0);
  return range;
}

// Whether something is there, all along. Nobody looks whether it may be written.
bool IsOfProcess(const AddressRange& range) {
  constexpr uint64_t kPage = 4096;
  const uint64_t first = range.base.value() / kPage * kPage;
  const uint64_t end = range.base.value() + range.size.value();
  if (range.base == DeviceAddress(0) || end <= range.base.value()) return false;
  // Without effect on memory that is there, and an error on other.
  return msync(reinterpret_cast<void*>(first), end - first, MS_ASYNC) == 0;
}

// Nothing is known of any part of what is `wanted`. With mmu.mutex held.
absl::Status CheckUnknown(const SimulatorState& state, CallRecord& call,
                          const LinearAllocation& wanted) {
  const AddressRange& range = wanted.range;
  const LinearAllocation* const known = state.mmu.linear.FindAny(range);
  if (known != nullptr && known->kind == LinearKind::kRegistered) {
    // Who asks for memory of a device on the bus is not told of what goes on behind the range.
    // Source: an H200 with driver 580.159.
    const bool is_unseen = (wanted.flags & kIoMemory) != 0 && known->range.base > range.base &&
                           known->range.end() > range.end();
    return call.RefuseWith(
        is_unseen ? DriverCode::kInvalidValue : DriverCode::kHostMemoryAlreadyRegistered,
        {DiagnosticKind::kDoubleRegistration, known->range.base, std::nullopt, std::nullopt,
         known->made_by},
        "a part of range ", range, " is registered");
  }
  const bool of_devices = state.mmu.OverlapsDevices(range);
  if (known == nullptr && !of_devices) return absl::OkStatus();
  return InvalidValue(call.name(), "range ", ToString(range), " is memory ",
                      of_devices ? "of devices" : "that the driver made");
}

// What begins at `address` and is freed by the call that frees memory of `kind`; or null.
const LinearAllocation* Freeable(const SimulatorState& state, LinearKind kind,
                                 DeviceAddress address) {
  const LinearAllocation* const found = state.mmu.linear.Find(address);
  if (found == nullptr || found->range.base != address) return nullptr;
  const bool both = kind == LinearKind::kDevice && found->kind == LinearKind::kManaged;
  return found->kind == kind || both ? found : nullptr;
}

// The driver frees nothing that its work still uses.
void FinishWork(SimulatorState& state) {
  for (int i = 0; i < state.mmu.profile.device_count(); ++i) state.FinishDevice(DeviceOrdinal(i));
}

// With mmu.mutex held, so that the record is made when nothing can fail any more. `kind`: of what
// the call frees.
absl::Status RefuseFree(SimulatorState& state, Call call, LinearKind kind, DeviceAddress address) {
  const AddressRange asked{address, Bytes(1), Bytes(0)};
  const LinearAllocation* const found = state.mmu.linear.Find(address);
  const bool unregistered = kind == LinearKind::kRegistered && found == nullptr;
  const DriverCode code =
      unregistered ? DriverCode::kHostMemoryNotRegistered : DriverCode::kInvalidValue;
  const std::string maker = NameOf(MakerOf(kind));
  const std::string its_maker = found == nullptr ? "" : NameOf(MakerOf(found->kind));
  const Misuse misuse = WhyLinearNotFreed(state, address);
  CallRecord record(state, call, asked);
  if (found == nullptr) {
    return record.RefuseWith(code, misuse, "nothing that ", maker, " made begins at ", address);
  }
  if (found->range.base != address) {
    return record.RefuseWith(code, misuse, address, " is inside of what ", its_maker, " made at ",
                             found->range.base);
  }
  return record.RefuseWith(code, misuse, "it was made by ", its_maker, ", and not by ", maker);
}

absl::Status FreeOne(SimulatorState& state, Call call, LinearKind kind, DeviceAddress address) {
  const auto is_there = [&] {
    const std::shared_lock lock(state.mmu.mutex);
    return Freeable(state, kind, address) != nullptr;
  };
  if (!state.IsBypassed() && is_there()) FinishWork(state);
  const absl::Status usable = state.sticky_error.Check(NameOf(call));
  if (!usable.ok()) return usable;
  const std::unique_lock lock(state.mmu.mutex);
  const LinearAllocation* const found = Freeable(state, kind, address);
  if (found == nullptr) return RefuseFree(state, call, kind, address);
  const AddressRange range = found->range;
  state.aliases.Forget(found->memory, range.size.value());
  state.mmu.linear.Free(address);
  CallRecord(state, call, range).Done(range, 0);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeviceAddress> LinearCalls::Allocate(const Context& context, Bytes size) {
  static constexpr char kCall[] = "cuMemAlloc";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<DeviceAddress> {
    const absl::Status usable = state_.CheckContext(kCall, context.device);
    if (!usable.ok()) return usable;
    if (size == Bytes(0)) return InvalidValue(kCall, "size is 0");
    const absl::StatusOr<AddressRange> range =
        Make(state_, Wanted(LinearKind::kDevice, context, 0), size);
    if (!range.ok()) return range.status();
    return range->base;
  });
}

absl::StatusOr<DeviceAddress> LinearCalls::AllocateManaged(const Context& context, Bytes size,
                                                           uint32_t flags) {
  static constexpr char kCall[] = "cuMemAllocManaged";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<DeviceAddress> {
    const absl::Status usable = state_.CheckContext(kCall, context.device);
    if (!usable.ok()) return usable;
    if (!state_.mmu.profile.Supports(kManagedMemory, context.device.value())) {
      return Fail(DriverCode::kNotSupported, kCall, ToString(context.device),
                  " has no managed memory");
    }
    if (flags != kAttachGlobal && flags != kAttachHost) {
      return InvalidValue(kCall, "flags ", flags, " are neither GLOBAL nor HOST");
    }
    if (size == Bytes(0)) return InvalidValue(kCall, "size is 0");
    const absl::StatusOr<AddressRange> range =
        Make(state_, Wanted(LinearKind::kManaged, context, flags), size);
    if (!range.ok()) return range.status();
    return range->base;
  });
}

absl::Status LinearCalls::Free(DeviceAddress address) {
  return guard_.Guard("cuMemFree", [&] {
    if (address == DeviceAddress(0)) return absl::OkStatus();
    return FreeOne(state_, Call::kFreeMemory, LinearKind::kDevice, address);
  });
}

absl::StatusOr<void*> LinearCalls::AllocateHost(const Context& context, Bytes size,
                                                uint32_t flags) {
  static constexpr char kCall[] = "cuMemHostAlloc";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<void*> {
    const absl::Status usable = state_.CheckContext(kCall, context.device);
    if (!usable.ok()) return usable;
    if (flags > kAllocFlags) return InvalidValue(kCall, "there are no flags ", flags);
    if (size == Bytes(0)) return nullptr;
    const absl::StatusOr<AddressRange> range =
        Make(state_, Wanted(LinearKind::kPinned, context, flags | kDeviceMap), size);
    if (!range.ok()) return range.status();
    return reinterpret_cast<void*>(range->base.value());
  });
}

absl::Status LinearCalls::FreeHost(void* memory) {
  return guard_.Guard("cuMemFreeHost", [&] {
    if (memory == nullptr) return absl::OkStatus();
    return FreeOne(state_, Call::kFreeHost, LinearKind::kPinned, AddressOf(memory));
  });
}

absl::Status LinearCalls::RegisterHost(const Context& context, void* memory, Bytes size,
                                       uint32_t flags) {
  static constexpr char kCall[] = "cuMemHostRegister";
  return guard_.Guard(kCall, [&] {
    const absl::Status usable = state_.CheckContext(kCall, context.device);
    if (!usable.ok()) return usable;
    LinearAllocation wanted = Wanted(LinearKind::kRegistered, context, flags | kDeviceMap);
    wanted.range = AddressRange{AddressOf(memory), size, Bytes(0)};
    if (flags > kRegisterFlags) return InvalidValue(kCall, "there are no flags ", flags);
    if (!state_.mmu.profile.Supports(kHostRegister, context.device.value())) {
      return Fail(DriverCode::kNotSupported, kCall, ToString(context.device),
                  " does not have HOST_REGISTER_SUPPORTED");
    }
    if (!IsOfProcess(wanted.range)) {
      return InvalidValue(kCall, "range ", ToString(wanted.range),
                          " is empty, or not all memory of the process");
    }
    CallRecord call(state_, Call::kRegisterHost, wanted.range);
    const std::unique_lock lock(state_.mmu.mutex);
    const absl::Status known = CheckUnknown(state_, call, wanted);
    if (!known.ok()) return known;
    if ((flags & kIoMemory) != 0) {
      return InvalidValue(kCall, "memory of the process is no memory of a device on the bus");
    }
    wanted.made_by = call.id();
    wanted.buffer_id = state_.mmu.NextBuffer();
    state_.mmu.linear.Register(wanted);
    state_.mmu.buffers_made = static_cast<uint32_t>(wanted.buffer_id);
    call.Done(wanted.range, 0);
    return absl::OkStatus();
  });
}

absl::Status LinearCalls::UnregisterHost(void* memory) {
  return guard_.Guard("cuMemHostUnregister", [&] {
    return FreeOne(state_, Call::kUnregisterHost, LinearKind::kRegistered, AddressOf(memory));
  });
}

absl::StatusOr<bool> LinearCalls::CloseShared(DeviceAddress address) {
  return guard_.Guard("cuIpcCloseMemHandle", [&]() -> absl::StatusOr<bool> {
    const std::lock_guard lock(open_mutex_);
    const auto found = open_.find(address.value());
    if (found != open_.end() && found->second.count > 1) {
      --found->second.count;
      return false;
    }
    const absl::Status freed =
        FreeOne(state_, Call::kCloseIpcMemory, LinearKind::kForeign, address);
    if (!freed.ok()) return freed;
    open_.erase(found);
    return true;
  });
}

absl::Status LinearCalls::FreeOwnedBy(uint64_t owner,
                                      absl::FunctionRef<void(const LinearAllocation&)> visit) {
  return guard_.Guard("cuCtxDestroy", [&] {
    FinishWork(state_);
    const std::lock_guard open_lock(open_mutex_);
    for (auto at = open_.begin(); at != open_.end();) {
      at = at->second.owner == owner ? open_.erase(at) : std::next(at);
    }
    const std::unique_lock lock(state_.mmu.mutex);
    state_.mmu.linear.RemovePeerAccessOf(owner);
    state_.mmu.linear.FreeOwnedBy(owner, [&](const LinearAllocation& allocation) {
      visit(allocation);
      state_.aliases.Forget(allocation.memory, allocation.range.size.value());
      CallRecord(state_, Call::kDestroyContext, allocation.range).Done(allocation.range, 0);
    });
    return absl::OkStatus();
  });
}

absl::Status LinearCalls::EnablePeerAccess(const Context& context, DeviceOrdinal peer) {
  static constexpr char kCall[] = "cuCtxEnablePeerAccess";
  return guard_.Guard(kCall, [&] {
    for (const DeviceOrdinal device : {context.device, peer}) {
      const absl::Status usable = state_.CheckContext(kCall, device);
      if (!usable.ok()) return usable;
    }
    if (context.device == peer || !state_.mmu.profile.peers[context.device.value()][peer.value()]) {
      return Fail(DriverCode::kPeerAccessUnsupported, kCall, ToString(peer), " is not a peer of ",
                  ToString(context.device));
    }
    const std::unique_lock lock(state_.mmu.mutex);
    const bool added = state_.mmu.linear.AddPeerAccess(context.owner, context.device, peer);
    return added ? absl::OkStatus()
                 : Fail(DriverCode::kPeerAccessAlreadyEnabled, kCall, "it is enabled already");
  });
}

absl::Status LinearCalls::DisablePeerAccess(const Context& context, DeviceOrdinal peer) {
  static constexpr char kCall[] = "cuCtxDisablePeerAccess";
  return guard_.Guard(kCall, [&] {
    const std::unique_lock lock(state_.mmu.mutex);
    const bool removed = state_.mmu.linear.RemovePeerAccess(context.owner, context.device, peer);
    return removed ? absl::OkStatus()
                   : Fail(DriverCode::kPeerAccessNotEnabled, kCall, "it is not enabled");
  });
}

absl::StatusOr<LinearAllocation> LinearCalls::Find(DeviceAddress address) const {
  static constexpr char kCall[] = "cuPointerGetAttribute";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<LinearAllocation> {
    const std::shared_lock lock(state_.mmu.mutex);
    const LinearAllocation* const found = state_.mmu.linear.Find(address);
    if (found != nullptr) return *found;
    return InvalidValue(kCall, "there is no linear memory at ", ToString(address));
  });
}

absl::Status LinearCalls::SetSyncMemops(DeviceAddress address, bool value) {
  static constexpr char kCall[] = "cuPointerSetAttribute";
  return guard_.Guard(kCall, [&] {
    const std::unique_lock lock(state_.mmu.mutex);
    const LinearAllocation* const found = state_.mmu.linear.Find(address);
    if (found == nullptr) {
      return InvalidValue(kCall, "there is no linear memory at ", ToString(address));
    }
    state_.mmu.linear.SetSyncMemops(found->range.base, value);
    return absl::OkStatus();
  });
}

absl::Status LinearCalls::CopyHostToDevice(SyncStream on, DeviceAddress destination,
                                           const void* source, Bytes size) {
  return guard_.Guard("cuMemcpyHtoD",
                      [&] { return copies_.CopyHostToDevice(on, destination, source, size); });
}

absl::Status LinearCalls::CopyDeviceToHost(SyncStream on, void* destination, DeviceAddress source,
                                           Bytes size) {
  return guard_.Guard("cuMemcpyDtoH",
                      [&] { return copies_.CopyDeviceToHost(on, destination, source, size); });
}

absl::Status LinearCalls::CopyDeviceToDevice(SyncStream on, DeviceAddress destination,
                                             DeviceAddress source, Bytes size) {
  return guard_.Guard("cuMemcpyDtoD",
                      [&] { return copies_.CopyDeviceToDevice(on, destination, source, size); });
}

absl::Status LinearCalls::Fill(SyncStream on, DeviceAddress destination, const FillPattern& pattern,
                               uint64_t count) {
  return guard_.Guard("cuMemset", [&] { return copies_.Fill(on, destination, pattern, count); });
}

absl::Status LinearCalls::Fill(Stream stream, DeviceAddress destination, const FillPattern& pattern,
                               uint64_t count) {
  return guard_.Guard("cuMemsetAsync",
                      [&] { return copies_.DoFill(stream, destination, pattern, count); });
}

absl::Status LinearCalls::Copy(SyncStream on, DeviceAddress destination, DeviceAddress source,
                               Bytes size) {
  return guard_.Guard("cuMemcpy", [&] { return copies_.Copy(on, destination, source, size); });
}

absl::Status LinearCalls::Copy(Stream stream, DeviceAddress destination, DeviceAddress source,
                               Bytes size) {
  return guard_.Guard("cuMemcpyAsync",
                      [&] { return copies_.Copy(stream, destination, source, size); });
}

absl::Status LinearCalls::CopyPeer(SyncStream on, const PeerAddress& destination,
                                   const PeerAddress& source, Bytes size) {
  return guard_.Guard("cuMemcpyPeer",
                      [&] { return copies_.CopyPeer(on, destination, source, size); });
}

absl::Status LinearCalls::CopyPeer(Stream stream, const PeerAddress& destination,
                                   const PeerAddress& source, Bytes size) {
  return guard_.Guard("cuMemcpyPeerAsync",
                      [&] { return copies_.CopyPeer(stream, destination, source, size); });
}

}  // namespace twinmmu

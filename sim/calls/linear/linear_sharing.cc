// Memory of cuMemAlloc that several processes use.

#include <mutex>
#include <string>

#include "sim/base/errors.h"
#include "sim/calls/linear/linear_calls.h"
#include "sim/diagnostics/call_record.h"
#include "sim/host/memory_label.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMark = 0x6b6c424d4d7754;  // "TwMMBlk"
constexpr char kOpen[] = "cuIpcOpenMemHandle";

// The words of a name: the place in the block, below the id of the allocation, so that no two have
// the same; and how much it is.
constexpr int kIdShift = 32;

// Why a name led to no memory. The codes for memory of this process, and for memory that was freed,
// are those of an H200. There, a name of freed memory opens what is at its address now, once that
// is shared too, and is NOT_PERMITTED before: here no program sees memory that it did not ask for.
absl::Status WhyNotOpened(const absl::Status& status) {
  const DriverCode code = absl::IsResourceExhausted(status)    ? DriverCode::kOutOfMemory
                          : absl::IsFailedPrecondition(status) ? DriverCode::kInvalidContext
                                                               : DriverCode::kInvalidValue;
  return Fail(code, kOpen, status.message());
}

}  // namespace

absl::StatusOr<FileName> LinearCalls::Share(DeviceAddress address) {
  static constexpr char kCall[] = "cuIpcGetMemHandle";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<FileName> {
    const std::unique_lock lock(state_.mmu.mutex);
    const LinearAllocation* const found = state_.mmu.linear.Find(address);
    if (found == nullptr || found->kind != LinearKind::kDevice) {
      return InvalidValue(kCall, "no memory of cuMemAlloc is at ", ToString(address));
    }
    const absl::StatusOr<LinearMemory::BlockFile> file =
        state_.mmu.linear.PutInFile(found->range.base);
    if (!file.ok()) return Fail(DriverCode::kOutOfMemory, kCall, file.status().message());
    MemoryLabel label;
    label.id = file->identity.second;
    label.size = file->size;
    label.properties.location = Location::Device(found->device);
    label.traits = SharingTraits::Of(state_.mmu.profile, label.properties.location);
    const absl::Status labelled = WriteLabel(file->descriptor, label);
    if (!labelled.ok()) return Fail(DriverCode::kOutOfMemory, kCall, labelled.message());
    // Others write there, too, unseen.
    state_.aliases.SetWritten(found->memory, found->range.size.value());
    WatchShared(found->range.base, file->descriptor);
    return NameFile(
        kMark, file->identity, file->descriptor,
        {found->buffer_id << kIdShift | file->offset.value(), found->range.size.value()});
  });
}

// What other processes do with the block is told in its file. Where the host refuses, it is not.
void LinearCalls::WatchShared(DeviceAddress base, int descriptor) {
  if (!state_.others.enabled()) return;
  const auto bytes = state_.mmu.linear.OpenLogOfBlock(base, descriptor);
  if (bytes.ok()) state_.others.Share(bytes->memory, bytes->size.value(), bytes->log);
}

absl::StatusOr<LinearCalls::Opened> LinearCalls::OpenShared(const Context& context,
                                                            const FileName& name) {
  return guard_.Guard(kOpen, [&]() -> absl::StatusOr<Opened> {
    const absl::Status usable = state_.CheckContext(kOpen, context.device);
    if (!usable.ok()) return usable;
    const std::lock_guard lock(open_mutex_);
    for (auto& [address, memory] : open_) {
      if (memory.owner != context.owner || memory.name != name) continue;
      const absl::StatusOr<LinearAllocation> found = Find(DeviceAddress(address));
      if (!found.ok()) return found.status();
      ++memory.count;
      return Opened{found->range, found->device};
    }
    return AddShared(context, name);
  });
}

absl::StatusOr<LinearCalls::Opened> LinearCalls::AddShared(const Context& context,
                                                           const FileName& name) {
  const absl::StatusOr<NamedFile> named = OpenNamedFile(kMark, name);
  if (!named.ok()) return WhyNotOpened(named.status());
  OpenMemories made;
  made[0] = OpenMemory{context.owner, name, 1};  // what can fail comes first
  const absl::StatusOr<AddressRange> range = MapShared(context, *named);
  if (!range.ok()) return range.status();
  auto node = made.extract(made.begin());
  node.key() = range->base.value();
  open_.insert(std::move(node));
  const absl::StatusOr<LinearAllocation> found = Find(range->base);
  return found.ok() ? absl::StatusOr<Opened>(Opened{*range, found->device, /*is_new=*/true})
                    : found.status();
}

absl::StatusOr<AddressRange> LinearCalls::MapShared(const Context& context,
                                                    const NamedFile& named) {
  const absl::StatusOr<MemoryLabel> label = ReadLabel(named.file.get());
  if (!label.ok()) return WhyNotOpened(label.status());
  const Profile& profile = state_.mmu.profile;
  const Location& location = label->properties.location;
  const DeviceOrdinal device(location.id);
  const bool here = location.type == LocationType::kDevice && state_.mmu.HasDevice(device);
  if (!here || !profile.exporters_visible) {
    return Fail(DriverCode::kInvalidDevice, kOpen, "this process does not see its ",
                ToString(location));
  }
  const std::string difference = DifferenceOf(label->traits, SharingTraits::Of(profile, location));
  if (!difference.empty()) return InvalidValue(kOpen, "it is of another machine: ", difference);
  const bool is_peer = context.device != device;
  if (is_peer && !profile.peers[context.device.value()][device.value()]) {
    return Fail(DriverCode::kPeerAccessUnsupported, kOpen, ToString(device), " is not a peer of ",
                ToString(context.device));
  }
  const Bytes offset(named.words[0] & ((uint64_t{1} << kIdShift) - 1));
  const Bytes size(named.words[1]);
  LinearAllocation wanted;
  wanted.kind = LinearKind::kForeign;
  wanted.device = device;
  wanted.owner = context.owner;
  CallRecord call(state_, Call::kOpenIpcMemory, AddressRange{DeviceAddress(0), size, Bytes(0)});
  const std::unique_lock lock(state_.mmu.mutex);
  wanted.made_by = call.id();
  wanted.buffer_id = state_.mmu.NextBuffer();
  const absl::StatusOr<AddressRange> range = state_.mmu.linear.AddForeign(
      {named.file.get(), named.identity, label->size, offset}, size, wanted);
  if (!range.ok()) return WhyNotOpened(range.status());
  state_.mmu.buffers_made = static_cast<uint32_t>(wanted.buffer_id);
  if (is_peer) state_.mmu.linear.AddPeerAccess(context.owner, context.device, device);
  WatchShared(range->base, named.file.get());
  call.Done(*range, 0);
  return range;
}

}  // namespace twinmmu

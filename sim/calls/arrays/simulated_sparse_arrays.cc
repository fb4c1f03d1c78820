#include "sim/calls/arrays/simulated_sparse_arrays.h"

#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/base/errors.h"
#include "sim/calls/arrays/array_limits.h"
#include "sim/diagnostics/call_record.h"
#include "sim/diagnostics/leaks.h"

namespace twinmmu {
namespace {

// An H200 with driver 580.159 does not look at it where there is one plane.
constexpr uint32_t kIgnored = uint32_t{1} << 31;
constexpr uint32_t kFlagsOfSparse = kArraySparse | kArrayLayered | kArrayGather | kArrayVideo;
constexpr uint32_t kFlagsOfOthers =
    kArrayLayered | kArrayGather | kArraySurface | kArrayCubemap | kArrayDeferred | kArrayVideo;

// How many channels blocks of a compressed format have; 0: it is none.
uint32_t ChannelsOfBlocks(int format) {
  constexpr int kFirst = 0x91;  // CU_AD_FORMAT_BC1_UNORM
  constexpr uint32_t kChannels[] = {4, 4, 4, 4, 4, 4, 1, 1, 2, 2, 3, 3, 4, 4};
  const int index = format - kFirst;
  return index >= 0 && index < static_cast<int>(std::size(kChannels)) ? kChannels[index] : 0;
}

// Of formats of video, such as CU_AD_FORMAT_NV12. Most of them have several planes.
bool AreOfVideo(int format, uint32_t channels) {
  return format >= 0x9f && format <= 0xbf && (channels == 3 || channels == 4);
}

// What such an array has that is not simulated; empty: nothing.
std::string UncoveredPart(const ArrayDescriptor& descriptor) {
  const int format = static_cast<int>(descriptor.format);
  const uint32_t channels = descriptor.channels;
  const bool of_blocks = channels != 0 && ChannelsOfBlocks(format) == channels;
  const bool of_video = AreOfVideo(format, channels) && (descriptor.flags & kArrayVideo) != 0 &&
                        (descriptor.extent.z == 0 || (descriptor.flags & kArrayLayered) != 0);
  return of_blocks || of_video ? absl::StrCat("arrays of format 0x", absl::Hex(format)) : "";
}

}  // namespace

TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_GUARDED, SimulatedSparseArrays)

absl::Status SimulatedSparseArrays::CheckDescriptor(const char* call, DeviceOrdinal device,
                                                    const ArrayDescriptor& descriptor,
                                                    bool mipmapped) const {
  const absl::Status usable = state_.CheckContext(call, device);
  if (!usable.ok()) return usable;
  const ArrayExtent& extent = descriptor.extent;
  const uint32_t channels = descriptor.channels;
  const bool sparse = (descriptor.flags & kArraySparse) != 0;
  const bool layered = (descriptor.flags & kArrayLayered) != 0;
  const std::string uncovered = UncoveredPart(descriptor);
  if (!uncovered.empty()) return RefuseUncovered(state_, call, device, uncovered);
  if (ElementSize(descriptor) == Bytes(0) || (channels != 1 && channels != 2 && channels != 4)) {
    return InvalidValue(call, "there are no elements of ", channels, " channels of format ",
                        static_cast<int>(descriptor.format));
  }
  const bool is_plane = extent.y != 0 && extent.z == 0;
  const uint32_t known = (sparse ? kFlagsOfSparse : kFlagsOfOthers) | (is_plane ? kIgnored : 0);
  if ((descriptor.flags & ~known) != 0) {
    return InvalidValue(call, "flags ", descriptor.flags, " do not go together, or do not exist");
  }
  if (extent.x == 0 || (extent.y == 0 && extent.z != 0 && !layered) || (layered && extent.z == 0)) {
    return InvalidValue(call, "an array of ", extent.x, " x ", extent.y, " x ", extent.z,
                        " has no elements");
  }
  const absl::Status shape = CheckArrayShape(call, descriptor);
  if (!shape.ok()) return shape;
  if (sparse && extent.y == 0) return InvalidValue(call, "a sparse array has two dimensions or 3");
  const DeviceProfile& profile = mmu_.profile.devices[static_cast<size_t>(device.value())];
  if (!IsWithinLimits(profile, descriptor, mipmapped)) {
    return InvalidValue(call, "an array of ", extent.x, " x ", extent.y, " x ", extent.z,
                        " is larger than ", ToString(device), " allows");
  }
  if (sparse &&
      !mmu_.profile.Supports(DeviceAttribute::kSparseCudaArraySupported, device.value())) {
    return Fail(DriverCode::kNotSupported, call, ToString(device), " does not have ",
                ToString(DeviceAttribute::kSparseCudaArraySupported));
  }
  return absl::OkStatus();
}

absl::StatusOr<SimulatedSparseArrays::StatePtr> SimulatedSparseArrays::Make(
    const char* call, DeviceOrdinal device, const ArrayDescriptor& descriptor, uint32_t levels) {
  auto state = std::make_shared<State>();
  state->device = device;
  state->descriptor = descriptor;
  state->layout = ArrayLayout(descriptor, levels);
  if ((descriptor.flags & (kArraySparse | kArrayDeferred)) != 0) return state;
  const Bytes size(state->layout.blocks() * ArrayLayout::kBlock);
  const std::unique_lock lock(mmu_.mutex);
  while (unfreed_ != nullptr && unfreed_->own.Free()) {
    unfreed_ = std::exchange(unfreed_->next_unfreed, nullptr);
  }
  const absl::Status room = mmu_.memory.CheckRoom(size, Location::Device(device));
  if (!room.ok()) return Fail(DriverCode::kOutOfMemory, call, room.message());
  absl::StatusOr<Backing> own = Backing::Make(BackingKind::kPrivate, size);
  if (!own.ok()) return Fail(DriverCode::kOutOfMemory, call, own.status().message());
  state->own = *std::move(own);
  mmu_.memory.Occupy(size, Location::Device(device));
  return state;
}

// What work that is still queued keeps is empty from now on.
void SimulatedSparseArrays::Drop(const StatePtr& state) {
  state_.FinishDevice(state->device);
  const std::unique_lock lock(mmu_.mutex);
  if (std::exchange(state->gone, true)) return;
  for (const auto& [number, block] : state->blocks) mmu_.memory.Unpin(block.allocation);
  state->blocks.clear();
  if (state->own.data() == nullptr) return;
  const Bytes size(state->layout.blocks() * ArrayLayout::kBlock);
  mmu_.memory.Vacate(size, Location::Device(state->device));
  if (state->own.Free()) return;
  state->next_unfreed = std::move(unfreed_);
  unfreed_ = state;
}

template <typename Named>
uint64_t SimulatedSparseArrays::Insert(HandleTable<Named>& table, Named named) {
  const StatePtr state = named.state;
  try {
    const std::lock_guard lock(mutex_);
    return table.Insert(std::move(named));
  } catch (const std::bad_alloc&) {
    Drop(state);
    throw;
  }
}

absl::Status SimulatedSparseArrays::NoSuchArray(const char* call, DeviceOrdinal device,
                                                uint64_t value, DriverCode code) const {
  if (value == 0) return Fail(code, call, "the array is null");
  const Misuse misuse{DiagnosticKind::kUseOfUnknownArray, std::nullopt, std::nullopt, device};
  return RefuseCall(state_, code, call, AddressRange(), misuse, "array ", value, " of ", device,
                    " does not exist");
}

absl::StatusOr<SimulatedSparseArrays::NamedArray> SimulatedSparseArrays::Find(
    const char* call, Array array, DriverCode code) const {
  {
    const std::lock_guard lock(mutex_);
    const NamedArray* const found = arrays_.Find(array.value());
    if (found != nullptr && found->state->device == array.device()) return *found;
  }
  const std::shared_lock lock(mmu_.mutex);
  return NoSuchArray(call, array.device(), array.value(), code);
}

absl::StatusOr<SimulatedSparseArrays::NamedMipmap> SimulatedSparseArrays::Find(
    const char* call, MipmappedArray mipmap, DriverCode code) const {
  {
    const std::lock_guard lock(mutex_);
    const NamedMipmap* const found = mipmaps_.Find(mipmap.value());
    if (found != nullptr && found->state->device == mipmap.device()) return *found;
  }
  const std::shared_lock lock(mmu_.mutex);
  return NoSuchArray(call, mipmap.device(), mipmap.value(), code);
}

absl::StatusOr<Array> SimulatedSparseArrays::DoCreateArray(DeviceOrdinal device,
                                                           const ArrayDescriptor& descriptor) {
  static constexpr char kCall[] = "cuArray3DCreate";
  const absl::Status valid = CheckDescriptor(kCall, device, descriptor, false);
  if (!valid.ok()) return valid;
  absl::StatusOr<StatePtr> state = Make(kCall, device, descriptor, 1);
  if (!state.ok()) return state.status();
  NamedArray named;
  named.state = *std::move(state);
  named.made_by = RecordCall(state_, kCall);
  return Array(device, Insert(arrays_, std::move(named)));
}

absl::Status SimulatedSparseArrays::DoDestroyArray(Array array) {
  static constexpr char kCall[] = "cuArrayDestroy";
  const absl::StatusOr<NamedArray> found = Find(kCall, array, DriverCode::kInvalidHandle);
  if (!found.ok()) return found.status();
  {
    const std::lock_guard lock(mutex_);
    if (arrays_.Find(array.value()) == nullptr) return absl::OkStatus();  // by another thread
    arrays_.Erase(HandleTable<NamedArray>::IndexOf(array.value()));
    NamedMipmap* const mipmap = mipmaps_.Find(found->mipmap);
    if (mipmap != nullptr) mipmap->levels[found->level] = 0;
  }
  if (found->mipmap == 0) Drop(found->state);
  return absl::OkStatus();
}

absl::StatusOr<MipmappedArray> SimulatedSparseArrays::DoCreateMipmappedArray(
    DeviceOrdinal device, const ArrayDescriptor& descriptor, uint32_t levels) {
  static constexpr char kCall[] = "cuMipmappedArrayCreate";
  const absl::Status valid = CheckDescriptor(kCall, device, descriptor, true);
  if (!valid.ok()) return valid;
  NamedMipmap named;
  named.levels.resize(ArrayLayout(descriptor, levels).levels());
  absl::StatusOr<StatePtr> state = Make(kCall, device, descriptor, levels);
  if (!state.ok()) return state.status();
  named.state = *std::move(state);
  named.made_by = RecordCall(state_, kCall);
  return MipmappedArray(device, Insert(mipmaps_, std::move(named)));
}

absl::Status SimulatedSparseArrays::DoDestroyMipmappedArray(MipmappedArray mipmap) {
  static constexpr char kCall[] = "cuMipmappedArrayDestroy";
  absl::StatusOr<NamedMipmap> found = Find(kCall, mipmap, DriverCode::kInvalidHandle);
  if (!found.ok()) return found.status();
  {
    const std::lock_guard lock(mutex_);
    NamedMipmap* const named = mipmaps_.Find(mipmap.value());
    if (named == nullptr) return absl::OkStatus();  // by another thread
    for (const uint64_t level : named->levels) {
      if (level != 0) arrays_.Erase(HandleTable<NamedArray>::IndexOf(level));
    }
    mipmaps_.Erase(HandleTable<NamedMipmap>::IndexOf(mipmap.value()));
  }
  Drop(found->state);
  return absl::OkStatus();
}

absl::StatusOr<Array> SimulatedSparseArrays::DoGetLevel(MipmappedArray mipmap, uint32_t level) {
  static constexpr char kCall[] = "cuMipmappedArrayGetLevel";
  const absl::StatusOr<NamedMipmap> found = Find(kCall, mipmap, DriverCode::kInvalidHandle);
  if (!found.ok()) return found.status();
  if (level >= found->state->layout.levels()) {
    return InvalidValue(kCall, "level ", level, " is not one of ", found->state->layout.levels());
  }
  const std::lock_guard lock(mutex_);
  NamedMipmap* const named = mipmaps_.Find(mipmap.value());
  if (named == nullptr) return InvalidValue(kCall, "the array was destroyed meanwhile");
  uint64_t& array = named->levels[level];
  if (array == 0) {
    array = arrays_.Insert(NamedArray{found->state, level, mipmap.value(), found->made_by});
  }
  return Array(mipmap.device(), array);
}

absl::StatusOr<SparseProperties> SimulatedSparseArrays::DoGetArraySparseProperties(Array array) {
  static constexpr char kCall[] = "cuArrayGetSparseProperties";
  const absl::StatusOr<NamedArray> found = Find(kCall, array, DriverCode::kInvalidValue);
  if (!found.ok()) return found.status();
  if (found->mipmap != 0) return InvalidValue(kCall, "it is a level of a mipmapped array");
  if ((found->state->descriptor.flags & kArraySparse) == 0) {
    return InvalidValue(kCall, "the array is not sparse");
  }
  SparseProperties properties = found->state->layout.properties();
  if (properties.mip_tail_size == Bytes(0)) properties.mip_tail_level = 0;
  return properties;
}

absl::StatusOr<SparseProperties> SimulatedSparseArrays::DoGetMipmappedArraySparseProperties(
    MipmappedArray mipmap) {
  static constexpr char kCall[] = "cuMipmappedArrayGetSparseProperties";
  const absl::StatusOr<NamedMipmap> found = Find(kCall, mipmap, DriverCode::kInvalidValue);
  if (!found.ok()) return found.status();
  if ((found->state->descriptor.flags & kArraySparse) == 0) {
    return InvalidValue(kCall, "the array is not sparse");
  }
  return found->state->layout.properties();
}

absl::StatusOr<Bytes> SimulatedSparseArrays::GetMemoryNeeded(Array array) {
  static constexpr char kCall[] = "cuArrayGetMemoryRequirements";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<Bytes> {
    const absl::StatusOr<NamedArray> found = Find(kCall, array, DriverCode::kInvalidValue);
    if (!found.ok()) return found.status();
    if (found->mipmap != 0) return InvalidValue(kCall, "it is a level of a mipmapped array");
    return MemoryNeeded(kCall, *found->state);
  });
}

absl::StatusOr<Bytes> SimulatedSparseArrays::GetMemoryNeeded(MipmappedArray mipmap) {
  static constexpr char kCall[] = "cuMipmappedArrayGetMemoryRequirements";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<Bytes> {
    const absl::StatusOr<NamedMipmap> found = Find(kCall, mipmap, DriverCode::kInvalidValue);
    if (!found.ok()) return found.status();
    return MemoryNeeded(kCall, *found->state);
  });
}

absl::StatusOr<Bytes> SimulatedSparseArrays::MemoryNeeded(const char* call, const State& state) {
  if (!state.is_deferred()) return InvalidValue(call, "the array is not one of deferred mapping");
  return Bytes(state.layout.blocks() * ArrayLayout::kBlock);
}

absl::StatusOr<ArrayDescriptor> SimulatedSparseArrays::GetDescriptor(Array array) {
  static constexpr char kCall[] = "cuArray3DGetDescriptor";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<ArrayDescriptor> {
    const absl::StatusOr<NamedArray> found = Find(kCall, array, DriverCode::kInvalidHandle);
    if (!found.ok()) return found.status();
    ArrayDescriptor descriptor = found->state->descriptor;
    const ArrayExtent& extent = found->state->layout.level(found->level).extent;
    descriptor.extent.x = extent.x;
    if (descriptor.extent.y != 0) descriptor.extent.y = extent.y;
    if (found->state->layout.has_depth()) descriptor.extent.z = extent.z;
    return descriptor;
  });
}

std::optional<DeviceOrdinal> SimulatedSparseArrays::DeviceOfArray(uint64_t array) const {
  const std::lock_guard lock(mutex_);
  const NamedArray* const found = arrays_.Find(array);
  return found == nullptr ? std::nullopt : std::optional(found->state->device);
}

std::optional<DeviceOrdinal> SimulatedSparseArrays::DeviceOfMipmappedArray(uint64_t mipmap) const {
  const std::lock_guard lock(mutex_);
  const NamedMipmap* const found = mipmaps_.Find(mipmap);
  return found == nullptr ? std::nullopt : std::optional(found->state->device);
}

std::vector<Diagnostic> SimulatedSparseArrays::Leaks() const {
  std::vector<Diagnostic> leaks;
  const auto add = [&](const char* call, uint64_t number, DeviceOrdinal device) {
    leaks.push_back(LeakOf(DiagnosticKind::kLeakedArray, call, number));
    leaks.back().device = device;
  };
  const std::lock_guard lock(mutex_);
  arrays_.ForEach([&](uint64_t, const NamedArray& array) {
    if (array.mipmap == 0) add("cuArray3DCreate", array.made_by, array.state->device);
  });
  mipmaps_.ForEach([&](uint64_t, const NamedMipmap& mipmap) {
    add("cuMipmappedArrayCreate", mipmap.made_by, mipmap.state->device);
  });
  return leaks;
}

}  // namespace twinmmu

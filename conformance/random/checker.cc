#include "conformance/random/checker.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu::conformance::random {
namespace {

// More is not mapped: the model keeps an entry per granule.
constexpr uint64_t kMostGranules = 32;
constexpr Bytes kMostHostBytes(256);
// No descriptor has this number.
constexpr int kClosed = 1000000;

Step Compare(Answer expected, const absl::Status& status) {
  Step step;
  const DriverCode actual = GetDriverCode(status);
  if (!expected.Allows(actual)) {
    step.difference =
        absl::StrCat("the answer is ", DriverCodeName(actual), ", the model says ",
                     DriverCodeName(expected.code), status.ok() ? "" : ": ", status.message());
  }
  step.expected = std::move(expected);
  return step;
}

template <typename T>
void Expect(Step& step, const char* what, const T& actual, const T& expected) {
  if (!step.difference.empty() || actual == expected) return;
  step.difference = absl::StrCat("the ", what, " differs from the model's");
}

// For results that are a number; `number` makes one of them.
template <typename Result, typename ToNumber>
Step CompareNumber(Answer expected, const Result& result, const ToNumber& number) {
  Step step = Compare(std::move(expected), result.status());
  if (!result.ok() || step.expected.any_number || !step.difference.empty()) return step;
  const uint64_t actual = number(*result);
  if (actual != step.expected.number) {
    step.difference =
        absl::StrCat("the result is ", actual, ", the model says ", step.expected.number);
  }
  return step;
}

}  // namespace

Checker::Checker(Vmm* vmm, Executor* executor, const ModelParameters& parameters, bool defined_only)
    : vmm_(*vmm), executor_(*executor), defined_only_(defined_only), model_(parameters) {}

// --- Operands

Bytes Checker::Value(const Amount& amount) const {
  const ModelParameters& parameters = model_.parameters();
  Bytes value =
      parameters.granularity * static_cast<uint64_t>(amount.granules) + Bytes(amount.bytes);
  if (amount.eighths != 0 && !parameters.devices.empty()) {
    const Bytes eighth = parameters.devices[0].total / 8;
    value = value + RoundUp(static_cast<uint64_t>(amount.eighths) * eighth, parameters.granularity);
  }
  return value;
}

DeviceAddress Checker::Value(const Place& place) const {
  const DeviceAddress base = place.slot == kNoSlot
                                 ? DeviceAddress()
                                 : slots_.reservations[static_cast<size_t>(place.slot)].base;
  return base + Value(place.offset);
}

AllocationHandle Checker::Value(const HandleOperand& handle) const {
  return handle.slot == kNoSlot ? AllocationHandle(handle.invented)
                                : slots_.handles[static_cast<size_t>(handle.slot)];
}

ShareableHandle Checker::ShareableOf(const Call& call) const {
  ShareableHandle shareable = call.shareable == kNoSlot
                                  ? ShareableHandle::FileDescriptor(call.descriptor)
                                  : slots_.shareables[static_cast<size_t>(call.shareable)];
  shareable.type = call.handle_type;
  return shareable;
}

AddressRange Checker::RangeOf(const Call& call) const {
  return AddressRange{Value(call.address), Value(call.size), Bytes(0)};
}

bool Checker::IsLeftOut(const Call& call) const {
  const AllocationHandle handle = Value(call.handle);
  if (call.kind == CallKind::kMap &&
      model_.SizeOf(handle) > kMostGranules * model_.parameters().granularity) {
    return true;
  }
  const bool between_host =
      call.kind == CallKind::kCopyHostToDevice || call.kind == CallKind::kCopyDeviceToHost;
  if (between_host && Value(call.size) > kMostHostBytes) return true;
  return defined_only_ && (!model_.IsDefined(handle) || call.stream == StreamOperand::kInvented ||
                           ReachesOthers(call) || MayEndTheProcess(call) || Overlaps(call));
}

// A copy within one memory: what the destination then holds is not defined. The ranges, where they
// are not at 0, lie in reservations.
bool Checker::Overlaps(const Call& call) const {
  const AddressRange destination = RangeOf(call);
  const AddressRange source{Value(call.source), destination.size, Bytes(0)};
  const bool in_memory = destination.base != DeviceAddress() && source.base != DeviceAddress();
  return call.kind == CallKind::kCopyDeviceToDevice && in_memory &&
         model_.Overlap(destination, source);
}

// Copies that the CPU does where it may not touch the memory.
bool Checker::MayEndTheProcess(const Call& call) const {
  const AddressRange range = RangeOf(call);
  const AddressRange source{Value(call.source), range.size, Bytes(0)};
  switch (call.kind) {
    case CallKind::kCopyHostToDevice:
      return model_.MayEndTheProcess(call.device, range, Access::kReadWrite, true);
    case CallKind::kCopyDeviceToHost:
      return model_.MayEndTheProcess(call.device, range, Access::kRead, true);
    case CallKind::kCopyDeviceToDevice:  // a short one of what the CPU sees in part may be its work
      return model_.MayEndTheProcess(call.device, range, Access::kReadWrite,
                                     model_.CpuSeesSome(source)) ||
             model_.MayEndTheProcess(call.device, source, Access::kRead, true);
    default:
      return false;
  }
}

// The driver has reservations and memory of its own, and does not guard them. Beside a reservation
// of this sequence anything may lie, and a range that wraps may end the process.
bool Checker::ReachesOthers(const Call& call) const {
  const auto reaches = [this](const AddressRange& range) {
    if (range.base == DeviceAddress(0)) return false;
    const AddressRange* reservation = model_.ReservationAt(range.base);
    return reservation == nullptr || (range.size != Bytes(0) && !reservation->contains(range));
  };
  const auto at = [this](const Place& place, Bytes size) {
    return AddressRange{Value(place), size, Bytes(0)};
  };
  switch (call.kind) {
    case CallKind::kUnmap: {  // one that wraps unmaps nothing, but may not end inside a mapping
      const AddressRange range = RangeOf(call);
      const DeviceAddress end = range.base + range.size;
      if (range.empty() || end > range.base) return reaches(range);
      const bool ends_in_own = end == DeviceAddress(0) || model_.ReservationAt(end) != nullptr;
      return model_.ReservationAt(range.base) == nullptr || !ends_in_own;
    }
    case CallKind::kMap:
    case CallKind::kSetAccess:
    case CallKind::kCopyHostToDevice:
    case CallKind::kCopyDeviceToHost:
      return reaches(RangeOf(call));
    case CallKind::kCopyDeviceToDevice:
      return reaches(RangeOf(call)) || reaches(at(call.source, Value(call.size)));
    case CallKind::kFill: {
      uint64_t size = 0;
      return __builtin_mul_overflow(call.pattern.width.value(), call.count, &size) ||
             reaches(at(call.address, Bytes(size)));
    }
    case CallKind::kRetain:
    case CallKind::kAddressFree:
    case CallKind::kGetAccess:
    case CallKind::kGetPointerAttribute:
    case CallKind::kGetAddressRange:
      return reaches(at(call.address, Bytes(0)));
    default:
      return false;
  }
}

// --- Calls

Step Checker::Do(const Call& call) {
  if (IsLeftOut(call)) {
    Step step;
    step.skipped = true;
    return step;
  }
  ++answers_;
  const auto number = [](auto value) { return static_cast<uint64_t>(value); };
  switch (call.kind) {
    case CallKind::kAddressReserve:
      return AddressReserve(call);
    case CallKind::kAddressFree:
      return Compare(model_.AddressFree(RangeOf(call)), vmm_.AddressFree(RangeOf(call)));
    case CallKind::kGetGranularity:
      return CompareNumber(model_.GetAllocationGranularity(call.properties, call.granularity),
                           vmm_.GetAllocationGranularity(call.properties, call.granularity),
                           [](Bytes granularity) { return granularity.value(); });
    case CallKind::kCreate:
      return Create(call);
    case CallKind::kRelease:
      return Compare(model_.Release(Value(call.handle)), vmm_.Release(Value(call.handle)));
    case CallKind::kRetain:
      return Retain(call);
    case CallKind::kGetProperties:
      return GetProperties(call);
    case CallKind::kGetMemoryInfo:
      return GetMemoryInfo(call);
    case CallKind::kCanAccessPeer:
      return CompareNumber(model_.CanAccessPeer(call.device, call.peer),
                           vmm_.CanAccessPeer(call.device, call.peer), number);
    case CallKind::kMap: {
      const AllocationHandle handle = Value(call.handle);
      const Bytes offset = Value(call.offset);
      return Compare(model_.Map(RangeOf(call), handle, offset, call.flags),
                     vmm_.Map(RangeOf(call), handle, offset, call.flags));
    }
    case CallKind::kUnmap:
      return Compare(model_.Unmap(RangeOf(call)), vmm_.Unmap(RangeOf(call)));
    case CallKind::kSetAccess:
      return Compare(model_.SetAccess(RangeOf(call), call.grants),
                     vmm_.SetAccess(RangeOf(call), call.grants));
    case CallKind::kGetAccess:
      return CompareNumber(model_.GetAccess(call.location, Value(call.address)),
                           vmm_.GetAccess(call.location, Value(call.address)), number);
    case CallKind::kExport:
      return Export(call);
    case CallKind::kCloseDescriptor:
      return CloseDescriptor(call);
    case CallKind::kImport:
      return Import(call);
    case CallKind::kGetPointerAttribute:
      return CompareNumber(
          model_.GetPointerAttribute(call.device, call.attribute, Value(call.address)),
          vmm_.GetPointerAttribute(call.device, call.attribute, Value(call.address)), number);
    case CallKind::kGetAddressRange:
      return GetAddressRange(call);
    case CallKind::kCopyHostToDevice:
      return CopyHostToDevice(call);
    case CallKind::kCopyDeviceToHost:
      return CopyDeviceToHost(call);
    case CallKind::kCopyDeviceToDevice:
      return CopyDeviceToDevice(call);
    case CallKind::kFill:
      return Fill(call);
  }
  return Step();
}

Step Checker::AddressReserve(const Call& call) {
  const ReserveOptions options{Value(call.offset), Value(call.address), call.flags};
  const Bytes size = Value(call.size);
  const absl::StatusOr<AddressRange> range = vmm_.AddressReserve(size, options);
  Step step = Compare(model_.AddressReserve(size, options), range.status());
  if (!range.ok()) return step;
  const std::string wrong = model_.Reserved(*range, size, options);
  if (step.difference.empty()) step.difference = wrong;
  slots_.reservations[static_cast<size_t>(call.result)] = *range;
  return step;
}

Step Checker::Create(const Call& call) {
  const Bytes size = Value(call.size);
  const absl::StatusOr<AllocationHandle> handle = vmm_.Create(size, call.properties, call.flags);
  Step step = Compare(model_.Create(size, call.properties, call.flags), handle.status());
  if (!handle.ok() || !step.difference.empty()) return step;
  step.difference = model_.Created(*handle, size, call.properties);
  slots_.handles[static_cast<size_t>(call.result)] = *handle;
  return step;
}

Step Checker::Retain(const Call& call) {
  const DeviceAddress address = Value(call.address);
  const absl::StatusOr<AllocationHandle> handle = vmm_.RetainAllocationHandle(address);
  Step step = CompareNumber(model_.RetainAllocationHandle(address), handle,
                            [](AllocationHandle h) { return h.value(); });
  if (handle.ok()) slots_.handles[static_cast<size_t>(call.result)] = *handle;
  return step;
}

Step Checker::GetProperties(const Call& call) {
  const AllocationHandle handle = Value(call.handle);
  const absl::StatusOr<AllocationProperties> properties = vmm_.GetAllocationProperties(handle);
  Step step = Compare(model_.GetAllocationProperties(handle), properties.status());
  if (properties.ok()) Expect(step, "properties", *properties, step.expected.properties);
  return step;
}

Step Checker::GetMemoryInfo(const Call& call) {
  const absl::StatusOr<MemoryInfo> info = vmm_.GetMemoryInfo(call.device);
  Step step = Compare(model_.GetMemoryInfo(call.device), info.status());
  if (!info.ok()) return step;
  const MemoryInfo& expected = step.expected.memory;
  Expect(step, "total memory", info->total, expected.total);
  if (model_.parameters().sole_user) Expect(step, "free memory", info->free, expected.free);
  return step;
}

Step Checker::Export(const Call& call) {
  const AllocationHandle handle = Value(call.handle);
  const absl::StatusOr<ShareableHandle> shareable =
      vmm_.ExportShareableHandle(handle, call.handle_type, call.flags);
  Step step = Compare(model_.Export(handle, call.handle_type, call.flags), shareable.status());
  if (!shareable.ok() || !step.difference.empty()) return step;
  Expect(step, "type of the shareable handle", shareable->type, call.handle_type);
  const std::string wrong = model_.Exported(*shareable, handle);
  if (step.difference.empty()) step.difference = wrong;
  slots_.shareables[static_cast<size_t>(call.result)] = *shareable;
  return step;
}

Step Checker::CloseDescriptor(const Call& call) {
  int& descriptor = slots_.shareables[static_cast<size_t>(call.result)].file_descriptor;
  const int closed = std::exchange(descriptor, kClosed);
  if (closed >= 0 && closed != kClosed) {
    close(closed);
    model_.Closed(closed);
  }
  return Step();
}

Step Checker::Import(const Call& call) {
  const ShareableHandle shareable = ShareableOf(call);
  const absl::StatusOr<AllocationHandle> handle = vmm_.ImportShareableHandle(shareable);
  Step step = Compare(model_.Import(shareable), handle.status());
  if (!handle.ok() || !step.difference.empty()) return step;
  step.difference = model_.Imported(*handle, shareable);
  slots_.handles[static_cast<size_t>(call.result)] = *handle;
  return step;
}

Step Checker::GetAddressRange(const Call& call) {
  const DeviceAddress address = Value(call.address);
  const absl::StatusOr<AddressRange> range = vmm_.GetAddressRange(call.device, address);
  Step step = Compare(model_.GetAddressRange(call.device, address), range.status());
  if (range.ok()) Expect(step, "range", *range, step.expected.range);
  return step;
}

// --- Copies and fills. All work is waited for: whoever unmaps memory that is in use has a fault.

// Compares the answer of the model with that of work(DeviceOrdinal) or work(Stream).
template <typename Expect, typename Work>
Step Checker::Transfer(const Call& call, const Expect& expect, const Work& work) {
  if (call.stream == StreamOperand::kInvented) {
    return Compare(model_.UseInventedStream(call.device),
                   work(Stream(call.device, kInventedStream)));
  }
  const absl::Status given =
      call.stream == StreamOperand::kNone ? work(call.device) : work(Stream(call.device));
  return Compare(expect(), given.ok() ? executor_.SynchronizeDevice(call.device) : given);
}

Step Checker::CopyHostToDevice(const Call& call) {
  const DeviceAddress destination = Value(call.address);
  const Bytes size = Value(call.size);
  const auto first = static_cast<uint8_t>(call.pattern.value);
  std::vector<uint8_t> bytes(size.value());
  std::iota(bytes.begin(), bytes.end(), first);
  return Transfer(
      call, [&] { return model_.CopyHostToDevice(call.device, destination, first, size); },
      [&](auto where) {
        return executor_.CopyHostToDevice(where, destination, bytes.data(), size);
      });
}

Step Checker::CopyDeviceToHost(const Call& call) {
  const DeviceAddress source = Value(call.address);
  const Bytes size = Value(call.size);
  std::vector<uint8_t> bytes(size.value());
  absl::Status copied;
  Step step = Transfer(
      call, [&] { return model_.CopyDeviceToHost(call.device, source, size); },
      [&](auto where) {
        copied = executor_.CopyDeviceToHost(where, bytes.data(), source, size);
        return copied;
      });
  if (!copied.ok() || !step.difference.empty()) return step;
  for (size_t i = 0; i < step.expected.bytes.size(); ++i) {
    const Byte& expected = step.expected.bytes[i];
    if (!expected.has_value() || bytes[i] == *expected) continue;
    step.difference =
        absl::StrCat("byte ", i, " is ", int{bytes[i]}, ", the model says ", int{*expected});
    return step;
  }
  model_.Learn(source, bytes);
  return step;
}

Step Checker::CopyDeviceToDevice(const Call& call) {
  const DeviceAddress destination = Value(call.address);
  const DeviceAddress source = Value(call.source);
  const Bytes size = Value(call.size);
  return Transfer(
      call, [&] { return model_.CopyDeviceToDevice(call.device, destination, source, size); },
      [&](auto where) { return executor_.CopyDeviceToDevice(where, destination, source, size); });
}

Step Checker::Fill(const Call& call) {
  const DeviceAddress destination = Value(call.address);
  return Transfer(
      call, [&] { return model_.Fill(call.device, destination, call.pattern, call.count); },
      [&](auto where) { return executor_.Fill(where, destination, call.pattern, call.count); });
}

// --- State: questions, which are calls themselves

std::optional<Difference> Checker::Ask(const std::vector<Call>& questions) {
  for (auto question = questions.begin(); question != questions.end(); ++question) {
    Step step = Do(*question);
    if (step.difference.empty()) continue;
    return Difference{std::move(step.difference), {questions.begin(), question + 1}};
  }
  return std::nullopt;
}

std::optional<Difference> Checker::DoAndCheck(const Call& call) {
  Step step = Do(call);
  if (!step.difference.empty()) return Difference{std::move(step.difference), {}};
  return CheckState();
}

std::optional<Difference> Checker::CheckState() {
  std::optional<Difference> difference;
  const Bytes granularity = model_.parameters().granularity;
  for (int slot = 0; slot < Slots::kReservations && !difference.has_value(); ++slot) {
    const AddressRange& range = slots_.reservations[static_cast<size_t>(slot)];
    // One beyond its end, and further where a mapping reaches beyond it.
    for (int64_t i = 0; !difference.has_value(); ++i) {
      const Place place{slot, {i, 0, 0}};
      const bool beyond = range.empty() || Value(place) > range.end();
      if (beyond && model_.MappingAt(range.base + static_cast<uint64_t>(i) * granularity).empty()) {
        break;
      }
      difference = CheckGranule(place);
    }
  }
  for (int i = 0; i < model_.device_count() && !difference.has_value(); ++i) {
    Call question;
    question.kind = CallKind::kGetMemoryInfo;
    question.device = DeviceOrdinal(i);
    difference = Ask({question});
  }
  return difference;
}

std::optional<Difference> Checker::CheckGranule(const Place& place) {
  const DeviceAddress address = Value(place);
  const AddressRange granule{address, model_.parameters().granularity, Bytes(0)};
  const bool mapped = !model_.MappingAt(address).empty();
  std::vector<Call> questions;
  questions.reserve(static_cast<size_t>(7 + 2 * model_.device_count()));
  const auto add = [&](CallKind kind) -> Call& {
    questions.emplace_back();
    questions.back().kind = kind;
    questions.back().address = place;
    return questions.back();
  };
  const bool held = mapped && model_.ReservationAt(address) != nullptr;
  add(CallKind::kRetain).result = Slots::kScratchHandle;
  if (held) add(CallKind::kRelease).handle.slot = Slots::kScratchHandle;
  if (!mapped) {
    add(CallKind::kGetAccess).location = Location::Device(DeviceOrdinal(0));
    add(CallKind::kUnmap).size.granules = 1;  // says whether it is reserved
  } else {
    add(CallKind::kGetAccess).location = Location::Host();
    add(CallKind::kGetAccess).location = Location::HostNuma(0);
    std::optional<DeviceOrdinal> reader;
    for (int i = 0; i < model_.device_count(); ++i) {
      const DeviceOrdinal device(i);
      add(CallKind::kGetAccess).location = Location::Device(device);
      add(CallKind::kGetAddressRange).device = device;
      if (model_.CanCopy(device, granule, Access::kRead)) reader = device;
    }
    for (const Bytes offset : {Bytes(0), granule.size - Bytes(8)}) {
      if (!reader.has_value()) break;
      Call& read = add(CallKind::kCopyDeviceToHost);
      read.device = *reader;
      read.address.offset.bytes = offset.value();
      read.size.bytes = 8;
    }
  }
  slots_.handles[Slots::kScratchHandle] = AllocationHandle(0);
  std::optional<Difference> difference = Ask(questions);
  const AllocationHandle retained = slots_.handles[Slots::kScratchHandle];
  const bool left = difference.has_value() && retained != AllocationHandle(0) &&
                    difference->questions.back().kind == CallKind::kRetain;
  if (left) vmm_.Release(retained).IgnoreError();  // which nobody else knows of
  return difference;
}

// Every reservation, reference and descriptor stands in a slot.
std::vector<Call> Checker::CallsToCleanUp() const {
  std::vector<Call> calls;
  const auto add = [&](CallKind kind) -> Call& {
    calls.emplace_back();
    calls.back().kind = kind;
    return calls.back();
  };
  const Bytes granularity = model_.parameters().granularity;
  for (int slot = 0; slot < Slots::kReservations; ++slot) {
    const AddressRange& range = slots_.reservations[static_cast<size_t>(slot)];
    const AddressRange* reservation = model_.ReservationAt(range.base);
    if (reservation == nullptr || *reservation != range) continue;
    for (const AddressRange& mapping : model_.MappingsIn(range)) {
      if (!range.contains(mapping.base)) continue;  // it begins in another reservation
      Call& unmap = add(CallKind::kUnmap);
      unmap.address.slot = slot;
      unmap.address.offset.granules =
          static_cast<int64_t>((mapping.base - range.base) / granularity);
      unmap.size.granules = static_cast<int64_t>(mapping.size / granularity);
    }
  }
  for (int slot = 0; slot < Slots::kReservations; ++slot) {
    const AddressRange& range = slots_.reservations[static_cast<size_t>(slot)];
    const AddressRange* reservation = model_.ReservationAt(range.base);
    if (reservation == nullptr || *reservation != range) continue;
    Call& free = add(CallKind::kAddressFree);
    free.address.slot = slot;
    free.size.granules = static_cast<int64_t>(range.size / granularity);
    free.size.bytes = (range.size % granularity).value();
  }
  std::set<AllocationHandle> released;
  for (int slot = 0; slot < Slots::kHandles; ++slot) {
    const AllocationHandle handle = slots_.handles[static_cast<size_t>(slot)];
    if (!released.insert(handle).second) continue;
    for (int i = 0; i < model_.ReferencesOf(handle); ++i)
      add(CallKind::kRelease).handle.slot = slot;
  }
  for (int slot = 0; slot < Slots::kShareables; ++slot)
    add(CallKind::kCloseDescriptor).result = slot;
  return calls;
}

std::optional<Difference> Checker::CleanUp() {
  const std::vector<Call> calls = CallsToCleanUp();
  std::optional<Difference> difference = Ask(calls);
  if (difference.has_value()) return difference;
  slots_ = Slots();
  difference = CheckState();
  if (difference.has_value()) {
    difference->questions.insert(difference->questions.begin(), calls.begin(), calls.end());
  }
  return difference;
}

}  // namespace twinmmu::conformance::random

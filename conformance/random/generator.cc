#include "conformance/random/generator.h"

#include <algorithm>
#include <vector>

namespace twinmmu::conformance::random {
namespace {

// How often each kind is chosen, in relation to the others.
struct Weight {
  CallKind kind;
  uint64_t weight;
};
constexpr Weight kWeights[] = {
    {CallKind::kAddressReserve, 8},
    {CallKind::kAddressFree, 3},
    {CallKind::kCreate, 9},
    {CallKind::kRelease, 6},
    {CallKind::kRetain, 2},
    {CallKind::kMap, 18},
    {CallKind::kUnmap, 8},
    {CallKind::kSetAccess, 16},
    {CallKind::kGetAccess, 2},
    {CallKind::kExport, 3},
    {CallKind::kCloseDescriptor, 2},
    {CallKind::kImport, 3},
    {CallKind::kCopyHostToDevice, 10},
    {CallKind::kCopyDeviceToHost, 2},
    {CallKind::kCopyDeviceToDevice, 6},
    {CallKind::kFill, 6},
    {CallKind::kGetPointerAttribute, 4},
    {CallKind::kGetAddressRange, 2},
    {CallKind::kGetProperties, 2},
    {CallKind::kGetGranularity, 1},
    {CallKind::kGetMemoryInfo, 1},
    {CallKind::kCanAccessPeer, 1},
};

constexpr uint64_t TotalWeight() {
  uint64_t total = 0;
  for (const Weight& weight : kWeights) total += weight.weight;
  return total;
}

// The granules that a range covers, the last one perhaps in part.
int64_t GranulesIn(const AddressRange& range, Bytes granularity) {
  return static_cast<int64_t>(RoundUp(range.size, granularity) / granularity);
}

constexpr uint64_t Power(int exponent) { return uint64_t{1} << exponent; }

}  // namespace

// --- What is there

int Generator::Slot(int count, bool (Generator::*usable)(int) const) {
  const auto first = static_cast<int>(choices_.Below(static_cast<uint64_t>(count)));
  for (int i = 0; i < count; ++i) {
    const int slot = (first + i) % count;
    if ((this->*usable)(slot)) return slot;
  }
  return kNoSlot;
}

bool Generator::HasReservation(int slot) const {
  const AddressRange& range = checker_.slots().reservations[static_cast<size_t>(slot)];
  const AddressRange* reservation = model_.ReservationAt(range.base);
  return reservation != nullptr && *reservation == range;
}

bool Generator::HasHandle(int slot) const {
  return model_.ReferencesOf(checker_.slots().handles[static_cast<size_t>(slot)]) != 0;
}

bool Generator::HasShareable(int slot) const {
  const ShareableHandle& shareable = checker_.slots().shareables[static_cast<size_t>(slot)];
  return model_.Import(shareable).code == DriverCode::kSuccess;
}

// --- Operands

// An address: mostly of a granule of a reservation, rarely one of no granule, or absurd.
Place Generator::AnyPlace() {
  Place place;
  if (Bad()) {
    const uint64_t absurd[] = {
        0,         1,         Power(21),     Power(46) + Power(30), Power(47) - Power(21),
        Power(47), Power(63), 0 - Power(21), ~uint64_t{0}};
    place.offset.bytes = OneOf(absurd);
    return place;
  }
  place.slot = Slot(Slots::kReservations, &Generator::HasReservation);
  if (place.slot == kNoSlot) return place;
  const AddressRange& range = checker_.slots().reservations[static_cast<size_t>(place.slot)];
  const int64_t granules = GranulesIn(range, model_.parameters().granularity);
  place.offset.granules = static_cast<int64_t>(choices_.Below(static_cast<uint64_t>(granules)));
  if (Bad()) place.offset.granules = granules + static_cast<int64_t>(choices_.Below(3)) - 1;
  if (Bad()) place.offset.bytes = 1 + choices_.Below(8192);
  return place;
}

// Mostly a granule that is mapped.
Place Generator::PlaceInMapping() {
  Place place = AnyPlace();
  for (int i = 0; i < 4 && model_.MappingAt(checker_.Value(place)).empty(); ++i) place = AnyPlace();
  return place;
}

Amount Generator::BadSize() {
  const uint64_t absurd[] = {0,         1,         4096,      Power(21) - 1, Power(21) + 4096,
                             Power(47), Power(50), Power(63), 0 - Power(21), ~uint64_t{0}};
  Amount size;
  size.bytes = OneOf(absurd);
  return size;
}

HandleOperand Generator::AnyHandle() {
  HandleOperand handle;
  if (Bad()) {
    const uint64_t invented[] = {0, 1, 0x1234, Power(32) + 1, ~uint64_t{0}};
    handle.invented = OneOf(invented);
  } else if (Bad()) {
    handle.slot = static_cast<int>(choices_.Below(Slots::kHandles));  // perhaps dead
  } else {
    handle.slot = Slot(Slots::kHandles, &Generator::HasHandle);
  }
  return handle;
}

uint64_t Generator::Flags() {
  const uint64_t wrong[] = {1, 2, Power(32), ~uint64_t{0}};
  return Bad() ? OneOf(wrong) : 0;
}

DeviceOrdinal Generator::AnyDevice() {
  const int wrong[] = {-1, model_.device_count(), 1000};
  if (Bad()) return DeviceOrdinal(OneOf(wrong));
  const int few = std::clamp(model_.device_count(), 1, 2);
  return DeviceOrdinal(static_cast<int>(choices_.Below(static_cast<uint64_t>(few))));
}

Location Generator::AnyLocation() {
  const std::vector<int>& nodes = model_.parameters().host_nodes;
  const Location other[] = {Location::Host(),
                            Location::Host(),
                            Location::HostNuma(nodes.empty() ? 0 : nodes.front()),
                            Location::HostNuma(nodes.empty() ? 0 : nodes.front()),
                            Location::HostNuma(1000),
                            Location::HostNumaCurrent(),
                            Location{LocationType::kInvalid, 0},
                            Location{static_cast<LocationType>(9), 0}};
  return choices_.OneIn(6) ? OneOf(other) : Location::Device(AnyDevice());
}

AllocationProperties Generator::AnyProperties() {
  AllocationProperties properties;
  properties.location = AnyLocation();
  constexpr HandleType kDescriptor = HandleType::kPosixFileDescriptor;
  const HandleType types[] = {HandleType::kFabric, kDescriptor | HandleType::kFabric,
                              HandleType::kWin32, HandleType::kWin32Kmt | kDescriptor,
                              static_cast<HandleType>(16)};
  if (choices_.OneIn(2)) properties.requested_handle_types = kDescriptor;
  if (Bad() || Bad()) properties.requested_handle_types = OneOf(types);
  if (Bad()) properties.type = static_cast<AllocationType>(choices_.Below(4));
  if (Bad()) properties.compression = static_cast<CompressionType>(choices_.Below(3));
  if (choices_.OneIn(10)) properties.gpu_direct_rdma = static_cast<uint8_t>(choices_.Below(9));
  if (Bad()) properties.usage = static_cast<uint16_t>(choices_.Below(5));
  return properties;
}

// --- Calls

// At a hint next to another reservation as often as not.
void Generator::ChooseReserve(Call& call) {
  call.result = Slot(Slots::kReservations, &Generator::HasNoReservation);
  call.size.granules = 1 + static_cast<int64_t>(choices_.Below(8));
  const ModelParameters& parameters = model_.parameters();
  const uint64_t steps = parameters.granularity / parameters.reservation_granularity;
  if (steps > 1 && choices_.OneIn(6)) {
    call.size.bytes = (parameters.reservation_granularity * choices_.Below(steps)).value();
  }
  if (Bad()) call.size = BadSize();
  const int neighbour = Slot(Slots::kReservations, &Generator::HasReservation);
  if (neighbour != kNoSlot && choices_.OneIn(2)) {
    const AddressRange& range = checker_.slots().reservations[static_cast<size_t>(neighbour)];
    call.address.slot = neighbour;
    call.address.offset.granules =
        choices_.OneIn(3) ? -call.size.granules : GranulesIn(range, parameters.granularity);
  }
  if (Bad()) call.address = AnyPlace();
  const uint64_t alignments[] = {
      1,         2,         4096,      Power(21), Power(22), Power(30), Power(21) + 1,
      Power(40), Power(48), Power(51), Power(60), Power(63), 3};
  if (Bad()) call.offset.bytes = OneOf(alignments);
  call.flags = Flags();
}

void Generator::ChooseCreate(Call& call) {
  call.result = Slot(Slots::kHandles, &Generator::HasNoHandle);
  call.size.granules = 1 + static_cast<int64_t>(choices_.Below(3));
  call.properties = AnyProperties();
  if (Bad()) call.size = BadSize();
  // All that a device has is soon reached in such steps. The host's memory is left to the host.
  if (call.properties.location.type == LocationType::kDevice && Bad()) {
    call.size = Amount{0, 0, 1 + static_cast<int>(choices_.Below(9))};
  }
  call.flags = Flags();
}

// A handle, whole, mostly where there is room for it.
void Generator::ChooseMap(Call& call) {
  call.handle = AnyHandle();
  const Bytes granularity = model_.parameters().granularity;
  const Bytes whole = model_.SizeOf(checker_.Value(call.handle));
  for (int i = 0; i < 4; ++i) {
    call.address = AnyPlace();
    const AddressRange range{checker_.Value(call.address), whole, Bytes(0)};
    const AddressRange* reservation = model_.ReservationAt(range.base);
    const bool fits = reservation != nullptr && reservation->contains(range);
    if (fits && model_.MappingsIn(range).empty()) break;
  }
  call.size.granules = static_cast<int64_t>(whole / granularity);
  if (Bad()) call.size.granules = static_cast<int64_t>(choices_.Below(5));
  if (Bad()) call.size = BadSize();
  if (Bad()) call.offset.granules = static_cast<int64_t>(choices_.Below(3));
  if (Bad()) call.offset = BadSize();
  call.flags = Flags();
}

// Addresses from the start of a mapping to the end of this or a later one, or not.
void Generator::ChooseSpan(Call& call) {
  call.address = PlaceInMapping();
  const Bytes granularity = model_.parameters().granularity;
  const AddressRange first = model_.MappingAt(checker_.Value(call.address));
  if (call.address.slot != kNoSlot && !first.empty() && !choices_.OneIn(12)) {
    const DeviceAddress base =
        checker_.slots().reservations[static_cast<size_t>(call.address.slot)].base;
    if (base <= first.base) {
      call.address.offset = Amount{static_cast<int64_t>((first.base - base) / granularity), 0, 0};
    }
  }
  const DeviceAddress base = checker_.Value(call.address);
  Bytes size = first.empty() ? granularity : first.end() - base;
  for (uint64_t more = choices_.Below(4); more != 0 && choices_.OneIn(2); --more) {
    // Perhaps over a hole.
    const DeviceAddress next = base + size + (choices_.OneIn(4) ? granularity : Bytes(0));
    const AddressRange mapping = model_.MappingAt(next);
    if (!mapping.empty()) size = mapping.end() - base;
  }
  call.size.granules = static_cast<int64_t>(size / granularity);
  if (choices_.OneIn(12)) call.size.granules += static_cast<int64_t>(choices_.Below(5)) - 2;
  if (Bad()) call.size = BadSize();
}

void Generator::ChooseGrants(Call& call) {
  const uint64_t count = Bad() ? choices_.Below(5) : 1 + choices_.Below(2);
  for (uint64_t i = 0; i < count; ++i) {
    const Access accesses[] = {Access::kReadWrite, Access::kReadWrite, Access::kReadWrite,
                               Access::kReadWrite, Access::kRead,      Access::kNone};
    AccessGrant grant{AnyLocation(), OneOf(accesses)};
    if (Bad() && Bad()) grant.access = static_cast<Access>(choices_.Below(6));
    call.grants.push_back(grant);
  }
}

void Generator::ChooseImport(Call& call) {
  call.result = Slot(Slots::kHandles, &Generator::HasNoHandle);
  call.shareable = Slot(Slots::kShareables, &Generator::HasShareable);
  if (call.shareable != kNoSlot) {
    call.handle_type = checker_.slots().shareables[static_cast<size_t>(call.shareable)].type;
  }
  const int descriptors[] = {0, -1, 1000000, 2};
  if (Bad() || call.shareable == kNoSlot) {
    call.shareable = kNoSlot;
    call.descriptor = OneOf(descriptors);
  }
  if (Bad()) call.handle_type = static_cast<HandleType>(choices_.Below(17));
}

// Some bytes around the border of two granules, seldom whole granules.
void Generator::ChooseTransfer(Call& call) {
  call.device = AnyDevice();
  const uint64_t streams = Bad() ? 3 : 2;
  call.stream = static_cast<StreamOperand>(choices_.Below(streams));
  const auto near_border = [&](Access access) {
    Place place = PlaceInMapping();
    const auto usable = [&] {
      const DeviceAddress address = checker_.Value(place);
      const bool known = call.device.value() >= 0 && call.device.value() < model_.device_count();
      return known && model_.CanAccess(call.device, {address, Bytes(1), Bytes(0)}, access);
    };
    for (int i = 0; i < 6 && !usable(); ++i) place = PlaceInMapping();
    const uint64_t offsets[] = {0, 0, 0, 4, 6, 0 - uint64_t{4}, 0 - uint64_t{8}, 0 - uint64_t{7}};
    place.offset.bytes += OneOf(offsets);
    return place;
  };
  const bool reads = call.kind == CallKind::kCopyDeviceToHost;
  call.address = near_border(reads ? Access::kRead : Access::kReadWrite);
  if (call.kind == CallKind::kCopyDeviceToDevice) call.source = near_border(Access::kRead);
  call.size.bytes = 1 + choices_.Below(16);
  call.pattern.value = static_cast<uint32_t>(choices_.Below(Power(32)));
  if (call.kind == CallKind::kCopyDeviceToDevice) {
    if (choices_.OneIn(60)) call.size = Amount{1 + static_cast<int64_t>(choices_.Below(2)), 0, 0};
    if (Bad()) call.size = BadSize();
  } else if (Bad()) {
    call.size.bytes = 0;
  }
  const uint64_t widths[] = {1, 2, 4, 4};
  call.pattern.width = Bytes(OneOf(widths));
  // A width that no driver has a function for, on a device that there is.
  if (Bad() && model_.CanAccessPeer(call.device, call.device).code == DriverCode::kSuccess) {
    call.pattern.width = Bytes(3 * choices_.Below(2));
  }
  call.count = 1 + choices_.Below(8);
  const uint64_t counts[] = {0, Power(62), Power(63), Power(62) + 1, ~uint64_t{0}};
  if (choices_.OneIn(60)) call.count = model_.parameters().granularity.value() / 4;
  if (Bad()) call.count = OneOf(counts);
}

void Generator::ChooseOperands(Call& call) {
  const PointerAttribute other[] = {static_cast<PointerAttribute>(0),
                                    static_cast<PointerAttribute>(999)};
  const auto known = AllPointerAttributes();
  call.address = choices_.OneIn(4) ? AnyPlace() : PlaceInMapping();
  call.handle = AnyHandle();
  call.location = AnyLocation();
  call.device = AnyDevice();
  call.peer = AnyDevice();
  call.properties = AnyProperties();
  call.granularity = static_cast<Granularity>(choices_.Below(Bad() ? 4 : 2));
  call.attribute = Bad() ? OneOf(other) : known[choices_.Below(known.size())];
  const auto exportable = [&] {
    const Answer answer = model_.GetAllocationProperties(checker_.Value(call.handle));
    return answer.properties.requested_handle_types != HandleType::kNone;
  };
  for (int i = 0; call.kind == CallKind::kExport && i < 4 && !exportable(); ++i) {
    call.handle = AnyHandle();
  }
  if (call.handle.slot != kNoSlot && choices_.OneIn(2)) {
    const auto properties = model_.GetAllocationProperties(checker_.Value(call.handle)).properties;
    const bool fabric =
        (properties.requested_handle_types & HandleType::kFabric) != HandleType::kNone;
    if (fabric) call.handle_type = HandleType::kFabric;
  }
  if (Bad()) call.handle_type = static_cast<HandleType>(choices_.Below(17));
  call.flags = Flags();
}

// Where every slot is taken, one is freed instead.
CallKind Generator::ChooseKind() {
  uint64_t pick = choices_.Below(TotalWeight());
  const Weight* chosen = kWeights;
  while (pick >= chosen->weight) pick -= (chosen++)->weight;
  const auto full = [&](int count, bool (Generator::*is_free)(int) const) {
    return Slot(count, is_free) == kNoSlot;
  };
  switch (chosen->kind) {
    case CallKind::kAddressReserve:
      return full(Slots::kReservations, &Generator::HasNoReservation) ? CallKind::kAddressFree
                                                                      : chosen->kind;
    case CallKind::kCreate:
    case CallKind::kImport:
    case CallKind::kRetain:
      return full(Slots::kHandles, &Generator::HasNoHandle) ? CallKind::kRelease : chosen->kind;
    case CallKind::kExport:
      return full(Slots::kShareables, &Generator::HasNoShareable) ? CallKind::kCloseDescriptor
                                                                  : chosen->kind;
    default:
      return chosen->kind;
  }
}

Call Generator::Next() {
  Call call;
  call.kind = ChooseKind();
  switch (call.kind) {
    case CallKind::kAddressReserve:
      ChooseReserve(call);
      break;
    case CallKind::kAddressFree: {
      call.address = AnyPlace();
      call.size.granules = 1;
      if (call.address.slot == kNoSlot) break;
      const Bytes granularity = model_.parameters().granularity;
      const Bytes size = checker_.slots().reservations[static_cast<size_t>(call.address.slot)].size;
      call.size.granules = static_cast<int64_t>(size / granularity);
      call.size.bytes = (size % granularity).value();
      if (!Bad()) call.address.offset = Amount();
      if (Bad()) call.size = BadSize();
      break;
    }
    case CallKind::kCreate:
      ChooseCreate(call);
      break;
    case CallKind::kMap:
      ChooseMap(call);
      break;
    case CallKind::kUnmap:
      ChooseSpan(call);
      break;
    case CallKind::kSetAccess:
      ChooseSpan(call);
      ChooseGrants(call);
      break;
    case CallKind::kCloseDescriptor:
      call.result = static_cast<int>(choices_.Below(Slots::kShareables));
      break;
    case CallKind::kImport:
      ChooseImport(call);
      break;
    case CallKind::kCopyHostToDevice:
    case CallKind::kCopyDeviceToHost:
    case CallKind::kCopyDeviceToDevice:
    case CallKind::kFill:
      ChooseTransfer(call);
      break;
    default:
      ChooseOperands(call);
      if (call.kind == CallKind::kRetain) {
        call.result = Slot(Slots::kHandles, &Generator::HasNoHandle);
      }
      if (call.kind == CallKind::kExport) {
        call.result = Slot(Slots::kShareables, &Generator::HasNoShareable);
      }
  }
  return call;
}

}  // namespace twinmmu::conformance::random

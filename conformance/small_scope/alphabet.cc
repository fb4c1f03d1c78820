#include "conformance/small_scope/alphabet.h"

#include "absl/strings/str_cat.h"

namespace twinmmu::conformance::small_scope {
namespace {

using random::Call;
using random::CallKind;
using random::Checker;
using random::Place;
using random::Slots;

struct Granules {
  int first = 0;
  int count = 0;
};

Place At(int granule) { return Place{kAnchor, {1 + granule, 0, 0}}; }

Call CallOf(CallKind kind, const Granules& range) {
  Call call;
  call.kind = kind;
  call.address = At(range.first);
  call.size.granules = range.count;
  return call;
}

std::vector<Granules> RangesInside() {
  std::vector<Granules> ranges;
  for (int first = 0; first < kGranules; ++first) {
    for (int count = 1; first + count <= kGranules; ++count) ranges.push_back({first, count});
  }
  return ranges;
}

// Also one that ends a granule too late.
std::vector<Granules> Ranges() {
  std::vector<Granules> ranges = RangesInside();
  ranges.push_back({kGranules - 1, 2});
  return ranges;
}

void AddReservations(std::vector<Call>& calls) {
  for (const Granules& range : RangesInside()) {
    calls.push_back(CallOf(CallKind::kAddressReserve, range));
    calls.back().result = range.first;
    calls.push_back(CallOf(CallKind::kAddressFree, range));
  }
}

void AddHandles(std::vector<Call>& calls) {
  for (int slot = 0; slot < kHandles; ++slot) {
    for (int device = 0; device < kDevices; ++device) {
      for (const int granules : {1, 2}) {
        Call call = CallOf(CallKind::kCreate, {0, granules});
        call.result = slot;
        call.properties.location = Location::Device(DeviceOrdinal(device));
        calls.push_back(call);
      }
    }
    Call release;
    release.kind = CallKind::kRelease;
    release.handle.slot = slot;
    calls.push_back(release);
  }
  for (int granule = 0; granule < kGranules; ++granule) {
    calls.push_back(CallOf(CallKind::kRetain, {granule, 1}));
    calls.back().result = Slots::kScratchHandle;  // it stands in a slot already
  }
}

void AddMappings(std::vector<Call>& calls) {
  for (const Granules& range : Ranges()) {
    calls.push_back(CallOf(CallKind::kUnmap, range));
    for (int slot = 0; slot < kHandles && range.count <= 2; ++slot) {
      calls.push_back(CallOf(CallKind::kMap, range));
      calls.back().handle.slot = slot;
    }
    for (int device = 0; device < kDevices; ++device) {
      for (const Access access : {Access::kNone, Access::kRead, Access::kReadWrite}) {
        calls.push_back(CallOf(CallKind::kSetAccess, range));
        calls.back().grants = {{Location::Device(DeviceOrdinal(device)), access}};
      }
    }
  }
}

AllocationHandle HandleIn(const Checker& checker, int slot) {
  return checker.slots().handles[static_cast<size_t>(slot)];
}
bool IsAlive(const Checker& checker, int slot) {
  return checker.model().SizeOf(HandleIn(checker, slot)) != Bytes(0);
}

// The first slot that holds the same as `slot`, if that is nothing.
bool IsFirstOfItsKind(const Checker& checker, int slot) {
  if (IsAlive(checker, slot)) return true;
  for (int i = 0; i < slot; ++i) {
    const bool both_new =
        HandleIn(checker, i) == AllocationHandle() && HandleIn(checker, slot) == AllocationHandle();
    const bool both_dead = HandleIn(checker, i) != AllocationHandle() &&
                           HandleIn(checker, slot) != AllocationHandle() && !IsAlive(checker, i);
    if (both_new || both_dead) return false;
  }
  return true;
}

}  // namespace

Call ReserveAnchor() {
  Call call;
  call.kind = CallKind::kAddressReserve;
  call.size.granules = 1;
  call.result = kAnchor;
  return call;
}

std::vector<Call> Alphabet() {
  std::vector<Call> calls;
  AddReservations(calls);
  AddHandles(calls);
  AddMappings(calls);
  return calls;
}

bool IsOffered(const Call& call, const Checker& checker) {
  switch (call.kind) {
    case CallKind::kAddressReserve: {
      const Bytes granularity = checker.model().parameters().granularity;
      const AddressRange range{checker.Value(call.address), checker.Value(call.size), Bytes(0)};
      for (Bytes at; at < range.size; at = at + granularity) {
        if (checker.model().ReservationAt(range.base + at) != nullptr) return false;
      }
      return checker.model().MappingsIn(range).empty();
    }
    case CallKind::kCreate:
      for (int i = 0; i < call.result; ++i) {
        if (!IsAlive(checker, i)) return false;
      }
      return !IsAlive(checker, call.result);
    case CallKind::kRelease:
    case CallKind::kMap:
      return IsFirstOfItsKind(checker, call.handle.slot);
    default:
      return true;
  }
}

DeviceAddress OriginOf(const Checker& checker) { return checker.Value(At(0)); }

std::string ShapeOf(const Checker& checker) {
  int dead = 0;
  for (int slot = 0; slot < kHandles; ++slot) {
    if (HandleIn(checker, slot) != AllocationHandle() && !IsAlive(checker, slot)) ++dead;
  }
  return absl::StrCat(checker.model().Shape(OriginOf(checker)), dead);
}

}  // namespace twinmmu::conformance::small_scope

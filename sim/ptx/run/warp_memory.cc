// Where the accesses of a warp go.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sim/base/word_copies.h"
#include "sim/ptx/operations/host_vectors.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/find_run.h"
#include "sim/ptx/run/lane_addresses.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

// Shared memory has one address for each place. Mappings count from 1.
constexpr coherence::AddressId kSharedAddress = 0;

bool Fits(uint64_t address, uint32_t size, uint64_t room) {
  return size <= room && address <= room - size;
}

}  // namespace

// Null: nothing is there, or it may not be accessed so.
char* Warp::InSpace(Space space, uint64_t address, uint32_t size, Access access, int lane,
                    bool* armed) {
  const bool generic = space == Space::kGeneric;
  if (generic) space = SpaceOf(&address);
  if (space == Space::kShared) {
    *armed |= watched_;
    std::vector<char>& shared = block_.shared();
    const uint64_t offset = address - block_.shared_base();
    return Fits(offset, size, shared.size()) ? shared.data() + offset
                                             : block_.SharedAt(address, size);
  }
  if (space == Space::kLocal) {
    const uint64_t room = frame().local_end;
    return Fits(address, size, room) ? local_.data() + local_stride_ * lane + address : nullptr;
  }
  if (space == Space::kParam) {
    const FunctionCode& function = *frame().function;
    const std::vector<char>& given = block_.grid().launch->parameters;
    if (generic || (function.entry && address < function.parameter_bytes)) {
      const bool fits = access == Access::kRead && Fits(address, size, given.size());
      return fits ? const_cast<char*>(given.data()) + address : nullptr;
    }
    return Fits(address, size, function.passed_bytes) ? frame().PassedOf(lane) + address : nullptr;
  }
  const TranslationCache::Span* const span =
      block_.cache().Find(DeviceAddress(address), size, access);
  if (span == nullptr) return nullptr;
  *armed |= span->armed;
  return span->memory + (address - span->base.value());
}

Found Warp::Resolve(const MemoryAccess& access, uint32_t address_slot, Lanes lanes,
                    LaneMemory* memory, bool stores) {
  static const auto find_addresses = ForHost<FindAddresses<uint32_t>>();
  static const auto find_wide_addresses = ForHost<FindAddresses<uint64_t>>();
  static const auto find_in_window = ForHost<FindInWindow>();
  const int first = __builtin_ctz(lanes);
  const uint32_t size = access.size();
  uint64_t addresses[kLanes];
  const uint64_t bits =
      access.wide
          ? find_wide_addresses(Slot<uint64_t>(address_slot), access.offset, lanes, addresses)
          : find_addresses(Slot<uint32_t>(address_slot), static_cast<uint32_t>(access.offset),
                           lanes, addresses);
  if ((bits & (size - 1)) != 0) {
    const auto lane = std::find_if(addresses + first, addresses + kLanes,
                                   [&](uint64_t address) { return (address & (size - 1)) != 0; });
    FaultAt(GridFault::kMisalignedAddress, static_cast<int>(lane - addresses), access, *lane);
    return Found::kFault;
  }
  // Most often all of them are in one place.
  const TranslationCache::Span* span = nullptr;
  const AddressWindow window = FindWindow(*this, access, addresses[first], &span);
  bool observed = access.strength.IsStrong();
  if (window.memory != nullptr && find_in_window(addresses, window, size, memory->data())) {
    if (span != nullptr) return span->armed || observed ? Observe(*span, lanes) : Found::kMemory;
    observed |= watched_;
    return observed ? ObserveSome(access, addresses, lanes) : Found::kMemory;
  }
  for (int lane = first; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const bool elsewhere =
        access.own_block && (addresses[lane] >> kSharedOfBlockBits) != block_.rank();
    char* const host =
        elsewhere ? nullptr
                  : InSpace(access.space, addresses[lane], size, access.access, lane, &observed);
    if (host == nullptr) {
      if (stores && IsMulticast(access, addresses[lane])) return Found::kMulticast;
      NoteNoMemory(access, addresses[lane], lane);
      return Found::kFault;
    }
    (*memory)[lane] = host;
  }
  return observed ? ObserveSome(access, addresses, lanes) : Found::kMemory;
}

void Warp::NoteNoMemory(const MemoryAccess& access, uint64_t address, int lane) {
  uint64_t inside = address;
  const Space space = access.space == Space::kGeneric ? SpaceOf(&inside) : access.space;
  if (space == Space::kShared && (inside >> kSharedOfBlockBits) != block_.rank()) {
    const bool there = access.own_block && block_.SharedAt(inside, access.size()) != nullptr;
    FaultAt(there ? GridFault::kIllegalInstruction : GridFault::kUndefined, lane, access, address);
    block_.fault().words =
        there ? "it is in the shared memory of another block, which takes .shared::cluster"
              : block_.WhyNoSharedMemory(inside);
    return;
  }
  FaultAt(IsMulticast(access, address) ? GridFault::kMulticastAddress : GridFault::kIllegalAddress,
          lane, access, address);
  if (space == Space::kShared) {
    block_.fault().words =
        absl::StrCat("it is in shared memory, of which the block has ", block_.shared().size(),
                     " bytes, from ", ToString(DeviceAddress(block_.shared_base())), " on");
  } else if (space == Space::kLocal) {
    block_.fault().words = absl::StrCat("it is in local memory, of which the thread has ",
                                        frame().local_end, " bytes");
  }
}

// All lanes go to one span.
Found Warp::Observe(const TranslationCache::Span& span, Lanes lanes) {
  if (!block_.aliases().active()) return Found::kMemory;
  observed_.lanes = lanes;
  observed_.armed = span.armed ? lanes : 0;
  observed_.alike = true;
  observed_.shared = nullptr;
  observed_.addresses.fill(span.address_id);
  return Found::kObserved;
}

// Each goes somewhere; all of these places are there.
Found Warp::ObserveSome(const MemoryAccess& access, const uint64_t* addresses, Lanes lanes) {
  if (!block_.aliases().active()) return Found::kMemory;
  observed_.lanes = 0;
  observed_.armed = 0;
  observed_.alike = false;
  observed_.shared = nullptr;
  Lanes own = 0;  // in the shared memory of the block
  ForEachLane(lanes, [&](int lane) {
    const Lanes bit = Lanes{1} << lane;
    uint64_t address = addresses[lane];
    const Space space = access.space == Space::kGeneric ? SpaceOf(&address) : access.space;
    const bool strong = access.strength.IsStrong();
    observed_.addresses[lane] = kSharedAddress;
    if (space == Space::kShared) {
      if (watched_) observed_.armed |= bit;
      if (watched_ || strong) observed_.lanes |= bit;
      if (address >> kSharedOfBlockBits == block_.rank()) own |= bit;
    }
    if (space != Space::kGlobal && space != Space::kConst) return;
    const TranslationCache::Span* const span =
        block_.cache().Find(DeviceAddress(address), access.size(), access.access);
    observed_.addresses[lane] = span->address_id;
    if (span->armed) observed_.armed |= bit;
    if (span->armed || strong) observed_.lanes |= bit;
  });
  if (own != 0) observed_.shared = block_.shared().data();
  observed_.alike = watched_ && own == lanes;
  return observed_.lanes != 0 ? Found::kObserved : Found::kMemory;
}

void Warp::MeetCopies(const Step& step, Lanes lanes, const LaneMemory& memory, bool writes) {
  const Space space = step.memory.space;
  if (space == Space::kLocal || space == Space::kParam || space == Space::kConst) return;
  if (block_.unwaited_copies() != nullptr) MeetUnwaited(step, lanes, memory, writes);
  if (block_.proxy_writes() != nullptr) MeetBulk(step, lanes, memory, writes);
}

void Warp::MeetUnwaited(const Step& step, Lanes lanes, const LaneMemory& memory, bool writes) {
  const auto [copy, lane, copy_writes] =
      block_.unwaited_copies()->Find(lanes, memory, step.memory.size(), writes);
  if (copy == nullptr) return;
  AsyncHazard hazard;
  hazard.bulk = false;
  hazard.first_writes = copy_writes;
  hazard.second_writes = writes;
  hazard.waits_missing = true;
  hazard.shared = copy_writes;
  const char* const at = memory[static_cast<size_t>(lane)];
  hazard.address = copy_writes
                       ? DeviceAddress(copy->to_address + static_cast<uint64_t>(at - copy->to))
                       : DeviceAddress(copy->from_address + static_cast<uint64_t>(at - copy->from));
  block_.ReportHazard(copy->step, {frame().function, step.instruction, number_, lane}, hazard);
}

void Warp::MeetBulk(const Step& step, Lanes lanes, const LaneMemory& memory, bool writes) {
  ProxyWrites& proxy = *block_.proxy_writes();
  // What it may synchronise with comes after its own write.
  if (step.memory.order != Order::kWeak) proxy.Synchronize();
  ExecutedStep executed{frame().function, step.instruction, number_, __builtin_ctz(lanes)};
  if (proxy.any_copies()) {
    const ProxyWrites::Copy* const copy =
        proxy.FindCopy(lanes, memory, step.memory.size(), writes, &executed.lane);
    if (copy != nullptr) {
      AsyncHazard hazard;
      hazard.first_writes = copy->writes;
      hazard.second_writes = writes;
      hazard.waits_missing = true;
      const char* const at = memory[static_cast<size_t>(executed.lane)];
      hazard.address = DeviceAddress(copy->address + static_cast<uint64_t>(at - copy->memory));
      hazard.shared = copy->shared;
      block_.ReportHazard(copy->step, executed, hazard);
    }
  }
  if (writes) proxy.NoteWrites(executed, lanes, memory, step.memory.size());
}

bool Warp::Read(uint64_t address, void* to, uint32_t size, int lane) {
  bool armed = false;
  const char* const from = InSpace(Space::kGeneric, address, size, Access::kRead, lane, &armed);
  if (from != nullptr) CopyByWords(static_cast<char*>(to), from, size);
  return from != nullptr;
}

void Warp::FaultAt(GridFault::Kind kind, int lane, const MemoryAccess& access, uint64_t address) {
  Fault(kind, Lanes{1} << lane);
  GridFault& fault = block_.fault();
  fault.address = DeviceAddress(address);
  fault.size = Bytes(access.size());
  fault.access = access.access;
}

}  // namespace twinmmu::ptx

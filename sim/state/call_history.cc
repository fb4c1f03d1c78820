#include "sim/state/call_history.h"

#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "api/call_macros.h"
#include "api/diagnostic_words.h"

namespace twinmmu {
namespace {

constexpr absl::string_view kNames[] = {
#define TWINMMU_NAME(context, id, result, method, ...) TWINMMU_DRIVER_NAME(__VA_ARGS__),
    TWINMMU_ALL_CALLS(TWINMMU_NAME, )
#undef TWINMMU_NAME
#define TWINMMU_C_NAME(call, name) name,
        TWINMMU_C_CALLS(TWINMMU_C_NAME)
#undef TWINMMU_C_NAME
};

// The access that a SetAccess gave, in the order of devices, the host last.
std::vector<AccessGrant> GrantsIn(const CallEvent& event, int host) {
  std::vector<AccessGrant> grants;
  for (int location = 0; location <= host; ++location) {
    const std::optional<Access> access = event.granted(location);
    if (!access.has_value()) continue;
    const Location named =
        location == host ? Location::Host() : Location::Device(DeviceOrdinal(location));
    grants.push_back({named, *access});
  }
  return grants;
}

}  // namespace

const char* NameOf(Call call) { return kNames[static_cast<int>(call)].data(); }

bool IsOfMulticast(Call call) {
  switch (call) {
#define TWINMMU_CASE(context, id, ...) case Call::k##id:
    TWINMMU_MULTICAST_CALLS(TWINMMU_CASE, )
#undef TWINMMU_CASE
    return true;
    default:
      return false;
  }
}

Call FindCall(absl::string_view name) {
  int found = 0;
  while (found != static_cast<int>(Call::kOther) && name != kNames[found]) ++found;
  return static_cast<Call>(found);
}

uint64_t GrantsOf(const PageEdit& edit) {
  constexpr int kShift = PageEntry::RightShift(0);
  return (~edit.keep >> kShift << 32) | (edit.set >> kShift & 0xffffffffu);
}

std::optional<Access> CallEvent::granted(int location) const {
  const int shift = 2 * location;
  if ((detail >> 32 >> shift & 3) == 0) return std::nullopt;
  return static_cast<Access>(detail >> shift & 3);
}

std::string SentenceOf(const CallEvent& event, int host) {
  const char* const name = NameOf(event.call);
  const AddressRange& range = event.range;
  const AllocationHandle handle = event.handle();
  if (event.refused) return words::WasRefused(name, range);
  switch (event.call) {
    case Call::kAddressReserve:
      return words::Sentence(name, words::Reserved(range));
    case Call::kAllocate:
    case Call::kAllocateManaged:
    case Call::kAllocateHost:
    case Call::kAllocateAsync:
    case Call::kAllocateFromPool:
    case Call::kLoadModule:
      return words::Sentence(name, std::make_tuple("made ", range));
    case Call::kOpenIpcMemory:
      return words::Sentence(name, std::make_tuple("opened ", range));
    case Call::kCloseIpcMemory:
      return words::Sentence(name, std::make_tuple("closed ", range));
    case Call::kRegisterHost:
      return words::Sentence(name, std::make_tuple("registered ", range));
    case Call::kUnregisterHost:
      return words::Sentence(name, std::make_tuple("unregistered ", range));
    case Call::kAddressFree:
    case Call::kFreeMemory:
    case Call::kFreeHost:
    case Call::kFreeAsync:
    case Call::kDestroyContext:
    case Call::kUnloadModule:
      return words::Sentence(name, words::Freed(range));
    case Call::kCreate:
    case Call::kMulticastCreate:
      return words::Sentence(name, words::Created(range.size, handle));
    case Call::kRelease:
      return words::Sentence(name, words::Released(handle));
    case Call::kRetainAllocationHandle:
      return words::Sentence(name, words::Retained(handle));
    case Call::kMap:
      return words::Sentence(name, words::MappedHandle(handle, range));
    case Call::kUnmap:
      return event.detail == 0 ? words::Sentence(name, words::FoundNothing(range))
                               : words::Sentence(name, words::Unmapped(range));
    case Call::kSetAccess:
      return words::SetGrants(name, GrantsIn(event, host), range);
    case Call::kMulticastAddDevice:
      return words::Sentence(name, std::make_tuple("added a device to handle ", handle));
    case Call::kMulticastUnbind:
      return words::Sentence(name, std::make_tuple("unbound memory from handle ", handle));
    case Call::kExportShareableHandle:
      return words::Sentence(name, words::Exported(handle));
    case Call::kImportShareableHandle:
      return words::Sentence(name, words::Imported(handle));
    default:  // all other calls of Multicast bind
      return IsOfMulticast(event.call)
                 ? words::Sentence(name, std::make_tuple("bound memory to handle ", handle))
                 : words::TookPlace(name, range);
  }
}

History::History(size_t capacity) {
  if (capacity == 0) return;
  size_t slots = 1;
  while (slots < capacity) slots *= 2;
  slots_ = std::make_unique<Slot[]>(slots);
  mask_ = slots - 1;
}

void History::TakeIds(StripedMutex::Stripes stripes) {
  constexpr uint64_t kPortion = 16;
  const void* const taker = taker_.load(std::memory_order_relaxed);
  if (taker != &latest_) taker_.store(&latest_, std::memory_order_relaxed);
  const bool is_only = taker == &latest_ || taker == nullptr;
  const bool several = (stripes & (stripes - 1)) != 0;
  const uint64_t portion = is_only || several ? 1 : kPortion;
  const uint64_t first = next_.fetch_add(portion, std::memory_order_relaxed);
  // What a stripe has left must not be as old as what the ring forgets.
  const uint64_t old = first - std::min(first, mask_ / 2);
  if (least_.load(std::memory_order_relaxed) + mask_ / 4 < old) {
    least_.store(old, std::memory_order_relaxed);
  }
  for (StripedMutex::Stripes rest = stripes; rest != 0; rest &= rest - 1) {
    ids_[__builtin_ctz(rest)] = Ids();
  }
  ids_[__builtin_ctz(stripes)] = Ids{first, first + portion};
}

CallEvent History::EventOf(const Slot& slot) {
  const uint64_t stamp = slot.stamp.load(std::memory_order_relaxed);
  const AddressRange range{DeviceAddress(slot.base), Bytes(slot.size), Bytes(0)};
  return CallEvent{stamp >> Slot::kIdShift,
                   static_cast<Call>(stamp & 0xff),
                   (stamp & Slot::kRefused) != 0,
                   range,
                   slot.detail,
                   slot.caller};
}

}  // namespace twinmmu

#include "sim/history.h"

#include "absl/strings/str_cat.h"
#include "api/diagnostics.h"

namespace twinmmu {
namespace {

constexpr const char* kNames[] = {
#define TWINMMU_SIM_CALL(call, name) name,
    TWINMMU_SIM_CALLS(TWINMMU_SIM_CALL)
#undef TWINMMU_SIM_CALL
};

std::string RightsInWords(const CallEvent& event, int host) {
  std::string words;
  for (int location = 0; location <= host; ++location) {
    const std::optional<Access> right = event.granted(location);
    if (!right.has_value()) continue;
    const Location named =
        location == host ? Location::Host() : Location::Device(DeviceOrdinal(location));
    absl::StrAppend(&words, words.empty() ? "" : ", ", ToString(AccessGrant{named, *right}));
  }
  return words;
}

}  // namespace

const char* NameOf(Call call) { return kNames[static_cast<int>(call)]; }

Call FindCall(absl::string_view name) {
  int found = 0;
  while (found != static_cast<int>(Call::kOther) && name != kNames[found]) ++found;
  return static_cast<Call>(found);
}

uint64_t RightsOf(const PageEdit& edit) {
  constexpr int kShift = PageEntry::RightShift(0);
  return (~edit.keep >> kShift << 32) | (edit.set >> kShift & 0xffffffffu);
}

std::optional<Access> CallEvent::granted(int location) const {
  const int shift = 2 * location;
  if ((detail >> 32 >> shift & 3) == 0) return std::nullopt;
  return static_cast<Access>(detail >> shift & 3);
}

std::string SentenceOf(const CallEvent& event, int host) {
  const std::string name = NameOf(event.call);
  const std::string range = InWords(event.range);
  if (event.refused) {
    return absl::StrCat(name, event.range.base == DeviceAddress(0) ? "" : " of " + range,
                        " was refused");
  }
  switch (event.call) {
    case Call::kReserve:
      return absl::StrCat(name, " reserved ", range);
    case Call::kAllocate:
    case Call::kAllocateHost:
      return absl::StrCat(name, " made ", range);
    case Call::kRegisterHost:
      return absl::StrCat(name, " registered ", range);
    case Call::kUnregisterHost:
      return absl::StrCat(name, " unregistered ", range);
    case Call::kFree:
    case Call::kFreeMemory:
    case Call::kFreeHost:
    case Call::kDestroyContext:
      return absl::StrCat(name, " freed ", range);
    case Call::kCreate:
      return absl::StrCat(name, " created ", ToString(event.range.size), " under handle ",
                          ToString(event.handle()));
    case Call::kRelease:
      return absl::StrCat(name, " released handle ", ToString(event.handle()));
    case Call::kRetain:
      return absl::StrCat(name, " retained handle ", ToString(event.handle()));
    case Call::kMap:
      return absl::StrCat(name, " mapped handle ", ToString(event.handle()), " at ", range);
    case Call::kUnmap:
      return absl::StrCat(name, event.detail == 0 ? " found nothing to unmap in " : " unmapped ",
                          range);
    case Call::kSetAccess:
      return absl::StrCat(name, " set ", RightsInWords(event, host), " on ", range);
    case Call::kExport:
      return absl::StrCat(name, " exported handle ", ToString(event.handle()));
    case Call::kImport:
      return absl::StrCat(name, " imported handle ", ToString(event.handle()));
    default:
      return absl::StrCat(name, event.range.base == DeviceAddress(0) ? "" : " of " + range);
  }
}

History::History(size_t capacity) {
  if (capacity == 0) return;
  size_t slots = 1;
  while (slots < capacity) slots *= 2;
  slots_ = std::make_unique<Slot[]>(slots);
  mask_ = slots - 1;
}

CallEvent History::EventOf(const Slot& slot) {
  return CallEvent{slot.number, slot.call, slot.refused,
                   AddressRange{DeviceAddress(slot.base), Bytes(slot.size), Bytes(0)}, slot.detail};
}

}  // namespace twinmmu

#include "api/testing/checked/history.h"

#include "api/diagnostic_words.h"

namespace twinmmu::checked {

const char* NameOf(DriverCall call) { return DriverCallName(call).data(); }

std::string SentenceOf(const PastCall& call) {
  const char* const name = NameOf(call.name);
  if (call.refused) return words::WasRefused(name, call.range);
  switch (call.name) {
    case DriverCall::kAddressReserve:
      return words::Sentence(name, words::Reserved(call.range));
    case DriverCall::kAddressFree:
      return words::Sentence(name, words::Freed(call.range));
    case DriverCall::kCreate:
      return words::Sentence(name, words::Created(call.size, call.handle));
    case DriverCall::kRelease:
      return words::Sentence(name, words::Released(call.handle));
    case DriverCall::kRetainAllocationHandle:
      return words::Sentence(name, words::Retained(call.handle));
    case DriverCall::kMap:
      return words::Sentence(name, words::MappedHandle(call.handle, call.range));
    case DriverCall::kUnmap:
      return call.found ? words::Sentence(name, words::Unmapped(call.range))
                        : words::Sentence(name, words::FoundNothing(call.range));
    case DriverCall::kSetAccess:
      return words::SetGrants(name, call.grants, call.range);
    case DriverCall::kExportShareableHandle:
      return words::Sentence(name, words::Exported(call.handle));
    case DriverCall::kImportShareableHandle:
      return words::Sentence(name, words::Imported(call.handle));
    default:
      return words::TookPlace(name, call.range);
  }
}

}  // namespace twinmmu::checked

#include "api/testing/checked/history.h"

#include "api/diagnostic_words.h"

namespace twinmmu::checked {

const char* NameOf(CallName name) {
  switch (name) {
    case CallName::kAddressReserve:
      return "cuMemAddressReserve";
    case CallName::kAddressFree:
      return "cuMemAddressFree";
    case CallName::kCreate:
      return "cuMemCreate";
    case CallName::kRelease:
      return "cuMemRelease";
    case CallName::kRetain:
      return "cuMemRetainAllocationHandle";
    case CallName::kGetProperties:
      return "cuMemGetAllocationPropertiesFromHandle";
    case CallName::kMap:
      return "cuMemMap";
    case CallName::kUnmap:
      return "cuMemUnmap";
    case CallName::kSetAccess:
      return "cuMemSetAccess";
    case CallName::kGetAccess:
      return "cuMemGetAccess";
    case CallName::kGetAddressRange:
      return "cuMemGetAddressRange";
    case CallName::kExport:
      return "cuMemExportToShareableHandle";
    case CallName::kImport:
      return "cuMemImportFromShareableHandle";
  }
  return "a call";
}

std::string SentenceOf(const PastCall& call) {
  const char* const name = NameOf(call.name);
  if (call.refused) return words::WasRefused(name, call.range);
  switch (call.name) {
    case CallName::kAddressReserve:
      return words::Sentence(name, words::Reserved(call.range));
    case CallName::kAddressFree:
      return words::Sentence(name, words::Freed(call.range));
    case CallName::kCreate:
      return words::Sentence(name, words::Created(call.size, call.handle));
    case CallName::kRelease:
      return words::Sentence(name, words::Released(call.handle));
    case CallName::kRetain:
      return words::Sentence(name, words::Retained(call.handle));
    case CallName::kMap:
      return words::Sentence(name, words::MappedHandle(call.handle, call.range));
    case CallName::kUnmap:
      return call.found ? words::Sentence(name, words::Unmapped(call.range))
                        : words::Sentence(name, words::FoundNothing(call.range));
    case CallName::kSetAccess:
      return words::SetRights(name, call.rights, call.range);
    case CallName::kExport:
      return words::Sentence(name, words::Exported(call.handle));
    case CallName::kImport:
      return words::Sentence(name, words::Imported(call.handle));
    default:
      return words::TookPlace(name, call.range);
  }
}

}  // namespace twinmmu::checked

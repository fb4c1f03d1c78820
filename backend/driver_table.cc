#include "backend/driver_table.h"

#include <cstddef>

namespace twinmmu {

SymbolState StateOf(const DriverTable& table, Symbol symbol) {
  bool found = false;
  ForEachSymbol([&](auto field, Symbol each) {
    if (each == symbol) found = table.*decltype(field)::kMember != nullptr;
  });
  if (found) return SymbolState::kFound;
  const bool too_old = table.too_old[static_cast<size_t>(symbol)];
  return too_old ? SymbolState::kTooOld : SymbolState::kMissing;
}

}  // namespace twinmmu

#include "sim/libcuda/calls/contexts/named_object.h"

#include <optional>

#include "sim/libcuda/process.h"

namespace twinmmu::libcuda {
namespace {

template <typename Record>
Context* ContextIn(const Records<Record>& records, uint64_t id) {
  const std::optional<Record> record = records.Find(id);
  return record.has_value() ? record->context : nullptr;
}

}  // namespace

Context* NamedObject::FindContext(const DriverState& driver) const {
  switch (kind_) {
    case Kind::kNone:
      return nullptr;
    case Kind::kStream:
    case Kind::kCreated:
      return ContextIn(driver.streams.streams, id_);
    case Kind::kEvent:
      return ContextIn(driver.streams.events, id_);
    case Kind::kModule:
      return ContextIn(driver.modules.modules, id_);
    case Kind::kFunction:
      return ContextIn(driver.modules.functions, id_);
    case Kind::kArray:
      return ContextIn(driver.arrays.arrays, id_);
    case Kind::kMipmap:
      return ContextIn(driver.arrays.mipmaps, id_);
  }
  return nullptr;
}

Context& OwnerOf(const DriverState& driver, const NamedObject& named, Context& current) {
  Context* const owner = named.FindContext(driver);
  return owner != nullptr ? *owner : current;
}

}  // namespace twinmmu::libcuda

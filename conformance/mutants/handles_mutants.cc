// Mutants of cuMemGetAllocationPropertiesFromHandle, cuMemRelease, cuMemRetainAllocationHandle.

#include "conformance/mutants/mutant_of.h"

namespace twinmmu::conformance {
namespace {

MUTANT_EDIT(PROP_1, GetAllocationProperties, "Handle types do not read back.",
            answer->requested_handle_types = HandleType::kNone)
MUTANT_EDIT(PROP_1, GetAllocationProperties, "All memory reads back as the first device's.",
            answer->location.id = 0)
MUTANT_EDIT(PROP_1, GetAllocationProperties, "The type reads back as 0.",
            answer->type = AllocationType::kInvalid)
MUTANT_IF(PROP_2, GetAllocationProperties, "Handle 0 has the default properties.",
          handle == AllocationHandle(0), AllocationProperties())
MUTANT_IF_REFUSED(PROP_2, GetAllocationProperties, "Handle 0 is INVALID_HANDLE.",
                  Refuse(DriverCode::kInvalidHandle))
MUTANT_IF(REL_1, Release, "Releasing handle 0 succeeds, as freeing null does in C.",
          handle == AllocationHandle(0), Ok())
MUTANT_IF_REFUSED(REL_1, Release, "Releasing handle 0 is INVALID_HANDLE.",
                  Refuse(DriverCode::kInvalidHandle))
MUTANT(REL_2, Release, "Releasing a handle unmaps what it is mapped as.") {
  for (const AddressRange& mapping : MappingsOf(handle)) Remove(mapping);
  return Real::Release(handle);
}
MUTANT(REL_2, Release, "Releasing a handle takes the access of its mappings.") {
  for (const AddressRange& mapping : MappingsOf(handle)) Grant(mapping, Access::kNone);
  return Real::Release(handle);
}
MUTANT(REL_2, Release, "Releasing a handle leaves its mappings read-only.") {
  for (const AddressRange& mapping : MappingsOf(handle)) Grant(mapping, Access::kRead);
  return Real::Release(handle);
}
MUTANT(REL_2, Release, "Releasing a handle overwrites its mapped data.") {
  for (const AddressRange& mapping : MappingsOf(handle)) Scribble(mapping);
  return Real::Release(handle);
}
MUTANT_IF(REL_2, Release, "A mapped handle cannot be released.", !MappingsOf(handle).empty(),
          Refuse(DriverCode::kIllegalState))
MUTANT_BEFORE(REL_3, Unmap, "Unmapping overwrites the data.", true, Scribble(range))
MUTANT(REL_3, Unmap, "Unmapping releases the handle.") {
  const AllocationHandle handle = HandleAt(range.base);
  const absl::Status status = Real::Unmap(range);
  Real::Release(handle).IgnoreError();
  return status;
}
MUTANT(REL_4, Release, "A second release succeeds.") {
  const absl::Status status = Real::Release(handle);
  return SizeOf(handle) != Bytes(0) ? Ok() : status;
}
MUTANT(REL_4, Release, "A second release is refused, and another handle is released for it.") {
  const absl::Status status = Real::Release(handle);
  if (!status.ok()) {
    for (const AddressRange& mapping : MappingsIn(kEverything)) {
      Real::Release(HandleAt(mapping.base)).IgnoreError();
    }
  }
  return status;
}
MUTANT_DAMAGE(REL_4, Release, "A second release is refused, and takes the access of others.",
              Grant(kEverything, Access::kNone))
MUTANT(REL_8, Release, "A handle that was never given out is released.") {
  const absl::Status status = Real::Release(handle);
  return SizeOf(handle) == Bytes(0) && handle != AllocationHandle() ? Ok() : status;
}
MUTANT_DAMAGE(REL_8, Map, "An invented handle is refused, and all mappings lose their access.",
              Grant(kEverything, Access::kNone))
MUTANT_IF_REFUSED(REL_8, ExportShareableHandle, "A handle that was never given out is exported.",
                  ShareableHandle::FileDescriptor(-1))
MUTANT(RET_1, RetainAllocationHandle, "Only the base of a mapping gives its handle.") {
  const auto mapping = MappingAt(address);
  if (mapping.has_value() && mapping->base != address) return Refuse();
  return Real::RetainAllocationHandle(address);
}
MUTANT_IF(RET_1, RetainAllocationHandle, "Only whole granules give the handle.",
          !address.IsAligned(Granule()), Refuse())
MUTANT(RET_1, RetainAllocationHandle, "The handle is that of the first mapping.") {
  const auto mappings = MappingsIn(kEverything);
  if (mappings.empty() || !IsMapped(address)) return Real::RetainAllocationHandle(address);
  return Real::RetainAllocationHandle(mappings.front().base);
}
MUTANT(RET_1, RetainAllocationHandle, "The last byte is taken for the next mapping's.") {
  return Real::RetainAllocationHandle(address + Bytes(1));
}
MUTANT(RET_2, RetainAllocationHandle, "A retain takes no reference.") {
  const auto handle = Real::RetainAllocationHandle(address);
  if (handle.ok()) Real::Release(*handle).IgnoreError();
  return handle;
}
MUTANT_BEFORE(RET_2, RetainAllocationHandle, "A retain takes two references.", true,
              Real::RetainAllocationHandle(address).IgnoreError())
MUTANT_IF_REFUSED(RET_3, RetainAllocationHandle, "Where nothing is mapped, the handle is 0.",
                  AllocationHandle(0))
MUTANT_IF_REFUSED(RET_3, RetainAllocationHandle, "Where nothing is mapped is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))

class RemembersUnmappedHandles : public Real {
 public:
  using Real::Real;
  CALL(Unmap) override {
    last_ = HandleAt(range.base);
    return Real::Unmap(range);
  }
  CALL(RetainAllocationHandle) override {
    const auto handle = Real::RetainAllocationHandle(address);
    return handle.ok() || last_ == AllocationHandle(0) ? handle : last_;
  }

 private:
  AllocationHandle last_;
};
MUTANT_CLASS(RET_3, RemembersUnmappedHandles, "An unmapped address still gives its last handle.")

MUTANT(RET_4, RetainAllocationHandle, "A mapping whose handle is released gives none.") {
  const auto handle = Real::RetainAllocationHandle(address);
  if (!handle.ok()) return handle;
  const bool was_live = Real::Release(*handle).ok() && Real::Release(*handle).ok();
  if (!was_live) return Refuse();
  Real::RetainAllocationHandle(address).IgnoreError();
  return Real::RetainAllocationHandle(address);
}
MUTANT(RET_4, RetainAllocationHandle, "The handle brought back carries no reference.") {
  const auto handle = Real::RetainAllocationHandle(address);
  if (handle.ok()) Real::Release(*handle).IgnoreError();
  return handle;
}
MUTANT_EDIT(RET_4, GetAllocationProperties, "A handle brought back has lost its properties.",
            answer->type = AllocationType::kInvalid)
MUTANT(RET_4, Unmap, "A handle brought back keeps the mapping from ending.") { return Ok(); }

MUTANT(REL_5, Map, "A dead handle maps nothing and succeeds.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return SizeOf(handle) != Bytes(0) ? Ok() : status;
}
MUTANT_IF_REFUSED(REL_5, ExportShareableHandle, "A dead handle is exported.",
                  ShareableHandle::FileDescriptor(-1))
MUTANT_DAMAGE(REL_5, Map, "A dead handle is refused, and all mappings lose their access.",
              Grant(kEverything, Access::kNone))

// Knows that the creator's reference is returned.
class KnowsTheReleased : public Real {
 public:
  using Real::Real;
  CALL(Release) override {
    released_ = true;
    return Real::Release(handle);
  }

 protected:
  bool released_ = false;
};

MUTANT_OF(KnowsTheReleased, REL_6, Map, "A released handle is not mapped again, as documented.") {
  return released_ ? Refuse() : Real::Map(range, handle, offset, flags);
}

MUTANT_OF(KnowsTheReleased, REL_6, GetAllocationProperties,
          "A released handle has no properties, as documented.") {
  if (released_) return Refuse();
  return Real::GetAllocationProperties(handle);
}

class KeepsWhatWasFreedFirst : public Real {
 public:
  using Real::Real;
  CALL(AddressFree) override {
    freed_ = true;
    return Real::AddressFree(range);
  }
  CALL(Release) override { return freed_ ? Ok() : Real::Release(handle); }

 private:
  bool freed_ = false;
};
MUTANT_CLASS(REL_7, KeepsWhatWasFreedFirst,
             "Memory whose addresses are freed first never comes back.")

MUTANT_OF(KnowsTheReleased, REL_7, AddressFree,
          "Addresses whose memory is released first stay taken.") {
  return released_ ? Ok() : Real::AddressFree(range);
}

MUTANT_IF_REFUSED(REL_6, Release, "A second release while mapped succeeds.", Ok())
MUTANT_ON("strict", REL_6, GetAllocationProperties,
          "A released handle has properties while mapped.") {
  const auto granted = Real::GetAllocationProperties(handle);
  return granted.ok() ? granted : AllocationProperties();
}
MUTANT_BEFORE(REL_7, Unmap, "An unmapping keeps a reference to the memory.", true,
              Real::RetainAllocationHandle(range.base).IgnoreError())
MUTANT(RET_5, Unmap, "Unmapping an allocation in one place unmaps it in all.") {
  for (const AddressRange& mapping : MappingsOf(HandleAt(range.base))) Remove(mapping);
  return Real::Unmap(range);
}
MUTANT(RET_5, RetainAllocationHandle, "All mappings give the handle of the first.") {
  const auto mappings = MappingsIn(kEverything);
  if (mappings.empty() || !IsMapped(address)) return Real::RetainAllocationHandle(address);
  return Real::RetainAllocationHandle(mappings.front().base);
}

}  // namespace
}  // namespace twinmmu::conformance

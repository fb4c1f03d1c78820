// Mutants of cuMemExportToShareableHandle and cuMemImportFromShareableHandle.

#include <fcntl.h>
#include <unistd.h>

#include "conformance/mutants/mutant_of.h"
#include "conformance/mutants/sharer.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

ShareableHandle OfType(const ShareableHandle& shareable, HandleType type) {
  ShareableHandle changed = shareable;
  changed.type = type;
  return changed;
}

class OneDescriptor : public Real {
 public:
  using Real::Real;
  CALL(ExportShareableHandle) override {
    if (first_.file_descriptor >= 0) return first_;
    const auto exported = Real::ExportShareableHandle(handle, type, flags);
    if (exported.ok()) first_ = *exported;
    return exported;
  }

 private:
  ShareableHandle first_;
};
MUTANT_CLASS(SHARE_1, OneDescriptor, "Each export gives the same descriptor.")

MUTANT(SHARE_1, ExportShareableHandle, "The descriptor is not closed on exec.") {
  const auto exported = Real::ExportShareableHandle(handle, type, flags);
  if (exported.ok()) fcntl(exported->file_descriptor, F_SETFD, 0);
  return exported;
}
MUTANT(SHARE_1, ExportShareableHandle, "An export succeeds without a descriptor.") {
  const auto exported = Real::ExportShareableHandle(handle, type, flags);
  if (!exported.ok()) return exported;
  close(exported->file_descriptor);
  return ShareableHandle::FileDescriptor(-1);
}
MUTANT_IF_REFUSED(SHARE_2, ExportShareableHandle,
                  "A type that was not requested gives an empty handle.", ShareableHandle())
MUTANT_IF(SHARE_2, ExportShareableHandle, "Fabric is exported without having been requested.",
          type == HandleType::kFabric, OfType(ShareableHandle(), type))
MUTANT_IF_REFUSED(SHARE_2, ExportShareableHandle, "A type that was not requested is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT(SHARE_3, ExportShareableHandle, "No type is the one that was requested.") {
  return Real::ExportShareableHandle(handle, type == HandleType::kNone ? kFd : type, flags);
}
MUTANT(SHARE_3, ExportShareableHandle, "Of several types the first one is taken.") {
  const bool several = type == (kFd | HandleType::kWin32);
  return Real::ExportShareableHandle(handle, several ? kFd : type, flags);
}
MUTANT_IF(SHARE_3, ExportShareableHandle, "A type that does not exist is NOT_SUPPORTED.",
          type == static_cast<HandleType>(99), Refuse(DriverCode::kNotSupported))
MUTANT_IF(SHARE_3, ExportShareableHandle, "Handle 0 is INVALID_HANDLE.",
          handle == AllocationHandle(0), Refuse(DriverCode::kInvalidHandle))
MUTANT(SHARE_4, ExportShareableHandle, "Export flags are ignored.") {
  return Real::ExportShareableHandle(handle, type, 0);
}
MUTANT(SHARE_4, ExportShareableHandle, "The upper half of the export flags is ignored.") {
  return Real::ExportShareableHandle(handle, type, flags & 0xffffffffu);
}

MUTANT_OF(Sharer, SHARE_5, ImportShareableHandle, "An import gives the exporter's handle.") {
  return exported_;
}

NAMED_MUTANT_OF(ImportsACopy, Sharer, SHARE_5, ImportShareableHandle,
                "An import is memory of its own.") {
  return Real::Create(SizeOf(exported_), AllocationProperties(), 0);
}

class ImportsFreshMemoryLater : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Release) override {
    released_ = true;
    return Sharer::Release(handle);
  }
  CALL(ImportShareableHandle) override {
    if (!released_) return Sharer::ImportShareableHandle(shareable);
    return Real::Create(SizeOf(exported_), AllocationProperties(), 0);
  }

 private:
  bool released_ = false;
};
MUTANT_CLASS(SHARE_12, ImportsFreshMemoryLater, "A descriptor does not keep the memory's content.")

class ImportsEndWithTheExporter : public Real {
 public:
  using Real::Real;
  CALL(Map) override { return released_ ? Refuse() : Real::Map(range, handle, offset, flags); }
  CALL(Release) override {
    released_ = true;
    return Real::Release(handle);
  }

 private:
  bool released_ = false;
};
MUTANT_CLASS(SHARE_6, ImportsEndWithTheExporter, "Imports end with the exporter's handle.")

NAMED_MUTANT_OF(OneImport, Sharer, SHARE_6, ImportShareableHandle,
                "A second import gives the handle of the first.") {
  return has_imported() ? imported_.front() : Sharer::ImportShareableHandle(shareable);
}
MUTANT_CLASS(PROC_5, OneImport, "A second import gives the handle of the first.")

class KnowsItsOwnNumbers : public Real {
 public:
  using Real::Real;
  CALL(ExportShareableHandle) override {
    const auto exported = Real::ExportShareableHandle(handle, type, flags);
    if (exported.ok()) number_ = exported->file_descriptor;
    return exported;
  }
  CALL(ImportShareableHandle) override {
    if (shareable.file_descriptor != number_) return Refuse();
    return Real::ImportShareableHandle(shareable);
  }

 private:
  int number_ = -1;
};
MUTANT_CLASS(SHARE_7, KnowsItsOwnNumbers, "Only the number that was exported imports.")

class ExportsAgain : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(ExportShareableHandle) override {
    const auto exported = Sharer::ExportShareableHandle(handle, type, flags);
    if (exported.ok()) source_ = handle;
    return exported.ok() ? exported : Real::ExportShareableHandle(source_, type, flags);
  }

 private:
  AllocationHandle source_;
};
MUTANT_CLASS(SHARE_11, ExportsAgain, "An import can be exported again.")

MUTANT(SHARE_5, Write, "What the importer writes is not seen by the exporter.") {
  const auto mappings = MappingsIn(kEverything);
  const bool second = mappings.size() > 1 && !mappings.front().contains(destination);
  return second ? Ok() : Real::Write(work, destination, source, size);
}
MUTANT(SHARE_5, RetainAllocationHandle, "An imported mapping gives the exporter's handle.") {
  const auto mappings = MappingsIn(kEverything);
  return Real::RetainAllocationHandle(mappings.size() > 1 ? mappings.front().base : address);
}
MUTANT(SHARE_7, ImportShareableHandle, "Importing closes the descriptor.") {
  const auto imported = Real::ImportShareableHandle(shareable);
  close(shareable.file_descriptor);
  return imported;
}
MUTANT_IF(SHARE_8, ImportShareableHandle, "Descriptor -1 is INVALID_VALUE.",
          shareable.file_descriptor == -1, Refuse())
MUTANT(SHARE_8, ImportShareableHandle, "A foreign descriptor is imported as a granule.") {
  const auto imported = Real::ImportShareableHandle(shareable);
  if (imported.ok() || shareable.file_descriptor < 3) return imported;
  return Real::Create(Granule(), AllocationProperties(), 0);
}
MUTANT_ON("strict", SHARE_8, ImportShareableHandle, "A foreign descriptor is UNKNOWN.") {
  return Instead(Real::ImportShareableHandle(shareable), DriverCode::kUnknown);
}
MUTANT(SHARE_9, ImportShareableHandle, "No type is a descriptor.") {
  const bool none = shareable.type == HandleType::kNone;
  return Real::ImportShareableHandle(none ? OfType(shareable, kFd) : shareable);
}
MUTANT(SHARE_9, ImportShareableHandle, "Of several types the first one is taken.") {
  const bool several = shareable.type == (kFd | HandleType::kWin32);
  return Real::ImportShareableHandle(several ? OfType(shareable, kFd) : shareable);
}
MUTANT_IF_REFUSED(SHARE_9, ImportShareableHandle, "An unknown type is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_IF_REFUSED(SHARE_10, ImportShareableHandle,
                  "An import of a Windows handle is INVALID_VALUE.", Refuse())
MUTANT(SHARE_10, ImportShareableHandle, "A Windows handle is taken for a descriptor.") {
  return Real::ImportShareableHandle(OfType(shareable, kFd));
}
MUTANT_IF_REFUSED(SHARE_11, ExportShareableHandle, "Exporting an import again is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_BEFORE(SHARE_12, ImportShareableHandle, "Memory that was imported is not given back.", true,
              Real::ImportShareableHandle(shareable).IgnoreError())
MUTANT_BEFORE(SHARE_12, Unmap, "Unmapping overwrites the data, whatever is open.", true,
              Scribble(range))
MUTANT_IF_REFUSED(SHARE_13, ImportShareableHandle, "Descriptor 0 is as foreign as any: UNKNOWN.",
                  Refuse(DriverCode::kUnknown))

MUTANT_CLASS(SHARE_16, ImportsACopy, "A descriptor that came through a socket is other memory.")
NAMED_MUTANT_OF(ExportsTwice, Real, SHARE_14, ExportShareableHandle,
                "An export keeps a descriptor for itself.") {
  const auto exported = Real::ExportShareableHandle(handle, type, flags);
  [[maybe_unused]] const int kept = exported.ok() ? dup(exported->file_descriptor) : -1;
  return exported;
}
MUTANT_CLASS(PROC_8, ExportsTwice, "An export keeps a duplicate of the descriptor open.")
NAMED_MUTANT_OF(KeepsADuplicate, Real, SHARE_14, ImportShareableHandle,
                "An import keeps a duplicate of the descriptor.") {
  [[maybe_unused]] const int kept = dup(shareable.file_descriptor);
  return Real::ImportShareableHandle(shareable);
}
MUTANT_CLASS(PROC_8, KeepsADuplicate, "An import keeps a duplicate of the descriptor open.")
MUTANT_IF_REFUSED(SHARE_15, ExportShareableHandle,
                  "Where no descriptor is left, an export is OUT_OF_MEMORY.",
                  Refuse(DriverCode::kOutOfMemory))
NAMED_MUTANT_OF(ImportsADuplicate, Real, SHARE_15, ImportShareableHandle,
                "Where no descriptor is left, nothing is imported.") {
  const int duplicate = dup(shareable.file_descriptor);
  if (duplicate < 0) return Refuse(DriverCode::kOperatingSystem);
  close(duplicate);
  return Real::ImportShareableHandle(shareable);
}
MUTANT_CLASS(PROC_9, ImportsADuplicate, "An import needs a descriptor of its own.")
MUTANT_IF(SHARE_16, ImportShareableHandle,
          "A descriptor with no other open in the process is foreign.",
          shareable.file_descriptor >= 0, Refuse(DriverCode::kUnknown))
MUTANT_IF(SHARE_17, ImportShareableHandle, "A handle type that is NOT_SUPPORTED is noticed first.",
          shareable.type == HandleType::kWin32, Refuse(DriverCode::kNotSupported))

class KeepsRdma : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Create) override {
    rdma_ = properties.gpu_direct_rdma;
    return Real::Create(size, properties, flags);
  }
  CALL(GetAllocationProperties) override {
    auto granted = Real::GetAllocationProperties(handle);
    if (granted.ok() && IsImported(handle)) granted->gpu_direct_rdma = rdma_;
    return granted;
  }

 private:
  uint8_t rdma_ = 0;
};
MUTANT_CLASS(SHARE_18, KeepsRdma, "An import is for GPUDirect RDMA, if its exporter is.")

NAMED_MUTANT_OF(LosesCompression, Sharer, SHARE_18, GetAllocationProperties,
                "An import is not compressed.") {
  auto granted = Real::GetAllocationProperties(handle);
  if (granted.ok() && IsImported(handle)) granted->compression = CompressionType::kNone;
  return granted;
}
MUTANT_CLASS(PROC_6, LosesCompression, "An import is not compressed.")

NAMED_MUTANT_OF(KeepsHandleTypes, Sharer, SHARE_18, GetAllocationProperties,
                "An import has the handle types of its exporter.") {
  auto granted = Real::GetAllocationProperties(handle);
  if (granted.ok() && IsImported(handle)) granted->requested_handle_types = kFd;
  return granted;
}
MUTANT_CLASS(PROC_6, KeepsHandleTypes, "An import has the handle types of its exporter.")

}  // namespace
}  // namespace twinmmu::conformance

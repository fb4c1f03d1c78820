// Mutants of memory that several processes share. Each process of a test is the mutant.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

constexpr HandleType kFd = HandleType::kPosixFileDescriptor;

// Whether a process that this one started still runs.
bool AnotherRuns() {
  siginfo_t info = {};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

// Knows what it exported and imported.
class Sharer : public Real {
 public:
  using Real::Real;
  CALL(ExportShareableHandle) override {
    exported_ = handle;
    return Real::ExportShareableHandle(handle, type, flags);
  }
  CALL(ImportShareableHandle) override {
    const auto imported = Real::ImportShareableHandle(shareable);
    if (imported.ok()) imported_.push_back(*imported);
    return imported;
  }

 protected:
  bool has_exported() const { return exported_ != AllocationHandle(0); }
  bool has_imported() const { return !imported_.empty(); }
  bool IsImported(AllocationHandle handle) const {
    for (const AllocationHandle imported : imported_) {
      if (imported == handle) return true;
    }
    return false;
  }

  AllocationHandle exported_;
  std::vector<AllocationHandle> imported_;
};

class ImportsItsOwnMemory : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Map) override {
    if (!IsImported(handle)) return Real::Map(range, handle, offset, flags);
    const auto own = Real::Create(range.size, AllocationProperties(), 0);
    return own.ok() ? Real::Map(range, *own, offset, flags) : own.status();
  }
};
MUTANT_CLASS(PROC_1, ImportsItsOwnMemory, "An import is memory of the importer's own.")
MUTANT_CLASS_ON("fabric-permitted", PROC_13, ImportsItsOwnMemory,
                "A fabric handle of another process gives memory of its own.")

class WritesForItself : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Write) override {
    return has_imported() ? Ok() : Real::Write(work, destination, source, size);
  }
};
MUTANT_CLASS(PROC_1, WritesForItself, "What the importer writes is not seen by the exporter.")
MUTANT_CLASS(PROC_3, WritesForItself, "What an importer wrote ends with it.")
MUTANT_CLASS(PROC_16, WritesForItself, "What a third process writes is not seen by the others.")

class ReadsOnce : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Read) override {
    if (has_imported() && reads_++ > 0) return Ok();
    return Real::Read(work, destination, source, size);
  }

 private:
  int reads_ = 0;
};
MUTANT_CLASS(PROC_1, ReadsOnce, "An importer sees what was there when it looked first.")

class MapsWhileItsExporterRuns : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Map) override {
    if (IsImported(handle) && !AnotherRuns()) return Refuse();
    return Real::Map(range, handle, offset, flags);
  }
};
MUTANT_CLASS(PROC_2, MapsWhileItsExporterRuns, "An import is mapped only while its exporter runs.")

class LosesContentsWithItsExporter : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Read) override {
    if (has_imported() && !AnotherRuns() && reads_++ == 0) Scribble(kEverything);
    return Real::Read(work, destination, source, size);
  }

 private:
  int reads_ = 0;
};
MUTANT_CLASS(PROC_2, LosesContentsWithItsExporter, "The contents end with the exporter.")
MUTANT_CLASS(PROC_14, LosesContentsWithItsExporter,
             "What a killed process exported has other contents.")

class ImportsWhileItsExporterRuns : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(ImportShareableHandle) override {
    return AnotherRuns() ? Sharer::ImportShareableHandle(shareable) : Refuse();
  }
};
MUTANT_CLASS(PROC_14, ImportsWhileItsExporterRuns,
             "A descriptor of a process that was killed is refused.")

class LosesContentsWithItsImporter : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Read) override {
    if (has_exported() && !AnotherRuns()) Scribble(kEverything);
    return Real::Read(work, destination, source, size);
  }
};
MUTANT_CLASS(PROC_3, LosesContentsWithItsImporter, "The contents end with an importer.")

class ClearsWhatItLetsGo : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Unmap) override {
    if (has_exported()) Scribble(range);
    return Real::Unmap(range);
  }
};
MUTANT_CLASS(PROC_4, ClearsWhatItLetsGo, "An exporter that lets go of memory clears it.")
MUTANT_CLASS(PROC_10, ClearsWhatItLetsGo, "Memory that nobody has imported yet is cleared.")

class OneImportEach : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(ImportShareableHandle) override {
    return has_imported() ? imported_.front() : Sharer::ImportShareableHandle(shareable);
  }
};
MUTANT_CLASS(PROC_5, OneImportEach, "A second import gives the handle of the first.")

class ImportsEndTogether : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Release) override {
    if (IsImported(handle)) Remove(kEverything);
    return Real::Release(handle);
  }
};
MUTANT_CLASS(PROC_5, ImportsEndTogether, "Releasing an import ends the mappings of the others.")

class KeepsTheHandleTypes : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(GetAllocationProperties) override {
    auto granted = Real::GetAllocationProperties(handle);
    if (granted.ok() && IsImported(handle)) granted->requested_handle_types = kFd;
    return granted;
  }
};
MUTANT_CLASS(PROC_6, KeepsTheHandleTypes, "An import has the handle types of its exporter.")

class LosesTheCompression : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(GetAllocationProperties) override {
    auto granted = Real::GetAllocationProperties(handle);
    if (granted.ok() && IsImported(handle)) granted->compression = CompressionType::kNone;
    return granted;
  }
};
MUTANT_CLASS(PROC_6, LosesTheCompression, "An import is not compressed.")

class IsFreeWithoutItsExporter : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Release) override {
    if (handle == exported_) released_ = SizeOf(handle);
    return Real::Release(handle);
  }
  CALL(GetMemoryInfo) override {
    auto info = Real::GetMemoryInfo(device);
    if (info.ok()) info->free = info->free + released_;
    return info;
  }

 private:
  Bytes released_;
};
MUTANT_CLASS(PROC_7, IsFreeWithoutItsExporter, "Memory is free when its exporter has released it.")

class IsNeverFree : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(GetMemoryInfo) override {
    auto info = Real::GetMemoryInfo(device);
    if (info.ok() && has_exported()) info->free = info->free - Granule();
    return info;
  }
};
MUTANT_CLASS(PROC_7, IsNeverFree, "Exported memory takes more than its size.")
MUTANT_CLASS(PROC_15, IsNeverFree, "Memory that a killed process had stays taken.")

class ImportsAFew : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(ImportShareableHandle) override {
    return imported_.size() < 256 ? Sharer::ImportShareableHandle(shareable)
                                  : Refuse(DriverCode::kOutOfMemory);
  }
};
MUTANT_CLASS(PROC_8, ImportsAFew, "A process imports 256 handles at most.")

class CountsInAByte : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Map) override {
    const bool wraps = IsImported(handle) && ++maps_ > 256;
    return Real::Map(range, wraps ? imported_[maps_ - 257] : handle, offset, flags);
  }

 private:
  size_t maps_ = 0;
};
MUTANT_CLASS(PROC_8, CountsInAByte, "The import after 256 others is the first one again.")

class GrantsWhatItImports : public Sharer {
 public:
  using Sharer::Sharer;
  CALL(Map) override {
    const absl::Status mapped = Real::Map(range, handle, offset, flags);
    if (mapped.ok() && IsImported(handle)) Grant(range, Access::kReadWrite);
    return mapped;
  }
};
MUTANT_CLASS(PROC_11, GrantsWhatItImports, "A mapping of an import has the exporter's right.")

}  // namespace

MUTANT(PROC_4, ImportShareableHandle, "What another process has released is foreign.") {
  return Refuse(DriverCode::kUnknown);
}
MUTANT(PROC_8, ImportShareableHandle, "An import keeps a duplicate of the descriptor open.") {
  [[maybe_unused]] const int kept = dup(shareable.file_descriptor);
  return Real::ImportShareableHandle(shareable);
}
MUTANT(PROC_8, ExportShareableHandle, "An export keeps a duplicate of the descriptor open.") {
  const auto exported = Real::ExportShareableHandle(handle, type, flags);
  if (exported.ok()) [[maybe_unused]]
    const int kept = dup(exported->file_descriptor);
  return exported;
}
MUTANT(PROC_9, ImportShareableHandle, "An import needs a descriptor of its own.") {
  const int duplicate = dup(shareable.file_descriptor);
  if (duplicate < 0) return Refuse(DriverCode::kOperatingSystem);
  close(duplicate);
  return Real::ImportShareableHandle(shareable);
}
MUTANT(PROC_12, ImportShareableHandle, "A descriptor that nobody sent is foreign.") {
  return Refuse(DriverCode::kUnknown);
}
MUTANT_ON("fabric-permitted", PROC_13, ImportShareableHandle,
          "A fabric handle of another process is refused.") {
  return Refuse();
}
MUTANT(PROC_13, Create, "Memory for a fabric handle that is not permitted is OUT_OF_MEMORY.") {
  return Instead(Real::Create(size, properties, flags), DriverCode::kOutOfMemory);
}

}  // namespace twinmmu::conformance

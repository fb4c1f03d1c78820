// Mutants of memory that several processes share. Each process of a test is the mutant.

#include <sys/wait.h>

#include "conformance/mutants/mutant_of.h"
#include "conformance/mutants/sharer.h"

namespace twinmmu::conformance {
namespace {

// Whether a process that this one started still runs.
bool AnotherRuns() {
  siginfo_t info = {};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

NAMED_MUTANT_OF(ImportsItsOwnMemory, Sharer, PROC_1, Map,
                "An import is memory of the importer's own.") {
  if (!IsImported(handle)) return Real::Map(range, handle, offset, flags);
  const auto own = Real::Create(range.size, AllocationProperties(), 0);
  return own.ok() ? Real::Map(range, *own, offset, flags) : own.status();
}
MUTANT_CLASS_ON("fabric-permitted", PROC_13, ImportsItsOwnMemory,
                "A fabric handle of another process gives memory of its own.")

NAMED_MUTANT_OF(WritesForItself, Sharer, PROC_1, Write,
                "What the importer writes is not seen by the exporter.") {
  return has_imported() ? Ok() : Real::Write(work, destination, source, size);
}
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

MUTANT_OF(Sharer, PROC_2, Map, "An import is mapped only while its exporter runs.") {
  if (IsImported(handle) && !AnotherRuns()) return Refuse();
  return Real::Map(range, handle, offset, flags);
}

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

MUTANT_OF(Sharer, PROC_14, ImportShareableHandle,
          "A descriptor of a process that was killed is refused.") {
  return AnotherRuns() ? Sharer::ImportShareableHandle(shareable) : Refuse();
}

MUTANT_OF(Sharer, PROC_3, Read, "The contents end with an importer.") {
  if (has_exported() && !AnotherRuns()) Scribble(kEverything);
  return Real::Read(work, destination, source, size);
}

NAMED_MUTANT_OF(ClearsWhatItLetsGo, Sharer, PROC_4, Unmap,
                "An exporter that lets go of memory clears it.") {
  if (has_exported()) Scribble(range);
  return Real::Unmap(range);
}
MUTANT_CLASS(PROC_10, ClearsWhatItLetsGo, "Memory that nobody has imported yet is cleared.")

MUTANT_OF(Sharer, PROC_5, Release, "Releasing an import ends the mappings of the others.") {
  if (IsImported(handle)) Remove(kEverything);
  return Real::Release(handle);
}

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

NAMED_MUTANT_OF(IsNeverFree, Sharer, PROC_7, GetMemoryInfo,
                "Exported memory takes more than its size.") {
  auto info = Real::GetMemoryInfo(device);
  if (info.ok() && has_exported()) info->free = info->free - Granule();
  return info;
}
MUTANT_CLASS(PROC_15, IsNeverFree, "Memory that a killed process had stays taken.")

MUTANT_OF(Sharer, PROC_8, ImportShareableHandle, "A process imports 256 handles at most.") {
  return imported_.size() < 256 ? Sharer::ImportShareableHandle(shareable)
                                : Refuse(DriverCode::kOutOfMemory);
}

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

MUTANT_OF(Sharer, PROC_11, Map, "A mapping of an import has the exporter's access.") {
  const absl::Status mapped = Real::Map(range, handle, offset, flags);
  if (mapped.ok() && IsImported(handle)) Grant(range, Access::kReadWrite);
  return mapped;
}

MUTANT(PROC_4, ImportShareableHandle, "What another process has released is foreign.") {
  return Refuse(DriverCode::kUnknown);
}
MUTANT(PROC_12, ImportShareableHandle, "A descriptor that nobody sent is foreign.") {
  return Refuse(DriverCode::kUnknown);
}
MUTANT_ON("fabric-permitted", PROC_13, ImportShareableHandle,
          "A fabric handle of another process is refused.") {
  return Refuse();
}
MUTANT_IF_REFUSED(PROC_13, Create,
                  "Memory for a fabric handle that is not permitted is OUT_OF_MEMORY.",
                  Refuse(DriverCode::kOutOfMemory))

}  // namespace
}  // namespace twinmmu::conformance

// Sharer: what mutants of exports and imports are made of.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_SHARER_H_
#define TWINMMU_CONFORMANCE_MUTANTS_SHARER_H_

#include <vector>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {

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

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_SHARER_H_

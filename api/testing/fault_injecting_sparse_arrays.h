// FaultInjectingSparseArrays: passes every call on, but those that a FaultPlan makes fail.
//
//   FaultPlan faults;
//   FaultInjectingSparseArrays arrays(real_arrays, &faults);
//   faults.FailNth(1, DriverCode::kOutOfMemory, {DriverCall::kMapTiles});
//
// A call that fails on purpose is not made: it has changed nothing.

#ifndef TWINMMU_API_TESTING_FAULT_INJECTING_SPARSE_ARRAYS_H_
#define TWINMMU_API_TESTING_FAULT_INJECTING_SPARSE_ARRAYS_H_

#include "api/testing/fault_plan.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// Thread safety: as in api/sparse_arrays.h.
class FaultInjectingSparseArrays : public ForwardingSparseArrays {
 public:
  // Both must outlive this object.
  FaultInjectingSparseArrays(SparseArrays* target, FaultPlan* faults)
      : ForwardingSparseArrays(target), faults_(*faults) {}

  absl::StatusOr<Array> CreateArray(DeviceOrdinal device,
                                    const ArrayDescriptor& descriptor) override;
  absl::Status DestroyArray(Array array) override;
  absl::StatusOr<MipmappedArray> CreateMipmappedArray(DeviceOrdinal device,
                                                      const ArrayDescriptor& descriptor,
                                                      uint32_t levels) override;
  absl::Status DestroyMipmappedArray(MipmappedArray mipmap) override;
  absl::StatusOr<Array> GetLevel(MipmappedArray mipmap, uint32_t level) override;
  absl::StatusOr<SparseProperties> GetArraySparseProperties(Array array) override;
  absl::StatusOr<SparseProperties> GetMipmappedArraySparseProperties(
      MipmappedArray mipmap) override;
  absl::Status MapTiles(Stream stream, absl::Span<const TileOperation> operations) override;
  absl::Status CopyHostToArray(Stream stream, Array array, const ArrayExtent& offset,
                               const ArrayExtent& extent, const void* source) override;
  absl::Status CopyArrayToHost(Stream stream, void* destination, Array array,
                               const ArrayExtent& offset, const ArrayExtent& extent) override;

 private:
  // What the plan says, or else what `call` gives.
  template <typename F>
  auto Call(DriverCall kind, const F& call) -> decltype(call());

  FaultPlan& faults_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FAULT_INJECTING_SPARSE_ARRAYS_H_

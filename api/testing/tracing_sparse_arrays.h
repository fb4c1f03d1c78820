// TracingSparseArrays: passes every call on, and remembers it with its result.
//
//   TracingSparseArrays trace(real_arrays);
//   MyTextures textures(&trace);
//   ...
//   EXPECT_EQ(trace.count(DriverCall::kMapTiles), 1) << trace;

#ifndef TWINMMU_API_TESTING_TRACING_SPARSE_ARRAYS_H_
#define TWINMMU_API_TESTING_TRACING_SPARSE_ARRAYS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/sparse_arrays.h"
#include "api/testing/call_trace.h"
#include "api/testing/forwarding.h"

namespace twinmmu {

// As TracingVmm. Thread safety: every function may run concurrently with every other.
class TracingSparseArrays : public ForwardingSparseArrays, public CallTrace {
 public:
  // `target` must outlive this object. `calls_kept`: as in CallTrace.
  explicit TracingSparseArrays(SparseArrays* target,
                               size_t calls_kept = std::numeric_limits<size_t>::max())
      : ForwardingSparseArrays(target), CallTrace(calls_kept) {}

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
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_TRACING_SPARSE_ARRAYS_H_

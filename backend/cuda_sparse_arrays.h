// SparseArrays on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_SPARSE_ARRAYS_H_
#define TWINMMU_BACKEND_CUDA_SPARSE_ARRAYS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/sparse_arrays.h"
#include "backend/primary_contexts.h"

namespace twinmmu {

// Every call runs in the primary context of its device. Arguments pass as they came. The driver
// counts the columns of a copy in bytes and does not tell the size of an element: a copy asks for
// the array's descriptor first.
class CudaSparseArrays final : public SparseArrays {
 public:
  explicit CudaSparseArrays(PrimaryContexts& contexts) : contexts_(contexts) {}  // must outlive it

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
  absl::StatusOr<Bytes> ElementSizeOf(Array array);

  PrimaryContexts& contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_SPARSE_ARRAYS_H_

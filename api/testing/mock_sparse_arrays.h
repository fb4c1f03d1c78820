// MockSparseArrays: a SparseArrays whose calls a test expects and answers, with GoogleMock.
//
//   MockSparseArrays arrays;
//   EXPECT_CALL(arrays, DestroyArray(array)).WillOnce(Return(absl::OkStatus()));
//
// What nobody answers is an error, or DelegateTo's, as in api/testing/mock_vmm.h.

#ifndef TWINMMU_API_TESTING_MOCK_SPARSE_ARRAYS_H_
#define TWINMMU_API_TESTING_MOCK_SPARSE_ARRAYS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/sparse_arrays.h"
#include "gmock/gmock.h"

namespace twinmmu {

// Thread safety: as for MockVmm.
class MockSparseArrays : public SparseArrays {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockSparseArrays();

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as in the beginning.
  void DelegateTo(SparseArrays* target) { target_ = target; }

  MOCK_METHOD(absl::StatusOr<Array>, CreateArray,
              (DeviceOrdinal device, const ArrayDescriptor& descriptor), (override));
  MOCK_METHOD(absl::Status, DestroyArray, (Array array), (override));
  MOCK_METHOD(absl::StatusOr<MipmappedArray>, CreateMipmappedArray,
              (DeviceOrdinal device, const ArrayDescriptor& descriptor, uint32_t levels),
              (override));
  MOCK_METHOD(absl::Status, DestroyMipmappedArray, (MipmappedArray mipmap), (override));
  MOCK_METHOD(absl::StatusOr<Array>, GetLevel, (MipmappedArray mipmap, uint32_t level), (override));
  MOCK_METHOD(absl::StatusOr<SparseProperties>, GetArraySparseProperties, (Array array),
              (override));
  MOCK_METHOD(absl::StatusOr<SparseProperties>, GetMipmappedArraySparseProperties,
              (MipmappedArray mipmap), (override));
  MOCK_METHOD(absl::Status, MapTiles, (Stream stream, absl::Span<const TileOperation> operations),
              (override));
  MOCK_METHOD(absl::Status, CopyHostToArray,
              (Stream stream, Array array, const ArrayExtent& offset, const ArrayExtent& extent,
               const void* source),
              (override));
  MOCK_METHOD(absl::Status, CopyArrayToHost,
              (Stream stream, void* destination, Array array, const ArrayExtent& offset,
               const ArrayExtent& extent),
              (override));

 private:
  SparseArrays* target_ = nullptr;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_MOCK_SPARSE_ARRAYS_H_

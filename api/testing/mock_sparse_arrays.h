// MockSparseArrays: a GoogleMock of SparseArrays.
//
//   MockSparseArrays arrays;
//   EXPECT_CALL(arrays, DestroyArray(array)).WillOnce(Return(absl::OkStatus()));
//
// A call without an answer is an error, or goes to DelegateTo's target, as in
// api/testing/mock_vmm.h.

#ifndef TWINMMU_API_TESTING_MOCK_SPARSE_ARRAYS_H_
#define TWINMMU_API_TESTING_MOCK_SPARSE_ARRAYS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/sparse_arrays.h"
#include "api/testing/mock_call.h"

namespace twinmmu {

// Thread safety: as for MockVmm.
class MockSparseArrays : public SparseArrays {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockSparseArrays();
  ~MockSparseArrays() override;

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as at first.
  void DelegateTo(SparseArrays* target) { target_ = target; }

  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_MOCK, )

 private:
  SparseArrays* target_ = nullptr;
};

}  // namespace twinmmu

TWINMMU_COMPILED_MOCK(extern, twinmmu::MockSparseArrays)

#endif  // TWINMMU_API_TESTING_MOCK_SPARSE_ARRAYS_H_

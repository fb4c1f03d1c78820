// The default answers of mocks.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/testing/mock_call.h"
#include "api/testing/mock_executor.h"
#include "api/testing/mock_multicast.h"
#include "api/testing/mock_sparse_arrays.h"
#include "api/testing/mock_vmm.h"

namespace twinmmu {
namespace {

// `mock` and `method` as in "MockVmm" and "Map".
absl::Status UnexpectedCall(const char* mock, const char* method) {
  return absl::UnimplementedError(absl::StrCat(
      mock, " has no answer to ", method,
      ": give EXPECT_CALL or ON_CALL an action, or let DelegateTo() name who answers"));
}

}  // namespace

#define TWINMMU_ANSWER(Mock, id, result, method, ...)                    \
  ON_CALL(*this, TWINMMU_ANY(method, __VA_ARGS__))                       \
      .WillByDefault([this](TWINMMU_PARAMETERS(__VA_ARGS__)) -> result { \
        if (target_ == nullptr) return UnexpectedCall(#Mock, #method);   \
        return target_->method(TWINMMU_ARGUMENTS(__VA_ARGS__));          \
      });

MockVmm::~MockVmm() = default;
MockExecutor::~MockExecutor() = default;
MockMulticast::~MockMulticast() = default;
MockSparseArrays::~MockSparseArrays() = default;

MockVmm::MockVmm(){TWINMMU_VMM_CALLS(TWINMMU_ANSWER, MockVmm)} MockExecutor::MockExecutor(){
    TWINMMU_EXECUTOR_CALLS(TWINMMU_ANSWER, MockExecutor)} MockMulticast::MockMulticast(){
    TWINMMU_MULTICAST_CALLS(TWINMMU_ANSWER, MockMulticast)} MockSparseArrays::MockSparseArrays() {
  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_ANSWER, MockSparseArrays)
}

}  // namespace twinmmu

TWINMMU_COMPILED_MOCK(, twinmmu::MockVmm)
TWINMMU_COMPILED_MOCK(, twinmmu::MockExecutor)
TWINMMU_COMPILED_MOCK(, twinmmu::MockMulticast)
TWINMMU_COMPILED_MOCK(, twinmmu::MockSparseArrays)

#include "api/testing/mock_sparse_arrays.h"

#include "api/testing/unexpected_call.h"

namespace twinmmu {

MockSparseArrays::MockSparseArrays() {
#define TWINMMU_ANSWER(method)                                                                     \
  ON_CALL(*this, method)                                                                           \
      .WillByDefault([this](const auto&... arguments) -> decltype(target_->method(arguments...)) { \
        if (target_ != nullptr) return target_->method(arguments...);                              \
        return testing_internal::UnexpectedCall("MockSparseArrays", #method);                      \
      });
  TWINMMU_ANSWER(CreateArray)
  TWINMMU_ANSWER(DestroyArray)
  TWINMMU_ANSWER(CreateMipmappedArray)
  TWINMMU_ANSWER(DestroyMipmappedArray)
  TWINMMU_ANSWER(GetLevel)
  TWINMMU_ANSWER(GetArraySparseProperties)
  TWINMMU_ANSWER(GetMipmappedArraySparseProperties)
  TWINMMU_ANSWER(MapTiles)
  TWINMMU_ANSWER(CopyHostToArray)
  TWINMMU_ANSWER(CopyArrayToHost)
#undef TWINMMU_ANSWER
}

}  // namespace twinmmu

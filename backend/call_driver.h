// Call: the one way from here into the driver.
//
// Arguments are value types of api/ or the driver's own types, in the order of the driver's
// parameters. A successful call costs what the driver's function costs and one comparison with
// null: no lock, no allocation, and no text before something has failed.

#ifndef TWINMMU_BACKEND_CALL_DRIVER_H_
#define TWINMMU_BACKEND_CALL_DRIVER_H_

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/abi.h"
#include "backend/driver_table.h"
#include "backend/error.h"

namespace twinmmu {

template <Symbol kSymbol, typename... A>
ABSL_ATTRIBUTE_NOINLINE absl::Status FailedCallWith(cuda_abi::CUresult result, A... arguments) {
  return FailedCall(kSymbol, result, {ArgumentText(arguments)...});
}

//   Call<Symbol::cuMemUnmap>(table, range.base, range.size)
template <Symbol kSymbol, typename... A>
absl::Status Call(const DriverTable& table, A... arguments) {
  const auto function = table.*FieldOf<kSymbol>::kMember;
  if (ABSL_PREDICT_FALSE(function == nullptr)) return MissingSymbol(table, kSymbol);
  const cuda_abi::CUresult result = function(ToAbi(arguments)...);
  if (ABSL_PREDICT_TRUE(result == cuda_abi::CUDA_SUCCESS)) return absl::OkStatus();
  return FailedCallWith<kSymbol>(result, arguments...);
}

// For the queries, where "not ready" is an answer.
template <Symbol kSymbol, typename... A>
absl::StatusOr<bool> CallQuery(const DriverTable& table, A... arguments) {
  const auto function = table.*FieldOf<kSymbol>::kMember;
  if (ABSL_PREDICT_FALSE(function == nullptr)) return MissingSymbol(table, kSymbol);
  const cuda_abi::CUresult result = function(ToAbi(arguments)...);
  if (result == cuda_abi::CUDA_SUCCESS) return true;
  if (result == cuda_abi::CUDA_ERROR_NOT_READY) return false;
  return FailedCallWith<kSymbol>(result, arguments...);
}

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CALL_DRIVER_H_

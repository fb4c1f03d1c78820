// Functions of the driver by the names of their symbols, with the driver's types.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_SYMBOL_CALL_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_SYMBOL_CALL_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "conformance/abi/values/driver_symbol.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/graph_abi.h"
#include "third_party/cuda_abi/tensor_abi.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::abi {

using namespace cuda_abi;  // NOLINT: the driver's types, under the driver's names

// An integer fills the place of an argument, whatever its parameter takes of it.
template <typename Argument>
auto AsPassed(Argument argument) {
  if constexpr (std::is_same_v<Argument, std::nullptr_t>) {
    return static_cast<void*>(nullptr);
  } else if constexpr (std::is_integral_v<Argument>) {
    return static_cast<int64_t>(argument);
  } else {
    return argument;
  }
}

template <typename... Arguments>
CUresult Call(const char* symbol, Arguments... arguments) {
  constexpr CUresult kNotFound = 500;
  using Signature = CUresult(decltype(AsPassed(arguments))...);
  const auto function = reinterpret_cast<Signature*>(SymbolOf(symbol));
  return function == nullptr ? kNotFound : function(AsPassed(arguments)...);
}

// Ends the process, and says why, unless the result is a success.
void EndUnlessDone(const char* symbol, CUresult result);

// A call that a case needs.
template <typename... Arguments>
void Must(const char* symbol, Arguments... arguments) {
  EndUnlessDone(symbol, Call(symbol, arguments...));
}

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_SYMBOL_CALL_H_

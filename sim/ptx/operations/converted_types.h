// What cvt has to know of the types that it converts.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_CONVERTED_TYPES_H_
#define TWINMMU_SIM_PTX_OPERATIONS_CONVERTED_TYPES_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/lane_types.h"

namespace twinmmu::ptx {

// The integer of C++ for a lane's value.
template <typename T>
using Integer = std::conditional_t<std::is_same_v<T, U8>, uint8_t,
                                   std::conditional_t<std::is_same_v<T, S8>, int8_t, T>>;

template <typename T>
Integer<T> Load(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else {
    return static_cast<Integer<T>>(x.bits);
  }
}
template <typename T>
T ToLane(Integer<T> x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else {
    return {static_cast<uint16_t>(x)};
  }
}

// Calls add(T()) for the type T of each integer that is converted.
template <typename Add>
void ForEachInteger(const Add& add) {
  add(U8());
  add(uint16_t());
  add(uint32_t());
  add(uint64_t());
  add(S8());
  add(int16_t());
  add(int32_t());
  add(int64_t());
}

inline double AsDouble(float x) { return x; }
inline double AsDouble(double x) { return x; }
inline double AsDouble(F16 x) { return ToDouble(x); }
inline double AsDouble(Bf16 x) { return ToDouble(x); }

// ".s32".
template <typename T>
std::string Name() {
  return std::string(".") + NameOf(TypeOf<T>::value);
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_CONVERTED_TYPES_H_

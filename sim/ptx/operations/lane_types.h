// What a value of a lane is in C++, for the functions that compute with one lane's values.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_LANE_TYPES_H_
#define TWINMMU_SIM_PTX_OPERATIONS_LANE_TYPES_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sim/ptx/text/type.h"

namespace twinmmu::ptx {

// Values that C++ has no arithmetic for: their bits, as they lie in a slot. Kind is the type that
// PTX gives them.
template <Type kType, typename Bits>
struct Encoded {
  Bits bits;
};
using U8 = Encoded<Type::kU8, uint16_t>;
using S8 = Encoded<Type::kS8, uint16_t>;
using F16 = Encoded<Type::kF16, uint16_t>;
using Bf16 = Encoded<Type::kBf16, uint16_t>;
using E4m3x2 = Encoded<Type::kE4m3x2, uint16_t>;
using E5m2x2 = Encoded<Type::kE5m2x2, uint16_t>;
using F16x2 = Encoded<Type::kF16x2, uint32_t>;
using Bf16x2 = Encoded<Type::kBf16x2, uint32_t>;
using U16x2 = Encoded<Type::kU16x2, uint32_t>;
using S16x2 = Encoded<Type::kS16x2, uint32_t>;
using Tf32 = Encoded<Type::kTf32, uint32_t>;

// A parameter that is the carry flag.
struct Carry {
  bool in;
};
// The result of an instruction that sets the carry flag.
template <typename T>
struct Carried {
  T value;
  bool out;
};

// The type of PTX for one of C++.
template <typename T>
struct TypeOf;
template <Type kType, typename Bits>
struct TypeOf<Encoded<kType, Bits>> : std::integral_constant<Type, kType> {};
template <>
struct TypeOf<bool> : std::integral_constant<Type, Type::kPred> {};
template <>
struct TypeOf<Carry> : std::integral_constant<Type, Type::kPred> {};
template <>
struct TypeOf<uint16_t> : std::integral_constant<Type, Type::kU16> {};
template <>
struct TypeOf<uint32_t> : std::integral_constant<Type, Type::kU32> {};
template <>
struct TypeOf<uint64_t> : std::integral_constant<Type, Type::kU64> {};
template <>
struct TypeOf<int16_t> : std::integral_constant<Type, Type::kS16> {};
template <>
struct TypeOf<int32_t> : std::integral_constant<Type, Type::kS32> {};
template <>
struct TypeOf<int64_t> : std::integral_constant<Type, Type::kS64> {};
template <>
struct TypeOf<float> : std::integral_constant<Type, Type::kF32> {};
template <>
struct TypeOf<double> : std::integral_constant<Type, Type::kF64> {};

// The unsigned integer as wide as T, which has 2, 4 or 8 bytes.
template <typename T>
using Unsigned = std::conditional_t<sizeof(T) == 8, uint64_t,
                                    std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

template <typename To, typename From>
To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
template <typename T>
Unsigned<T> BitsOf(const T& value) {
  return BitCast<Unsigned<T>>(value);
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_LANE_TYPES_H_

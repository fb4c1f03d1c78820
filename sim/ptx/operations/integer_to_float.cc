// cvt of integers to floating-point values.

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/converted_types.h"
#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

// An integer of 64 bits as f64.
template <Round kRound, typename T>
double ToF64(T x) {
  const double nearest = static_cast<double>(x);
  if constexpr (kRound == Round::kNearest || sizeof(T) < 8) return nearest;
  __extension__ using Wide = __int128;
  const Wide error = static_cast<Wide>(nearest) - static_cast<Wide>(x);
  const bool down = kRound == Round::kDown || (kRound == Round::kZero && x > 0);
  if (down ? error <= 0 : error >= 0) return nearest;
  return std::nextafter(nearest, down ? -std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::infinity());
}
template <typename To, typename From, Round kRound, bool kSat>
To IntegerToFloat(From a) {
  const Integer<From> x = Load(a);
  if constexpr (std::is_same_v<To, double>) {
    const double result = ToF64<kRound>(x);
    return kSat ? Saturate(result) : result;
  } else {
    using Widest = std::conditional_t<std::is_signed_v<Integer<From>>, int64_t, uint64_t>;
    double odd;
    if constexpr (sizeof(x) < 8) {
      odd = x;
    } else {
      odd = ToOdd(Widest{x});
    }
    if constexpr (std::is_same_v<To, float>) {
      const float result = RoundToFloat<kRound>(odd);
      return kSat ? Saturate(result) : result;
    } else {
      return RoundToHalf<To>(kSat ? Saturate(odd) : odd, kRound);
    }
  }
}

template <typename To, typename From, Round kRound>
void AddIntegerToFloat(OperationTable& table) {
  const std::string rounding = SuffixOf(kRound);
  const std::string types = Name<To>() + Name<From>();
  constexpr bool kRare = kRound != Round::kNearest || std::is_same_v<To, F16> ||
                         std::is_same_v<To, Bf16> || sizeof(Integer<From>) < 4;
  table.Map<IntegerToFloat<To, From, kRound, false>, kRare>("cvt" + rounding + types);
  // No integer is subnormal.
  if constexpr (std::is_same_v<To, float>) {
    table.Map<IntegerToFloat<To, From, kRound, false>, kRare>("cvt" + rounding + ".ftz" + types);
    table.Map<IntegerToFloat<To, From, kRound, true>, true>("cvt" + rounding + ".ftz.sat" + types);
  }
  if constexpr (!std::is_same_v<To, Bf16>) {
    table.Map<IntegerToFloat<To, From, kRound, true>, true>("cvt" + rounding + ".sat" + types);
  }
}

template <typename Float, typename Int>
void AddRoundings(OperationTable& table) {
  AddIntegerToFloat<Float, Int, Round::kNearest>(table);
  AddIntegerToFloat<Float, Int, Round::kZero>(table);
  AddIntegerToFloat<Float, Int, Round::kDown>(table);
  AddIntegerToFloat<Float, Int, Round::kUp>(table);
}
template <typename Int>
void AddInteger(OperationTable& table) {
  AddRoundings<F16, Int>(table);
  AddRoundings<Bf16, Int>(table);
  AddRoundings<float, Int>(table);
  AddRoundings<double, Int>(table);
}

}  // namespace

void AddIntegerToFloat(OperationTable& table) {
  ForEachInteger([&](auto integer) { AddInteger<decltype(integer)>(table); });
}

}  // namespace twinmmu::ptx

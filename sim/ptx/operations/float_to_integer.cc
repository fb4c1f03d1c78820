// cvt of floating-point values to integers.

#include <limits>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/converted_types.h"
#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

template <typename To, typename From, Round kRound, bool kFtz>
To FloatToInteger(From a) {
  using Limits = std::numeric_limits<Integer<To>>;
  if constexpr (std::is_same_v<From, float>) a = Flush<kFtz>(a);
  const double x = AsDouble(a);
  if (IsNan(x)) {
    // Of 64 bits on one side, the smallest integer, which is then cut to the width.
    constexpr bool kWide = sizeof(Integer<To>) == 8 || std::is_same_v<From, double>;
    constexpr uint64_t kSmallest = uint64_t{1} << (8 * sizeof(Integer<To>) - 1);
    return ToLane<To>(kWide ? static_cast<Integer<To>>(kSmallest) : Integer<To>{0});
  }
  if constexpr (sizeof(Integer<To>) <= 4) {
    // The bounds are numbers of f64, and integral: clamped first, the conversion cuts well.
    const double low = Limits::min(), high = Limits::max();
    const double clamped = x < low ? low : x > high ? high : x;
    if constexpr (kRound == Round::kZero) {
      return ToLane<To>(static_cast<Integer<To>>(static_cast<int64_t>(clamped)));
    } else {
      return ToLane<To>(
          static_cast<Integer<To>>(static_cast<int64_t>(RoundToIntegral<kRound>(clamped))));
    }
  } else {
    const double integral = RoundToIntegral<kRound>(x);
    // The upper bound is one below a power of 2.
    constexpr double kBeyond = 2.0 * static_cast<double>(Limits::max() / 2 + 1);
    if (integral >= kBeyond) return ToLane<To>(Limits::max());
    if (integral <= static_cast<double>(Limits::min())) return ToLane<To>(Limits::min());
    return ToLane<To>(static_cast<Integer<To>>(integral));
  }
}

template <typename To, typename From, Round kRound>
void AddFloatToInteger(OperationTable& table, const std::string& rounding) {
  const std::string types = Name<To>() + Name<From>();
  constexpr bool kRare = (kRound != Round::kNearest && kRound != Round::kZero) ||
                         std::is_same_v<From, F16> || std::is_same_v<From, Bf16> ||
                         sizeof(Integer<To>) < 4;
  // It is clamped without .sat too, which bf16 has not.
  for (const char* sat : {"", ".sat"}) {
    if (std::is_same_v<From, Bf16> && *sat != 0) continue;
    table.Map<FloatToInteger<To, From, kRound, false>, kRare>("cvt" + rounding + sat + types);
    if constexpr (std::is_same_v<From, float>) {
      table.Map<FloatToInteger<To, From, kRound, true>, kRare>("cvt" + rounding + ".ftz" + sat +
                                                               types);
    }
  }
}
template <typename Int, typename Float>
void AddRoundings(OperationTable& table) {
  AddFloatToInteger<Int, Float, Round::kNearest>(table, ".rni");
  AddFloatToInteger<Int, Float, Round::kZero>(table, ".rzi");
  AddFloatToInteger<Int, Float, Round::kDown>(table, ".rmi");
  AddFloatToInteger<Int, Float, Round::kUp>(table, ".rpi");
}
template <typename Int>
void AddInteger(OperationTable& table) {
  AddRoundings<Int, F16>(table);
  AddRoundings<Int, Bf16>(table);
  AddRoundings<Int, float>(table);
  AddRoundings<Int, double>(table);
}

}  // namespace

void AddFloatToInteger(OperationTable& table) {
  ForEachInteger([&](auto integer) { AddInteger<decltype(integer)>(table); });
}

}  // namespace twinmmu::ptx

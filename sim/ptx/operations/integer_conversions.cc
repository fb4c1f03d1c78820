// cvt between integers, and cvt.pack.

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/converted_types.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

template <typename To, typename From>
To Clamp(From x) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_signed_v<From>) {
    if (std::is_unsigned_v<To> && x < 0) return 0;
    if (std::is_signed_v<To> && int64_t{x} < static_cast<int64_t>(Limits::min())) {
      return Limits::min();
    }
    if (x < 0) return static_cast<To>(x);
  }
  return static_cast<uint64_t>(x) > static_cast<uint64_t>(Limits::max()) ? Limits::max()
                                                                         : static_cast<To>(x);
}

template <typename To, typename From, bool kSat>
To IntegerToInteger(From a) {
  const Integer<From> x = Load(a);
  return ToLane<To>(kSat ? Clamp<Integer<To>>(x) : static_cast<Integer<To>>(x));
}

// b is lowest, above it a, and above that what there is room for of c.
template <int kBits, bool kSigned>
uint32_t Part(int32_t a) {
  const int32_t top = (1 << (kSigned ? kBits - 1 : kBits)) - 1;
  const int32_t clamped = std::clamp(a, kSigned ? -top - 1 : 0, top);
  return static_cast<uint32_t>(clamped) & ((1U << kBits) - 1);
}
template <int kBits, bool kSigned>
uint32_t Pack(int32_t a, int32_t b) {
  return Part<kBits, kSigned>(a) << kBits | Part<kBits, kSigned>(b);
}
template <int kBits, bool kSigned>
uint32_t PackMore(int32_t a, int32_t b, uint32_t c) {
  return c << (2 * kBits) | Pack<kBits, kSigned>(a, b);
}

// --- The forms -----------------------------------------------------------------------------------

template <typename To, typename From>
void AddIntegerToInteger(OperationTable& table) {
  table.Map<IntegerToInteger<To, From, false>>("cvt" + Name<To>() + Name<From>());
  // .sat is there only where a value may be outside.
  using ToLimits = std::numeric_limits<Integer<To>>;
  using FromLimits = std::numeric_limits<Integer<From>>;
  __extension__ using Wide = __int128;
  if constexpr (Wide{FromLimits::min()} < Wide{ToLimits::min()} ||
                Wide{FromLimits::max()} > Wide{ToLimits::max()}) {
    table.Map<IntegerToInteger<To, From, true>, true>("cvt.sat" + Name<To>() + Name<From>());
  }
}

template <typename To>
void AddInteger(OperationTable& table) {
  ForEachInteger([&](auto from) { AddIntegerToInteger<To, decltype(from)>(table); });
}

}  // namespace

void AddIntegerConversions(OperationTable& table) {
  ForEachInteger([&](auto integer) { AddInteger<decltype(integer)>(table); });

  table.Map<Pack<16, false>>("cvt.pack.sat.u16.s32");
  table.Map<Pack<16, true>>("cvt.pack.sat.s16.s32");
  table.Map<PackMore<8, false>>("cvt.pack.sat.u8.s32.b32");
  table.Map<PackMore<8, true>>("cvt.pack.sat.s8.s32.b32");
  table.Map<PackMore<4, false>>("cvt.pack.sat.u4.s32.b32");
  table.Map<PackMore<4, true>>("cvt.pack.sat.s4.s32.b32");
  table.Map<PackMore<2, false>>("cvt.pack.sat.u2.s32.b32");
  table.Map<PackMore<2, true>>("cvt.pack.sat.s2.s32.b32");
}

}  // namespace twinmmu::ptx

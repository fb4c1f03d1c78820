// add, sub, mul, mad, div, ..., dp4a of integers.

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

// Arithmetic is done without signs, where it wraps; of 16 bits in 32, as C++ would with signs.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// The type of twice the width.
struct WiderOf {
  __extension__ using Int128 = __int128;
  __extension__ using Uint128 = unsigned __int128;
  static uint32_t Of(uint16_t);
  static uint64_t Of(uint32_t);
  static Uint128 Of(uint64_t);
  static int32_t Of(int16_t);
  static int64_t Of(int32_t);
  static Int128 Of(int64_t);
};
template <typename T>
using Wider = decltype(WiderOf::Of(T()));

template <typename T>
T Add(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <typename T>
T Sub(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <typename T>
T MulLo(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <typename T>
T MulHi(T a, T b) {
  return static_cast<T>(static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b) >> (8 * sizeof(T)));
}
template <typename T>
Wider<T> MulWide(T a, T b) {
  // No product of two values of the narrower type is outside the wider one.
  return static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b);
}
template <typename T>
T MadLo(T a, T b, T c) {
  return Add<T>(MulLo<T>(a, b), c);
}
template <typename T>
T MadHi(T a, T b, T c) {
  return Add<T>(MulHi<T>(a, b), c);
}
template <typename T>
Wider<T> MadWide(T a, T b, Wider<T> c) {
  return Add<Wider<T>>(MulWide<T>(a, b), c);
}

int32_t Clamp(int64_t x) {
  return static_cast<int32_t>(std::clamp<int64_t>(x, std::numeric_limits<int32_t>::min(),
                                                  std::numeric_limits<int32_t>::max()));
}
int32_t AddSat(int32_t a, int32_t b) { return Clamp(int64_t{a} + b); }
int32_t SubSat(int32_t a, int32_t b) { return Clamp(int64_t{a} - b); }
int32_t MadHiSat(int32_t a, int32_t b, int32_t c) { return Clamp(int64_t{MulHi(a, b)} + c); }

// The product of the low 24 bits, of 48 bits.
template <typename T>
Wider<T> Product24(T a, T b) {
  // Shifted up without a sign, back with it.
  const auto low = [](T x) { return static_cast<T>(static_cast<uint32_t>(x) << 8) >> 8; };
  return static_cast<Wider<T>>(low(a)) * low(b);
}
template <typename T>
T Mul24Lo(T a, T b) {
  return static_cast<T>(Product24(a, b));
}
template <typename T>
T Mul24Hi(T a, T b) {
  return static_cast<T>(Product24(a, b) >> 16);
}
template <typename T>
T Mad24Lo(T a, T b, T c) {
  return Add<T>(Mul24Lo(a, b), c);
}
template <typename T>
T Mad24Hi(T a, T b, T c) {
  return Add<T>(Mul24Hi(a, b), c);
}
int32_t Mad24HiSat(int32_t a, int32_t b, int32_t c) { return Clamp(int64_t{Mul24Hi(a, b)} + c); }

template <typename T>
T Sad(T a, T b, T c) {
  return Add<T>(c, a < b ? Sub<T>(b, a) : Sub<T>(a, b));
}
// By 0, hardware gives all ones, for the remainder too.
template <typename T>
T Div(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (b == static_cast<T>(~T{0}) && std::is_signed_v<T>) return Sub<T>(0, a);
  return static_cast<T>(a / b);
}
template <typename T>
T Rem(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (b == static_cast<T>(~T{0}) && std::is_signed_v<T>) return 0;
  return static_cast<T>(a % b);
}
template <typename T>
T Neg(T a) {
  return Sub<T>(0, a);
}
template <typename T>
T Abs(T a) {
  return a < 0 ? Neg<T>(a) : a;
}
template <typename T>
T Min(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
T Max(T a, T b) {
  return a < b ? b : a;
}
template <int32_t (*kFunction)(int32_t, int32_t)>
int32_t Relu(int32_t a, int32_t b) {
  return Max<int32_t>(kFunction(a, b), 0);
}

// kFunction of each half of a word.
template <typename Pair, auto kFunction, typename T>
Pair Halves(Pair a, Pair b) {
  const auto half = [&](int shift) {
    const T result = kFunction(static_cast<T>(a.bits >> shift), static_cast<T>(b.bits >> shift));
    return static_cast<uint32_t>(static_cast<uint16_t>(result)) << shift;
  };
  return {half(0) | half(16)};
}
template <int16_t (*kFunction)(int16_t, int16_t)>
int16_t ReluHalf(int16_t a, int16_t b) {
  return Max<int16_t>(kFunction(a, b), 0);
}

// Element `index` of kBits bits, as a value of T.
template <typename T, int kBits>
int64_t Element(T word, int index) {
  const uint32_t up = static_cast<uint32_t>(word) << (32 - kBits * (index + 1));
  return static_cast<T>(up) >> (32 - kBits);
}
template <typename A, typename B>
using DotResult = std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, int32_t, uint32_t>;
template <typename A, typename B>
DotResult<A, B> Dp4a(A a, B b, DotResult<A, B> c) {
  int64_t sum = c;
  for (int i = 0; i < 4; ++i) sum += Element<A, 8>(a, i) * Element<B, 8>(b, i);
  return static_cast<DotResult<A, B>>(static_cast<uint32_t>(sum));
}
template <typename A, typename B, int kFirst>
DotResult<A, B> Dp2a(A a, B b, DotResult<A, B> c) {
  int64_t sum = c;
  for (int i = 0; i < 2; ++i) sum += Element<A, 16>(a, i) * Element<B, 8>(b, kFirst + i);
  return static_cast<DotResult<A, B>>(static_cast<uint32_t>(sum));
}

template <typename T>
void AddForType(OperationTable& table, const std::string& type) {
  table.Map<Add<T>>("add" + type);
  table.Map<Sub<T>>("sub" + type);
  table.Map<MulLo<T>>("mul.lo" + type);
  table.Map<MulHi<T>>("mul.hi" + type);
  table.Map<MadLo<T>>("mad.lo" + type);
  table.Map<MadHi<T>>("mad.hi" + type);
  if constexpr (sizeof(T) < 8) {
    table.Map<MulWide<T>>("mul.wide" + type);
    table.Map<MadWide<T>>("mad.wide" + type);
  }
  if constexpr (sizeof(T) == 4) {
    table.Map<Mul24Lo<T>>("mul24.lo" + type);
    table.Map<Mul24Hi<T>>("mul24.hi" + type);
    table.Map<Mad24Lo<T>>("mad24.lo" + type);
    table.Map<Mad24Hi<T>>("mad24.hi" + type);
  }
  table.Map<Sad<T>>("sad" + type);
  table.Map<Div<T>>("div" + type);
  table.Map<Rem<T>>("rem" + type);
  table.Map<Min<T>>("min" + type);
  table.Map<Max<T>>("max" + type);
  if constexpr (std::is_signed_v<T>) {
    table.Map<Neg<T>>("neg" + type);
    table.Map<Abs<T>>("abs" + type);
  }
}

template <typename A, typename B>
void AddDotProducts(OperationTable& table, const std::string& types) {
  table.Map<Dp4a<A, B>>("dp4a" + types);
  table.Map<Dp2a<A, B, 0>>("dp2a.lo" + types);
  table.Map<Dp2a<A, B, 2>>("dp2a.hi" + types);
}

}  // namespace

void AddIntegerOperations(OperationTable& table) {
  AddForType<uint16_t>(table, ".u16");
  AddForType<uint32_t>(table, ".u32");
  AddForType<uint64_t>(table, ".u64");
  AddForType<int16_t>(table, ".s16");
  AddForType<int32_t>(table, ".s32");
  AddForType<int64_t>(table, ".s64");

  table.Map<AddSat>("add.sat.s32");
  table.Map<SubSat>("sub.sat.s32");
  table.Map<MadHiSat>("mad.hi.sat.s32");
  table.Map<Mad24HiSat>("mad24.hi.sat.s32");
  table.Map<Relu<Min<int32_t>>>("min.relu.s32");
  table.Map<Relu<Max<int32_t>>>("max.relu.s32");

  table.Map<Halves<U16x2, Add<uint16_t>, uint16_t>>("add.u16x2");
  table.Map<Halves<S16x2, Add<int16_t>, int16_t>>("add.s16x2");
  table.Map<Halves<U16x2, Min<uint16_t>, uint16_t>>("min.u16x2");
  table.Map<Halves<U16x2, Max<uint16_t>, uint16_t>>("max.u16x2");
  table.Map<Halves<S16x2, Min<int16_t>, int16_t>>("min.s16x2");
  table.Map<Halves<S16x2, Max<int16_t>, int16_t>>("max.s16x2");
  table.Map<Halves<S16x2, ReluHalf<Min<int16_t>>, int16_t>>("min.relu.s16x2");
  table.Map<Halves<S16x2, ReluHalf<Max<int16_t>>, int16_t>>("max.relu.s16x2");

  AddDotProducts<uint32_t, uint32_t>(table, ".u32.u32");
  AddDotProducts<uint32_t, int32_t>(table, ".u32.s32");
  AddDotProducts<int32_t, uint32_t>(table, ".s32.u32");
  AddDotProducts<int32_t, int32_t>(table, ".s32.s32");
}

}  // namespace twinmmu::ptx

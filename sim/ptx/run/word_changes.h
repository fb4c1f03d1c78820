// What atomic operations make of a word of memory.

#ifndef TWINMMU_SIM_PTX_RUN_WORD_CHANGES_H_
#define TWINMMU_SIM_PTX_RUN_WORD_CHANGES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "sim/ptx/operations/half.h"

namespace twinmmu::ptx {

// Each gives the new value of a word from its old one. U is an unsigned word.
template <typename U>
struct Add {
  static U Next(U old, U b, U) { return static_cast<U>(old + b); }
};
template <typename U>
struct And {
  static U Next(U old, U b, U) { return old & b; }
};
template <typename U>
struct Or {
  static U Next(U old, U b, U) { return old | b; }
};
template <typename U>
struct Xor {
  static U Next(U old, U b, U) { return old ^ b; }
};
template <typename U>
struct Exchange {
  static U Next(U, U b, U) { return b; }
};
template <typename U>
struct Compare {
  static U Next(U old, U b, U c) { return old == b ? c : old; }
};
template <typename U>
struct Increment {
  static U Next(U old, U b, U) { return old >= b ? 0 : old + 1; }
};
template <typename U>
struct Decrement {
  static U Next(U old, U b, U) { return old == 0 || old > b ? b : old - 1; }
};
template <typename U, typename As>
struct Minimum {
  static U Next(U old, U b, U) {
    return static_cast<U>(std::min(static_cast<As>(old), static_cast<As>(b)));
  }
};
template <typename U, typename As>
struct Maximum {
  static U Next(U old, U b, U) {
    return static_cast<U>(std::max(static_cast<As>(old), static_cast<As>(b)));
  }
};

template <typename U, typename F>
struct FloatAdd {
  static U Next(U old, U b, U) {
    F x, y;
    std::memcpy(&x, &old, sizeof(x));
    std::memcpy(&y, &b, sizeof(y));
    x += y;
    U sum;
    std::memcpy(&sum, &x, sizeof(sum));
    return sum;
  }
};
struct HalfAdd {
  static uint16_t Next(uint16_t old, uint16_t b, uint16_t) {
    return HalfOf(FloatOfHalf(old) + FloatOfHalf(b));
  }
};
struct BfloatAdd {
  static uint16_t Next(uint16_t old, uint16_t b, uint16_t) {
    return BfloatOf(FloatOfBfloat(old) + FloatOfBfloat(b));
  }
};
template <typename One>
struct PairOf {
  static uint32_t Next(uint32_t old, uint32_t b, uint32_t) {
    const auto low = One::Next(static_cast<uint16_t>(old), static_cast<uint16_t>(b), 0);
    const auto high =
        One::Next(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(b >> 16), 0);
    return uint32_t{high} << 16 | low;
  }
};

template <typename U>
struct Changed {
  U old;
  U next;
};

template <typename U, typename Next>
Changed<U> Change(U* word, U b, U c, const Next& next) {
  // The weaker orders are a part of this one, which costs no more here.
  constexpr int kOrder = __ATOMIC_SEQ_CST;
  Changed<U> value;
  value.old = __atomic_load_n(word, __ATOMIC_RELAXED);
  do {
    value.next = next(value.old, b, c);
  } while (
      !__atomic_compare_exchange_n(word, &value.old, value.next, /*weak=*/true, kOrder, kOrder));
  return value;
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_WORD_CHANGES_H_

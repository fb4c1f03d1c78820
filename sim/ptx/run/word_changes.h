// What atomic operations make of a word of memory.

#ifndef TWINMMU_SIM_PTX_RUN_WORD_CHANGES_H_
#define TWINMMU_SIM_PTX_RUN_WORD_CHANGES_H_

#include <algorithm>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "sim/ptx/operations/half.h"
#include "sim/ptx/operations/lane_types.h"
#include "sim/ptx/program/code.h"
#include "sim/ptx/text/type.h"

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
  static U Next(U old, U b, U) { return BitCast<U>(BitCast<F>(old) + BitCast<F>(b)); }
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
// Of halves: a NaN loses; -0 is less than +0.
template <bool kMax, uint16_t kInfinity>
struct HalfExtreme {
  static uint16_t Next(uint16_t old, uint16_t b, uint16_t) {
    const auto is_nan = [](uint16_t x) { return (x & 0x7fff) > kInfinity; };
    if (is_nan(old)) return is_nan(b) ? 0x7fff : b;
    if (is_nan(b)) return old;
    const auto rank = [](uint16_t x) { return (x & 0x8000) != 0 ? -(x & 0x7fff) - 1 : int{x}; };
    return (rank(old) < rank(b)) == kMax ? b : old;
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

template <typename Form, typename U>
typename Form::Function FindBitwise(absl::string_view operation) {
  if (operation == "and") return Form::template kPerform<U, And<U>>;
  if (operation == "or") return Form::template kPerform<U, Or<U>>;
  if (operation == "xor") return Form::template kPerform<U, Xor<U>>;
  return nullptr;
}

template <typename Form, typename U, typename As>
typename Form::Function FindInteger(absl::string_view operation) {
  if (operation == "add") return Form::template kPerform<U, Add<U>>;
  if (operation == "min") return Form::template kPerform<U, Minimum<U, As>>;
  if (operation == "max") return Form::template kPerform<U, Maximum<U, As>>;
  return nullptr;
}

// How instructions of one form do an operation on values of a type: Form::kPerform<U, Operation>, a
// Form::Function. Null: none of them does it. With all that more than one form has.
template <typename Form>
typename Form::Function FindForm(absl::string_view operation, Type type) {
  const bool add = operation == "add";
  switch (type) {
    case Type::kB32:
      return FindBitwise<Form, uint32_t>(operation);
    case Type::kB64:
      return FindBitwise<Form, uint64_t>(operation);
    case Type::kU32:
      return FindInteger<Form, uint32_t, uint32_t>(operation);
    case Type::kS32:
      return FindInteger<Form, uint32_t, int32_t>(operation);
    case Type::kU64:
      return FindInteger<Form, uint64_t, uint64_t>(operation);
    case Type::kS64:
      return FindInteger<Form, uint64_t, int64_t>(operation);
    case Type::kF16:
      return add ? Form::template kPerform<uint16_t, HalfAdd> : nullptr;
    case Type::kBf16:
      return add ? Form::template kPerform<uint16_t, BfloatAdd> : nullptr;
    case Type::kF16x2:
      return add ? Form::template kPerform<uint32_t, PairOf<HalfAdd>> : nullptr;
    case Type::kBf16x2:
      return add ? Form::template kPerform<uint32_t, PairOf<BfloatAdd>> : nullptr;
    case Type::kF32:
      return add ? Form::template kPerform<uint32_t, FloatAdd<uint32_t, float>> : nullptr;
    case Type::kF64:
      return add ? Form::template kPerform<uint64_t, FloatAdd<uint64_t, double>> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_WORD_CHANGES_H_

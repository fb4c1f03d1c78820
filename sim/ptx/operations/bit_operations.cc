// and, or, ..., lop3, shifts, prmt, bit fields and counts of bits.

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

template <typename T>
constexpr uint32_t kWidth = 8 * sizeof(T);

// --- Logic ---------------------------------------------------------------------------------------

template <typename T>
T And(T a, T b) {
  return static_cast<T>(a & b);
}
template <typename T>
T Or(T a, T b) {
  return static_cast<T>(a | b);
}
template <typename T>
T Xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <typename T>
T Not(T a) {
  return static_cast<T>(~a);
}
template <typename T>
T Cnot(T a) {
  return a == 0 ? 1 : 0;
}
template <typename T>
T Copy(T a) {
  return a;
}

// What kFunction does for a word, for all lanes' predicates at once.
template <auto kFunction, typename Signature = decltype(kFunction)>
struct OnPredicates;
template <auto kFunction, typename... Parameter>
struct OnPredicates<kFunction, Lanes (*)(Parameter...)> {
  static void Compute(const uint32_t* operands, char* registers, Lanes lanes) {
    Run(operands, registers, lanes, std::index_sequence_for<Parameter...>());
  }
  template <size_t... kIndex>
  static void Run(const uint32_t* operands, char* registers, Lanes lanes,
                  std::index_sequence<kIndex...>) {
    SetPredicate(registers, operands[0], lanes,
                 kFunction(*reinterpret_cast<const Lanes*>(registers + operands[kIndex + 1])...));
  }
  static void Add(OperationTable& table, const std::string& form) {
    std::vector<OperandType> operands(1 + sizeof...(Parameter), {Type::kPred, false});
    operands[0].written = true;
    table.Put(form, Compute, operands);
  }
};

// Bit i of `lookup` is the result where the bits of a, b, c are those of i.
uint32_t Lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t lookup) {
  const auto by_c = [&](int index) {
    const uint32_t zero = 0 - (lookup >> index & 1);
    const uint32_t one = 0 - (lookup >> (index + 1) & 1);
    return zero ^ ((zero ^ one) & c);
  };
  const auto choose = [](uint32_t zero, uint32_t one, uint32_t by) {
    return zero ^ ((zero ^ one) & by);
  };
  return choose(choose(by_c(0), by_c(2), b), choose(by_c(4), by_c(6), b), a);
}
// lop3.or.b32 d|p, a, b, c, lookup, q: p is whether d is not 0, or q; and so with and.
template <bool kAnd>
void Lop3Test(const uint32_t* operands, char* registers, Lanes lanes) {
  uint32_t* result = reinterpret_cast<uint32_t*>(registers + operands[0]);
  const Source<uint32_t> a(registers, operands[2]), b(registers, operands[3]),
      c(registers, operands[4]), lookup(registers, operands[5]);
  const Lanes q = *reinterpret_cast<const Lanes*>(registers + operands[6]);
  SetLanes(result, lanes, [&](int lane) { return Lop3(a[lane], b[lane], c[lane], lookup[lane]); });
  const Lanes set = LanesThat<uint32_t>([&](int lane) { return result[lane] != 0; });
  SetPredicate(registers, operands[1], lanes, kAnd ? set & q : set | q);
}

// --- Shifts --------------------------------------------------------------------------------------

template <typename T>
T Shl(T a, uint32_t count) {
  // Of 16 bits too, a shift in 32 leaves the right ones.
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const Word shifted = static_cast<Word>(a) << (count & (kWidth<Word> - 1));
  return count < kWidth<T> ? static_cast<T>(shifted) : T{0};
}
template <typename T>
T Shr(T a, uint32_t count) {
  const uint32_t last = kWidth<T> - 1;
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (count < last ? count : last));
  const T shifted = static_cast<T>(a >> (count & last));
  return count <= last ? shifted : T{0};
}
template <bool kClamp>
uint32_t FunnelCount(uint32_t count) {
  return kClamp ? std::min(count, 32U) : count & 31;
}
template <bool kClamp>
uint32_t ShfLeft(uint32_t a, uint32_t b, uint32_t count) {
  const uint64_t both = uint64_t{b} << 32 | a;
  return static_cast<uint32_t>(both << FunnelCount<kClamp>(count) >> 32);
}
template <bool kClamp>
uint32_t ShfRight(uint32_t a, uint32_t b, uint32_t count) {
  const uint64_t both = uint64_t{b} << 32 | a;
  return static_cast<uint32_t>(both >> FunnelCount<kClamp>(count));
}

// --- prmt ----------------------------------------------------------------------------------------

uint32_t Prmt(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t control = selector >> (4 * i) & 0xf;
    uint32_t byte = static_cast<uint32_t>(both >> (8 * (control & 7))) & 0xff;
    if ((control & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
// The modes with a name are selectors of the general one, for each value of c's low bits.
template <uint16_t k0, uint16_t k1, uint16_t k2, uint16_t k3>
uint32_t PrmtMode(uint32_t a, uint32_t b, uint32_t c) {
  constexpr uint16_t kSelectors[] = {k0, k1, k2, k3};
  return Prmt(a, b, kSelectors[c & 3]);
}

// --- Bit fields ----------------------------------------------------------------------------------

// Ones in [first, first + length), as far as there are such bits.
template <typename T>
Unsigned<T> FieldMask(uint32_t first, uint32_t length) {
  const auto ones_from = [](uint32_t bit) {
    return bit < kWidth<T> ? static_cast<Unsigned<T>>(~Unsigned<T>{0} << bit) : Unsigned<T>{0};
  };
  return ones_from(first) & ~ones_from(first + length);
}
// A position or a length. Of 32 bits, the low byte counts; of 64, hardware takes all of it.
template <typename T>
uint32_t FieldBits(uint32_t bits) {
  return sizeof(T) == 4 ? bits & 0xff : std::min(bits, 0xffU);
}
template <typename T>
T Bfe(T a, uint32_t first, uint32_t length) {
  first = FieldBits<T>(first);
  length = FieldBits<T>(length);
  const Unsigned<T> mask = FieldMask<T>(0, length);
  const Unsigned<T> value = Shr<Unsigned<T>>(static_cast<Unsigned<T>>(a), first) & mask;
  if (std::is_unsigned_v<T> || length == 0) return static_cast<T>(value);
  const uint32_t sign_bit = std::min(first + length - 1, kWidth<T> - 1);
  if ((a >> sign_bit & 1) == 0) return static_cast<T>(value);
  // The sign also stands for the bits of the field that a has not.
  const Unsigned<T> there = first < kWidth<T> ? FieldMask<T>(0, kWidth<T> - first) : Unsigned<T>{0};
  return static_cast<T>(value | ~(mask & there));
}
template <typename T>
T Bfi(T a, T b, uint32_t first, uint32_t length) {
  first = FieldBits<T>(first);
  length = FieldBits<T>(length);
  const T mask = FieldMask<T>(first, length);
  return (b & ~mask) | (Shl<T>(a, first) & mask);
}
template <bool kClamp>
uint32_t Bmsk(uint32_t first, uint32_t length) {
  if (!kClamp) return FieldMask<uint32_t>(first & 31, length & 31);
  return FieldMask<uint32_t>(std::min(first, 32U), std::min(length, 32U));
}
template <typename T, bool kClamp>
T Szext(T a, uint32_t width) {
  if (kClamp && width >= 32) return a;
  width &= 31;
  const uint32_t mask = FieldMask<uint32_t>(0, width);
  const uint32_t value = static_cast<uint32_t>(a) & mask;
  const bool negative = std::is_signed_v<T> && width != 0 && (value >> (width - 1) & 1) != 0;
  return static_cast<T>(negative ? value | ~mask : value);
}

// --- Counts --------------------------------------------------------------------------------------

uint32_t Popc32(uint32_t a) { return static_cast<uint32_t>(__builtin_popcount(a)); }
uint32_t Popc64(uint64_t a) { return static_cast<uint32_t>(__builtin_popcountll(a)); }
uint32_t Clz32(uint32_t a) { return a == 0 ? 32 : static_cast<uint32_t>(__builtin_clz(a)); }
uint32_t Clz64(uint64_t a) { return a == 0 ? 64 : static_cast<uint32_t>(__builtin_clzll(a)); }

// The highest bit that is not the sign's; all ones: none.
template <typename T>
uint32_t Bfind(T a) {
  const T magnitude = a < 0 ? static_cast<T>(~a) : a;
  if (magnitude == 0) return ~0U;
  return 63 - Clz64(static_cast<uint64_t>(magnitude));
}
template <typename T>
uint32_t BfindShift(T a) {
  const uint32_t bit = Bfind(a);
  return bit == ~0U ? bit : kWidth<T> - 1 - bit;
}
template <typename T>
T Brev(T a) {
  T result = 0;
  for (uint32_t i = 0; i < kWidth<T>; ++i) result |= (a >> i & 1) << (kWidth<T> - 1 - i);
  return result;
}
// The |offset|-th set bit from `base` on, upwards if offset is positive; all ones: none.
uint32_t Fns(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == std::numeric_limits<int32_t>::min()) return 0;  // as hardware does
  if (base >= 32) return ~0U;
  if (offset == 0) return (mask >> base & 1) != 0 ? base : ~0U;
  const int step = offset > 0 ? 1 : -1;
  int64_t left = offset > 0 ? int64_t{offset} : -int64_t{offset};
  for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step) {
    if ((mask >> bit & 1) != 0 && --left == 0) return static_cast<uint32_t>(bit);
  }
  return ~0U;
}

template <typename T>
void AddLogic(OperationTable& table, const std::string& type) {
  table.Map<And<T>>("and" + type);
  table.Map<Or<T>>("or" + type);
  table.Map<Xor<T>>("xor" + type);
  table.Map<Not<T>>("not" + type);
  table.Map<Cnot<T>>("cnot" + type);
  table.MapLastUniform<Shl<T>>("shl" + type);
  table.MapLastUniform<Shr<T>>("shr" + type);
}
void AddPredicateLogic(OperationTable& table) {
  OnPredicates<And<Lanes>>::Add(table, "and.pred");
  OnPredicates<Or<Lanes>>::Add(table, "or.pred");
  OnPredicates<Xor<Lanes>>::Add(table, "xor.pred");
  OnPredicates<Not<Lanes>>::Add(table, "not.pred");
  OnPredicates<Copy<Lanes>>::Add(table, "mov.pred");
}
template <typename T>
void AddMoves(OperationTable& table, const std::string& width) {
  table.Map<Copy<T>>("mov.b" + width);
  table.Map<Copy<T>>("mov.u" + width);
  table.Map<Copy<std::make_signed_t<T>>>("mov.s" + width);
}
template <typename T>
void AddFieldsOfType(OperationTable& table, const std::string& type) {
  table.MapLastUniform<Bfe<T>>("bfe" + type);
  table.Map<Bfind<T>>("bfind" + type);
  table.Map<BfindShift<T>>("bfind.shiftamt" + type);
  if constexpr (sizeof(T) == 4) {
    table.Map<Szext<T, true>>("szext.clamp" + type);
    table.Map<Szext<T, false>>("szext.wrap" + type);
  }
}
void AddPermutations(OperationTable& table) {
  table.MapLastUniform<Prmt>("prmt.b32");
  table.Map<PrmtMode<0x3210, 0x4321, 0x5432, 0x6543>>("prmt.b32.f4e");
  table.Map<PrmtMode<0x5670, 0x6701, 0x7012, 0x0123>>("prmt.b32.b4e");
  table.Map<PrmtMode<0x0000, 0x1111, 0x2222, 0x3333>>("prmt.b32.rc8");
  table.Map<PrmtMode<0x3210, 0x3211, 0x3222, 0x3333>>("prmt.b32.ecl");
  table.Map<PrmtMode<0x0000, 0x1110, 0x2210, 0x3210>>("prmt.b32.ecr");
  table.Map<PrmtMode<0x1010, 0x3232, 0x1010, 0x3232>>("prmt.b32.rc16");
}
void AddFields(OperationTable& table) {
  AddFieldsOfType<uint32_t>(table, ".u32");
  AddFieldsOfType<uint64_t>(table, ".u64");
  AddFieldsOfType<int32_t>(table, ".s32");
  AddFieldsOfType<int64_t>(table, ".s64");
  table.Map<Bfi<uint32_t>>("bfi.b32");
  table.Map<Bfi<uint64_t>>("bfi.b64");
  table.Map<Bmsk<true>>("bmsk.clamp.b32");
  table.Map<Bmsk<false>>("bmsk.wrap.b32");
  table.Map<Popc32>("popc.b32");
  table.Map<Popc64>("popc.b64");
  table.Map<Clz32>("clz.b32");
  table.Map<Clz64>("clz.b64");
  table.Map<Brev<uint32_t>>("brev.b32");
  table.Map<Brev<uint64_t>>("brev.b64");
  table.Map<Fns>("fns.b32");
}

}  // namespace

void AddBitOperations(OperationTable& table) {
  AddLogic<uint16_t>(table, ".b16");
  AddLogic<uint32_t>(table, ".b32");
  AddLogic<uint64_t>(table, ".b64");
  AddPredicateLogic(table);
  AddMoves<uint16_t>(table, "16");
  AddMoves<uint32_t>(table, "32");
  AddMoves<uint64_t>(table, "64");
  table.Map<Copy<float>>("mov.f32");
  table.Map<Copy<double>>("mov.f64");

  table.MapLastUniform<Shr<uint16_t>>("shr.u16");
  table.MapLastUniform<Shr<uint32_t>>("shr.u32");
  table.MapLastUniform<Shr<uint64_t>>("shr.u64");
  table.MapLastUniform<Shr<int16_t>>("shr.s16");
  table.MapLastUniform<Shr<int32_t>>("shr.s32");
  table.MapLastUniform<Shr<int64_t>>("shr.s64");
  table.MapLastUniform<ShfLeft<true>>("shf.l.clamp.b32");
  table.MapLastUniform<ShfLeft<false>>("shf.l.wrap.b32");
  table.MapLastUniform<ShfRight<true>>("shf.r.clamp.b32");
  table.MapLastUniform<ShfRight<false>>("shf.r.wrap.b32");

  table.Map<Lop3>("lop3.b32");
  const OperandType word{Type::kB32, false}, flag{Type::kPred, false};
  const std::vector<OperandType> lop3_test = {
      {Type::kB32, true}, {Type::kPred, true}, word, word, word, word, flag};
  table.Put("lop3.or.b32", Lop3Test<false>, lop3_test);
  table.Put("lop3.and.b32", Lop3Test<true>, lop3_test);

  AddPermutations(table);
  AddFields(table);
}

}  // namespace twinmmu::ptx

// add.cc, addc, sub.cc, subc, mad.cc, madc: arithmetic of more than one word.

#include <string>

#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

__extension__ using Wide = unsigned __int128;

// Signs make no difference but in the upper half of a product; all is done on unsigned words.
template <typename T>
Carried<T> Sum(T a, T b, bool in) {
  const Wide sum = Wide{Unsigned<T>(a)} + Unsigned<T>(b) + (in ? 1 : 0);
  return {static_cast<T>(static_cast<Unsigned<T>>(sum)), (sum >> (8 * sizeof(T))) != 0};
}
template <typename T>
Carried<T> Difference(T a, T b, bool in) {
  const Wide taken = Wide{Unsigned<T>(b)} + (in ? 1 : 0);
  return {static_cast<T>(static_cast<Unsigned<T>>(Unsigned<T>(a) - taken)), Unsigned<T>(a) < taken};
}
template <typename T>
T Low(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(Wide{Unsigned<T>(a)} * Unsigned<T>(b)));
}
template <typename T>
T High(T a, T b) {
  __extension__ using Signed = __int128;
  constexpr int kBits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>) return static_cast<T>(Signed{a} * b >> kBits);
  return static_cast<T>(Wide{Unsigned<T>(a)} * Unsigned<T>(b) >> kBits);
}

template <typename T>
Carried<T> AddCc(T a, T b) {
  return Sum(a, b, false);
}
template <typename T>
Carried<T> AddcCc(T a, T b, Carry carry) {
  return Sum(a, b, carry.in);
}
template <typename T>
T Addc(T a, T b, Carry carry) {
  return Sum(a, b, carry.in).value;
}
template <typename T>
Carried<T> SubCc(T a, T b) {
  return Difference(a, b, false);
}
template <typename T>
Carried<T> SubcCc(T a, T b, Carry carry) {
  return Difference(a, b, carry.in);
}
template <typename T>
T Subc(T a, T b, Carry carry) {
  return Difference(a, b, carry.in).value;
}
template <typename T, T (*kHalf)(T, T)>
Carried<T> MadCc(T a, T b, T c) {
  return Sum(kHalf(a, b), c, false);
}
template <typename T, T (*kHalf)(T, T)>
Carried<T> MadcCc(T a, T b, T c, Carry carry) {
  return Sum(kHalf(a, b), c, carry.in);
}
template <typename T, T (*kHalf)(T, T)>
T Madc(T a, T b, T c, Carry carry) {
  return Sum(kHalf(a, b), c, carry.in).value;
}

template <typename T>
void AddForType(OperationTable& table, const std::string& type) {
  table.Map<AddCc<T>>("add.cc" + type);
  table.Map<AddcCc<T>>("addc.cc" + type);
  table.Map<Addc<T>>("addc" + type);
  table.Map<SubCc<T>>("sub.cc" + type);
  table.Map<SubcCc<T>>("subc.cc" + type);
  table.Map<Subc<T>>("subc" + type);
  table.Map<MadCc<T, Low<T>>>("mad.lo.cc" + type);
  table.Map<MadcCc<T, Low<T>>>("madc.lo.cc" + type);
  table.Map<Madc<T, Low<T>>>("madc.lo" + type);
  table.Map<MadCc<T, High<T>>>("mad.hi.cc" + type);
  table.Map<MadcCc<T, High<T>>>("madc.hi.cc" + type);
  table.Map<Madc<T, High<T>>>("madc.hi" + type);
}

}  // namespace

void AddCarryOperations(OperationTable& table) {
  AddForType<uint32_t>(table, ".u32");
  AddForType<uint64_t>(table, ".u64");
  AddForType<int32_t>(table, ".s32");
  AddForType<int64_t>(table, ".s64");
}

}  // namespace twinmmu::ptx

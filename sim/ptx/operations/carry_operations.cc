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
// As a device subtracts: the sum of a and of all bits of b turned, so that the flag is set where
// nothing is borrowed. Compiled divisions of 128 bits read it by addc behind subc.cc.
template <typename T>
Carried<T> Difference(T a, T b, bool in) {
  return Sum(a, static_cast<T>(~b), in);
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

// The forms: .cc gives a carry, and the operations that end in c take one. kDo is Sum or
// Difference.
template <typename T, Carried<T> (*kDo)(T, T, bool)>
Carried<T> Gives(T a, T b) {
  return kDo(a, b, kDo == Difference<T>);
}
template <typename T, Carried<T> (*kDo)(T, T, bool)>
Carried<T> TakesAndGives(T a, T b, Carry carry) {
  return kDo(a, b, carry.in);
}
template <typename T, Carried<T> (*kDo)(T, T, bool)>
T Takes(T a, T b, Carry carry) {
  return kDo(a, b, carry.in).value;
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

template <typename T, Carried<T> (*kDo)(T, T, bool)>
void AddForms(OperationTable& table, const std::string& name, const std::string& type) {
  table.Map<Gives<T, kDo>>(name + ".cc" + type);
  table.Map<TakesAndGives<T, kDo>>(name + "c.cc" + type);
  table.Map<Takes<T, kDo>>(name + "c" + type);
}
template <typename T, T (*kHalf)(T, T)>
void AddProducts(OperationTable& table, const std::string& half, const std::string& type) {
  table.Map<MadCc<T, kHalf>>("mad." + half + ".cc" + type);
  table.Map<MadcCc<T, kHalf>>("madc." + half + ".cc" + type);
  table.Map<Madc<T, kHalf>>("madc." + half + type);
}
template <typename T>
void AddForType(OperationTable& table, const std::string& type) {
  AddForms<T, Sum<T>>(table, "add", type);
  AddForms<T, Difference<T>>(table, "sub", type);
  AddProducts<T, Low<T>>(table, "lo", type);
  AddProducts<T, High<T>>(table, "hi", type);
}

}  // namespace

void AddCarryOperations(OperationTable& table) {
  AddForType<uint32_t>(table, ".u32");
  AddForType<uint64_t>(table, ".u64");
  AddForType<int32_t>(table, ".s32");
  AddForType<int64_t>(table, ".s64");
}

}  // namespace twinmmu::ptx

// setp, set, testp.

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

enum class Is { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };
enum class Combine { kNone, kAnd, kOr, kXor };

// What is compared for a value of a lane.
template <bool kFtz, typename T>
T Comparable(T x) {
  if constexpr (kFtz && std::is_same_v<T, float>) return FlushSubnormal(x);
  return x;
}
template <bool kFtz>
float Comparable(F16 x) {
  const bool flushed = kFtz && (x.bits & 0x7c00) == 0;
  return flushed ? 0 : static_cast<float>(ToDouble(x));
}
template <bool kFtz>
float Comparable(Bf16 x) {
  return static_cast<float>(ToDouble(x));
}

// Those that end in u, and nan, are true where one of the operands is no number.
template <Is kIs, typename T>
bool Holds(T a, T b) {
  switch (kIs) {
    case Is::kEq:
      return a == b;
    case Is::kNe:
      return a < b || a > b;
    case Is::kLt:
      return a < b;
    case Is::kLe:
      return a <= b;
    case Is::kGt:
      return a > b;
    case Is::kGe:
      return a >= b;
    case Is::kEqu:
      return !(a < b || a > b);
    case Is::kNeu:
      return !(a == b);
    case Is::kLtu:
      return !(a >= b);
    case Is::kLeu:
      return !(a > b);
    case Is::kGtu:
      return !(a <= b);
    case Is::kGeu:
      return !(a < b);
    case Is::kNum:
      return a == a && b == b;
    case Is::kNan:
      return a != a || b != b;
  }
  return false;
}

// The lanes of which the comparison of the values at `a` and `b` holds.
using LaneTest = Lanes (*)(const char* registers, uint32_t a, uint32_t b);
template <Is kIs, bool kFtz, typename T>
Lanes CompareByVectors(const char* registers, uint32_t a, uint32_t b) {
  const Source<T> left(registers, a), right(registers, b);
  return LanesThat<Unsigned<T>>([&](int lane) {
    return Holds<kIs>(Comparable<kFtz>(left[lane]), Comparable<kFtz>(right[lane]));
  });
}
template <Is kIs, bool kFtz, typename T>
[[gnu::noinline]] Lanes Compare(const char* registers, uint32_t a, uint32_t b) {
  constexpr auto kCompare = CompareByVectors<kIs, kFtz, T>;
  if constexpr (std::is_class_v<T>) return kCompare(registers, a, b);  // f16, bf16
  return ForHost<kCompare>()(registers, a, b);
}
// Of a half of pairs.
template <Is kIs, bool kFtz, typename Half, int kShift>
[[gnu::noinline]] Lanes CompareHalf(const char* registers, uint32_t a, uint32_t b) {
  const Source<uint32_t> left(registers, a), right(registers, b);
  const auto half = [](uint32_t pair) { return Half{static_cast<uint16_t>(pair >> kShift)}; };
  return LanesThat<uint32_t>([&](int lane) {
    return Holds<kIs>(Comparable<kFtz>(half(left[lane])), Comparable<kFtz>(half(right[lane])));
  });
}

template <Combine kCombine>
Lanes Combined(Lanes test, const char* registers, uint32_t c) {
  if constexpr (kCombine == Combine::kNone) return test;
  const Lanes other = *reinterpret_cast<const Lanes*>(registers + c);
  return kCombine == Combine::kAnd  ? test & other
         : kCombine == Combine::kOr ? test | other
                                    : test ^ other;
}

// There are thousands of forms. What they share is in functions to which the comparison is an
// argument, and a form is no more than a call.
template <auto kCompute, LaneTest... kTests>
void Bound(const uint32_t* operands, char* registers, Lanes lanes) {
  kCompute(kTests..., operands, registers, lanes);
}

// p, a, b, c; or p, q, a, b, c: q is of the comparison's opposite.
template <Combine kCombine, bool kPair>
[[gnu::noinline]] void Setp(LaneTest holds, const uint32_t* operands, char* registers,
                            Lanes lanes) {
  const uint32_t* inputs = operands + (kPair ? 2 : 1);
  const uint32_t c = kCombine == Combine::kNone ? 0 : inputs[2];
  const Lanes test = holds(registers, inputs[0], inputs[1]);
  const Lanes p = Combined<kCombine>(test, registers, c);
  if (kPair) {
    SetPredicate(registers, operands[1], lanes, Combined<kCombine>(~test, registers, c));
  }
  SetPredicate(registers, operands[0], lanes, p);
}
// Of pairs, p is of the lower halves, q of the upper ones.
template <Combine kCombine>
[[gnu::noinline]] void SetpPair(LaneTest low_holds, LaneTest high_holds, const uint32_t* operands,
                                char* registers, Lanes lanes) {
  const uint32_t c = kCombine == Combine::kNone ? 0 : operands[4];
  const Lanes low = low_holds(registers, operands[2], operands[3]);
  const Lanes high = high_holds(registers, operands[2], operands[3]);
  const Lanes p = Combined<kCombine>(low, registers, c);
  SetPredicate(registers, operands[1], lanes, Combined<kCombine>(high, registers, c));
  SetPredicate(registers, operands[0], lanes, p);
}

template <typename Bits, Bits kTrue, Combine kCombine>
[[gnu::noinline]] void Set(LaneTest holds, const uint32_t* operands, char* registers, Lanes lanes) {
  const uint32_t c = kCombine == Combine::kNone ? 0 : operands[3];
  const Lanes test = Combined<kCombine>(holds(registers, operands[1], operands[2]), registers, c);
  Bits* results = reinterpret_cast<Bits*>(registers + operands[0]);
  SetLanes(results, lanes,
           [=](int lane) { return (test & kLaneBit<Lanes>[lane]) != 0 ? kTrue : Bits{0}; });
}
template <uint32_t kTrue, Combine kCombine>
[[gnu::noinline]] void SetPair(LaneTest low_holds, LaneTest high_holds, const uint32_t* operands,
                               char* registers, Lanes lanes) {
  const uint32_t c = kCombine == Combine::kNone ? 0 : operands[3];
  const Lanes low =
      Combined<kCombine>(low_holds(registers, operands[1], operands[2]), registers, c);
  const Lanes high =
      Combined<kCombine>(high_holds(registers, operands[1], operands[2]), registers, c);
  uint32_t* results = reinterpret_cast<uint32_t*>(registers + operands[0]);
  SetLanes(results, lanes, [=](int lane) {
    const uint32_t bit = kLaneBit<Lanes>[lane];
    return ((low & bit) != 0 ? kTrue : 0) | ((high & bit) != 0 ? kTrue << 16 : 0);
  });
}

// --- The forms -----------------------------------------------------------------------------------

constexpr const char* kNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                  "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
constexpr const char* kCombineNames[] = {"", ".and", ".or", ".xor"};

// What there is of one comparison with one way to combine it with c.
struct Computes {
  Combine combine;
  Compute setp;
  Compute setp_pair;
  Compute set_integer;
  Compute set_short;
  Compute set_f32;
  Compute set_f16;
  Compute set_bf16;
};
template <LaneTest kTest, Combine kCombine>
constexpr Computes kComputes = {kCombine,
                                Bound<Setp<kCombine, false>, kTest>,
                                Bound<Setp<kCombine, true>, kTest>,
                                Bound<Set<uint32_t, ~uint32_t{0}, kCombine>, kTest>,
                                Bound<Set<uint16_t, 0xffff, kCombine>, kTest>,
                                Bound<Set<uint32_t, 0x3f800000, kCombine>, kTest>,
                                Bound<Set<uint16_t, 0x3c00, kCombine>, kTest>,
                                Bound<Set<uint16_t, 0x3f80, kCombine>, kTest>};
template <LaneTest kTest>
constexpr Computes kAllComputes[] = {
    kComputes<kTest, Combine::kNone>, kComputes<kTest, Combine::kAnd>,
    kComputes<kTest, Combine::kOr>, kComputes<kTest, Combine::kXor>};

// The same of pairs.
struct PairComputes {
  Combine combine;
  Compute setp;
  Compute set_integer;
  Compute set_f16x2;
  Compute set_bf16x2;
};
template <LaneTest kLow, LaneTest kHigh, Combine kCombine>
constexpr PairComputes kPairComputes = {
    kCombine, Bound<SetpPair<kCombine>, kLow, kHigh>, Bound<SetPair<0xffff, kCombine>, kLow, kHigh>,
    Bound<SetPair<0x3c00, kCombine>, kLow, kHigh>, Bound<SetPair<0x3f80, kCombine>, kLow, kHigh>};
template <LaneTest kLow, LaneTest kHigh>
constexpr PairComputes kAllPairComputes[] = {
    kPairComputes<kLow, kHigh, Combine::kNone>, kPairComputes<kLow, kHigh, Combine::kAnd>,
    kPairComputes<kLow, kHigh, Combine::kOr>, kPairComputes<kLow, kHigh, Combine::kXor>};

// Lists forms of one comparison of one type.
class Forms {
 public:
  Forms(OperationTable& table, const char* name, bool ftz, Type type)
      : table_(table), name_(name), suffix_(ftz ? ".ftz" : ""), type_(type) {}

  void Add(const Computes& computes) {
    const bool half = type_ == Type::kF16 || type_ == Type::kBf16;
    Setp(computes.combine, computes.setp, false);
    if (!half) Setp(computes.combine, computes.setp_pair, true);
    Set(computes.combine, Type::kU32, computes.set_integer);
    Set(computes.combine, Type::kS32, computes.set_integer);
    if (type_ != Type::kBf16) Set(computes.combine, Type::kF16, computes.set_f16);
    if (type_ != Type::kF16 && suffix_.empty()) {
      Set(computes.combine, Type::kBf16, computes.set_bf16);
    }
    if (half) Set(computes.combine, Type::kU16, computes.set_short);
    if (half) Set(computes.combine, Type::kS16, computes.set_short);
    if (!half) Set(computes.combine, Type::kF32, computes.set_f32);
  }
  void Add(const PairComputes& computes) {
    Setp(computes.combine, computes.setp, true);
    Set(computes.combine, Type::kU32, computes.set_integer);
    Set(computes.combine, Type::kS32, computes.set_integer);
    Set(computes.combine, type_, type_ == Type::kF16x2 ? computes.set_f16x2 : computes.set_bf16x2);
  }

 private:
  void Setp(Combine combine, Compute compute, bool pair) {
    std::vector<OperandType> operands(pair ? 2 : 1, {Type::kPred, true});
    Put("setp.", combine, "", compute, std::move(operands));
  }
  void Set(Combine combine, Type result, Compute compute) {
    Put("set.", combine, std::string(".") + NameOf(result), compute, {{result, true}});
  }
  void Put(const char* opcode, Combine combine, const std::string& result, Compute compute,
           std::vector<OperandType> operands) {
    operands.resize(operands.size() + 2, {type_, false});
    if (combine != Combine::kNone) operands.push_back({Type::kPred, false});
    table_.Put(opcode + (name_ + kCombineNames[static_cast<int>(combine)]) + suffix_ + result +
                   "." + NameOf(type_),
               compute, operands);
  }

  OperationTable& table_;
  const std::string name_;
  const std::string suffix_;
  const Type type_;
};

template <Is kIs, bool kFtz, typename T>
void AddComparison(OperationTable& table, const char* name, Type type) {
  Forms forms(table, name, kFtz, type);
  for (const Computes& computes : kAllComputes<Compare<kIs, kFtz, T>>) forms.Add(computes);
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>) {
    const Type pair = std::is_same_v<T, F16> ? Type::kF16x2 : Type::kBf16x2;
    Forms pair_forms(table, name, kFtz, pair);
    for (const PairComputes& computes :
         kAllPairComputes<CompareHalf<kIs, kFtz, T, 0>, CompareHalf<kIs, kFtz, T, 16>>) {
      pair_forms.Add(computes);
    }
  }
}

// The comparisons of which the numbers are kIs.
template <bool kFtz, typename T, int... kIs>
void AddComparisonsOf(OperationTable& table, Type type, std::integer_sequence<int, kIs...>) {
  (AddComparison<static_cast<Is>(kIs), kFtz, T>(table, kNames[kIs], type), ...);
}
template <typename T>
void AddUnsigned(OperationTable& table) {
  const Type type = TypeOf<T>::value;
  AddComparisonsOf<false, T>(table, type, std::make_integer_sequence<int, 6>());
  AddComparison<Is::kLt, false, T>(table, "lo", type);
  AddComparison<Is::kLe, false, T>(table, "ls", type);
  AddComparison<Is::kGt, false, T>(table, "hi", type);
  AddComparison<Is::kGe, false, T>(table, "hs", type);
}
template <typename T>
void AddSigned(OperationTable& table) {
  AddComparisonsOf<false, T>(table, TypeOf<T>::value, std::make_integer_sequence<int, 6>());
}
template <bool kFtz, typename T>
void AddFloating(OperationTable& table) {
  AddComparisonsOf<kFtz, T>(table, TypeOf<T>::value, std::make_integer_sequence<int, 14>());
}

template <typename T>
bool IsFinite(T a) {
  return std::isfinite(a);
}
template <typename T>
bool IsInfinite(T a) {
  return std::isinf(a);
}
template <typename T>
bool IsNumber(T a) {
  return !IsNan(a);
}
template <typename T>
bool IsNotANumber(T a) {
  return IsNan(a);
}
template <typename T>
bool IsNormal(T a) {
  return std::isnormal(a) || a == 0;
}
template <typename T>
bool IsSubnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}
template <typename T>
void AddTests(OperationTable& table, const std::string& type) {
  table.Map<IsFinite<T>>("testp.finite" + type);
  table.Map<IsInfinite<T>>("testp.infinite" + type);
  table.Map<IsNumber<T>>("testp.number" + type);
  table.Map<IsNotANumber<T>>("testp.notanumber" + type);
  table.Map<IsNormal<T>>("testp.normal" + type);
  table.Map<IsSubnormal<T>>("testp.subnormal" + type);
}

}  // namespace

void AddComparisons(OperationTable& table) {
  AddUnsigned<uint16_t>(table);
  AddUnsigned<uint32_t>(table);
  AddUnsigned<uint64_t>(table);
  AddSigned<int16_t>(table);
  AddSigned<int32_t>(table);
  AddSigned<int64_t>(table);
  AddComparisonsOf<false, uint16_t>(table, Type::kB16, std::make_integer_sequence<int, 2>());
  AddComparisonsOf<false, uint32_t>(table, Type::kB32, std::make_integer_sequence<int, 2>());
  AddComparisonsOf<false, uint64_t>(table, Type::kB64, std::make_integer_sequence<int, 2>());
  AddFloating<false, float>(table);
  AddFloating<true, float>(table);
  AddFloating<false, double>(table);
  AddFloating<false, F16>(table);
  AddFloating<true, F16>(table);
  AddFloating<false, Bf16>(table);
  AddTests<float>(table, ".f32");
  AddTests<double>(table, ".f64");
}

}  // namespace twinmmu::ptx

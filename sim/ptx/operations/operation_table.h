// OperationTable: makes a Compute of a function of one lane, and lists it under its form.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_OPERATION_TABLE_H_
#define TWINMMU_SIM_PTX_OPERATIONS_OPERATION_TABLE_H_

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "sim/ptx/operations/host_vectors.h"
#include "sim/ptx/operations/lane_types.h"
#include "sim/ptx/operations/operation.h"

// The next loop's rounds do not depend on each other, which the compiler cannot see: slots are the
// same or apart.
//
// VECTOR_ONLY: gcc makes the next loop one of vectors only if it does not unroll it before.
#ifdef __clang__
#define TWINMMU_INDEPENDENT_ROUNDS _Pragma("clang loop vectorize(assume_safety)")
#define TWINMMU_VECTOR_ONLY
#else
#define TWINMMU_INDEPENDENT_ROUNDS _Pragma("GCC ivdep")
#define TWINMMU_VECTOR_ONLY _Pragma("GCC unroll 1")
#endif

namespace twinmmu::ptx {

// kLaneBit<T>[i]: bit i of a T; beyond the width, it begins again.
template <typename T, int... kLane>
constexpr std::array<T, sizeof...(kLane)> LaneBits(std::integer_sequence<int, kLane...>) {
  return {static_cast<T>(T{1} << (kLane % (8 * sizeof(T))))...};
}
template <typename T>
inline constexpr auto kLaneBit = LaneBits<T>(std::make_integer_sequence<int, kLanes>());

// An operand that is read, of all lanes. Slots are typed by who looks at them: the files that
// include this are compiled with -fno-strict-aliasing.
template <typename T>
class Source {
 public:
  Source(const char* registers, uint32_t offset)
      : values_(reinterpret_cast<const T*>(registers + offset)) {}
  T operator[](int lane) const { return values_[lane]; }

 private:
  const T* values_;
};
template <>
class Source<bool> {
 public:
  Source(const char* registers, uint32_t offset)
      : lanes_(*reinterpret_cast<const Lanes*>(registers + offset)) {}
  bool operator[](int lane) const { return (lanes_ & kLaneBit<Lanes>[lane]) != 0; }

 private:
  Lanes lanes_;
};
template <>
class Source<Carry> {
 public:
  Source(const char* registers, uint32_t offset) : flag_(registers, offset) {}
  Carry operator[](int lane) const { return {flag_[lane]}; }

 private:
  Source<bool> flag_;
};

inline void SetPredicate(char* registers, uint32_t offset, Lanes lanes, Lanes value) {
  Lanes& slot = *reinterpret_cast<Lanes*>(registers + offset);
  slot = (slot & ~lanes) | (value & lanes);
}

// results[lane] = value(lane) for each of `lanes`. Of other lanes, value may be asked for too.
template <typename Result, typename Value>
inline void SetLanes(Result* results, Lanes lanes, const Value& value) {
  constexpr Lanes kFew = 4;  // for which vectors take longer
  if (lanes == kAllLanes) {
    TWINMMU_INDEPENDENT_ROUNDS
    for (int lane = 0; lane < kLanes; ++lane) results[lane] = value(lane);
  } else if (static_cast<Lanes>(__builtin_popcount(lanes)) <= kFew) {
    for (; lanes != 0; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      results[lane] = value(lane);
    }
  } else {
    TWINMMU_INDEPENDENT_ROUNDS
    for (int lane = 0; lane < kLanes; ++lane) {
      const Result computed = value(lane);
      results[lane] = (lanes & kLaneBit<Lanes>[lane]) != 0 ? computed : results[lane];
    }
  }
}

// The lanes of which `test(lane)` is true. Width: an unsigned integer as wide as what is tested,
// so that a vector of tests becomes one of bits.
template <typename Width, typename Test>
inline Lanes LanesThat(const Test& test) {
  constexpr int kChunk = sizeof(Width) == 2 ? 16 : kLanes;
  Lanes result = 0;
  for (int first = 0; first < kLanes; first += kChunk) {
    Width bits = 0;
    TWINMMU_VECTOR_ONLY
    for (int i = 0; i < kChunk; ++i) {
      const Width all = static_cast<Width>(0 - static_cast<Width>(test(first + i)));
      bits |= all & kLaneBit<Width>[first + i];
    }
    result |= static_cast<Lanes>(bits) << first;
  }
  return result;
}

// Computes for a warp what kFunction does for a lane. The operands are its result and its
// parameters.
template <auto kFunction, typename Signature = decltype(kFunction)>
struct Mapped;
template <auto kFunction, typename Result, typename... Parameter>
struct Mapped<kFunction, Result (*)(Parameter...)> {
  static void Compute(const uint32_t* operands, char* registers, Lanes lanes) {
    Run(operands, registers, lanes, std::index_sequence_for<Parameter...>());
  }
  static constexpr std::array<OperandType, 1 + sizeof...(Parameter)> kOperands = {
      {{TypeOf<Result>::value, true},
       {TypeOf<Parameter>::value, false, std::is_same_v<Parameter, Carry>}...}};

 private:
  template <size_t... kIndex>
  static void Run(const uint32_t* operands, char* registers, Lanes lanes,
                  std::index_sequence<kIndex...>) {
    Loop(operands, registers, lanes, Source<Parameter>(registers, operands[kIndex + 1])...);
  }
  static void Loop(const uint32_t* operands, char* registers, Lanes lanes,
                   Source<Parameter>... sources) {
    if constexpr (std::is_same_v<Result, bool>) {
      using First = std::tuple_element_t<0, std::tuple<Parameter...>>;
      SetPredicate(registers, operands[0], lanes, LanesThat<Unsigned<First>>([&](int lane) {
                     return kFunction(sources[lane]...);
                   }));
    } else {
      Result* results = reinterpret_cast<Result*>(registers + operands[0]);
      SetLanes(results, lanes, [=](int lane) { return kFunction(sources[lane]...); });
    }
  }
};
template <auto kFunction, typename T, typename... Parameter>
struct Mapped<kFunction, Carried<T> (*)(Parameter...)> {
  static void Compute(const uint32_t* operands, char* registers, Lanes lanes) {
    Run(operands, registers, lanes, std::index_sequence_for<Parameter...>());
  }
  static constexpr std::array<OperandType, 2 + sizeof...(Parameter)> kOperands = {
      {{TypeOf<T>::value, true},
       {TypeOf<Parameter>::value, false, std::is_same_v<Parameter, Carry>}...,
       {Type::kPred, true, true}}};

 private:
  template <size_t... kIndex>
  static void Run(const uint32_t* operands, char* registers, Lanes lanes,
                  std::index_sequence<kIndex...>) {
    T* results = reinterpret_cast<T*>(registers + operands[0]);
    Lanes out = 0;
    for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
      const int lane = __builtin_ctz(rest);
      const Carried<T> result =
          kFunction(Source<Parameter>(registers, operands[kIndex + 1])[lane]...);
      results[lane] = result.value;
      if (result.out) out |= kLaneBit<Lanes>[lane];
    }
    SetPredicate(registers, operands[sizeof...(Parameter) + 1], lanes, out);
  }
};

// The same for a function of which the last parameter often is a constant, which makes it simpler.
template <auto kFunction, typename Signature = decltype(kFunction)>
struct MappedLastUniform;
template <auto kFunction, typename Result, typename... Parameter>
struct MappedLastUniform<kFunction, Result (*)(Parameter...)> {
  static void Compute(const uint32_t* operands, char* registers, Lanes lanes) {
    const Source<uint32_t> last(registers, operands[sizeof...(Parameter)]);
    const uint32_t first = last[0];
    uint32_t differences = 0;
    TWINMMU_VECTOR_ONLY
    for (int lane = 0; lane < kLanes; ++lane) differences |= last[lane] ^ first;
    if (differences != 0) return Mapped<kFunction>::Compute(operands, registers, lanes);
    Run(operands, registers, lanes, first, std::make_index_sequence<sizeof...(Parameter) - 1>());
  }

 private:
  template <size_t... kIndex>
  static void Run(const uint32_t* operands, char* registers, Lanes lanes, uint32_t last,
                  std::index_sequence<kIndex...>) {
    using Parameters = std::tuple<Parameter...>;
    Loop(reinterpret_cast<Result*>(registers + operands[0]), lanes, last,
         Source<std::tuple_element_t<kIndex, Parameters>>(registers, operands[kIndex + 1])...);
  }
  template <typename... Sources>
  static void Loop(Result* results, Lanes lanes, uint32_t last, Sources... sources) {
    SetLanes(results, lanes, [=](int lane) { return kFunction(sources[lane]..., last); });
  }
};

class OperationTable {
 public:
  // Lists what kFunction computes under `form`, "add.s32". Where the instruction's type is one of
  // bits, "b32", so are the operands that are unsigned integers of its width.
  template <auto kFunction>
  void Map(const std::string& form) {
    Put(form, ForHost<Mapped<kFunction>::Compute>(), Mapped<kFunction>::kOperands);
  }
  // The same for a form that programs hardly have, where kRare: without code for wider vectors,
  // which takes twice as long to compile as all other code of it.
  template <auto kFunction, bool kRare>
  void Map(const std::string& form) {
    if constexpr (kRare) {
      Put(form, Mapped<kFunction>::Compute, Mapped<kFunction>::kOperands);
    } else {
      Map<kFunction>(form);
    }
  }
  // The same; quicker if the last operand, of 32 bits, is the same for all lanes.
  template <auto kFunction>
  void MapLastUniform(const std::string& form) {
    Put(form, ForHost<MappedLastUniform<kFunction>::Compute>(), Mapped<kFunction>::kOperands);
  }
  // The same for a form whose result PTX gives only with a bound for its error.
  template <auto kFunction>
  void MapApproximate(const std::string& form) {
    Map<kFunction>(form);
    forms_.back().approximate = true;
  }
  // The same for a form that there is only from a target on: 100 for sm_100.
  template <auto kFunction, bool kRare = false>
  void MapLater(const std::string& form, int first_target) {
    Map<kFunction, kRare>(form);
    forms_.back().operation.first_target = first_target;
  }
  void Put(const std::string& form, Compute compute, absl::Span<const OperandType> operands);

  std::vector<OperationForm> Take() { return std::move(forms_); }

 private:
  std::vector<OperationForm> forms_;
};

// Those of a subject.
void AddIntegerOperations(OperationTable& table);
void AddCarryOperations(OperationTable& table);
void AddBitOperations(OperationTable& table);
void AddFloatOperations(OperationTable& table);
void AddApproximateOperations(OperationTable& table);
void AddHalfOperations(OperationTable& table);
void AddComparisons(OperationTable& table);
void AddSelections(OperationTable& table);
void AddIntegerConversions(OperationTable& table);
void AddFloatToInteger(OperationTable& table);
void AddIntegerToFloat(OperationTable& table);
void AddFloatConversions(OperationTable& table);
void AddPackedConversions(OperationTable& table);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_OPERATION_TABLE_H_

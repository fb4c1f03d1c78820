// Values of 128 bits, and vectors that atomic instructions change.
//
// A value of 128 bits is two slots of 64, the lower half first.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

constexpr uint32_t kHalf = 8 * kLanes;  // from one slot to the other
constexpr int kFirstTarget = 90;        // of atomic instructions on both
constexpr int kFirstTargetOfAccess = 70;

}  // namespace

bool Decoder::IsWide() const { return !modifiers_.empty() && modifiers_.back() == "b128"; }

uint32_t Decoder::WideSlot(const Operand& operand, bool written) {
  if (written && operand.kind == Operand::kDiscard && operand.name == "_") return NewSlot(16);
  if (operand.kind == Operand::kRegister && TypeOfRegister(operand.index) == Type::kB128) {
    return RegisterSlot(operand.index);
  }
  FailInvalid("an operand is no register of .b128");
  return 0;
}

// mov.b128 q, {a, b}; {a, b}, q; q, r
void Decoder::MoveWide() {
  modifiers_.pop_back();
  ExpectOperands(2, 2);
  if (!status_.ok()) return;
  const auto slots = [&](const Operand& operand, bool written) -> std::array<uint32_t, 2> {
    if (operand.kind != Operand::kVector) {
      const uint32_t slot = WideSlot(operand, written);
      return {slot, slot + kHalf};
    }
    if (operand.parts.size() != 2) {
      FailInvalid("two parts of 64 bits make up .b128");
      return {0, 0};
    }
    const Operand& low = operand.parts[0];
    const Operand& high = operand.parts[1];
    if (written) return {Destination(low, Type::kB64), Destination(high, Type::kB64)};
    return {Source(low, Type::kB64), Source(high, Type::kB64)};
  };
  const std::array<uint32_t, 2> from = slots(At(1), false);
  const std::array<uint32_t, 2> to = slots(At(0), true);
  // One of them may be what the other is copied to.
  const uint32_t low = NewSlot(8);
  EmitCompute(FindCopy(8), {low, from[0]});
  EmitCompute(FindCopy(8), {to[1], from[1]});
  EmitCompute(FindCopy(8), {to[0], low});
}

// ld.b128, st.b128: as vectors of two.
void Decoder::LoadOrStoreWide(bool stores) {
  if (module_.target < kFirstTargetOfAccess) return FailInvalid("it is there from sm_70 on");
  modifiers_.pop_back();
  Step step;
  TakeOrder(Order::kWeak, coherence::Scope::kSys, &step.memory);
  TakeSpace(&step.memory);
  const Space space = step.memory.space;
  const size_t policies = TakeCacheHints();
  ExpectOperands(2, 2 + policies);
  if (!status_.ok()) return;
  step.perform = step.memory.strength.IsStrong() ? FindWideAccess(stores)
                 : stores                        ? FindStore(Type::kB64, 8)
                                                 : FindLoad(Type::kB64, 8);
  TakeSize(Type::kB64, 2, &step.memory);
  if (stores) step.memory.access = Access::kReadWrite;
  step.operands[0] = Address(At(stores ? 0 : 1), space, &step);
  step.operands[1] = WideSlot(At(stores ? 1 : 0), !stores);
  step.operands[2] = step.operands[1] + kHalf;
  Emit(step);
}

// atom.exch.b128 d, [a], b; atom.cas.b128 d, [a], b, c
void Decoder::AtomicWide() {
  if (module_.target < kFirstTarget) return FailInvalid("it is there from sm_90 on");
  modifiers_.pop_back();
  Step step;
  TakeOrder(Order::kRelaxed, coherence::Scope::kGpu, &step.memory);
  TakeSpace(&step.memory);
  const Space space = step.memory.space;
  const size_t policies = TakeCacheHints();
  const absl::string_view name = TakeName({"exch", "cas"});
  const size_t least = name == "cas" ? 4 : 3;
  ExpectOperands(least, least + policies);
  step.perform = FindWideAtomic(name);
  if (step.perform == nullptr) return FailInvalid("of .b128 there are exch and cas");
  if (!status_.ok()) return;
  step.memory.bytes = 16;
  step.memory.access = Access::kReadWrite;
  step.operands[0] = WideSlot(At(0), true);
  step.operands[1] = Address(At(1), space, &step);
  step.operands[2] = WideSlot(At(2), false);
  step.operands[3] = name == "cas" ? WideSlot(At(3), false) : step.operands[2];
  Emit(step);
}

// atom.v4.f32.add {d, ...}, [a], {b, ...}; red alike: an atomic operation for each element, of
// memory that is there for all of them.
void Decoder::AtomicVector(bool gives_old, int count) {
  if (module_.target < kFirstTarget) return FailInvalid("vectors are there from sm_90 on");
  // The operation may stand behind the type.
  std::stable_partition(modifiers_.begin(), modifiers_.end(),
                        [](absl::string_view name) { return !TypeNamed(name).has_value(); });
  const Type type = TakeType();
  Step step;
  TakeOrder(Order::kRelaxed, coherence::Scope::kGpu, &step.memory);
  const Space space = TakeSpace();
  const size_t policies = TakeCacheHints();
  Take("noftz");
  const absl::string_view name = TakeName({"add", "min", "max"});
  const size_t first = gives_old ? 1 : 0;
  ExpectOperands(first + 2, first + 2 + policies);
  if (!status_.ok()) return;
  const uint64_t bytes = BytesOf(type) * static_cast<uint64_t>(count);
  step.perform = bytes <= kMaxAccess && type != Type::kF64 ? FindVectorAtomic(name, type) : nullptr;
  if (step.perform == nullptr || (space != Space::kGlobal && space != Space::kGeneric)) {
    return FailInvalid("there is no atomic '", name, "' of ", count, " .", NameOf(type));
  }
  const Operand& values = At(first + 1);
  const bool fits =
      values.kind == Operand::kVector && values.parts.size() == static_cast<size_t>(count) &&
      (!gives_old ||
       (At(0).kind == Operand::kVector && At(0).parts.size() == static_cast<size_t>(count)));
  if (!fits) return FailInvalid("the values are not a vector of ", count);
  step.memory.access = Access::kReadWrite;
  step.operands[1] = Address(At(first), space, &step);
  Step check = step;
  check.perform = PerformCheck;
  check.memory.bytes = static_cast<uint8_t>(bytes);
  check.operands[0] = step.operands[1];
  Emit(check);
  step.memory.bytes = static_cast<uint8_t>(BytesOf(type));
  const Type bits = BitsOfWidth(WidthOf(type));
  // What is given back may lie where later values come from.
  std::vector<uint32_t> from;
  for (const Operand& part : values.parts) {
    const uint32_t slot = Source(part, part.kind == Operand::kRegister ? bits : type);
    from.push_back(NewSlot(WidthOf(type)));
    if (status_.ok()) EmitCompute(FindCopy(WidthOf(type)), {from.back(), slot});
  }
  std::vector<uint32_t> old;
  for (int i = 0; i < count; ++i) {
    old.push_back(NewSlot(WidthOf(type)));
    step.operands[0] = old.back();
    step.operands[2] = from[static_cast<size_t>(i)];
    step.operands[3] = step.operands[2];
    if (status_.ok()) Emit(step);
    step.memory.offset += BytesOf(type);
  }
  for (size_t i = 0; gives_old && i < old.size(); ++i) {
    const uint32_t to = Destination(At(0).parts[i], bits);
    if (status_.ok()) EmitCompute(FindCopy(WidthOf(type)), {to, old[i]});
  }
}

}  // namespace twinmmu::ptx

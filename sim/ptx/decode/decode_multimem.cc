// multimem.ld_reduce, multimem.st, multimem.red: accesses of multicast addresses.

#include "absl/strings/match.h"
#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

using coherence::Scope;
using coherence::Semantics;

constexpr int kFirstVersion = 81;
constexpr int kFirstTarget = 90;

bool IsHalf(Type type) {
  return type == Type::kF16 || type == Type::kF16x2 || type == Type::kBf16 || type == Type::kBf16x2;
}

}  // namespace

// A load or store is weak if nothing is said, a reduction relaxed for the whole system.
void Decoder::TakeMulticastOrder(bool loads, bool changes, MemoryAccess* access) {
  const bool weak = !changes && Take("weak");
  const bool relaxed = Take("relaxed");
  const bool synchronizes = Take(loads ? "acquire" : "release");
  const Scope scope = TakeScope(Scope::kSys);
  access->strength = {Semantics::kWeak, scope};
  if (weak || (!relaxed && !synchronizes && !changes)) return;
  access->order = Order::kRelaxed;
  access->strength.semantics = Semantics::kRelaxed;
  if (synchronizes) access->strength.semantics = loads ? Semantics::kAcquire : Semantics::kRelease;
}

// How many elements. Only those of floating point come in vectors, of 4, 8 or 16 bytes.
int Decoder::TakeMulticastCount(Type type) {
  constexpr int kCounts[] = {2, 4, 8};
  const int said = TakeOneOf({"v2", "v4", "v8"});
  const int count = said < 0 ? 1 : kCounts[said];
  const uint64_t bytes = BytesOf(type) * static_cast<uint64_t>(count);
  if (said >= 0 && (!IsFloating(type) || type == Type::kF64)) {
    FailInvalid("there are no vectors of .", NameOf(type));
  } else if (bytes != 4 && bytes != 8 && bytes != 16) {
    FailInvalid("it accesses ", bytes, " bytes; 4, 8 or 16 are possible");
  }
  return count;
}

uint32_t Decoder::MulticastSlots(const Operand& elements, Type type, int count, bool read) {
  const bool vector = elements.kind == Operand::kVector;
  if (vector != (count > 1) || (vector && static_cast<int>(elements.parts.size()) != count)) {
    FailInvalid("the elements are not a vector of ", count);
    return 0;
  }
  // Registers of any type of that size will do.
  const int width = WidthOf(type);
  const Type bits = BitsOfWidth(width);
  const auto value = [&](const Operand& operand) {
    return Source(operand, operand.kind == Operand::kRegister ? bits : type);
  };
  if (!vector) return read ? value(elements) : Destination(elements, bits);
  const uint32_t first = NewSlot(width);
  for (int i = 1; i < count; ++i) NewSlot(width);
  if (!read) return first;
  for (int i = 0; i < count; ++i) {
    const uint32_t from = value(elements.parts[static_cast<size_t>(i)]);
    EmitCompute(FindCopy(width), {first + static_cast<uint32_t>(i * width * kLanes), from});
  }
  return first;
}

void Decoder::CopyFromMulticastSlots(uint32_t first, const Operand& elements, Type type) {
  if (elements.kind != Operand::kVector) return;
  const int width = WidthOf(type);
  const Type bits = BitsOfWidth(width);
  uint32_t from = first;
  for (const Operand& part : elements.parts) {
    EmitCompute(FindCopy(width), {Destination(part, bits), from});
    from += static_cast<uint32_t>(width * kLanes);
  }
}

void Decoder::Multimem() {
  if (module_.version < kFirstVersion || module_.target < kFirstTarget) {
    return FailInvalid("it is there from PTX 8.1 and sm_90 on");
  }
  const int form = TakeOneOf({"ld_reduce", "st", "red"});
  const bool loads = form == 0;
  const bool changes = form == 2;
  if (Take("cp")) return FailUnimplemented("bulk copies to multicast addresses are not supported");
  if (form < 0) return FailInvalid("ld_reduce, st or red is missing");
  if (!modifiers_.empty() && (absl::StartsWith(modifiers_.back(), "e4m3") ||
                              absl::StartsWith(modifiers_.back(), "e5m2"))) {
    return FailUnimplemented("values of 8 bits need sm_100a, which is not supported");
  }
  const Type type = TakeType();
  Step step;
  TakeMulticastOrder(loads, changes, &step.memory);
  Take("global");
  absl::string_view operation;
  if (form != 1) operation = TakeName({"add", "min", "max", "and", "or", "xor"});
  const bool wide_sums = loads && Take("acc::f32");
  if (wide_sums && (operation != "add" || !IsHalf(type))) {
    return FailInvalid(".acc::f32 is for sums of f16 and bf16");
  }
  const int count = TakeMulticastCount(type);
  ExpectOperands(2, 2);
  if (!status_.ok()) return;
  step.perform = loads     ? FindMulticastLoad(operation, type, wide_sums)
                 : changes ? FindMulticastChange(operation, type)
                           : FindMulticastStore(type);
  if (step.perform == nullptr) {
    return FailInvalid("there is no such operation", operation.empty() ? "" : " '", operation,
                       operation.empty() ? "" : "'", " of .", NameOf(type));
  }
  TakeSize(type, count, &step.memory);
  step.memory.access = loads ? Access::kRead : Access::kReadWrite;
  step.operands[0] = Address(At(loads ? 1 : 0), Space::kGlobal, &step);
  step.operands[1] = MulticastSlots(At(loads ? 0 : 1), type, count, !loads);
  if (!status_.ok()) return;
  Emit(step);
  if (loads) CopyFromMulticastSlots(step.operands[1], At(0), type);
}

}  // namespace twinmmu::ptx

// Instructions that compute, and those that move values and addresses.

#include <optional>
#include <vector>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/text/isa.h"

namespace twinmmu::ptx {

namespace {

// cvt of bf16 and an integer, whose register is as wide as it: a byte lies in one of .b8.
bool ConvertsBf16(const Operation& operation, absl::string_view opcode) {
  const Type to = operation.operands[0].type;
  const Type from = operation.operands[1].type;
  return opcode == "cvt" &&
         ((to == Type::kBf16 && !IsFloating(from)) || (from == Type::kBf16 && !IsFloating(to)));
}

}  // namespace

// All that FindOperation knows. Only of cvt the registers may be wider than what is converted.
void Decoder::Computation() {
  const absl::StatusOr<Operation> found = FindOperation(*instruction_);
  if (!found.ok()) {
    if (absl::IsInvalidArgument(found.status())) return FailInvalid(found.status().message());
    if (!IsInstruction(instruction_->opcode)) return FailInvalid("there is no such instruction");
    if (absl::IsNotFound(found.status())) return FailUnimplemented("it is not supported");
    return FailUnimplemented(found.status().message());
  }
  const Operation& operation = *found;
  if (module_.target < operation.first_target) {
    return FailInvalid("it is there from sm_", operation.first_target, " on");
  }
  std::vector<const Operand*> operands;
  for (const Operand& operand : instruction_->operands) {
    if (operand.kind != Operand::kPair) {
      operands.push_back(&operand);
      continue;
    }
    for (const Operand& part : operand.parts) operands.push_back(&part);
  }
  // The carry flag comes behind what the text names.
  size_t named = static_cast<size_t>(operation.operand_count);
  while (named > 0 && operation.operands[named - 1].carry) --named;
  if (operands.size() != named) {
    return FailInvalid("it has ", operands.size(), " operands, not ", named);
  }
  std::array<uint32_t, kMaxOperands> slots = {};
  for (size_t i = named; i < static_cast<size_t>(operation.operand_count); ++i) {
    slots[i] = CarrySlot();
  }
  struct Resized {
    uint32_t to = 0;
    uint32_t from = 0;
    Compute compute = nullptr;
  };
  std::vector<Resized> results;
  const bool exact = ConvertsBf16(operation, instruction_->opcode);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = *operands[i];
    const Type type = operation.operands[i].type;
    const bool written = operation.operands[i].written;
    const int width = WidthOf(type);
    const Type of_register =
        operand.kind == Operand::kRegister ? TypeOfRegister(operand.index) : type;
    const int register_width = WidthOf(of_register);
    if (exact && BytesOf(of_register) != BytesOf(type)) {
      return FailInvalid(BytesOf(of_register) > BytesOf(type)
                             ? "a register is wider than the integer, which it may not be with bf16"
                             : "a register is narrower than what it holds");
    }
    const bool resizes = register_width != width && instruction_->opcode == "cvt" && width != 0 &&
                         register_width > width && register_width <= 8;
    if (!resizes) {
      slots[i] = written ? Destination(operand, type) : Source(operand, type);
      continue;
    }
    slots[i] = NewSlot(width);
    const uint32_t slot = RegisterSlot(operand.index);
    if (written) {
      results.push_back({slot, slots[i], FindResize(register_width, width, IsSigned(type))});
    } else {
      EmitCompute(FindResize(width, register_width, false), {slots[i], slot});
    }
  }
  EmitCompute(operation.compute, slots);
  for (const Resized& result : results) EmitCompute(result.compute, {result.to, result.from});
}

void Decoder::Mov() {
  if (IsWide()) return MoveWide();
  const size_t elements = Take("v2") ? 2 : Take("v4") ? 4 : 0;
  const Type type = TakeType();
  ExpectOperands(2, 2);
  if (!status_.ok()) return;
  const int width = WidthOf(type);
  if (elements != 0) {  // vectors, element by element
    const bool fits = At(0).kind == Operand::kVector && At(0).parts.size() == elements &&
                      At(1).kind == Operand::kVector && At(1).parts.size() == elements;
    if (!fits) return FailInvalid("it is of vectors of ", elements);
    std::vector<uint32_t> kept;  // what the first elements may go to
    for (const Operand& part : At(1).parts) {
      kept.push_back(NewSlot(width));
      EmitCompute(FindCopy(width), {kept.back(), Source(part, type)});
    }
    for (size_t i = 0; i < elements; ++i) {
      EmitCompute(FindCopy(width), {Destination(At(0).parts[i], type), kept[i]});
    }
    return;
  }
  if (At(0).kind == Operand::kVector || At(1).kind == Operand::kVector) {
    const bool packs = At(1).kind == Operand::kVector;
    const Operand& vector = packs ? At(1) : At(0);
    if (!vector.name.empty()) return FailInvalid("'", vector.name, "' takes .v2 or .v4");
    const std::vector<Operand>& parts = vector.parts;
    const int count = static_cast<int>(parts.size());
    const Compute compute = packs ? FindPack(width, count) : FindUnpack(width, count);
    if (compute == nullptr) return FailInvalid("a vector of ", count, " does not make up that");
    const int bytes = width / count;
    const Type part = bytes == 1 ? Type::kB8 : bytes == 2 ? Type::kB16 : Type::kB32;
    std::array<uint32_t, kMaxOperands> slots = {};
    size_t next = 0;
    if (packs) slots[next++] = Destination(At(0), type);
    for (const Operand& operand : parts) {
      slots[next++] = packs ? Source(operand, part) : Destination(operand, part);
    }
    if (!packs) slots[next++] = Source(At(1), type);
    EmitCompute(compute, slots);
    return;
  }
  const uint32_t from = Source(At(1), type);
  const uint32_t to = Destination(At(0), type);
  EmitCompute(FindCopy(width), {to, from});
}

namespace {

// What is added to an address in `space` to make it generic; nullopt: it has no generic ones.
std::optional<uint64_t> WindowOf(Space space) {
  switch (space) {
    case Space::kGlobal:
    case Space::kConst:
      return 0;
    case Space::kShared:
      return kSharedWindow;
    case Space::kLocal:
      return kLocalWindow;
    case Space::kParam:
      return kParamWindow;
    default:
      return std::nullopt;
  }
}

}  // namespace

void Decoder::Cvta() {
  const bool from_generic = Take("to");
  const std::optional<uint64_t> window = WindowOf(TakeSpace());
  const Type type = TakeType();
  ExpectOperands(2, 2);
  if (!window.has_value()) return FailInvalid("the space is missing");
  if (type != Type::kU64) return FailUnimplemented("addresses of 32 bits are not supported");
  const uint32_t from = Source(At(1), Type::kB64);
  const uint32_t to = Destination(At(0), Type::kB64);
  const uint64_t added = from_generic ? 0 - *window : *window;
  EmitCompute(FindAddressAdd(), {to, from, Fixed(FixedSlot::kZero, 0, added, 8)});
}

void Decoder::IsSpace() {
  const bool of_block = TakeOneOf({"shared", "shared::cta"}) >= 0;
  const Space space = TakeSpace();
  ExpectOperands(2, 2);
  const uint32_t to = Destination(At(0), Type::kPred);
  const uint32_t address = Source(At(1), Type::kB64);
  if (of_block) {
    const uint32_t begin = Fixed(FixedSlot::kSpecial, static_cast<int>(Special::kOwnShared), 0, 8);
    const uint32_t size = Fixed(FixedSlot::kZero, 0, uint64_t{1} << kSharedOfBlockBits, 8);
    EmitCompute(FindInRange(), {to, address, begin, size});
    return;
  }
  if (space == Space::kGlobal || space == Space::kConst) {
    const uint32_t begin = Fixed(FixedSlot::kImage, 0, 0, 8);
    const uint32_t size = Fixed(FixedSlot::kZero, 0, placement_.const_bytes, 8);
    const bool global = space == Space::kGlobal;
    EmitCompute(global ? FindInNoWindow() : FindInRange(), {to, address, begin, size});
    return;
  }
  const std::optional<uint64_t> window = WindowOf(space);
  if (!window.has_value()) return FailInvalid("the space is missing");
  EmitCompute(FindInWindow(), {to, address, Fixed(FixedSlot::kZero, 0, *window, 8)});
}

}  // namespace twinmmu::ptx

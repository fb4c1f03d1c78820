// Instructions by which lanes and warps do something together.

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

constexpr size_t kMask = 5;

}  // namespace

// bar.sync a{, b}; bar.arrive a, b; bar.red.popc.u32 d, a{, b}, {!}c; barrier alike; and
// bar.warp.sync mask.
void Decoder::Bar() {
  if (Take("warp")) return WarpBarrier();
  if (Take("cluster")) return ClusterBarrier();
  Take("cta");
  const bool aligned = Take("aligned") || instruction_->opcode == "bar";
  const int form = TakeOneOf({"sync", "arrive", "red"});
  if (form < 0) return FailInvalid("sync, arrive or red is missing");
  Step step;
  step.perform = PerformBarrier;
  step.operands.fill(kNoSlot);
  size_t next = 0;
  size_t end = instruction_->operands.size();
  if (form == 2) {
    const int kind = TakeOneOf({"popc", "and", "or"});
    const Type type = TakeType();
    if (kind < 0 || type != (kind == 0 ? Type::kU32 : Type::kPred)) {
      return FailInvalid("popc.u32, and.pred or or.pred is missing");
    }
    ExpectOperands(3, 4);
    if (!status_.ok()) return;
    step.detail = static_cast<uint8_t>(kind + 1);
    step.operands[2] = Destination(At(next++), kind == 0 ? Type::kB32 : Type::kPred);
    step.operands[3] = Source(At(--end), Type::kPred);
  } else {
    ExpectOperands(form == 1 ? 2 : 1, 2);
    if (form == 1) step.detail = kArrives;
  }
  if (aligned) step.detail |= kAligned;
  constexpr uint64_t kBarriers = 16;
  const Operand& number = At(next);
  if (number.kind == Operand::kInteger && number.bits >= kBarriers) {
    return FailInvalid("there is no barrier ", static_cast<int64_t>(number.bits),
                       ": they are 0 to ", kBarriers - 1);
  }
  step.operands[0] = Source(At(next++), Type::kB32);
  if (next < end) step.operands[1] = Source(At(next), Type::kB32);
  Emit(step);
}

void Decoder::WarpBarrier() {
  if (!Take("sync")) return FailInvalid("sync is missing");
  ExpectOperands(1, 1);
  const uint32_t mask = Source(At(0), Type::kB32);
  Emit(PerformWarpBarrier).operands[0] = mask;
}

// The mask that an instruction of .sync has as its last operand.
uint32_t Decoder::MaskAt(size_t index) {
  const bool sync = Take("sync");
  if (!sync && module_.version >= 64 && module_.target >= 70) {
    FailInvalid("sync is missing: from PTX 6.4 and sm_70 on there is no such instruction without");
    return kNoSlot;
  }
  if (!sync && index >= instruction_->operands.size()) return kNoSlot;
  return Source(At(index), Type::kB32);
}

void Decoder::PairAt(size_t index, Type first, Step* step) {
  const Operand& operand = At(index);
  step->operands[1] = kNoSlot;
  if (operand.kind != Operand::kPair) {
    step->operands[0] = Destination(operand, first);
    return;
  }
  step->operands[0] = Destination(operand.parts[0], first);
  step->operands[1] = Destination(operand.parts[1], Type::kPred);
}

void Decoder::Shuffle() {
  const int mode = TakeOneOf({"up", "down", "bfly", "idx"});
  Take("b32");
  ExpectOperands(4, 5);
  if (mode < 0) return FailInvalid("up, down, bfly or idx is missing");
  Step step;
  step.perform = PerformShuffle;
  step.detail = static_cast<uint8_t>(mode);
  PairAt(0, Type::kB32, &step);
  for (size_t i = 1; i < 4; ++i) step.operands[i + 1] = Source(At(i), Type::kB32);
  step.operands[kMask] = MaskAt(4);
  Emit(step);
}

void Decoder::Vote() {
  const int mode = TakeOneOf({"all", "any", "uni", "ballot"});
  if (TakeOneOf({"pred", "b32"}) < 0) FailInvalid("the type is missing");
  ExpectOperands(2, 3);
  if (mode < 0) return FailInvalid("all, any, uni or ballot is missing");
  Step step;
  step.perform = PerformVote;
  step.detail = static_cast<uint8_t>(mode);
  const bool ballot = mode == static_cast<int>(VoteMode::kBallot);
  step.operands[0] = Destination(At(0), ballot ? Type::kB32 : Type::kPred);
  step.operands[2] = Source(At(1), Type::kPred);
  step.operands[kMask] = MaskAt(2);
  Emit(step);
}

void Decoder::Match() {
  const int mode = TakeOneOf({"any", "all"});
  const Type type = TakeType();
  ExpectOperands(3, 3);
  if (mode < 0) return FailInvalid("any or all is missing");
  Step step;
  if (type != Type::kB32 && type != Type::kB64) return FailInvalid("the type is not .b32 or .b64");
  step.perform = FindMatch(mode == 1, WidthOf(type));
  PairAt(0, Type::kB32, &step);
  step.operands[2] = Source(At(1), type);
  step.operands[kMask] = MaskAt(2);
  Emit(step);
}

void Decoder::Redux() {
  const Type type = TakeType();
  ExpectOperands(3, 3);
  const absl::string_view name = TakeName({"add", "min", "max", "and", "or", "xor"});
  Step step;
  if (type == Type::kF32) {
    if (module_.target < 100 || !module_.of_one_target) {
      return FailInvalid("it is there from sm_100a on");
    }
    if (name != "min" && name != "max") return FailInvalid("of .f32 there are min and max");
    step.perform = PerformFloatExtreme;
    step.detail =
        static_cast<uint8_t>((name == "max" ? kLargest : 0) | (Take("abs") ? kOfMagnitudes : 0) |
                             (Take("NaN") ? kWithNan : 0));
  } else {
    const bool is_logic = name == "and" || name == "or" || name == "xor";
    const bool fits = is_logic ? type == Type::kB32 : type == Type::kU32 || type == Type::kS32;
    if (fits) step.perform = FindReduction(name, type);
  }
  if (step.perform == nullptr) return FailInvalid("there is no such operation of this type");
  step.operands[0] = Destination(At(0), Type::kB32);
  step.operands[2] = Source(At(1), Type::kB32);
  step.operands[kMask] = MaskAt(2);
  Emit(step);
}

void Decoder::ActiveMask() {
  Take("b32");
  ExpectOperands(1, 1);
  const uint32_t to = Destination(At(0), Type::kB32);
  Emit(PerformActiveMask).operands[0] = to;
}

void Decoder::Elect() {
  ExpectOperands(2, 2);
  Step step;
  step.perform = PerformElect;
  PairAt(0, Type::kB32, &step);
  step.operands[kMask] = MaskAt(1);
  Emit(step);
}

}  // namespace twinmmu::ptx

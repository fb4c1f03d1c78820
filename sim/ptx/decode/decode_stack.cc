// alloca, stacksave, stackrestore; and what changes how fast a kernel is, not what it does.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/operations/lane_types.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

constexpr uint64_t kUnsaidAlignment = 8;
constexpr uint64_t kMostAlignment = uint64_t{1} << 23;

}  // namespace

// The value of an operand of `width` bytes, in 8.
uint32_t Decoder::Widened(const Operand& operand, int width) {
  const uint32_t slot = Source(operand, BitsOfWidth(width));
  if (width == 8) return slot;
  const uint32_t wide = NewSlot(8);
  EmitCompute(FindResize(8, width, false), {wide, slot});
  return wide;
}

// .u32 or .u64, of addresses of .local.
int Decoder::TakeStackWidth() {
  const Type type = TakeType();
  if (type != Type::kU32 && type != Type::kU64) FailInvalid("the type is .u32 or .u64");
  if (module_.target < 52) FailInvalid("it is there from sm_52 on");
  return type == Type::kU64 ? 8 : 4;
}

// alloca.u64 p, size{, alignment}
void Decoder::TakeStack() {
  const int width = TakeStackWidth();
  ExpectOperands(2, 3);
  uint64_t alignment = kUnsaidAlignment;
  if (instruction_->operands.size() > 2) {
    alignment = At(2).bits;
    const bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (At(2).kind != Operand::kInteger || !power || alignment > kMostAlignment) {
      FailInvalid("the alignment is a constant, a power of two up to 2^23");
    }
  }
  if (!status_.ok()) return;
  const uint32_t size = Widened(At(1), width);
  const uint32_t to = Destination(At(0), BitsOfWidth(width));
  const uint32_t aligned = Fixed(FixedSlot::kZero, 0, alignment, 8);
  Step& step = Emit(PerformTakeStack);
  step.operands = {to, size, aligned};
  step.detail = static_cast<uint8_t>(width);
}

void Decoder::SaveStack() {
  const int width = TakeStackWidth();
  ExpectOperands(1, 1);
  if (!status_.ok()) return;
  const uint32_t to = Destination(At(0), BitsOfWidth(width));
  const uint32_t end = width == 8 ? to : NewSlot(8);
  Emit(PerformSaveStack).operands[0] = end;
  if (width != 8) EmitCompute(FindResize(width, 8, false), {to, end});
}

void Decoder::RestoreStack() {
  const int width = TakeStackWidth();
  ExpectOperands(1, 1);
  if (!status_.ok()) return;
  const uint32_t end = Widened(At(0), width);
  Emit(PerformRestoreStack).operands[0] = end;
}

// setmaxnreg.inc.sync.aligned.u32 n; a driver takes .s32, too.
void Decoder::SetMaxRegisters() {
  if (module_.target < 90 || !module_.of_one_target)
    return FailInvalid("it is there from sm_90a on");
  if (TakeOneOf({"inc", "dec"}) < 0 || !Take("sync") || !Take("aligned") ||
      TakeOneOf({"u32", "s32"}) < 0) {
    return FailInvalid("the forms are .inc and .dec of .sync.aligned.u32");
  }
  ExpectOperands(1, 1);
  const Operand& count = At(0);
  if (count.kind != Operand::kInteger || count.bits < 24 || count.bits > 256 ||
      count.bits % 8 != 0) {
    return FailInvalid("the number of registers is a multiple of 8 from 24 to 256");
  }
  Emit(PerformNothing);
}

// The next one, as policies count them; or -1.
int Decoder::TakePriority() {
  constexpr absl::string_view kPriorities[] = {"L2::evict_unchanged", "L2::evict_first",
                                               "L2::evict_last", "L2::evict_normal"};
  for (const absl::string_view modifier : modifiers_) {
    const auto* const found = std::find(std::begin(kPriorities), std::end(kPriorities), modifier);
    if (found == std::end(kPriorities)) continue;
    Take(modifier);
    return static_cast<int>(found - kPriorities);
  }
  return -1;
}

// createpolicy: a word that says how caches shall be used. Those of .fractional have the bits that
// an H100 gives them; those of .range are 0, a policy like any other.
void Decoder::CreatePolicy() {
  if (module_.target < 80) return FailInvalid("it is there from sm_80 on");
  const int form = TakeOneOf({"fractional", "range", "cvt"});
  if (Take("global") && form == 0) return FailInvalid(".fractional has no space");
  if (form < 0 || !Take("b64")) return FailInvalid("fractional, range or cvt, or .b64 is missing");
  const uint32_t to = Destination(At(0), Type::kB64);
  if (form == 2) {
    Take("L2");
    ExpectOperands(2, 2);
    if (!status_.ok()) return;
    const uint32_t from = Source(At(1), Type::kB64);
    EmitCompute(FindCopy(8), {to, from});
    return;
  }
  const int primary = TakePriority();
  TakePriority();  // of the rest
  if (primary < 0) return FailInvalid("the priority is missing");
  ExpectOperands(form == 0 ? 1 : 4, form == 0 ? 2 : 4);
  if (!status_.ok()) return;
  uint64_t policy = 0;
  if (form == 0) {
    const Operand& said = At(1);
    const double fraction = said.kind == Operand::kF32
                                ? BitCast<float>(static_cast<uint32_t>(said.bits))
                            : said.kind == Operand::kF64 ? BitCast<double>(said.bits)
                                                         : 1.0;
    if (!(fraction > 0 && fraction <= 1)) return FailInvalid("the fraction is in (0, 1]");
    const uint64_t sixteenths = static_cast<uint64_t>(std::ceil(fraction * 16)) - 1;
    policy = uint64_t{1} << 60 | static_cast<uint64_t>(primary) << 57 | sixteenths << 52;
  }
  EmitCompute(FindCopy(8), {to, Fixed(FixedSlot::kZero, 0, policy, 8)});
}

}  // namespace twinmmu::ptx

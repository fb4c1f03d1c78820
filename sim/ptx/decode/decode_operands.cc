// Operands: which slot holds what they stand for.

#include <cmath>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "sim/ptx/decode/decode.h"
#include "sim/ptx/operations/lane_types.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

const Special* SpecialNamed(absl::string_view name) {
  static const auto* const kSpecials = new absl::btree_map<absl::string_view, Special>({
      {"%tid.x", Special::kTidX},
      {"%tid.y", Special::kTidY},
      {"%tid.z", Special::kTidZ},
      {"%ntid.x", Special::kNtidX},
      {"%ntid.y", Special::kNtidY},
      {"%ntid.z", Special::kNtidZ},
      {"%ctaid.x", Special::kCtaidX},
      {"%ctaid.y", Special::kCtaidY},
      {"%ctaid.z", Special::kCtaidZ},
      {"%nctaid.x", Special::kNctaidX},
      {"%nctaid.y", Special::kNctaidY},
      {"%nctaid.z", Special::kNctaidZ},
      {"%laneid", Special::kLane},
      {"%warpid", Special::kWarp},
      {"%nwarpid", Special::kWarps},
      {"%smid", Special::kSm},
      {"%nsmid", Special::kSms},
      {"%gridid", Special::kGridId},
      {"%lanemask_eq", Special::kLanesEqual},
      {"%lanemask_le", Special::kLanesBelowOrEqual},
      {"%lanemask_lt", Special::kLanesBelow},
      {"%lanemask_ge", Special::kLanesAboveOrEqual},
      {"%lanemask_gt", Special::kLanesAbove},
      {"%dynamic_smem_size", Special::kDynamicShared},
      {"%total_smem_size", Special::kTotalShared},
      {"%aggr_smem_size", Special::kAggregateShared},
      {"%reserved_smem_offset_begin", Special::kZero},
      {"%reserved_smem_offset_end", Special::kReservedEnd},
      {"%reserved_smem_offset_cap", Special::kReservedShared},
      {"%reserved_smem_offset_0", Special::kZero},
      {"%reserved_smem_offset_1", Special::kZero},
      {"%envreg1", Special::kWorkspaceHigh},
      {"%envreg2", Special::kWorkspaceLow},
      {"%clock", Special::kClock},
      {"%clock_hi", Special::kClockHigh},
      {"%clock64", Special::kClock64},
      {"%globaltimer", Special::kTimer64},
      {"%globaltimer_lo", Special::kTimer},
      {"%globaltimer_hi", Special::kTimerHigh},
      {"%is_explicit_cluster", Special::kExplicitCluster},
      {"%clusterid.x", Special::kClusterX},
      {"%clusterid.y", Special::kClusterY},
      {"%clusterid.z", Special::kClusterZ},
      {"%nclusterid.x", Special::kClustersX},
      {"%nclusterid.y", Special::kClustersY},
      {"%nclusterid.z", Special::kClustersZ},
      {"%cluster_ctaid.x", Special::kInClusterX},
      {"%cluster_ctaid.y", Special::kInClusterY},
      {"%cluster_ctaid.z", Special::kInClusterZ},
      {"%cluster_nctaid.x", Special::kOfClusterX},
      {"%cluster_nctaid.y", Special::kOfClusterY},
      {"%cluster_nctaid.z", Special::kOfClusterZ},
      {"%cluster_ctarank", Special::kClusterRank},
      {"%cluster_nctarank", Special::kClusterBlocks},
      {"%current_graph_exec", Special::kZero},
  });
  static const Special kZero = Special::kZero;
  const auto found = kSpecials->find(name);
  if (found != kSpecials->end()) return &found->second;
  // Nobody counts anything in %pm0 and the like.
  const bool counts_nothing = name.substr(0, 7) == "%envreg" || name.substr(0, 3) == "%pm";
  return counts_nothing ? &kZero : nullptr;
}

// Beyond its range a float is infinite; the conversion would not be defined.
float ToFloat(double value) {
  if (std::isnan(value) || std::fabs(value) <= 3.4028234663852886e38) {
    return static_cast<float>(value);
  }
  return std::copysign(
      std::fabs(value) < 3.4028235677973366e38 ? 3.4028234663852886e38f : HUGE_VALF,
      value > 0 ? 1.0f : -1.0f);
}

}  // namespace

const Operand& Decoder::At(size_t index) {
  static const Operand* const kNone = new Operand;
  return index < instruction_->operands.size() ? instruction_->operands[index] : *kNone;
}

void Decoder::ExpectOperands(size_t least, size_t most) {
  const size_t count = instruction_->operands.size();
  if (least <= count && count <= most) return;
  FailInvalid("it has ", count, " operands, not ", least,
              least == most ? "" : absl::StrCat(" to ", most));
}

// A register fits a type of its size, unless one of both is floating and the other an integer with
// or without a sign.
bool Decoder::Fits(Type of_register, Type wanted) {
  if (WidthOf(of_register) != WidthOf(wanted)) return false;
  const auto is_integer = [](Type type) {
    return IsSigned(type) || (type >= Type::kU8 && type <= Type::kU64);
  };
  return !(IsFloating(of_register) && is_integer(wanted)) &&
         !(is_integer(of_register) && IsFloating(wanted));
}

uint32_t Decoder::Inverted(uint32_t predicate) {
  const uint32_t slot = NewSlot(0);
  EmitCompute(FindInversion(), {slot, predicate});
  return slot;
}

uint32_t Decoder::Source(const Operand& operand, Type type) {
  switch (operand.kind) {
    case Operand::kRegister: {
      const Type of_register = TypeOfRegister(operand.index);
      if (!Fits(of_register, type)) {
        FailInvalid("'", operand.name, "' is .", NameOf(of_register), ", not .", NameOf(type));
        return 0;
      }
      const uint32_t slot = RegisterSlot(operand.index);
      return operand.negated && type == Type::kPred ? Inverted(slot) : slot;
    }
    case Operand::kSpecialRegister:
      return SpecialSlot(operand, WidthOf(type));
    case Operand::kInteger:
    case Operand::kF32:
    case Operand::kF64:
      return Constant(operand, type);
    case Operand::kLocalVariable:
    case Operand::kParameter:
    case Operand::kResult:
    case Operand::kVariable:
    case Operand::kFunction: {
      const uint32_t slot = AddressAsValue(operand);
      if (WidthOf(type) == 8) return slot;
      if (WidthOf(type) != 4) {
        FailInvalid("an address has 32 or 64 bits");
        return 0;
      }
      const uint32_t narrow = NewSlot(4);
      EmitCompute(FindResize(4, 8, false), {narrow, slot});
      return narrow;
    }
    default:
      FailInvalid("an operand is missing, or is not a value of .", NameOf(type));
      return 0;
  }
}

uint32_t Decoder::Destination(const Operand& operand, Type type) {
  if (operand.kind == Operand::kDiscard && operand.name == "_") return NewSlot(WidthOf(type));
  if (operand.kind != Operand::kRegister) {
    FailInvalid("the result goes to no register");
    return 0;
  }
  const Type of_register = TypeOfRegister(operand.index);
  if (!Fits(of_register, type)) {
    FailInvalid("'", operand.name, "' is .", NameOf(of_register), ", not .", NameOf(type));
    return 0;
  }
  return RegisterSlot(operand.index);
}

uint32_t Decoder::Constant(const Operand& operand, Type type) {
  uint64_t bits = operand.bits;
  const bool to_half = IsFloating(type) && WidthOf(type) == 2;
  if (operand.kind == Operand::kF64) {
    if (WidthOf(type) == 4) bits = BitsOf(ToFloat(BitCast<double>(bits)));
    if (WidthOf(type) <= 2)
      FailInvalid("'", operand.name, "' is not a constant of .", NameOf(type));
  } else if (operand.kind == Operand::kF32) {
    if (WidthOf(type) == 8) bits = BitsOf<double>(BitCast<float>(static_cast<uint32_t>(bits)));
    if (WidthOf(type) <= 2)
      FailInvalid("'", operand.name, "' is not a constant of .", NameOf(type));
  } else if (IsFloating(type) && !to_half && type != Type::kF16x2 && type != Type::kBf16x2) {
    const double value = static_cast<double>(static_cast<int64_t>(bits));
    bits = WidthOf(type) == 8 ? BitsOf(value) : BitsOf(static_cast<float>(value));
  }
  return Fixed(FixedSlot::kZero, 0, bits, WidthOf(type));
}

uint32_t Decoder::SpecialSlot(const Operand& operand, int width) {
  const Special* const special = SpecialNamed(operand.name);
  if (special == nullptr) {
    FailUnimplemented("'", operand.name, "' is not supported");
    return 0;
  }
  if (width == 0) {
    if (*special == Special::kZero) return Fixed(FixedSlot::kZero, 0, 0, 0);
    if (*special == Special::kExplicitCluster) {
      return Fixed(FixedSlot::kSpecial, static_cast<int>(*special), 0, 0);
    }
    FailInvalid("'", operand.name, "' is not a predicate");
    return 0;
  }
  if (*special < kFirstChanging) {
    return Fixed(FixedSlot::kSpecial, static_cast<int>(*special), 0, width);
  }
  const bool wide = *special == Special::kClock64 || *special == Special::kTimer64;
  const uint32_t read = NewSlot(wide ? 8 : 4);
  Step& step = Emit(PerformReadSpecial);
  step.detail = static_cast<uint8_t>(*special);
  step.operands[0] = read;
  if (width == (wide ? 8 : 4)) return read;
  const uint32_t slot = NewSlot(width);
  EmitCompute(FindResize(width, wide ? 8 : 4, false), {slot, read});
  return slot;
}

uint32_t Decoder::AddressAsValue(const Operand& operand) {
  for (const AddressedParameter& addressed : code_.addressed) {
    if (operand.kind != Operand::kParameter) break;
    if (addressed.parameter != static_cast<size_t>(operand.index)) continue;
    return Fixed(FixedSlot::kLocal, 0, addressed.local + operand.bits, 8);
  }
  Space space = Space::kGeneric;
  return AddressOf(operand, &space);
}

uint32_t Decoder::AddressOf(const Operand& operand, Space* space) {
  const size_t index = static_cast<size_t>(operand.index);
  if (operand.kind == Operand::kFunction) {
    code_.callees.push_back(operand.index);
    functions_[index].address_taken = true;
    *space = Space::kGeneric;
    return Fixed(FixedSlot::kZero, 0, AddressOfFunction(operand.index), 8);
  }
  if (operand.kind == Operand::kParameter || operand.kind == Operand::kResult) {
    const std::vector<Passed>& all =
        operand.kind == Operand::kParameter ? code_.parameters : code_.results;
    *space = Space::kParam;
    return Fixed(FixedSlot::kZero, 0, all[index].at + operand.bits, 8);
  }
  const bool local = operand.kind == Operand::kLocalVariable;
  if (!local && operand.kind != Operand::kVariable) {
    FailInvalid("'", operand.name, "' has no address");
    return 0;
  }
  const std::vector<Variable>& variables = local ? function_.variables : module_.variables;
  const Placement::Place& place = local
                                      ? placement_.of_functions[static_cast<size_t>(index_)][index]
                                      : placement_.of_module[index];
  const Variable& variable = variables[index];
  *space = variable.space;
  switch (variable.space) {
    case Space::kShared:
      code_.shared.push_back(place.shared);
      return Fixed(FixedSlot::kShared, place.shared, operand.bits, 8);
    case Space::kLocal:
      return Fixed(FixedSlot::kLocal, 0, place.offset + operand.bits, 8);
    case Space::kParam:
      return Fixed(FixedSlot::kZero, 0, place.offset + operand.bits, 8);
    case Space::kGlobal:
    case Space::kConst:
      if (variable.external) {
        FailUnimplemented("'", operand.name, "' is defined in another module");
      }
      if (place.managed >= 0) return Fixed(FixedSlot::kManaged, place.managed, operand.bits, 8);
      return Fixed(FixedSlot::kImage, 0, place.offset + operand.bits, 8);
    case Space::kGeneric:
      break;
  }
  FailInvalid("'", operand.name, "' lies in no space");
  return 0;
}

}  // namespace twinmmu::ptx

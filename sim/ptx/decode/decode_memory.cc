// Instructions that access memory.

#include "absl/types/span.h"
#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

constexpr uint32_t kWidest = 32;  // bytes of a vector

using coherence::Scope;
using coherence::Semantics;

Semantics SemanticsOf(Order order) {
  switch (order) {
    case Order::kWeak:
      return Semantics::kWeak;
    case Order::kRelaxed:
      return Semantics::kRelaxed;
    case Order::kAcquire:
      return Semantics::kAcquire;
    case Order::kRelease:
      return Semantics::kRelease;
    case Order::kAcquireRelease:
    case Order::kSequential:
      break;
  }
  return Semantics::kAcquireRelease;
}

}  // namespace

Space Decoder::TakeSpace() {
  if (Take("global")) return Space::kGlobal;
  if (TakeOneOf({"shared", "shared::cta", "shared::cluster"}) >= 0) return Space::kShared;
  if (Take("local")) return Space::kLocal;
  if (Take("const")) return Space::kConst;
  if (TakeOneOf({"param", "param::entry", "param::func"}) >= 0) return Space::kParam;
  return Space::kGeneric;
}

void Decoder::TakeSpace(MemoryAccess* access) {
  access->own_block = Has("shared") || Has("shared::cta");
  access->space = TakeSpace();
}

// What says how caches are used, and changes no result. How many operands may come with it: the
// policy of L2::cache_hint.
size_t Decoder::TakeCacheHints() {
  const size_t policies = Has("L2::cache_hint") ? 1 : 0;
  while (TakeOneOf({"ca",
                    "cg",
                    "cs",
                    "lu",
                    "cv",
                    "wb",
                    "wt",
                    "nc",
                    "L1::evict_normal",
                    "L1::evict_unchanged",
                    "L1::evict_first",
                    "L1::evict_last",
                    "L1::no_allocate",
                    "L2::evict_normal",
                    "L2::evict_first",
                    "L2::evict_last",
                    "L2::cache_hint",
                    "L2::64B",
                    "L2::128B",
                    "L2::256B",
                    "unified"}) >= 0) {
  }
  return policies;
}

Scope Decoder::TakeScope(Scope unsaid) {
  constexpr Scope kScopes[] = {Scope::kCta, Scope::kCluster, Scope::kGpu, Scope::kGpu, Scope::kSys};
  const int scope = TakeOneOf({"cta", "cluster", "gpu", "gl", "sys"});
  return scope < 0 ? unsaid : kScopes[scope];
}

void Decoder::TakeOrder(Order unsaid, Scope unsaid_scope, MemoryAccess* access) {
  // Accesses to these are like relaxed ones of the whole system.
  const bool volatile_access = Take("volatile");
  const bool device_access = Take("mmio");
  const Scope scope = TakeScope(unsaid_scope);
  Order order = unsaid;
  if (volatile_access || device_access) order = Order::kRelaxed;
  if (Take("weak")) order = Order::kWeak;
  if (Take("relaxed")) order = Order::kRelaxed;
  if (Take("acquire")) order = Order::kAcquire;
  if (Take("release")) order = Order::kRelease;
  if (Take("acq_rel")) order = Order::kAcquireRelease;
  if (Take("sc")) order = Order::kSequential;
  access->order = order;
  access->strength.semantics = SemanticsOf(order);
  access->strength.scope = volatile_access || device_access ? Scope::kSys : scope;
}

uint32_t Decoder::Address(const Operand& operand, Space space, Step* step) {
  step->memory.space = space;
  if (operand.kind != Operand::kAddress || operand.parts.size() != 1) {
    FailInvalid("an address [a] is missing");
    return 0;
  }
  const Operand& base = operand.parts[0];
  step->memory.offset = operand.bits;
  if (base.kind == Operand::kRegister) {
    const int width = WidthOf(TypeOfRegister(base.index));
    if (width != 4 && width != 8) FailInvalid("'", base.name, "' is not an address");
    step->memory.wide = width == 8;
    return RegisterSlot(base.index);
  }
  if (base.kind == Operand::kInteger) {
    return Fixed(FixedSlot::kZero, 0, base.bits, 8);
  }
  Space of_variable = Space::kGeneric;
  const uint32_t slot = AddressOf(base, &of_variable);
  if (space != Space::kGeneric && of_variable != space) {
    FailInvalid("'", base.name, "' lies in another space");
  }
  step->memory.space = of_variable;
  return slot;
}

void Decoder::TakeSize(Type type, int count, MemoryAccess* access) {
  access->bytes = static_cast<uint8_t>(BytesOf(type));
  access->count = static_cast<uint8_t>(count);
  if (access->size() > kMaxAccess) {
    FailUnimplemented("vectors of more than ", kMaxAccess, " bytes are not supported");
  }
}

void Decoder::Load() { LoadOrStore(/*stores=*/false); }
void Decoder::Store() {
  if (Take("async")) return StoreAsync(/*reduces=*/false);
  LoadOrStore(/*stores=*/true);
}

void Decoder::LoadOrStore(bool stores) {
  CheckAccess();
  if (!status_.ok()) return;
  if (IsWide()) return LoadOrStoreWide(stores);
  const Type type = TakeType();
  if (type == Type::kF16 || type == Type::kF16x2 || type == Type::kBf16 || type == Type::kBf16x2) {
    return FailInvalid("halves are moved as .b16 and .b32");
  }
  Step step;
  TakeOrder(Order::kWeak, Scope::kSys, &step.memory);
  // It asks for what is there now, but is a weak access all the same.
  if (!stores && Take("cv") && step.memory.order == Order::kWeak) {
    step.memory.order = Order::kRelaxed;
  }
  TakeSpace(&step.memory);
  const Space space = step.memory.space;
  const size_t policies = TakeCacheHints();
  const int count = Take("v2") ? 2 : Take("v4") ? 4 : Take("v8") ? 8 : 1;
  ExpectOperands(2, 2 + policies);
  if (!status_.ok()) return;
  const Operand& elements = At(stores ? 1 : 0);
  const bool vector = elements.kind == Operand::kVector;
  if (vector != (count > 1) || (vector && static_cast<int>(elements.parts.size()) != count)) {
    return FailInvalid("the ", stores ? "value" : "result", " is not a vector of ", count);
  }
  if (count == 8 && BytesOf(type) == 8)
    return FailInvalid("vectors of 8 are of at most 32 bits each");
  const absl::Span<const Operand> parts =
      vector ? absl::MakeConstSpan(elements.parts) : absl::MakeConstSpan(&elements, 1);
  if (stores) step.memory.access = Access::kReadWrite;
  step.operands[0] = Address(At(stores ? 0 : 1), space, &step);
  const uint64_t bytes = BytesOf(type) * static_cast<uint64_t>(count);
  if (bytes == kWidest || count == 8) return AccessHalves(step, type, parts, bytes, stores);
  EmitAccess(step, type, parts, stores);
}

// As two accesses, once it is known that what they need is there. The model has no order between
// the elements of a vector.
void Decoder::AccessHalves(Step step, Type type, absl::Span<const Operand> parts, uint64_t bytes,
                           bool stores) {
  if (bytes == kWidest) {
    if (!IsThere(88, 100)) return;
    if (step.memory.space != Space::kGlobal) return FailInvalid("such vectors are in .global");
  }
  Step check = step;
  check.perform = PerformCheck;
  check.detail = stores;
  check.memory.bytes = static_cast<uint8_t>(bytes);
  if (status_.ok()) Emit(check);
  // The first half may be loaded into the address.
  if (!stores && step.memory.wide) {
    const uint32_t address = NewSlot(8);
    EmitCompute(FindCopy(8), {address, step.operands[0]});
    step.operands[0] = address;
  }
  const size_t half = parts.size() / 2;
  EmitAccess(step, type, parts.subspan(0, half), stores);
  step.memory.offset += static_cast<int64_t>(bytes / 2);
  EmitAccess(step, type, parts.subspan(half), stores);
}

void Decoder::EmitAccess(Step step, Type type, absl::Span<const Operand> parts, bool stores) {
  TakeSize(type, static_cast<int>(parts.size()), &step.memory);
  int width = WidthOf(type);
  bool predicate = type == Type::kPred;
  for (const Operand& part : parts) {
    if (part.kind != Operand::kRegister) continue;
    width = WidthOf(TypeOfRegister(part.index));
    predicate |= width == 0;
  }
  step.perform = predicate ? nullptr : stores ? FindStore(type, width) : FindLoad(type, width);
  if (step.perform == nullptr) return FailInvalid("the register is too narrow for .", NameOf(type));
  const Type of_constant = WidthOf(type) == width ? type : BitsOfWidth(width);
  for (size_t i = 0; i < parts.size(); ++i) {
    uint32_t& slot = step.operands[1 + i];
    if (parts[i].kind == Operand::kRegister) {
      slot = RegisterSlot(parts[i].index);
      if (WidthOf(TypeOfRegister(parts[i].index)) != width) {
        FailInvalid("the registers have different widths");
      }
    } else {
      slot = stores ? Source(parts[i], of_constant) : Destination(parts[i], BitsOfWidth(width));
    }
  }
  Emit(step);
}

void Decoder::Atom() { Atomic(/*gives_old=*/true); }
void Decoder::Red() {
  if (Take("async")) return StoreAsync(/*reduces=*/true);
  Atomic(/*gives_old=*/false);
}

void Decoder::Atomic(bool gives_old) {
  CheckAtomic(gives_old);
  if (!status_.ok()) return;
  if (IsWide() && gives_old) return AtomicWide();
  const int vector = TakeOneOf({"v2", "v4", "v8"});
  if (vector >= 0) return AtomicVector(gives_old, 2 << vector);
  const Type type = TakeType();
  Step step;
  TakeOrder(Order::kRelaxed, Scope::kGpu, &step.memory);
  TakeSpace(&step.memory);
  const Space space = step.memory.space;
  const size_t policies = TakeCacheHints();
  Take("noftz");
  const absl::string_view name =
      TakeName({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  const bool two = name == "cas";
  const size_t first = gives_old ? 1 : 0;
  const size_t least = first + (two ? 3 : 2);
  ExpectOperands(least, least + policies);
  if (!status_.ok()) return;
  step.perform = FindAtomic(name, type);
  if (step.perform == nullptr) {
    return FailInvalid("there is no atomic '", name, "' of .", NameOf(type));
  }
  step.memory.bytes = static_cast<uint8_t>(BytesOf(type));
  step.memory.access = Access::kReadWrite;
  // Registers of any type of that size will do.
  const Type bits = BitsOfWidth(WidthOf(type));
  step.operands[0] = gives_old ? Destination(At(0), bits) : NewSlot(WidthOf(type));
  step.operands[1] = Address(At(first), space, &step);
  const auto value = [&](const Operand& operand) {
    return Source(operand, operand.kind == Operand::kRegister ? bits : type);
  };
  step.operands[2] = value(At(first + 1));
  step.operands[3] = two ? value(At(first + 2)) : step.operands[2];
  Emit(step);
}

void Decoder::Fence() {
  Step step;
  step.perform = PerformFence;
  FenceKind kind = FenceKind::kMemory;
  const bool proxy = Take("proxy");
  if (proxy && Take("tensormap::generic")) return FenceOfTensorMaps();
  ExpectOperands(0, 0);
  // The fence of mbarrier.init, and those by which a bulk copy in one direction is ordered, say
  // nothing that is not done anyway.
  if (Take("mbarrier_init") || Take("async::generic")) {
    while (TakeOneOf({"acquire", "release", "cluster", "cta", "sync_restrict::shared::cluster",
                      "sync_restrict::shared::cta"}) >= 0) {
    }
    Emit(PerformNothing);
    return;
  }
  const int which = TakeOneOf({"alias", "async", "generic"});
  if (proxy) {
    kind = which == 0 ? FenceKind::kAlias : which == 1 ? FenceKind::kAsync : FenceKind::kOtherProxy;
  }
  constexpr Order kOrders[] = {Order::kSequential, Order::kAcquireRelease, Order::kAcquire,
                               Order::kRelease};
  const int said = TakeOneOf({"sc", "acq_rel", "acquire", "release"});
  if (instruction_->opcode == "fence" && !proxy && !HasScope()) {
    return FailInvalid("the scope is missing");
  }
  // membar is fence.sc.
  const int unsaid = instruction_->opcode == "membar" ? 0 : 1;
  step.memory.order = kOrders[said < 0 ? unsaid : said];
  const bool whole_system = kind == FenceKind::kAlias && Take("sys");
  step.memory.strength = {SemanticsOf(step.memory.order), TakeScope(Scope::kSys)};
  TakeOneOf({"global", "shared::cta", "shared::cluster"});
  TakeOneOf({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  if (kind == FenceKind::kAlias && (module_.version < 75 || module_.target < 70)) {
    return FailInvalid("it is there from PTX 7.5 and sm_70 on");
  }
  if (kind == FenceKind::kAlias && (said >= 0 || whole_system)) {
    const bool acquires = step.memory.order == Order::kAcquire;
    if ((!acquires && step.memory.order != Order::kRelease) || said < 0 || !whole_system) {
      return FailInvalid("the forms are fence.proxy.alias and .acquire.sys and .release.sys of it");
    }
    if (module_.version < 94 || module_.target < 90) {
      return FailInvalid("this half of it is there from PTX 9.4 and sm_90 on");
    }
    kind = acquires ? FenceKind::kAliasAcquire : FenceKind::kAliasRelease;
  }
  step.detail = static_cast<uint8_t>(kind);
  Emit(step);
}

// What may be done without: nothing is seen of it.
void Decoder::Ignored() {
  modifiers_.clear();
  Emit(PerformNothing);
}

// It changes how 128 bytes are cached, and they must be there.
void Decoder::ApplyPriority() { CheckLine(Access::kRead); }

// Its 128 bytes must be there to be written.
void Decoder::Discard() {
  Take("L2");
  CheckLine(Access::kReadWrite);
}

void Decoder::CheckLine(Access access) {
  const Space space = TakeSpace();
  TakeCacheHints();
  ExpectOperands(2, 2);
  Step step;
  step.memory.bytes = 128;
  step.memory.access = access;
  step.perform = PerformCheck;
  step.operands[0] = Address(At(0), space, &step);
  Emit(step);
}

}  // namespace twinmmu::ptx

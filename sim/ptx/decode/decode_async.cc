// Asynchronous copies, and the mbarriers and groups by which they complete.

#include <algorithm>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

constexpr absl::string_view kOnBytes = "mbarrier::complete_tx::bytes";

}  // namespace

bool Decoder::IsThere(int version, int target) {
  if (module_.version >= version && module_.target >= target) return true;
  FailInvalid("it is there from PTX ", version / 10, ".", version % 10, " and sm_", target, " on");
  return false;
}

// [a + 4] in a slot of 64 bits.
uint32_t Decoder::WholeAddress(const Operand& operand, Space space) {
  Step step;
  uint32_t slot = Address(operand, space, &step);
  if (!status_.ok()) return 0;
  if (!step.memory.wide) {
    const uint32_t wide = NewSlot(8);
    EmitCompute(FindResize(8, 4, false), {wide, slot});
    slot = wide;
  }
  // A variable that is named is an address in its space.
  if (space == Space::kGeneric) {
    if (step.memory.space == Space::kShared) step.memory.offset += kSharedWindow;
    if (step.memory.space == Space::kParam) step.memory.offset += kParamWindow;
  }
  if (step.memory.offset == 0) return slot;
  const uint32_t sum = NewSlot(8);
  EmitCompute(FindAddressAdd(), {sum, slot, Fixed(FixedSlot::kZero, 0, step.memory.offset, 8)});
  return sum;
}

uint32_t Decoder::SmallConstant(const Operand& operand) {
  if (operand.kind == Operand::kInteger && operand.bits <= 0xffffffff) {
    return static_cast<uint32_t>(operand.bits);
  }
  FailInvalid("a constant is missing");
  return 0;
}

// --- mbarrier ------------------------------------------------------------------------------------

// .shared, .shared::cta, .shared::cluster, or nothing: a generic address.
Space Decoder::TakeSharedSpace() {
  return TakeOneOf({"shared", "shared::cta", "shared::cluster"}) >= 0 ? Space::kShared
                                                                      : Space::kGeneric;
}

void Decoder::MbarrierOrder(Order unsaid, Step* step) {
  TakeScope(coherence::Scope::kCta);
  step->memory.order = unsaid;
  if (Take("relaxed")) {
    step->memory.order = Order::kRelaxed;
  } else {
    TakeOneOf({"release", "acquire"});
  }
}

void Decoder::Mbarrier() {
  if (!IsThere(70, 80)) return;
  const absl::string_view form =
      TakeName({"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait",
                "try_wait", "pending_count"});
  Take("b64");
  if (form.empty()) return FailInvalid("there is no such operation of mbarriers");
  CheckMbarrier(form);
  if (!status_.ok()) return;
  const bool tries = form == "try_wait";
  if (form == "init" || form == "inval") return MbarrierInit(form == "init");
  if (form == "arrive" || form == "arrive_drop") return MbarrierArrive(form == "arrive_drop");
  if (form == "expect_tx" || form == "complete_tx") return MbarrierBytes(form == "expect_tx");
  if (tries || form == "test_wait") return MbarrierWait(tries);
  ExpectOperands(2, 2);
  const uint32_t to = Destination(At(0), Type::kB32);
  const uint32_t state = Source(At(1), Type::kB64);
  Step& step = Emit(PerformPendingCount);
  step.operands[0] = to;
  step.operands[1] = state;
}

void Decoder::MbarrierInit(bool init) {
  Step step;
  step.perform = PerformMbarrier;
  step.operands.fill(kNoSlot);
  step.detail = static_cast<uint8_t>(init ? MbarrierKind::kInit : MbarrierKind::kInvalidate);
  step.memory.space = TakeSharedSpace();
  ExpectOperands(init ? 2 : 1, init ? 2 : 1);
  if (!status_.ok()) return;
  step.operands[1] = WholeAddress(At(0), step.memory.space);
  if (init) step.operands[2] = Source(At(1), Type::kB32);
  Emit(step);
}

// arrive state, [a]{, count}; arrive.expect_tx state, [a], bytes; arrive.noComplete state, [a],
// count.
void Decoder::MbarrierArrive(bool drops) {
  Step step;
  step.perform = PerformMbarrier;
  step.operands.fill(kNoSlot);
  step.detail = static_cast<uint8_t>(MbarrierKind::kArrive);
  const bool expects = Take("expect_tx");
  const bool incomplete = Take("noComplete");
  if (expects && !IsThere(80, 90)) return;
  if (drops) step.detail |= kDrops;
  if (incomplete) step.detail |= kNoComplete;
  MbarrierOrder(Order::kRelease, &step);
  const bool of_cluster = !modifiers_.empty() && modifiers_.back() == "shared::cluster";
  step.memory.space = TakeSharedSpace();
  const bool counted = expects || incomplete;
  ExpectOperands(counted ? 3 : 2, 3);
  if (!status_.ok()) return;
  const bool sink = At(0).kind == Operand::kDiscard;
  if (of_cluster && !sink) return FailInvalid("an mbarrier of the cluster gives no state");
  if (!sink) step.operands[0] = Destination(At(0), Type::kB64);
  step.operands[1] = WholeAddress(At(1), step.memory.space);
  if (instruction_->operands.size() == 3) {
    step.operands[expects ? 3 : 2] = Source(At(2), Type::kB32);
  }
  Emit(step);
}

void Decoder::MbarrierBytes(bool expects) {
  if (!IsThere(80, 90)) return;
  Step step;
  step.perform = PerformMbarrier;
  step.operands.fill(kNoSlot);
  step.detail = static_cast<uint8_t>(expects ? MbarrierKind::kExpect : MbarrierKind::kComplete);
  MbarrierOrder(Order::kRelaxed, &step);
  step.memory.space = TakeSharedSpace();
  ExpectOperands(2, 2);
  if (!status_.ok()) return;
  step.operands[1] = WholeAddress(At(0), step.memory.space);
  step.operands[3] = Source(At(1), Type::kB32);
  Emit(step);
}

void Decoder::MbarrierWait(bool tries) {
  if (tries && !IsThere(78, 90)) return;
  Step step;
  step.perform = PerformMbarrierWait;
  const bool parity = Take("parity");
  step.detail = parity;
  MbarrierOrder(Order::kAcquire, &step);
  step.memory.space = TakeSharedSpace();
  // The last one is how long try_wait may take.
  ExpectOperands(3, tries ? 4 : 3);
  if (!status_.ok()) return;
  step.operands[0] = Destination(At(0), Type::kPred);
  step.operands[1] = WholeAddress(At(1), step.memory.space);
  if (parity && At(2).kind == Operand::kInteger && At(2).bits > 1) {
    return FailInvalid("a parity is 0 or 1");
  }
  step.operands[2] = Source(At(2), parity ? Type::kB32 : Type::kB64);
  if (instruction_->operands.size() == 4) Source(At(3), Type::kB32);
  Emit(step);
}

// --- cp ------------------------------------------------------------------------------------------

void Decoder::CopyInstruction() {
  const bool reduces = Take("reduce");
  if (!Take("async")) return FailInvalid("async is missing");
  if (!IsThere(70, 80)) return;
  const bool bulk = Take("bulk");
  if (bulk && !IsThere(80, 90)) return;
  if (Take("commit_group")) return CopyGroups(bulk, /*waits=*/false);
  if (Take("wait_group") || Take("wait_all")) return CopyGroups(bulk, /*waits=*/true);
  if (bulk && Take("prefetch")) return Take("tensor") ? TensorPrefetch() : BulkPrefetch();
  if (bulk && Take("tensor")) return TensorCopy(reduces);
  if (bulk) return BulkCopy(reduces);
  if (Take("mbarrier")) return ArriveAfterCopies();
  CopyAsync();
}

void Decoder::CopyGroups(bool bulk, bool waits) {
  const auto& named = instruction_->modifiers;
  const bool all = std::find(named.begin(), named.end(), "wait_all") != named.end();
  ExpectOperands(waits && !all ? 1 : 0, waits && !all ? 1 : 0);
  Step step;
  step.detail = bulk ? kOfBulkCopies : 0;
  step.perform = PerformCommitCopies;
  if (!waits || all) Emit(step);
  if (!waits) return;
  step.perform = PerformWaitForCopies;
  if (bulk && Take("read")) step.detail |= kOnlyRead;
  if (!all) step.target = SmallConstant(At(0));
  Emit(step);
}

// cp.async.ca.shared.global [to], [from], 4, 8 or 16{, bytes to read, or !ignores}{, policy};
void Decoder::CopyAsync() {
  const bool of_all_levels = Take("ca");
  const bool of_level_2 = Take("cg");
  const size_t policies = TakeCacheHints();
  if (TakeOneOf({"shared", "shared::cta"}) < 0 || !Take("global")) {
    return FailInvalid("it copies from global to shared memory");
  }
  ExpectOperands(3 + policies, 4 + policies);
  if (!status_.ok()) return;
  const uint32_t size = SmallConstant(At(2));
  const bool fits = size == 16 || (of_all_levels && (size == 4 || size == 8));
  if (!fits || of_all_levels == of_level_2) {
    return FailInvalid("cp.async.ca copies 4, 8 or 16 bytes, cp.async.cg 16");
  }
  Step step;
  step.perform = PerformCopyAsync;
  step.operands.fill(kNoSlot);
  step.operands[0] = WholeAddress(At(0), Space::kShared);
  step.operands[1] = WholeAddress(At(1), Space::kGlobal);
  step.memory.space = Space::kGlobal;
  step.memory.bytes = static_cast<uint8_t>(size);
  const size_t rest = instruction_->operands.size() - policies;
  if (rest == 4) CopySourceAt(3, size, &step);
  if (policies != 0) Source(At(rest), Type::kB64);
  Emit(step);
}

void Decoder::CopySourceAt(size_t index, uint32_t size, Step* step) {
  const Operand& operand = At(index);
  const bool ignores =
      operand.kind == Operand::kRegister && TypeOfRegister(operand.index) == Type::kPred;
  step->detail = static_cast<uint8_t>(ignores ? CopySource::kIgnored : CopySource::kSized);
  step->operands[2] = Source(operand, ignores ? Type::kPred : Type::kB32);
  if (operand.kind == Operand::kInteger && operand.bits > size) {
    FailInvalid("it reads ", operand.bits, " of ", size, " bytes");
  }
}

void Decoder::ArriveAfterCopies() {
  Step step;
  step.perform = PerformArriveAfterCopies;
  if (!Take("arrive")) return FailInvalid("arrive is missing");
  step.detail = Take("noinc") ? 0 : 1;
  Take("b64");
  step.memory.space = TakeSharedSpace();
  ExpectOperands(1, 1);
  if (!status_.ok()) return;
  step.operands[1] = WholeAddress(At(0), step.memory.space);
  Emit(step);
}

// The target, the source, and how it completes: an mbarrier of the target, or the thread's group.
void Decoder::BulkCopy(bool reduces) {
  const std::vector<std::string>& words = instruction_->modifiers;
  const auto space = [&](size_t index) -> absl::string_view {
    const size_t at = index + (reduces ? 3 : 2);
    return at < words.size() ? absl::string_view(words[at]) : "";
  };
  const absl::string_view to = space(0);
  const absl::string_view from = space(1);
  Take(to);
  Take(from);
  Step step;
  step.operands.fill(kNoSlot);
  const bool to_cluster = to == "shared::cluster" || (to == "shared::cta" && !reduces);
  if (to_cluster && (from == "global" || from == "shared::cta")) step.detail |= kToShared;
  if (from == "shared::cta") step.detail |= kFromShared;
  const bool by_mbarrier = Take(kOnBytes);
  const bool to_shared = (step.detail & kToShared) != 0;
  const bool right = to_shared ? by_mbarrier && !(reduces && from == "global")
                               : to == "global" && from == "shared::cta" && Take("bulk_group");
  if (!right) return FailInvalid("there is no bulk copy of this form");
  const bool multicast = Take("multicast::cluster");
  if (multicast && (to != "shared::cluster" || from != "global")) {
    return FailInvalid("only copies from global memory go to several blocks");
  }
  const bool hint = Take("L2::cache_hint");
  const size_t count = 3u + by_mbarrier + multicast + hint;
  step.perform = PerformBulkCopy;
  if (reduces) BulkReduction(to_shared, &step);
  if (!modifiers_.empty()) return;
  ExpectOperands(count, count);
  if (!status_.ok()) return;
  step.operands[0] = WholeAddress(At(0), to_shared ? Space::kShared : Space::kGlobal);
  step.operands[1] = WholeAddress(At(1), from == "global" ? Space::kGlobal : Space::kShared);
  step.operands[2] = Source(At(2), Type::kB32);
  if (At(2).kind == Operand::kInteger && At(2).bits % 16 != 0) {
    return FailInvalid("a bulk copy has a multiple of 16 bytes, not ", At(2).bits);
  }
  if (by_mbarrier) step.operands[3] = WholeAddress(At(3), Space::kShared);
  if (multicast) step.operands[4] = Source(At(4), Type::kB16);
  if (hint) Source(At(count - 1), Type::kB64);
  code_.bulk_copies = true;
  Emit(step);
}

void Decoder::BulkReduction(bool to_shared, Step* step) {
  const Type type = TakeType();
  const bool noftz = Take("noftz");
  const absl::string_view name = TakeName({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  const bool half = type == Type::kF16 || type == Type::kBf16;
  step->perform = to_shared && IsFloating(type) ? nullptr : FindBulkReduction(name, type);
  if (step->perform == nullptr || (noftz != (half && name == "add"))) {
    FailInvalid("there is no bulk '", name, "' of .", NameOf(type));
  }
}

void Decoder::BulkPrefetch() {
  if (!Take("L2") || !Take("global")) return FailInvalid("L2.global is missing");
  const bool hint = Take("L2::cache_hint");
  ExpectOperands(hint ? 3 : 2, hint ? 3 : 2);
  if (!status_.ok()) return;
  Step step;
  step.perform = PerformBulkPrefetch;
  step.operands[0] = WholeAddress(At(0), Space::kGlobal);
  step.operands[1] = Source(At(1), Type::kB32);
  Emit(step);
}

// st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [a], {b, c}, [mbarrier];
// red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [a], b,
// [mbarrier];
void Decoder::StoreAsync(bool reduces) {
  if (!IsThere(81, 90)) return;
  const Type type = TakeType();
  Step step;
  TakeOneOf({"weak", "relaxed"});
  Take("cluster");
  step.memory.space = TakeSharedSpace();
  if (!Take(kOnBytes)) return FailUnimplemented("it completes in another way than by an mbarrier");
  const int count = Take("v2") ? 2 : Take("v4") ? 4 : 1;
  step.perform = PerformStoreAsync;
  if (reduces) {
    step.perform =
        FindReductionAsync(TakeName({"add", "min", "max", "inc", "dec", "and", "or", "xor"}), type);
  }
  if (step.perform == nullptr || BytesOf(type) < 4 || (reduces && count > 1)) {
    return FailInvalid("there is no such form of .", NameOf(type));
  }
  ExpectOperands(3, 3);
  if (!status_.ok()) return;
  TakeSize(type, count, &step.memory);
  step.memory.access = Access::kReadWrite;
  const Operand& value = At(1);
  const bool vector = value.kind == Operand::kVector;
  if (vector != (count > 1) || (vector && static_cast<int>(value.parts.size()) != count)) {
    return FailInvalid("the value is not a vector of ", count);
  }
  step.operands[0] = WholeAddress(At(0), step.memory.space);
  step.operands[1] = WholeAddress(At(2), step.memory.space);
  const Type bits = BitsOfWidth(WidthOf(type));
  for (int i = 0; i < count; ++i) {
    const Operand& part = vector ? value.parts[static_cast<size_t>(i)] : value;
    step.operands[2 + static_cast<size_t>(i)] =
        Source(part, part.kind == Operand::kRegister ? bits : type);
  }
  Emit(step);
}

}  // namespace twinmmu::ptx

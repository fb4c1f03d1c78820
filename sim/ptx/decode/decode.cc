#include "sim/ptx/decode/decode.h"

#include <algorithm>

#include "absl/container/btree_map.h"
#include "absl/strings/str_join.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

// Of the register memory of one frame: 32768 registers of 64 bits.
constexpr uint32_t kMaxRegisterBytes = uint32_t{8} << 20;

}  // namespace

int WidthOf(Type type) {
  if (type == Type::kPred) return 0;
  return static_cast<int>(std::max<uint64_t>(BytesOf(type), 2));
}

Type BitsOfWidth(int width) {
  return width == 2 ? Type::kB16 : width == 4 ? Type::kB32 : width == 8 ? Type::kB64 : Type::kB128;
}

Decoder::Decoder(const Module& module, int function, const Placement& placement, bool fuses,
                 std::vector<FunctionCode>* functions)
    : module_(module),
      index_(function),
      function_(module.functions[static_cast<size_t>(function)]),
      placement_(placement),
      functions_(*functions),
      code_((*functions)[static_cast<size_t>(function)]),
      register_slots_(function_.registers.size(), kNoSlot),
      fusions_(fuses ? FindFusions(function_) : std::vector<Fusion>()) {}

Decoder::Method Decoder::FindMethod(absl::string_view opcode) {
  static const auto* const kMethods = new absl::btree_map<absl::string_view, Method>({
      {"mov", &Decoder::Mov},
      {"cvta", &Decoder::Cvta},
      {"isspacep", &Decoder::IsSpace},
      {"ld", &Decoder::Load},
      {"ldu", &Decoder::Load},
      {"st", &Decoder::Store},
      {"atom", &Decoder::Atom},
      {"red", &Decoder::Red},
      {"multimem", &Decoder::Multimem},
      {"membar", &Decoder::Fence},
      {"fence", &Decoder::Fence},
      {"prefetch", &Decoder::Ignored},
      {"prefetchu", &Decoder::Ignored},
      {"applypriority", &Decoder::ApplyPriority},
      {"pmevent", &Decoder::Ignored},
      {"griddepcontrol", &Decoder::GridControl},
      {"discard", &Decoder::Discard},
      {"bra", &Decoder::Bra},
      {"brx", &Decoder::BranchIndexed},
      {"call", &Decoder::Call},
      {"ret", &Decoder::Ret},
      {"exit", &Decoder::Exit},
      {"trap", &Decoder::Trap},
      {"brkpt", &Decoder::Trap},
      {"nanosleep", &Decoder::Sleep},
      {"bar", &Decoder::Bar},
      {"barrier", &Decoder::Bar},
      {"shfl", &Decoder::Shuffle},
      {"vote", &Decoder::Vote},
      {"match", &Decoder::Match},
      {"redux", &Decoder::Redux},
      {"activemask", &Decoder::ActiveMask},
      {"elect", &Decoder::Elect},
      {"mbarrier", &Decoder::Mbarrier},
      {"mapa", &Decoder::Mapa},
      {"getctarank", &Decoder::GetRank},
      {"cp", &Decoder::CopyInstruction},
      {"tensormap", &Decoder::TensorMapInstruction},
      {"mma", &Decoder::Mma},
      {"ldmatrix", &Decoder::LoadMatrix},
      {"stmatrix", &Decoder::StoreMatrix},
      {"movmatrix", &Decoder::MoveMatrix},
      {"wmma", &Decoder::Wmma},
      {"wgmma", &Decoder::Warpgroup},
      {"alloca", &Decoder::TakeStack},
      {"stacksave", &Decoder::SaveStack},
      {"stackrestore", &Decoder::RestoreStack},
      {"setmaxnreg", &Decoder::SetMaxRegisters},
      {"createpolicy", &Decoder::CreatePolicy},
      {"vadd", &Decoder::Video},
      {"vsub", &Decoder::Video},
      {"vabsdiff", &Decoder::Video},
      {"vmin", &Decoder::Video},
      {"vmax", &Decoder::Video},
      {"vshl", &Decoder::Video},
      {"vshr", &Decoder::Video},
      {"vmad", &Decoder::Video},
      {"vset", &Decoder::Video},
      {"vadd2", &Decoder::Video},
      {"vadd4", &Decoder::Video},
      {"vsub2", &Decoder::Video},
      {"vsub4", &Decoder::Video},
      {"vavrg2", &Decoder::Video},
      {"vavrg4", &Decoder::Video},
      {"vabsdiff2", &Decoder::Video},
      {"vabsdiff4", &Decoder::Video},
      {"vmin2", &Decoder::Video},
      {"vmin4", &Decoder::Video},
      {"vmax2", &Decoder::Video},
      {"vmax4", &Decoder::Video},
      {"vset2", &Decoder::Video},
      {"vset4", &Decoder::Video},
      {"tex", &Decoder::TextureRead},
      {"tld4", &Decoder::TextureGather},
      {"txq", &Decoder::AskTexture},
      {"suq", &Decoder::AskTexture},
      {"istypep", &Decoder::IsTextureType},
      {"suld", &Decoder::SurfaceLoad},
      {"sust", &Decoder::SurfaceStore},
      {"sured", &Decoder::SurfaceReduction},
  });
  const auto found = kMethods->find(opcode);
  return found == kMethods->end() ? &Decoder::Computation : found->second;
}

absl::Status Decoder::Decode() {
  code_.steps.reserve(function_.body.size() + 1);
  for (const Instruction& instruction : function_.body) {
    instruction_ = &instruction;
    number_ = static_cast<int>(first_steps_.size());
    first_steps_.push_back(static_cast<uint32_t>(code_.steps.size()));
    if (fusions_.empty()) {
      DecodeOne();
    } else {
      DecodeFused(fusions_[static_cast<size_t>(number_)]);
    }
    if (absl::IsUnimplemented(status_)) status_ = absl::OkStatus();
    if (!status_.ok()) return status_;
  }
  number_ = static_cast<int>(first_steps_.size());
  first_steps_.push_back(static_cast<uint32_t>(code_.steps.size()));
  const Instruction end;
  instruction_ = &end;
  Emit(PerformReturn);
  for (Step& step : code_.steps) {
    if (step.branches) step.target = first_steps_[step.target];
  }
  for (std::vector<uint32_t>& targets : code_.target_lists) {
    for (uint32_t& target : targets) target = first_steps_[target];
  }
  return absl::OkStatus();
}

void Decoder::DecodeOne() {
  modifiers_.assign(instruction_->modifiers.begin(), instruction_->modifiers.end());
  if (instruction_->guard >= 0 && TypeOfRegister(instruction_->guard) != Type::kPred) {
    return FailInvalid("the guard is not a predicate");
  }
  const Method method = FindMethod(instruction_->opcode);
  (this->*method)();
  if (method != &Decoder::Computation && !modifiers_.empty()) {
    FailUnimplemented("'.", modifiers_.front(), "' is not supported here");
  }
}

void Decoder::Note(absl::StatusCode code, absl::string_view words) {
  if (!status_.ok()) return;
  std::string text = instruction_->opcode;
  for (const std::string& modifier : instruction_->modifiers) absl::StrAppend(&text, ".", modifier);
  const Refusal refusal{function_.name, instruction_->position.line, text, std::string(words)};
  status_ = absl::Status(code, InWords(refusal));
  if (code == absl::StatusCode::kUnimplemented) code_.refusals.push_back(refusal);
}

// --- Modifiers -----------------------------------------------------------------------------------

bool Decoder::Take(absl::string_view modifier) {
  const auto found = std::find(modifiers_.begin(), modifiers_.end(), modifier);
  if (found == modifiers_.end()) return false;
  modifiers_.erase(found);
  return true;
}

bool Decoder::Has(absl::string_view modifier) const {
  return std::find(modifiers_.begin(), modifiers_.end(), modifier) != modifiers_.end();
}

int Decoder::TakeOneOf(std::initializer_list<absl::string_view> names) {
  int index = 0;
  for (const absl::string_view name : names) {
    if (Take(name)) return index;
    ++index;
  }
  return -1;
}

absl::string_view Decoder::TakeName(std::initializer_list<absl::string_view> names) {
  const int index = TakeOneOf(names);
  return index < 0 ? "" : names.begin()[index];
}

// The last one.
Type Decoder::TakeType() {
  const std::optional<Type> type = modifiers_.empty() ? std::nullopt : TypeNamed(modifiers_.back());
  if (!type.has_value()) {
    FailInvalid("the type is missing");
    return Type::kB32;
  }
  modifiers_.pop_back();
  if (*type == Type::kB128) FailUnimplemented("values of 128 bits are not supported");
  return *type;
}

// --- Slots ---------------------------------------------------------------------------------------

uint32_t Decoder::NewSlot(int width) {
  const uint32_t slot = code_.register_bytes;
  const uint32_t bytes = static_cast<uint32_t>(std::max(width, 2)) * kLanes;
  if (slot + bytes > kMaxRegisterBytes) {
    FailUnimplemented("the function has more registers than are supported");
    return 0;
  }
  code_.register_bytes += bytes;
  return slot;
}

uint32_t Decoder::CarrySlot() {
  if (carry_slot_ == kNoSlot) carry_slot_ = NewSlot(0);
  return carry_slot_;
}

uint32_t Decoder::ScratchSlots(int count) {
  if (count > scratch_count_) {
    scratch_slots_ = NewSlot(8);
    for (int i = 1; i < count; ++i) NewSlot(8);
    scratch_count_ = count;
  }
  return scratch_slots_;
}

Type Decoder::TypeOfRegister(int index) {
  const size_t at = static_cast<size_t>(index);
  if (index < 0 || at >= function_.registers.size()) {
    FailInvalid("there is no such register");
    return Type::kB32;
  }
  return function_.registers[at].type;
}

uint32_t Decoder::RegisterSlot(int index) {
  const int width = WidthOf(TypeOfRegister(index));
  if (!status_.ok()) return 0;
  uint32_t& slot = register_slots_[static_cast<size_t>(index)];
  if (slot == kNoSlot) slot = NewSlot(width);
  return slot;
}

uint32_t Decoder::Fixed(FixedSlot::Base base, int index, uint64_t bits, int width) {
  if (width == 0) bits = bits != 0 ? 1 : 0;
  if (width == 2) bits &= 0xffff;
  if (width == 4) bits &= 0xffffffff;
  const auto [found, is_new] = fixed_slots_.try_emplace({base, index, bits, width}, 0);
  if (!is_new) return found->second;
  FixedSlot fixed;
  fixed.base = base;
  fixed.width = static_cast<uint8_t>(width);
  fixed.index = index;
  fixed.bits = bits;
  fixed.slot = NewSlot(width);
  found->second = fixed.slot;
  code_.fixed.push_back(fixed);
  return fixed.slot;
}

// --- Steps ---------------------------------------------------------------------------------------

Step& Decoder::Emit(const Step& step) {
  code_.steps.push_back(step);
  Step& made = code_.steps.back();
  made.instruction = number_;
  if (instruction_->guard >= 0) {
    made.guard = RegisterSlot(instruction_->guard);
    made.guard_negated = instruction_->guard_negated;
  }
  return made;
}

Step& Decoder::Emit(Perform perform) {
  Step step;
  step.perform = perform;
  return Emit(step);
}

Step& Decoder::EmitCompute(Compute compute, const std::array<uint32_t, kMaxOperands>& operands) {
  Step step;
  step.compute = compute;
  step.operands = operands;
  return Emit(step);
}

}  // namespace twinmmu::ptx

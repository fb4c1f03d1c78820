#include "sim/ptx/operations/operation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

// Modifiers in any order mean the same, but for types: "add.ftz.rn.f32/3".
std::string KeyOf(absl::string_view opcode, std::vector<absl::string_view> modifiers,
                  int operand_count) {
  const auto types =
      std::stable_partition(modifiers.begin(), modifiers.end(),
                            [](absl::string_view name) { return !TypeNamed(name).has_value(); });
  std::sort(modifiers.begin(), types);
  return absl::StrCat(opcode, ".", absl::StrJoin(modifiers, "."), "/", operand_count);
}

// The unsigned integers of `operands` as bits, where bits is the type of the instruction.
void UseBits(absl::string_view form, Operation& operation) {
  const std::vector<absl::string_view> modifiers = absl::StrSplit(form, '.');
  const std::optional<Type> type = TypeNamed(modifiers.back());
  for (OperandType& operand : operation.operands) {
    if (type == Type::kB16 && operand.type == Type::kU16) operand.type = Type::kB16;
    if (type == Type::kB32 && operand.type == Type::kU32) operand.type = Type::kB32;
    if (type == Type::kB64 && operand.type == Type::kU64) operand.type = Type::kB64;
  }
}

int CountInText(const Operation& operation) {
  const auto end = operation.operands.begin() + operation.operand_count;
  return static_cast<int>(std::count_if(operation.operands.begin(), end,
                                        [](const OperandType& operand) { return !operand.carry; }));
}

class Forms {
 public:
  Forms() {
    OperationTable table;
    AddIntegerOperations(table);
    AddCarryOperations(table);
    AddBitOperations(table);
    AddFloatOperations(table);
    AddApproximateOperations(table);
    AddHalfOperations(table);
    AddComparisons(table);
    AddSelections(table);
    AddIntegerConversions(table);
    AddFloatToInteger(table);
    AddIntegerToFloat(table);
    AddFloatConversions(table);
    AddPackedConversions(table);
    forms_ = table.Take();
    for (const OperationForm& form : forms_) {
      std::vector<absl::string_view> words = absl::StrSplit(form.text, '.');
      const absl::string_view opcode = words.front();
      words.erase(words.begin());
      by_key_[KeyOf(opcode, words, CountInText(form.operation))] = &form.operation;
      opcodes_[std::string(opcode)] = true;
    }
  }

  const std::vector<OperationForm>& all() const { return forms_; }
  const Operation* Find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }
  bool Has(const std::string& opcode) const { return opcodes_.contains(opcode); }

 private:
  std::vector<OperationForm> forms_;
  absl::btree_map<std::string, const Operation*> by_key_;
  absl::btree_map<std::string, bool> opcodes_;
};

const Forms& AllForms() {
  static const Forms* const forms = new Forms;
  return *forms;
}

int CountOperands(const Instruction& instruction) {
  int count = 0;
  for (const Operand& operand : instruction.operands) {
    count += operand.kind == Operand::kPair ? static_cast<int>(operand.parts.size()) : 1;
  }
  return count;
}

// mov of a vector, a special register, an address.
bool IsPlainMove(const Instruction& instruction) {
  return std::all_of(instruction.operands.begin(), instruction.operands.end(),
                     [](const Operand& operand) {
                       return operand.kind == Operand::kRegister ||
                              operand.kind == Operand::kInteger || operand.kind == Operand::kF32 ||
                              operand.kind == Operand::kF64 || operand.kind == Operand::kDiscard;
                     });
}

// What PTX has, but for targets beyond sm_90, or in a way that is not simulated.
bool IsKnownElsewhere(const Instruction& instruction) {
  static constexpr absl::string_view kModifiers[] = {
      "rs",     "b128",   "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2",           "e4m3x4",
      "e5m2x4", "e2m1x4", "e2m3x4", "e3m2x4", "s2f6x2", "scaled::n2::ue8m0", "u8x4",
      "s8x4",
  };
  for (const std::string& modifier : instruction.modifiers) {
    if (std::find(std::begin(kModifiers), std::end(kModifiers), modifier) != std::end(kModifiers)) {
      return true;
    }
  }
  const std::vector<std::string>& modifiers = instruction.modifiers;
  // add.f32.f16: of mixed precision.
  const bool mixes =
      instruction.opcode == "add" || instruction.opcode == "sub" || instruction.opcode == "fma";
  return mixes && modifiers.size() >= 2 && modifiers[modifiers.size() - 2] == "f32";
}

}  // namespace

void OperationTable::Put(const std::string& form, Compute compute,
                         absl::Span<const OperandType> operands) {
  OperationForm& added = forms_.emplace_back();
  added.text = form;
  added.operation.compute = compute;
  added.operation.operand_count = static_cast<int>(operands.size());
  std::copy(operands.begin(), operands.end(), added.operation.operands.begin());
  UseBits(form, added.operation);
}

const std::vector<OperationForm>& OperationForms() { return AllForms().all(); }

absl::StatusOr<Operation> FindOperation(const Instruction& instruction) {
  const Forms& forms = AllForms();
  const std::string text =
      absl::StrCat(instruction.opcode, instruction.modifiers.empty() ? "" : ".",
                   absl::StrJoin(instruction.modifiers, "."));
  if (!forms.Has(instruction.opcode) ||
      (instruction.opcode == "mov" && !IsPlainMove(instruction))) {
    return absl::NotFoundError(absl::StrCat(text, " computes nothing from values alone"));
  }
  const int count = CountOperands(instruction);
  const std::vector<absl::string_view> modifiers(instruction.modifiers.begin(),
                                                 instruction.modifiers.end());
  if (const Operation* found = forms.Find(KeyOf(instruction.opcode, modifiers, count))) {
    return *found;
  }
  if (IsKnownElsewhere(instruction)) {
    return absl::UnimplementedError(absl::StrCat(text, " is not simulated"));
  }
  for (int other = 1; other <= kMaxOperands; ++other) {
    if (forms.Find(KeyOf(instruction.opcode, modifiers, other)) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(text, " has ", count, " operands; it takes ", other));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no ", text, ": check its modifiers and types"));
}

}  // namespace twinmmu::ptx

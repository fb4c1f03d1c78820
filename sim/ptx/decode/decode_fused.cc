// Products that go into sums unrounded: what fusions.h found, as steps.

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/decode/fusions.h"
#include "sim/ptx/run/moves.h"

namespace twinmmu::ptx {

// Each is decoded as it stands, too, which finds what is wrong with it.
void Decoder::DecodeFused(const Fusion& fusion) {
  if (fusion.goes_into_sums) KeepFactors(fusion);
  const size_t before = code_.steps.size();
  DecodeOne();
  if (!status_.ok()) return;
  if (fusion.left_out) code_.steps.resize(before);
  const auto factors = factors_.find(fusion.product);
  if (factors == factors_.end()) return;
  code_.steps.resize(before);
  Instruction fused = *instruction_;
  const std::string type = fused.modifiers.back();
  fused.opcode = "fma";
  fused.modifiers.insert(fused.modifiers.begin(), "rn");
  fused.operands.resize(4);
  const absl::StatusOr<Operation> operation = FindOperation(fused);
  if (!operation.ok()) return FailUnimplemented(operation.status().message());
  const Type of_values = operation->operands[0].type;
  uint32_t factor = factors->second[0];
  uint32_t addend = Source(At(fusion.addend), of_values);
  if (fusion.negates_product) factor = Negated(factor, type);
  if (fusion.negates_addend) addend = Negated(addend, type);
  const uint32_t sum = Destination(At(0), of_values);
  EmitCompute(operation->compute, {sum, factor, factors->second[1], addend});
}

// The slots of a product's factors, or copies of them where they change before they are needed.
void Decoder::KeepFactors(const Fusion& fusion) {
  const absl::StatusOr<Operation> operation = FindOperation(*instruction_);
  if (!operation.ok()) return;
  Factors found = {};
  for (size_t i = 0; i < found.size(); ++i) {
    const Type type = operation->operands[i + 1].type;
    found[i] = Source(At(i + 1), type);
    if (!fusion.keeps_factors) continue;
    const uint32_t copy = NewSlot(WidthOf(type));
    EmitCompute(FindCopy(WidthOf(type)), {copy, found[i]});
    found[i] = copy;
  }
  factors_[number_] = found;
}

uint32_t Decoder::Negated(uint32_t slot, absl::string_view type) {
  Instruction negative;
  negative.opcode = "neg";
  negative.modifiers.emplace_back(type);
  negative.operands.resize(2);
  const absl::StatusOr<Operation> operation = FindOperation(negative);
  if (!operation.ok()) {
    FailUnimplemented(operation.status().message());
    return slot;
  }
  const uint32_t to = NewSlot(WidthOf(operation->operands[0].type));
  EmitCompute(operation->compute, {to, slot});
  return to;
}

}  // namespace twinmmu::ptx

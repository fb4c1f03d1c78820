// Any text through Parse, and any file through PtxIn.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/ptx/text/fat_binary.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {
namespace {

// What the interpreter relies on: each index is of something that is there.
void Check(const Operand& operand, const Module& module, const Function& function) {
  size_t end = ~size_t{0};
  if (operand.kind == Operand::kRegister) end = function.registers.size();
  if (operand.kind == Operand::kLocalVariable) end = function.variables.size();
  if (operand.kind == Operand::kParameter) end = function.parameters.size();
  if (operand.kind == Operand::kResult) end = function.results.size();
  if (operand.kind == Operand::kVariable) end = module.variables.size();
  if (operand.kind == Operand::kFunction) end = module.functions.size();
  if (operand.kind == Operand::kLabel) end = function.body.size() + 1;
  if (operand.kind == Operand::kTargets) end = function.target_lists.size();
  const bool has_index = end != ~size_t{0};
  if (has_index && static_cast<size_t>(operand.index) >= end) std::abort();
  if (operand.kind == Operand::kAddress && operand.parts.empty()) std::abort();
  for (const Operand& part : operand.parts) Check(part, module, function);
}

void ParseAndCheck(absl::string_view text) {
  const absl::StatusOr<Module> module = Parse(text);
  if (!module.ok()) return;
  const auto inlined_calls = static_cast<int>(module->inlined_calls.size());
  for (int i = 0; i < inlined_calls; ++i) {
    const InlinedCall& call = module->inlined_calls[static_cast<size_t>(i)];
    const auto function = static_cast<size_t>(call.function);
    if (function >= module->inlined_functions.size() || call.at.inlined >= i) std::abort();
  }
  for (const Function& function : module->functions) {
    for (const Instruction& instruction : function.body) {
      if (instruction.source.inlined >= inlined_calls) std::abort();
      if (static_cast<size_t>(instruction.source.file) >= module->files.size()) std::abort();
      for (const Operand& operand : instruction.operands) Check(operand, *module, function);
    }
  }
}

}  // namespace
}  // namespace twinmmu::ptx

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  twinmmu::ptx::ParseAndCheck(text);
  const absl::StatusOr<std::string> ptx = twinmmu::ptx::PtxIn(text, 90);
  if (ptx.ok()) twinmmu::ptx::ParseAndCheck(*ptx);
  return 0;
}

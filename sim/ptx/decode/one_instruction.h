// StatusOfOne: whether a kernel of one instruction is taken, for tests. And expectations of many.

#ifndef TWINMMU_SIM_PTX_DECODE_ONE_INSTRUCTION_H_
#define TWINMMU_SIM_PTX_DECODE_ONE_INSTRUCTION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// Parses and decodes it; Unimplemented where it is not covered. It may name registers 0 to 8 of %p,
// %h, %r, %rd, %f and %fd, and label E.
inline absl::Status StatusOfOne(absl::string_view instruction, absl::string_view version = "8.1",
                                absl::string_view target = "sm_90a") {
  const auto parsed = Parse(
      absl::StrCat(".version ", version, "\n.target ", target,
                   "\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<9>; .reg .b16 %h<9>; "
                   ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n",
                   instruction, ";\nE: ret;\n}\n"));
  if (!parsed.ok()) return parsed.status();
  const auto program = MakeProgram(*parsed);
  if (!program.ok()) return program.status();
  const std::string& refusal = (*program)->FindKernel("k")->refusal;
  return refusal.empty() ? absl::OkStatus() : absl::UnimplementedError(refusal);
}

inline void ExpectTaken(const std::vector<absl::string_view>& instructions) {
  for (const absl::string_view instruction : instructions) {
    EXPECT_EQ(StatusOfOne(instruction), absl::OkStatus()) << instruction;
  }
}
inline void ExpectRefused(const std::vector<absl::string_view>& instructions,
                          absl::string_view words) {
  for (const absl::string_view instruction : instructions) {
    const absl::Status status = StatusOfOne(instruction);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << instruction;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(std::string(words)))
        << instruction;
  }
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_ONE_INSTRUCTION_H_

// Which forms there are, and how their lanes are computed.

#include "sim/ptx/operations/operation.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/operations/operation_testing.h"

namespace twinmmu::ptx {
namespace {

using testing::HasSubstr;

// An opcode that does more than compute is somebody else's.
TEST(FindOperationTest, GivesNotFoundForWhatDoesNotCompute) {
  for (const char* form : {"ld.global.u32", "bra", "bar.sync", "atom.global.add.u32", "nonsense"}) {
    EXPECT_THAT(Find(form, 2), StatusIs(absl::StatusCode::kNotFound)) << form;
  }
}

// mov of a special register is the decoder's.
TEST(FindOperationTest, GivesNotFoundForAMoveOfASpecialRegister) {
  Instruction instruction;
  instruction.opcode = "mov";
  instruction.modifiers = {"u32"};
  instruction.operands.resize(2);
  instruction.operands[0].kind = Operand::kRegister;
  instruction.operands[1].kind = Operand::kSpecialRegister;
  EXPECT_THAT(FindOperation(instruction), StatusIs(absl::StatusCode::kNotFound));
}

// What PTX has for later targets is told from what it has not.
TEST(FindOperationTest, NamesTheFormThatIsNotSimulated) {
  for (const char* form :
       {"cvt.rs.f16x2.f32", "cvt.rn.satfinite.e2m1x2.f32", "cvt.rs.bf16x2.f32"}) {
    const absl::StatusOr<Operation> found = Find(form, 3);
    EXPECT_THAT(found, StatusIs(absl::StatusCode::kUnimplemented)) << form;
    EXPECT_THAT(std::string(found.status().message()), HasSubstr(form));
  }
}

TEST(FindOperationTest, RefusesAFormThatPtxHasNot) {
  for (const char* form : {"add.b32", "mul.u32", "add.sat.u32", "cvt.f32.s32", "shl.s32", "add"}) {
    EXPECT_THAT(Find(form, 3), StatusIs(absl::StatusCode::kInvalidArgument)) << form;
  }
}

// The message says how many operands there should be.
TEST(FindOperationTest, RefusesAWrongNumberOfOperands) {
  const absl::StatusOr<Operation> found = Find("add.s32", 4);
  EXPECT_THAT(found, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("it takes 3"));
}

// The assembler takes modifiers in any order.
TEST(FindOperationTest, TakesModifiersInAnyOrder) {
  const absl::StatusOr<Operation> found = Find("fma.sat.ftz.rn.f32", 4);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->compute, Find("fma.rn.ftz.sat.f32", 4)->compute);
}

// Types are those of the text: bits stay bits, and a wide product is wide.
TEST(FindOperationTest, GivesTheTypeOfEachOperand) {
  const absl::StatusOr<Operation> wide = Find("mad.wide.s32", 4);
  ASSERT_THAT(wide, IsOk());
  EXPECT_EQ(wide->operands[0].type, Type::kS64);
  EXPECT_TRUE(wide->operands[0].written);
  EXPECT_EQ(wide->operands[1].type, Type::kS32);
  EXPECT_EQ(wide->operands[3].type, Type::kS64);
  EXPECT_EQ(Find("and.b16", 3)->operands[1].type, Type::kB16);
  EXPECT_EQ(Find("and.b32", 3)->operands[1].type, Type::kB32);
  EXPECT_EQ(Find("and.b64", 3)->operands[1].type, Type::kB64);
  EXPECT_EQ(Find("selp.f32", 4)->operands[3].type, Type::kPred);
}

// The carry flag comes behind the operands of the text.
TEST(FindOperationTest, AddsOperandsForTheCarryFlag) {
  const absl::StatusOr<Operation> addc = Find("addc.cc.u32", 3);
  ASSERT_THAT(addc, IsOk());
  ASSERT_EQ(addc->operand_count, 5);
  EXPECT_TRUE(addc->operands[3].carry && !addc->operands[3].written);
  EXPECT_TRUE(addc->operands[4].carry && addc->operands[4].written);
}

// No form is listed twice with as many operands.
TEST(OperationFormsTest, AreUnique) {
  std::set<std::string> seen;
  for (const OperationForm& form : OperationForms()) {
    EXPECT_TRUE(seen.insert(absl::StrCat(form.text, "/", form.operation.operand_count)).second)
        << form.text;
  }
}

struct alignas(64) Registers {
  std::array<uint32_t, kLanes> d, a, b;
  std::array<Lanes, 16> p;
};
constexpr std::array<uint32_t, 4> kOffsets = {offsetof(Registers, d), offsetof(Registers, a),
                                              offsetof(Registers, b), offsetof(Registers, p)};

// A lane that is not active keeps what it has.
TEST(ComputeTest, LeavesOtherLanesAlone) {
  Registers registers{};
  for (uint32_t i = 0; i < kLanes; ++i) {
    registers.d[i] = 1000;
    registers.a[i] = i;
    registers.b[i] = 2 * i;
  }
  const Lanes lanes = 0x80000006;
  Find("add.u32", 3)->compute(kOffsets.data(), reinterpret_cast<char*>(&registers), lanes);
  for (uint32_t i = 0; i < kLanes; ++i) {
    EXPECT_EQ(registers.d[i], (lanes >> i & 1) != 0 ? 3 * i : 1000) << i;
  }
}

// The same of a predicate.
TEST(ComputeTest, LeavesOtherLanesOfAPredicateAlone) {
  Registers registers{};
  registers.p[0] = 0xff00ff00;
  const std::array<uint32_t, 3> offsets = {kOffsets[3], kOffsets[1], kOffsets[2]};
  Find("setp.eq.u32", 3)->compute(offsets.data(), reinterpret_cast<char*>(&registers), 0x0000ffff);
  EXPECT_EQ(registers.p[0], 0xff00ffff);
}

// A destination that is a source too: each lane reads before it writes.
TEST(ComputeTest, MayWriteWhatItReads) {
  Registers registers{};
  for (uint32_t i = 0; i < kLanes; ++i) registers.a[i] = i;
  const std::array<uint32_t, 3> offsets = {kOffsets[1], kOffsets[1], kOffsets[1]};
  Find("add.u32", 3)->compute(offsets.data(), reinterpret_cast<char*>(&registers), kAllLanes);
  for (uint32_t i = 0; i < kLanes; ++i) EXPECT_EQ(registers.a[i], 2 * i);
}

}  // namespace
}  // namespace twinmmu::ptx

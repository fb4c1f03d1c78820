// What Parse makes of right PTX.

#include "sim/ptx/text/module.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Module ParseModule(absl::string_view text) {
  absl::StatusOr<Module> module =
      Parse(absl::StrCat(".version 8.0\n.target sm_90\n.address_size 64\n", text));
  EXPECT_THAT(module, IsOk()) << text;
  return module.ok() ? *std::move(module) : Module();
}

// A kernel of those statements; with %p1, %r0..9, %rd0..9.
Function ParseBody(absl::string_view statements) {
  Module module = ParseModule(absl::StrCat(
      ".visible .global .align 8 .b8 g[16];\n.func F(.param .b32 x);\n.entry K(.param .u64 a) {\n"
      ".reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<10>;\n",
      statements, "}"));
  return module.functions.empty() ? Function() : std::move(module.functions.back());
}

// The operands of the only instruction.
std::vector<Operand> ParseOperands(absl::string_view operands) {
  Function function = ParseBody(absl::StrCat("op ", operands, ";"));
  return function.body.empty() ? std::vector<Operand>() : std::move(function.body[0].operands);
}

Operand ParseOperand(absl::string_view operand) {
  std::vector<Operand> operands = ParseOperands(operand);
  return operands.size() == 1 ? operands[0] : Operand();
}

std::string RegisterOf(const Function& function, const Operand& operand) {
  if (operand.kind != Operand::kRegister) return absl::StrCat("kind ", operand.kind);
  return function.registers.at(static_cast<size_t>(operand.index)).name;
}

std::vector<uint64_t> BitsOf(const Variable& variable) {
  std::vector<uint64_t> bits;
  for (const Initializer& value : variable.initial) bits.push_back(value.bits);
  return bits;
}

// Version and target are numbers; an architecture's own target counts as that of all.
TEST(Header, SaysVersionAndTarget) {
  const absl::StatusOr<Module> module = Parse(".version 8.0 .target sm_90a, debug");
  ASSERT_THAT(module, IsOk());
  EXPECT_EQ(module->version, 80);
  EXPECT_EQ(module->target, 90);
}

// Files go by the number of .file, which may come after its use.
TEST(Files, AreByTheirNumber) {
  const Module module = ParseModule(".file 2 \"b.cu\", 1, 2\n.file 1 \"a.cu\"");
  EXPECT_THAT(module.files, ElementsAre("", "a.cu", "b.cu"));
}

// Sections of debug information are passed over.
TEST(Sections, AreLeftOut) {
  const Module module = ParseModule(
      ".section .debug_str { L: .b8 1, 0 .b64 .debug_abbrev .b32 L+4 }\n.global .u32 x;");
  EXPECT_EQ(module.variables.size(), 1u);
}

// Those that the CPU sees too are told apart.
TEST(Variables, AreManagedIfDeclaredSo) {
  const Module module =
      ParseModule(".global .attribute(.managed) .align 4 .u32 a = 3, b;\n.global .u32 c;");
  ASSERT_EQ(module.variables.size(), 3u);
  EXPECT_TRUE(module.variables[0].managed);
  EXPECT_TRUE(module.variables[1].managed);
  EXPECT_FALSE(module.variables[2].managed);
}

// Those that stand for textures and surfaces are told apart; kernels know their addresses.
TEST(Variables, StandForTexturesAndSurfaces) {
  const Module module = ParseModule(".global .texref a, b;\n.visible .global .surfref c;");
  ASSERT_EQ(module.variables.size(), 3u);
  EXPECT_EQ(module.variables[0].reference, Reference::kTexture);
  EXPECT_EQ(module.variables[1].reference, Reference::kTexture);
  EXPECT_EQ(module.variables[2].reference, Reference::kSurface);
  EXPECT_EQ(module.variables[2].size(), 8u);
}

// A variable has its space, type, alignment, and size.
TEST(Variables, AreAsDeclared) {
  const Module module = ParseModule(
      ".const .align 16 .v2 .f32 a[3][4], b;\n.extern .shared .b8 c[];\n.weak .global .u64 d;");
  ASSERT_EQ(module.variables.size(), 4u);
  const Variable& a = module.variables[0];
  EXPECT_EQ(a.space, Space::kConst);
  EXPECT_EQ(a.type, Type::kF32);
  EXPECT_EQ(a.vector, 2);
  EXPECT_EQ(a.alignment, 16u);
  EXPECT_EQ(a.size(), 96u);
  EXPECT_EQ(module.variables[1].size(), 8u);
  EXPECT_EQ(module.variables[2].count, 0u);
  EXPECT_TRUE(module.variables[2].external);
  EXPECT_EQ(module.variables[3].alignment, 8u);
}

// Initial values are in the width of the type; nested lists are filled up with 0.
TEST(InitialValues, AreElementByElement) {
  const Module module = ParseModule(
      ".global .u8 a[3] = {1, -1, 300};\n.global .u32 b[][2] = {{1}, {2, 3}, {4}};\n"
      ".global .v2 .f32 c = {1.0, 0d4000000000000000};\n.global .f64 d = 0f3F800000;");
  EXPECT_THAT(BitsOf(module.variables[0]), ElementsAre(1, 255, 44));
  EXPECT_THAT(BitsOf(module.variables[1]), ElementsAre(1, 0, 2, 3, 4));
  EXPECT_EQ(module.variables[1].count, 6u);
  EXPECT_THAT(BitsOf(module.variables[2]), ElementsAre(0x3f800000, 0x40000000));
  EXPECT_THAT(BitsOf(module.variables[3]), ElementsAre(0x3ff0000000000000));
}

// A value that is too large for the type is infinite, and the largest is itself.
TEST(InitialValues, OfF32AreRounded) {
  const Module module = ParseModule(
      ".global .f32 x[4] = {3.4028234663852886e38, -3.4028234663852886e38, 1.0e39, -1.0e39};");
  EXPECT_THAT(BitsOf(module.variables[0]),
              ElementsAre(0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000));
}

// An address is by name, with an offset.
TEST(InitialValues, MayBeAddresses) {
  const Module module = ParseModule(
      ".global .u32 x[4];\n.func F();\n.global .u64 p[3] = {x + 4 * 2, generic(x)+-4, F};");
  ASSERT_EQ(module.variables[1].initial.size(), 3u);
  const std::vector<Initializer>& values = module.variables[1].initial;
  EXPECT_EQ(values[0].address_of, "x");
  EXPECT_EQ(values[0].bits, 8u);
  EXPECT_FALSE(values[0].generic);
  EXPECT_EQ(values[1].bits, ~uint64_t{3});
  EXPECT_TRUE(values[1].generic);
  EXPECT_EQ(values[2].address_of, "F");
}

// The word for an address in the generic space is a name like any other.
TEST(InitialValues, MayBeTheAddressOfGeneric) {
  const Module module = ParseModule(".global .u64 generic; .global .u64 p = generic;");
  const Initializer& value = module.variables[1].initial[0];
  EXPECT_EQ(value.address_of, "generic");
  EXPECT_FALSE(value.generic);
}

TEST(Variables, HaveAnAlignmentUpTo64KiB) {
  EXPECT_EQ(ParseModule(".global .align 65536 .b8 x;").variables[0].alignment, 65536u);
}

// What was declared .extern is defined later, at the same place.
TEST(Variables, MayBeDeclaredFirst) {
  const Module module = ParseModule(".extern .global .u32 x[];\n.global .u32 x[2] = {1, 2};");
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_FALSE(module.variables[0].external);
  EXPECT_EQ(module.variables[0].count, 2u);
}

// A function has parameters, results, and what it says about its blocks.
TEST(Functions, AreAsDeclared) {
  const Module module = ParseModule(
      ".func (.param .b64 r) F(.param .b32 x, .param .align 8 .b8 y[24]) .noreturn;\n"
      ".visible .entry K(.param .u64 .ptr .global .align 4 p) .maxntid 16, 8 .reqntid 4\n"
      ".minnctapersm 2 .maxnreg 32 { ret; }");
  ASSERT_EQ(module.functions.size(), 2u);
  const Function& function = module.functions[0];
  EXPECT_TRUE(function.external);
  EXPECT_FALSE(function.entry);
  EXPECT_EQ(function.parameters[1].size(), 24u);
  EXPECT_EQ(function.parameters[1].alignment, 8u);
  EXPECT_EQ(function.results[0].name, "r");
  const Function& kernel = module.functions[1];
  EXPECT_TRUE(kernel.entry);
  EXPECT_FALSE(kernel.external);
  EXPECT_THAT(kernel.max_threads, ElementsAre(16, 8, 1));
  EXPECT_THAT(kernel.required_threads, ElementsAre(4, 1, 1));
  EXPECT_EQ(kernel.minimum_blocks, 2u);
}

// A limit has 32 bits, and the space of a pointer need not be said. A pragma changes nothing.
TEST(Functions, TakeDirectivesOfEveryForm) {
  const Module module = ParseModule(
      ".entry K(.param .u64 .ptr .align 8 p) .maxntid 4294967295 .pragma \"a\", \"b\"; { ret; }");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_THAT(module.functions[0].max_threads, ElementsAre(4294967295u, 1, 1));
}

// Parameters that are not used need no names of their own.
TEST(Functions, MayHaveParametersWithoutNames) {
  const Module module = ParseModule(".func F(.param .b32 _, .param .b64 _) { ret; }");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_EQ(module.functions[0].parameters.size(), 2u);
  EXPECT_EQ(module.functions[0].parameters[1].size(), 8u);
}

// A function that is declared, used, and defined, is one function.
TEST(Functions, MayBeDeclaredFirst) {
  const Module module = ParseModule(
      ".func F(.param .b32 x);\n.func G() { mov.u64 %envreg1, F; }\n.func F(.param .b32 y) { ret; "
      "}");
  ASSERT_EQ(module.functions.size(), 2u);
  EXPECT_EQ(module.functions[1].body[0].operands[1].index, 0);
  EXPECT_FALSE(module.functions[0].external);
  EXPECT_EQ(module.functions[0].parameters[0].name, "y");
}

// Registers of a range are those that are used, in this order.
TEST(Registers, OfARangeAreMadeWhenUsed) {
  const Function function = ParseBody(".reg .f32 %r1<4000000000>; op %r7, %r13, %r7;");
  ASSERT_EQ(function.registers.size(), 2u);
  EXPECT_EQ(function.registers[0].name, "%r7");
  EXPECT_EQ(function.registers[0].type, Type::kB32);
  EXPECT_EQ(function.registers[1].name, "%r13");
  EXPECT_EQ(function.registers[1].type, Type::kF32);
}

// Names in a block hide those around it, and end with it.
TEST(Scopes, HideAndEnd) {
  const Function function =
      ParseBody(".reg .b32 x; op x; { .reg .f32 x; op x; { op x; .reg .f64 x; op x; } } op x;");
  std::vector<int> indices;
  for (const Instruction& instruction : function.body) {
    indices.push_back(instruction.operands[0].index);
  }
  EXPECT_THAT(indices, ElementsAre(0, 1, 1, 2, 0));
}

// A branch goes to the label of the innermost block that has it, before or after.
TEST(Labels, AreThoseOfTheInnermostBlock) {
  const Function function = ParseBody("A: { bra A; bra B; op; A: } bra A; B: C: { bra C; } E:");
  std::vector<int> targets;
  for (const Instruction& instruction : function.body) {
    for (const Operand& operand : instruction.operands) targets.push_back(operand.index);
  }
  EXPECT_THAT(targets, ElementsAre(3, 4, 0, 4));
}

// .branchtargets has places in the body, .calltargets functions; a prototype has none.
TEST(Targets, AreLists) {
  const Function function = ParseBody(
      "t: .branchtargets A, B; c: .calltargets F; p: .callprototype (.param .b32 _) _ ();\n"
      "A: brx.idx %r0, t; B: call %rd0, (), c;");
  EXPECT_THAT(function.target_lists, ElementsAre(ElementsAre(0, 1), ElementsAre(0), IsEmpty()));
  EXPECT_EQ(function.body[0].operands[1].kind, Operand::kTargets);
  EXPECT_EQ(function.body[1].operands[2].index, 1);
}

// An instruction has its guard, modifiers and place, and the line it was made of.
TEST(Instructions, AreAsWritten) {
  const Function function = ParseBody(
      "\n  @!%p1 ld.global.L2::128B.v2 %r0;\n .loc 1 7 3, function_name $x+2, inlined_at 2 9 1\n"
      "@%p2 ret;");
  ASSERT_EQ(function.body.size(), 2u);
  const Instruction& load = function.body[0];
  EXPECT_EQ(load.opcode, "ld");
  EXPECT_THAT(load.modifiers, ElementsAre("global", "L2::128B", "v2"));
  EXPECT_EQ(function.registers[static_cast<size_t>(load.guard)].name, "%p1");
  EXPECT_TRUE(load.guard_negated);
  EXPECT_EQ(load.position.line, 9);
  EXPECT_EQ(load.position.column, 9);
  EXPECT_EQ(load.source.line, 0);
  EXPECT_FALSE(function.body[1].guard_negated);
  EXPECT_EQ(function.body[1].source.file, 1);
  EXPECT_EQ(function.body[1].source.line, 7);
}

// A place is that of the .loc before, in the same function.
TEST(Instructions, HaveNoPlaceOfAnotherFunction) {
  const Module module =
      ParseModule(".entry K() { .loc 1 7 3\nret; } .entry L() { ret;\n.loc 1 9 1\nret; }");
  EXPECT_EQ(module.functions[0].body[0].source.line, 7);
  EXPECT_EQ(module.functions[1].body[0].source.line, 0);
  EXPECT_EQ(module.functions[1].body[1].source.line, 9);
}

// Names of functions that are inlined are in .debug_str, up to its end or a zero, and none is made
// up for a label or an offset that is not there.
TEST(InlinedFunctions, HaveNamesOfDebugStr) {
  const Module module = ParseModule(
      ".entry K() {\n.loc 1 1 1, function_name s, inlined_at 2 1 1\nret;\n"
      ".loc 1 2 1, function_name s+3, inlined_at 2 2 1\nret;\n"
      ".loc 1 3 1, function_name s+5, inlined_at 2 3 1\nret;\n"
      ".loc 1 4 1, function_name t, inlined_at 2 4 1\nret;\n}\n"
      ".section .debug_str { s: .b8 97, 98, 0, 99, 100 }\n");
  EXPECT_THAT(module.inlined_functions, ElementsAre("ab", "cd", "", ""));
}

// A name ends with its zero, though others follow. None is made up of what lies before a label, or
// of one that is not there.
TEST(InlinedFunctions, HaveNamesUpToAZero) {
  const Module module = ParseModule(
      ".entry K() {\n.loc 1 1 1, function_name s+3, inlined_at 2 1 1\nret;\n"
      ".loc 1 2 1, function_name t, inlined_at 2 2 1\nret;\n"
      ".loc 1 3 1, function_name u+0xfffffffffffffffe, inlined_at 2 3 1\nret;\n"
      ".loc 1 4 1, function_name u+40, inlined_at 2 4 1\nret;\n}\n"
      ".section .debug_str { s: .b8 97, 98, 0\n"
      "u: .b8 99, 100, 0, 101, 0, 0, 0, 0, 0, 0, 0, 0, 0 }\n");
  EXPECT_THAT(module.inlined_functions, ElementsAre("cd", "", "", ""));
}

// Names that overlap can be the square of the text: no more of them are kept than it has bytes.
TEST(InlinedFunctions, HaveNoMoreNamesThanText) {
  constexpr size_t kLongest = 400;
  std::string text = ".version 8.0 .target sm_90 .section .debug_str { s: .b8 65";
  for (size_t i = 1; i < kLongest; ++i) text += ",65";
  text += "} .entry K() {";
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&text, ".loc 1 ", i, " 1, function_name s+", i, ", inlined_at 2 ", i,
                    " 1 ret;");
  }
  text += "}";
  const auto sizes_where_it_has = [&](size_t bytes) {
    EXPECT_LT(text.size(), bytes);
    const absl::StatusOr<Module> module =
        Parse(absl::StrCat(text, std::string(bytes - text.size(), ' ')));
    EXPECT_THAT(module, IsOk());
    std::vector<size_t> sizes;
    for (const std::string& name : module->inlined_functions) sizes.push_back(name.size());
    return sizes;
  };
  constexpr size_t kAll = 4 * kLongest - 1 - 2 - 3;
  EXPECT_THAT(sizes_where_it_has(kAll), ElementsAre(400, 399, 398, 397));
  EXPECT_THAT(sizes_where_it_has(kAll - 1), ElementsAre(400, 399, 398, 0));
}

// What is inlined at a place of one function is so in this one only.
TEST(InlinedFunctions, AreThoseOfTheirFunction) {
  const Module module = ParseModule(
      ".entry K() {\n.loc 2 7 1, function_name s, inlined_at 1 5 3\nret;\n"
      ".loc 3 9 1, function_name t, inlined_at 2 7 1\nret;\n}\n"
      ".entry L() {\n.loc 3 9 1, function_name t, inlined_at 2 7 1\nret;\n}\n");
  const auto outer = [&](size_t function, size_t instruction) {
    const int inlined = module.functions[function].body[instruction].source.inlined;
    return module.inlined_calls[static_cast<size_t>(inlined)].at.inlined;
  };
  EXPECT_EQ(outer(0, 1), module.functions[0].body[0].source.inlined);
  EXPECT_EQ(outer(1, 0), -1);
}

// Each form of an operand that stands for a value.
TEST(Operands, OfValues) {
  const Function function = ParseBody(
      "op %r1, !%p1, %ctaid.z, %clock64, _, 0f3F800000, -1.5, {%r1, 2}, %r1|%p1, WARP_SZ;");
  const std::vector<Operand>& operands = function.body[0].operands;
  ASSERT_EQ(operands.size(), 10u);
  EXPECT_EQ(RegisterOf(function, operands[0]), "%r1");
  EXPECT_EQ(RegisterOf(function, operands[1]), "%p1");
  EXPECT_TRUE(operands[1].negated);
  EXPECT_EQ(operands[2].kind, Operand::kSpecialRegister);
  EXPECT_EQ(operands[2].name, "%ctaid.z");
  EXPECT_EQ(operands[3].name, "%clock64");
  EXPECT_EQ(operands[4].kind, Operand::kDiscard);
  EXPECT_EQ(operands[5].kind, Operand::kF32);
  EXPECT_EQ(operands[5].bits, 0x3f800000u);
  EXPECT_EQ(operands[6].kind, Operand::kF64);
  EXPECT_EQ(operands[6].bits, 0xbff8000000000000u);
  EXPECT_EQ(operands[6].name, "-1.5");
  EXPECT_EQ(operands[7].kind, Operand::kVector);
  EXPECT_EQ(operands[7].parts[1].bits, 2u);
  EXPECT_EQ(operands[8].kind, Operand::kPair);
  EXPECT_EQ(RegisterOf(function, operands[8].parts[1]), "%p1");
  EXPECT_EQ(operands[9].bits, 32u);
}

// Addresses of variables keep their offset; in [ ] the offset is that of the whole.
TEST(Operands, OfAddresses) {
  const Function function =
      ParseBody(".local .b32 l[2]; op g+4, [l], [a+8], [%rd1+-4], [16], F, [g, {%r1}];");
  const std::vector<Operand>& operands = function.body[0].operands;
  ASSERT_EQ(operands.size(), 7u);
  EXPECT_EQ(operands[0].kind, Operand::kVariable);
  EXPECT_EQ(operands[0].bits, 4u);
  EXPECT_EQ(operands[1].kind, Operand::kAddress);
  EXPECT_EQ(operands[1].parts[0].kind, Operand::kLocalVariable);
  EXPECT_EQ(operands[2].parts[0].kind, Operand::kParameter);
  EXPECT_EQ(operands[2].bits, 8u);
  EXPECT_EQ(operands[2].parts[0].bits, 0u);
  EXPECT_EQ(RegisterOf(function, operands[3].parts[0]), "%rd1");
  EXPECT_EQ(operands[3].bits, ~uint64_t{3});
  EXPECT_EQ(operands[4].parts[0].bits, 16u);
  EXPECT_EQ(operands[5].kind, Operand::kFunction);
  EXPECT_EQ(operands[6].parts[1].kind, Operand::kVector);
}

// A call has lists of variables around the name of the function.
TEST(Operands, OfCalls) {
  const Function function =
      ParseBody("{ .param .b32 r; .param .b32 x; call.uni (r), F, (x); call F, (x); call F; }");
  ASSERT_EQ(function.body.size(), 3u);
  const Instruction& call = function.body[0];
  ASSERT_EQ(call.operands.size(), 3u);
  EXPECT_EQ(call.operands[0].kind, Operand::kArguments);
  EXPECT_EQ(call.operands[0].parts[0].kind, Operand::kLocalVariable);
  EXPECT_EQ(call.operands[1].kind, Operand::kFunction);
  EXPECT_EQ(call.operands[2].parts[0].index, 1);
  EXPECT_EQ(function.body[1].operands.size(), 2u);
  EXPECT_EQ(function.variables[1].space, Space::kParam);
}

struct Expression {
  const char* text;
  uint64_t value;
};

class Expressions : public testing::TestWithParam<Expression> {};

// Constants are computed as PTX says: in 64 bits, signed unless one operand is not.
TEST_P(Expressions, AreComputed) {
  const Operand operand = ParseOperand(GetParam().text);
  EXPECT_EQ(operand.kind, Operand::kInteger);
  EXPECT_EQ(operand.bits, GetParam().value) << static_cast<int64_t>(operand.bits);
  EXPECT_EQ(operand.name, GetParam().text);
}

constexpr uint64_t Negative(int64_t value) { return static_cast<uint64_t>(value); }

INSTANTIATE_TEST_SUITE_P(
    All, Expressions,
    testing::Values(Expression{"0x10U", 16}, Expression{"017", 15}, Expression{"0b101", 5},
                    Expression{"18446744073709551615", ~uint64_t{0}}, Expression{"1 + 2 * 3", 7},
                    Expression{"(1 + 2) * 3", 9}, Expression{"10 - 3 - 2", 5},
                    Expression{"1 << 2 + 1", 8}, Expression{"1 << 64", 0},
                    Expression{"-8 >> 1", Negative(-4)}, Expression{"-8 >> 64", Negative(-1)},
                    Expression{"0xfU >> 2", 3}, Expression{"-7 / 2", Negative(-3)},
                    Expression{"-7 % 3", Negative(-1)}, Expression{"0x8000000000000000 / -1", 0},
                    Expression{"(.s64)0x8000000000000000 / -1", uint64_t{1} << 63},
                    Expression{"-1 < 0", 1}, Expression{"-1 < 0U", 0},
                    Expression{"(.u64)-1 > 5", 1}, Expression{"3 == 3 && 2 != 2", 0},
                    Expression{"0 || 5", 1}, Expression{"5 || 0", 1},
                    Expression{"6 & 3 | 8 ^ 1", 11}, Expression{"~0", ~uint64_t{0}},
                    Expression{"!7", 0}, Expression{"- -4", 4}, Expression{"2 > 1 ? 5 : 6", 5},
                    Expression{"0 ? 1 : 0 ? 2 : 3", 3}, Expression{"WARP_SZ - 1", 31}));

}  // namespace
}  // namespace twinmmu::ptx

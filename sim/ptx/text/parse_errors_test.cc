// What Parse says of wrong PTX, and of PTX that asks for too much.

#include <cstddef>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::Values;

constexpr char kHeader[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

struct Wrong {
  const char* text;
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.text; }

std::string MessageOf(const absl::StatusOr<Module>& result) {
  return std::string(result.status().message());
}

std::string Body(absl::string_view statements) {
  return absl::StrCat(kHeader, ".func F();\n.entry K(.param .u64 a) { .reg .pred p; ",
                      ".reg .b32 %r<4>; .reg .b64 %rd<4>;\n", statements, "}");
}

std::string Repeat(absl::string_view piece, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) absl::StrAppend(&text, piece);
  return text;
}

class WrongHeader : public testing::TestWithParam<Wrong> {};

TEST_P(WrongHeader, IsInvalid) {
  const absl::StatusOr<Module> module = Parse(GetParam().text);
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(MessageOf(module), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongHeader,
    Values(Wrong{"", "line 1, column 1: found the end of the text, expected .version"},
           Wrong{"// x\n hello", "line 2, column 2: found 'hello', expected .version"},
           Wrong{".version 8", "line 1, column 10: found '8', expected a version, such as 8.0"},
           Wrong{".version 8.x", "line 1, column 10: found '8.'; this is not a number"},
           Wrong{".version 8.0 .entry", "line 1, column 14: found '.entry', expected .target"},
           Wrong{".version 8.0 .target debug",
                 "line 1, column 27: found the end of the text, expected a target, such as sm_90"},
           Wrong{".version 8.0 .target sn_90",
                 "line 1, column 22: found 'sn_90', expected a target, such as sm_90"},
           Wrong{".version 7.7 .target compute_90",
                 "line 1, column 22: there is compute_90 from PTX 7.8 on, and this is older"},
           Wrong{".version 2.2 .target sm_21 .address_size 64",
                 "line 1, column 28: there is .address_size from PTX 2.3 on, and this is older"},
           Wrong{".version 8.7 .target sm_130a",
                 "line 1, column 22: the target of this PTX is sm_130a, which is not known; the "
                 "newest one that is known is sm_121a"},
           Wrong{".version 8.7 .target sm_90f",
                 "line 1, column 22: the target of this PTX is sm_90f, which is not known; the "
                 "newest one that is known is sm_121a"},
           Wrong{".version 8.5 .target sm_100f",
                 "line 1, column 22: there is sm_100f from PTX 8.8 on, and this is older"},
           Wrong{".version 7.7 .target sm_90",
                 "line 1, column 22: there is sm_90 from PTX 7.8 on, and this is older"},
           Wrong{".version 8.0 .target sm_90 .address_size 32",
                 "line 1, column 42: the address size is 32, not 64"}));

// A version that is newer than what is known has a code of its own.
TEST(Header, OfANewerVersionIsOutOfRange) {
  EXPECT_THAT(Parse(".version 9.4 .target sm_90"), IsOk());
  const absl::StatusOr<Module> module = Parse(".version 9.5 .target sm_90");
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(MessageOf(module), HasSubstr("the version of this PTX is 9.5"));
}

class WrongModule : public testing::TestWithParam<Wrong> {};

TEST_P(WrongModule, IsInvalid) {
  const absl::StatusOr<Module> module = Parse(absl::StrCat(kHeader, GetParam().text));
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(MessageOf(module), absl::StrCat("line 4, column ", GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongModule,
    Values(
        Wrong{"x", "1: found 'x', expected a directive"},
        Wrong{".globl .u32 x;", "1: found '.globl', expected a directive"},
        Wrong{".global u32 x;", "9: found 'u32', expected a type"},
        Wrong{".global .u33 x;", "9: found '.u33', expected a type"},
        Wrong{".global .u32 x", "15: found the end of the text, expected ';'"},
        Wrong{".global .u32 1;", "14: found '1', expected a name"},
        Wrong{".global .pred x;", "9: a predicate has no place in memory"},
        Wrong{".global .align 0 .u32 x;", "16: an alignment is 0, not a power of 2 up to 65536"},
        Wrong{".global .align 3 .u32 x;", "16: an alignment is 3, not a power of 2 up to 65536"},
        Wrong{".global .align 9223372036854775808 .u32 x;",
              "16: an alignment is 9223372036854775808, not a power of 2 up to 65536"},
        Wrong{".global .u32 x[0];",
              "15: the length of 'x' is 0; it is from 1 on, and an array takes up to 2^48 bytes"},
        Wrong{".global .u32 x[2][9223372036854775807];",
              "18: the length of 'x' is 9223372036854775807; it is from 1 on, and an array takes "
              "up to 2^48 bytes"},
        Wrong{".global .u32 x[1.0];", "16: found a float, expected the length of an array"},
        Wrong{".global .u32 x[];", "14: the size of 'x' is not known"},
        Wrong{".global .u32 x[2][];", "19: found ']', expected the length of an array"},
        Wrong{".global .u32 x, x;", "17: 'x' is declared twice"},
        Wrong{".func x(); .global .u32 x;", "25: 'x' is declared twice"},
        Wrong{".global .u32 x; .func x();", "23: 'x' is declared twice"},
        Wrong{".extern .global .u32 x; .const .u32 x;",
              "37: 'x' was declared in another way at line 4"},
        Wrong{".local .u32 x;", "13: a variable of the module is not in .local"},
        Wrong{".shared .u32 x = 1;", "18: a variable in .shared has no initial value"},
        Wrong{".extern .global .u32 x = 1;", "26: an .extern variable has no initial value"},
        Wrong{".global .u32 x[2] = {1, 2, 3};", "28: there are more than 2 values"},
        Wrong{".global .u32 x[2][2] = {1, 2};", "25: found '1', expected '{'"},
        Wrong{".global .u32 x = 1.0;", "18: the value is not of the type .u32"},
        Wrong{".global .f32 x = 1;", "18: the value is not of the type .f32"},
        Wrong{".global .u64 x = y;", "18: there is no variable or function 'y'"},
        Wrong{".global .u32 x = 1 / 0;", "20: the right operand of / is not 0"},
        Wrong{".global .u32 x = 1.0 + 2;", "22: the operands of + are integers"},
        Wrong{".global .u32 x = 1 ? 2.0 : 3;", "20: the operands of ? : are integers"},
        Wrong{".global .u32 x = ~1.0;", "18: the operand of ~ is an integer"},
        Wrong{".global .u32 x = (.u32)1;", "19: found '.u32', expected .u64 or .s64"},
        Wrong{".global .u32 x = 18446744073709551616;",
              "18: found '18446744073709551616'; an integer is less than 2^64"},
        Wrong{".global .u32 x = 09;", "18: found '09'; this is not a number"},
        Wrong{".global .u32 x = 0x;", "18: found '0x;'; this is not a number"},
        Wrong{".global .f32 x = 0f123;",
              "18: found '0f123'; 0f is followed by 8 hex digits, 0d is followed by 16"},
        Wrong{".global .f32 x = -0f3F800000;", "18: 0f has a sign of its own"},
        Wrong{".func (.param .u32 r) F(.param .u32 x); .func (.param .u32 r) F(.param .u64 x);",
              "63: 'F' was declared in another way at line 4"},
        Wrong{".func F(.param .u32 x); .func F(.param .u32 x, .param .u32 y);",
              "31: 'F' was declared in another way at line 4"},
        Wrong{".func F(.param .b8 x[4]); .func F(.param .b8 x[8]);",
              "33: 'F' was declared in another way at line 4"},
        Wrong{".func F(); .entry F() { }", "19: 'F' was declared in another way at line 4"},
        Wrong{".func F() { } .func F() { }", "21: 'F' is declared twice"},
        Wrong{".func F(.param .u32 x, .param .u32 x) { }", "36: 'x' is declared twice"},
        Wrong{".func F(.u32 x);", "9: found '.u32', expected .param"},
        Wrong{".extern .func F() { }", "1: a function with a body is not .extern"},
        Wrong{".entry K() .maxthreads 3 { }",
              "12: found '.maxthreads', expected a directive of a function, or its body"},
        Wrong{".entry K() .maxntid 4294967296 { }",
              "21: the limit is 4294967296, more than 2^32 - 1"},
        Wrong{".entry K() .maxntid 1, 2, 3, 4 { }", "28: found ',', expected ';'"},
        Wrong{".entry K() ret;", "12: found 'ret', expected ';'"},
        Wrong{".file 65536 \"a\"", "7: the number of a file is 65536, more than 65535"},
        Wrong{".pragma nounroll;", "9: found 'nounroll', expected a string"},
        Wrong{".pragma \"nounroll\n\";", "9: found '\\\"'; a string ends with \" on the same line"},
        Wrong{"/* no end", "1: found '/*'; a comment that starts with /* ends with */"},
        Wrong{"\xff", "1: found '\\xff'; no token starts with this character"},
        Wrong{".global . u32 x;", "9: found '.'; a name follows a dot"}));

class WrongBody : public testing::TestWithParam<Wrong> {};

TEST_P(WrongBody, IsInvalid) {
  const absl::StatusOr<Module> module = Parse(Body(GetParam().text));
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(MessageOf(module), absl::StrCat("line 6, column ", GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongBody,
    Values(Wrong{"add.u32 %r1, %r2, %r4;", "19: '%r4' is not declared"},
           Wrong{"add.u32 %r1, %r2, %r01;", "19: '%r01' is not declared"},
           Wrong{"{ .reg .b32 x; } mov.b32 x, 1;", "26: 'x' is not declared"},
           Wrong{"mov.u32 %r1, %tid.q;", "18: found '.q', expected .x, .y or .z"},
           Wrong{".reg .v2 .b32 v; mov.u32 %r1, v.z;", "32: 'v' has no element '.z'"},
           Wrong{"mov.u32 %r1 %r2;", "13: found '%r2', expected ',' or ';'"},
           Wrong{"mov.u32 %r1, ;", "14: found ';', expected an operand"},
           Wrong{"mov.u32 {%r1, };", "15: found '}', expected an operand"},
           Wrong{"mov.u32 %r1, [%r2;", "18: found ';', expected ']'"},
           Wrong{"mov.u32 {%r1, [%rd1;", "20: found ';', expected ']'"},
           Wrong{"mov.u32 %r1, !%rd;", "15: '%rd' is not declared"},
           Wrong{"mov.u32 %r1, !F;", "15: what follows ! is a predicate or a constant"},
           Wrong{"ld.u32 %r1, [%rd1-4];", "18: found '-', expected ']'"},
           Wrong{"ld.u32 %r1, [%rd1+1.0];", "18: an offset is an integer"},
           Wrong{"@%r1 ret;", "2: '%r1' is not a predicate"},
           Wrong{"@q ret;", "2: 'q' is not declared"},
           Wrong{"@p;", "3: found ';', expected an instruction, a directive, or a label"},
           Wrong{"bra L; { L: }", "5: there is no label 'L'"},
           Wrong{"L: L: ret;", "4: there are two labels 'L'"},
           Wrong{".reg .b32 %r1;", "11: '%r1' is declared twice"},
           Wrong{".reg .b32 %r<9>;", "11: '%r' is declared twice"},
           Wrong{".reg .b32 a;", "11: 'a' is declared twice"},
           Wrong{".reg .b33 x;", "6: found '.b33', expected a type"},
           Wrong{".local .b32 a;", "13: 'a' is declared twice"},
           Wrong{".loc 1 2;", "9: found ';', expected a column"},
           Wrong{".loc 65536 1 1",
                 "6: the number of a file is at most 65535, of a line or column at most "
                 "1073741824"},
           Wrong{".loc 1 2 3, at 3 4 5", "13: found 'at', expected function_name or inlined_at"},
           Wrong{"t: .branchtargets A;", "19: there is no label 'A'"},
           Wrong{"t: .calltargets a;", "17: 'a' is not a function"},
           Wrong{"t: .calltargets F; t: .calltargets F;", "20: 't' is declared twice"},
           Wrong{";", "1: found ';', expected an instruction, a directive, or a label"},
           Wrong{".version 8.0", "1: found '.version', expected a directive"},
           Wrong{".const .attribute(.managed) .u32 x;",
                 "19: only variables in .global are .managed"},
           Wrong{".global .attribute(managed) .u32 x;",
                 "20: found 'managed', expected an attribute, such as .managed"},
           Wrong{".global .attribute .u32 x;", "20: found '.u32', expected '('"},
           Wrong{".global .attribute(.managed .u32 x;", "29: found '.u32', expected ')'"}));

class Unsupported : public testing::TestWithParam<Wrong> {};

// What is PTX, but has no place in a Module, is told apart from what is wrong.
TEST_P(Unsupported, IsUnimplemented) {
  const absl::StatusOr<Module> module = Parse(GetParam().text);
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(MessageOf(module), HasSubstr(GetParam().message));
}

TEST(Parse, NoDriverBindsASampler) {
  const auto parse = [](const char* mode) {
    return Parse(absl::StrCat(".version 8.0 .target sm_90", mode, " .global .samplerref s;"));
  };
  EXPECT_THAT(parse(", texmode_independent"), StatusIs(absl::StatusCode::kNotFound));
  for (const char* mode : {"", ", texmode_unified"}) {
    EXPECT_THAT(MessageOf(parse(mode)), HasSubstr("needs the target texmode_independent")) << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Unsupported,
    Values(Wrong{".version 8.0 .target sm_90 .global .attribute(.unified(1, 2)) .u32 x;",
                 ".attribute(.unified) is not supported"},
           Wrong{".version 8.0 .target sm_90 .func F(); .alias G, F;", ".alias is not supported"},
           Wrong{".version 8.0 .target sm_90 .func F(.reg .u32 x);",
                 "a parameter in .reg is not supported"},
           Wrong{".version 8.0 .target sm_90 .global .u32 x; .global .u8 y[] = {0xff(x)};",
                 "a part of an address, as 0xFF(name), is not supported"},
           Wrong{".version 8.0 .target sm_90 .global .u32 x; .global .u32 y = x;",
                 "an address takes .u64 or .b64, not .u32"},
           Wrong{".version 8.0 .target sm_90 .entry K() { .global .u32 x; }",
                 "a variable of a function in .global is not supported"}));

struct Deep {
  const char* before;
  const char* open;
  const char* message;
};

class Nesting : public testing::TestWithParam<Deep> {};

// What is nested in itself may not use up the stack.
TEST_P(Nesting, HasALimit) {
  const absl::StatusOr<Module> module =
      Parse(Body(absl::StrCat(GetParam().before, Repeat(GetParam().open, 100000))));
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MessageOf(module), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, Nesting,
                         Values(Deep{"", "{", "blocks are nested more than 64 deep"},
                                Deep{"mov %r1, ", "(",
                                     "an expression is nested more than 256 deep"},
                                Deep{"mov ", "{", "operands are nested more than 8 deep"},
                                Deep{"mov ", "{%r1, ", "operands are nested more than 8 deep"},
                                Deep{"call ", "(", "an expression is nested more than 256 deep"},
                                Deep{"mov ", "[", "found '[', expected a constant"},
                                Deep{"mov ", "[%r1, ", "operands are nested more than 8 deep"},
                                Deep{"mov ", "%r1|", "expected ',' or ';'"},
                                Deep{"", "@", "found '@', expected a predicate"}));

class DeepExpression : public testing::TestWithParam<const char*> {};

TEST_P(DeepExpression, HasALimit) {
  const absl::StatusOr<Module> module =
      Parse(absl::StrCat(kHeader, ".global .u32 x = ", Repeat(GetParam(), 100000)));
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MessageOf(module), HasSubstr("an expression is nested more than 256 deep"));
}

INSTANTIATE_TEST_SUITE_P(All, DeepExpression,
                         Values("(", "- ", "~", "!", "1 ? ", "0 ? 1 : ", "(.u64)", "1 + ("));

// Parentheses that are closed nest no more.
TEST(Expressions, MayHaveManyParenthesesOneBehindTheOther) {
  EXPECT_THAT(Parse(absl::StrCat(kHeader, ".global .u32 x = ", Repeat("(1) + ", 1000), "1;")),
              IsOk());
}

// An array of many dimensions would nest its initial values.
TEST(Dimensions, HaveALimit) {
  const absl::StatusOr<Module> module = Parse(
      absl::StrCat(kHeader, ".global .u32 x", Repeat("[1]", 100000), " = ", Repeat("{", 100000)));
  EXPECT_THAT(MessageOf(module), HasSubstr("an array has more than 16 dimensions"));
}

// Short lists in long arrays ask for more memory than the text takes.
TEST(InitialValues, MayNotLeaveOutTooMany) {
  EXPECT_THAT(Parse(absl::StrCat(kHeader, ".global .u8 x[3][65536] = {{1}, {2}};")), IsOk());
  for (const char* declaration : {".global .u8 x[2][1000000000] = {{1}, {2}};",
                                  ".global .u8 x[9][60000] = {{1}, {2}, {3}};"}) {
    const absl::StatusOr<Module> module = Parse(absl::StrCat(kHeader, declaration));
    EXPECT_THAT(module, StatusIs(absl::StatusCode::kUnimplemented));
    EXPECT_THAT(MessageOf(module), HasSubstr("leave out more than 65536 values"));
  }
}

// Sums of sizes stay below 2^64.
TEST(Variables, MayNotTakeTooMuchTogether) {
  const absl::StatusOr<Module> module =
      Parse(absl::StrCat(kHeader, ".func F(", Repeat(".param .b8 x[281474976710656], ", 17), ");"));
  EXPECT_THAT(MessageOf(module), HasSubstr("all variables take more than 2^52 bytes"));
}

// Lines, columns and indices stay below 2^31. (The text is not looked at.)
TEST(Text, HasALimit) {
  const absl::StatusOr<Module> module = Parse(absl::string_view(kHeader, (size_t{1} << 30) + 1));
  EXPECT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(MessageOf(module), HasSubstr("the text has 1073741825 bytes"));
}

// A file that no .file names may be named by .loc.
TEST(Location, MayNameAnUnknownFile) {
  const absl::StatusOr<Module> module = Parse(Body(".loc 65535 1 1 ret;"));
  ASSERT_THAT(module, IsOk());
  EXPECT_GT(module->files.size(), 65535u);
}

// A NUL is no end, and no blank.
TEST(Nul, IsNoToken) {
  const absl::StatusOr<Module> module = Parse(absl::StrCat(kHeader, absl::string_view("\0", 1)));
  EXPECT_THAT(MessageOf(module), HasSubstr("no token starts with this character"));
}

struct Long {
  const char* name;
  const char* once;  // $ stands for a number
};

class LongText : public testing::TestWithParam<Long> {};

// Time grows with the text, not faster: a square would take longer than this test may.
TEST_P(LongText, TakesTimeInProportion) {
  std::string text;
  for (int i = 0; i < 15000; ++i) {
    absl::StrAppend(&text, absl::StrReplaceAll(GetParam().once, {{"$", absl::StrCat(i)}}));
  }
  EXPECT_THAT(Parse(Body(text)), IsOk());
}

INSTANTIATE_TEST_SUITE_P(All, LongText,
                         Values(Long{"labels", "L$: "}, Long{"branches", "bra L$; L$: "},
                                Long{"registers", ".reg .b32 x$; mov x$, 1; "},
                                Long{"ranges", ".reg .b32 x$_<4>; mov x$_1, 1; "},
                                Long{"blocks", "{ bra L; L: } "}, Long{"comments", "/* $ */ // \n"},
                                Long{"variables", ".local .b32 v$; ld.u32 %r1, [v$]; "}),
                         [](const testing::TestParamInfo<Long>& text) { return text.param.name; });

// Branches out of the innermost block are handed outwards once for each block, not more.
TEST(LongText, WithBranchesOutOfNestedBlocks) {
  const std::string text =
      absl::StrCat(Repeat("{", 60), Repeat("bra L; ", 15000), Repeat("}", 60), " L:");
  EXPECT_THAT(Parse(Body(text)), IsOk());
}

// Long names are cut in messages.
TEST(Messages, AreShort) {
  const absl::StatusOr<Module> module = Parse(absl::StrCat(kHeader, std::string(100000, 'x')));
  EXPECT_LT(MessageOf(module).size(), 200u);
  const absl::StatusOr<Module> undeclared =
      Parse(Body(absl::StrCat("mov ", std::string(100000, 'x'), ";")));
  EXPECT_LT(MessageOf(undeclared).size(), 200u);
}

}  // namespace
}  // namespace twinmmu::ptx

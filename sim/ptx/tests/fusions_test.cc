// Which products go into sums unrounded. Each case was looked up in what ptxas 13.0 makes of it.

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/text/module.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

class FusionsTest : public GridTest {
 protected:
  static constexpr char kKeeps7[] = " st.global.f32 [%rd1+8], %f7;";
  static constexpr char kKeeps9[] = " st.global.f32 [%rd1+16], %f9;";

  // %f1 * %f2 is 1 + 2^-11 + 2^-24, of which an f32 keeps all but the last bit, and %f3 takes the
  // rest away; %f4 * %f5 is the same as %f3. Whether %f8 is not 0.
  bool Fuses(const std::string& body, const std::string& result = "%f8") {
    RunKernel(
        "mov.f32 %f1, 0f3F800800; mov.f32 %f2, %f1; mov.f32 %f3, 0fBF801000;\n"
        "mov.f32 %f4, %f3; mov.f32 %f5, 0f3F800000; setp.eq.u32 %p1, %r1, 0;\n"
        "setp.ne.u32 %p2, %r1, 0; mov.f32 %f8, 0f00000000;\n" +
            body + "\nst.global.f32 [%rd1], " + result + ";",
        1);
    return Read(0) != 0;
  }
};

TEST_F(FusionsTest, OfAProductAndASum) {
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3;"));
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; add.f32 %f8, %f3, %f6;"));
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; neg.f32 %f7, %f3; sub.f32 %f8, %f6, %f7;"));
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; neg.f32 %f7, %f3; sub.f32 %f8, %f7, %f6;"));
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, 0f3F800800; add.f32 %f8, %f6, 0fBF801000;"));
}

TEST_F(FusionsTest, HaveTheValueOfTheSum) {
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; neg.f32 %f7, %f3; sub.f32 %f8, %f7, %f6;"));
  EXPECT_EQ(Read(0), 0xb3800000u);  // -2^-24
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; neg.f32 %f7, %f6; sub.f32 %f8, %f7, %f3;"));
  EXPECT_EQ(Read(0), 0xb3800000u);
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; neg.f32 %f7, %f3; sub.f32 %f8, %f6, %f7;"));
  EXPECT_EQ(Read(0), 0x33800000u);
}

TEST_F(FusionsTest, AreOfAllFloatingTypes) {
  const auto fuses = [&](const std::string& type, const std::string& bits,
                         const std::string& factor, const std::string& addend,
                         const std::string& letter) {
    const std::string a = "%" + letter + "5";
    const std::string b = "%" + letter + "6";
    Write<uint64_t>(0, 0);
    RunKernel("mov." + bits + " " + a + ", " + factor + "; mov." + bits + " " + b + ", " + addend +
                  "; mul." + type + " " + a + ", " + a + ", " + a + "; add." + type + " " + a +
                  ", " + a + ", " + b + "; st.global." + bits + " [%rd1], " + a + ";",
              1);
    return Read<uint64_t>(0) != 0;
  };
  EXPECT_TRUE(fuses("f16", "b16", "0x3c10", "0xbc20", "h"));
  EXPECT_FALSE(fuses("rn.f16", "b16", "0x3c10", "0xbc20", "h"));
  EXPECT_TRUE(fuses("f16x2", "b32", "0x3c103c10", "0xbc20bc20", "r"));
  EXPECT_TRUE(fuses("bf16", "b16", "0x3f88", "0xbf90", "h"));
  EXPECT_TRUE(fuses("bf16x2", "b32", "0x3f883f88", "0xbf90bf90", "r"));
  EXPECT_TRUE(fuses("f64", "f64", "0d3FF0000002000000", "0dBFF0000004000000", "fd"));
}

TEST_F(FusionsTest, NeedThatNothingSaysHowToRound) {
  EXPECT_FALSE(Fuses("mul.rn.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3;"));
  EXPECT_FALSE(Fuses("mul.f32 %f6, %f1, %f2; add.rn.f32 %f8, %f6, %f3;"));
  EXPECT_FALSE(Fuses("mul.f32 %f6, %f1, %f2; add.rz.f32 %f8, %f6, %f3;"));
  EXPECT_FALSE(Fuses("mul.sat.f32 %f6, %f1, %f4; add.f32 %f8, %f6, 0f00000000;"));
}

TEST_F(FusionsTest, FlushBothOrNeither) {
  EXPECT_TRUE(Fuses("mul.ftz.f32 %f6, %f1, %f2; add.ftz.f32 %f8, %f6, %f3;"));
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; add.sat.f32 %f8, %f6, %f3;"));
  EXPECT_FALSE(Fuses("mul.ftz.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3;"));
  EXPECT_FALSE(Fuses("mul.f32 %f6, %f1, %f2; add.ftz.f32 %f8, %f6, %f3;"));
}

// All that reads a product has to be sums.
TEST_F(FusionsTest, TakeAProductIntoAllItsSums) {
  const std::string product = "mul.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3; ";
  EXPECT_TRUE(Fuses(product + "add.f32 %f7, %f6, %f5;" + kKeeps7));
  EXPECT_TRUE(Fuses(product + "sub.f32 %f9, %f3, %f6;", "%f9"));
  EXPECT_FALSE(Fuses(product + "st.global.f32 [%rd1+8], %f6;"));
  EXPECT_FALSE(Fuses(product + "max.f32 %f7, %f6, %f5;" + kKeeps7));
  EXPECT_FALSE(Fuses(product + "fma.rn.f32 %f7, %f5, %f5, %f6;" + kKeeps7));
  EXPECT_FALSE(
      Fuses("mul.f32 %f6, %f1, %f2; add.f32 %f7, %f6, %f6;\n"
            "fma.rn.f32 %f8, %f3, 0f40000000, %f7;"));
}

TEST_F(FusionsTest, SeeThroughCopiesAndNegatives) {
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; mov.f32 %f7, %f6; add.f32 %f8, %f7, %f3;"));
  EXPECT_TRUE(
      Fuses("mul.f32 %f6, %f1, %f2; mov.b32 %r3, %f6; mov.b32 %f7, %r3;\n"
            "add.f32 %f8, %f7, %f3;"));
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; neg.f32 %f7, %f6; sub.f32 %f8, %f7, %f3;"));
  EXPECT_FALSE(
      Fuses("mul.f32 %f6, %f1, %f2; mov.f32 %f7, %f6; add.f32 %f8, %f7, %f3;\n"
            "st.global.f32 [%rd1+8], %f7;"));
  EXPECT_FALSE(Fuses("mul.f32 %f6, %f1, %f2; abs.f32 %f7, %f6; add.f32 %f8, %f7, %f3;"));
}

TEST_F(FusionsTest, PassOverWhatNobodyReads) {
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3; max.f32 %f7, %f6, %f5;"));
  EXPECT_TRUE(
      Fuses("mul.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3; @%p2 bra L;\n"
            "max.f32 %f7, %f6, %f5; L:"));
}

// The first product of a sum; or that which fewer sums read.
TEST_F(FusionsTest, TakeOneOfTwoProducts) {
  const std::string both = "mul.f32 %f6, %f1, %f2; mul.f32 %f7, %f4, %f5; ";
  EXPECT_TRUE(Fuses(both + "add.f32 %f8, %f6, %f7;"));
  EXPECT_FALSE(Fuses(both + "add.f32 %f8, %f7, %f6;"));
  EXPECT_FALSE(Fuses(both + "add.f32 %f8, %f6, %f7; add.f32 %f9, %f6, %f5;" + kKeeps9));
  EXPECT_TRUE(Fuses(both + "add.f32 %f8, %f7, %f6; add.f32 %f9, %f7, %f5;" + kKeeps9));
  EXPECT_TRUE(Fuses(both + "add.f32 %f8, %f7, %f6; max.f32 %f9, %f7, %f5;" + kKeeps9));
  // What is added to a product that went into a sum is read by that.
  EXPECT_FALSE(Fuses(both +
                     "add.f32 %f9, %f7, %f6; add.f32 %f0, %f7, %f5;\n"
                     "add.f32 %f8, %f6, %f3; st.global.f32 [%rd1+8], %f0;" +
                     kKeeps9));
}

TEST_F(FusionsTest, EndWithTheBlock) {
  const auto between = [&](const std::string& body) {
    return Fuses("mul.f32 %f6, %f1, %f2; " + body + " add.f32 %f8, %f6, %f3;");
  };
  EXPECT_TRUE(between("bar.sync 0;"));
  EXPECT_TRUE(between("st.global.u32 [%rd1+8], %r1;"));
  EXPECT_TRUE(between("bra.uni L; L:"));
  EXPECT_FALSE(between("@%p2 bra L; mov.u32 %r3, 5; L:"));
  EXPECT_FALSE(between("@%p2 exit;"));
  EXPECT_FALSE(between("membar.gl;"));
  EXPECT_FALSE(between("div.rn.f32 %f9, %f5, %f5;"));
  EXPECT_TRUE(between("div.approx.f32 %f9, %f5, %f5;"));
  EXPECT_FALSE(
      Fuses("mul.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3; @%p2 bra L;\n"
            "add.f32 %f7, %f6, %f5; st.global.f32 [%rd1+8], %f7; L:"));
}

// What a call may reach is listed by number, too, but of functions, not of instructions.
TEST_F(FusionsTest, GoAcrossNumbersOfFunctions) {
  std::string functions, names;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&functions, ".func f", i, "() { ret; }\n");
    absl::StrAppend(&names, i == 0 ? "f" : ", f", i);
  }
  const std::string body =
      "mov.f32 %f1, 0f3F800800; setp.ne.u32 %p1, %r1, %r1;\n"
      "mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, 0fBF801000; st.global.f32 [%rd1], %f3;\n"
      "L: .calltargets " +
      names + "; @%p1 call %rd1, (), L;";
  EXPECT_EQ(Run(functions + Kernel(body), Dim3(), Dim3()), Grid::State::kDone);
  EXPECT_EQ(Read(0), 0x33800000u);  // 2^-24
}

TEST_F(FusionsTest, AllowForGuards) {
  EXPECT_TRUE(Fuses("mul.f32 %f6, %f1, %f2; @%p1 add.f32 %f8, %f6, %f3;"));
  EXPECT_FALSE(Fuses("mul.f32 %f6, %f1, %f2; @%p2 add.f32 %f8, %f6, %f3;"));  // keeps 0
  EXPECT_FALSE(Fuses("@%p1 mul.f32 %f6, %f1, %f2; add.f32 %f8, %f6, %f3;"));
  EXPECT_FALSE(
      Fuses("mov.f32 %f7, %f3; mul.f32 %f6, %f1, %f2; @%p1 mov.f32 %f7, %f6;\n"
            "add.f32 %f8, %f7, %f3;"));
}

TEST_F(FusionsTest, KeepFactorsThatChange) {
  EXPECT_TRUE(
      Fuses("mov.f32 %f6, %f1; mul.f32 %f7, %f6, %f2; mov.f32 %f6, 0f00000000;\n"
            "add.f32 %f8, %f7, %f3;"));
  EXPECT_EQ(Read(0), 0x33800000u);
  EXPECT_TRUE(Fuses("mov.f32 %f6, %f1; mul.f32 %f6, %f6, %f2; add.f32 %f6, %f6, %f3;", "%f6"));
  EXPECT_EQ(Read(0), 0x33800000u);
}

// What is not optimised, and what is asked not to be.
// Whatever writes them: a vector of a load, too.
TEST_F(FusionsTest, KeepFactorsThatAreLoadedOver) {
  EXPECT_TRUE(Fuses(
      "st.global.f32 [%rd1+32], %f8; st.global.f32 [%rd1+36], %f8;\n"
      "mul.f32 %f6, %f1, %f2; ld.global.v2.f32 {%f1, %f2}, [%rd1+32]; add.f32 %f8, %f6, %f3;"));
  EXPECT_EQ(Read(0), 0x33800000u);  // 2^-24
}

TEST_F(FusionsTest, AreNotOfDebugCode) {
  const std::string text =
      ".version 8.1\n.target sm_90DEBUG\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b64 %a; .reg .f32 %f<4>; ld.param.u64 %a, [p]; mov.f32 %f1, 0f3F800800;\n"
      "mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, 0fBF801000; st.global.f32 [%a], %f3; ret; }";
  for (const auto& [debug, fuses, result] :
       {std::tuple("", true, 0x33800000u), std::tuple("", false, 0u),
        std::tuple(", debug", true, 0u)}) {
    std::string module = text;
    const auto parsed = Parse(module.replace(module.find("DEBUG"), 5, debug));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const auto program = MakeProgram(*parsed, fuses);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(MakeGrid(*program, Dim3{}, Dim3{}, {memory().value()})->Run(kEnough),
              Grid::State::kDone);
    EXPECT_EQ(Read(0), result) << debug << fuses;
  }
}

}  // namespace
}  // namespace twinmmu::ptx

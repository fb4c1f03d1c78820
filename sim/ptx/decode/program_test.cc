// Program: what is said of kernels, and of what is not covered.

#include "sim/ptx/program/program.h"

#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/program/code.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;

class ProgramTest : public GridTest {
 protected:
  static absl::Status MakeStatus(const std::string& text) {
    const auto parsed = Parse(text);
    if (!parsed.ok()) return parsed.status();
    return MakeProgram(*parsed).status();
  }
  static std::string RefusalOf(const std::string& body) {
    const auto program = Load(Module(Kernel(body)));
    return program == nullptr ? "" : program->FindKernel("k")->refusal;
  }
};

// Parameters lie one behind the other, each aligned.
TEST_F(ProgramTest, TellsOfItsKernels) {
  const auto program = Load(Module(
      ".global .align 8 .b64 g[2];\n.visible .entry k(.param .u8 a, .param .u64 b, .param .align 4 "
      ".b8 c[6])\n.maxntid 64, 2, 1\n{\n.reg .b32 %r<4>; mov.u32 %r1, 0; ret;\n}\n"));
  ASSERT_NE(program, nullptr);
  const KernelInfo* const kernel = program->FindKernel("k");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->parameters[1].offset, 8u);
  EXPECT_EQ(kernel->parameters[2].offset, 16u);
  EXPECT_EQ(kernel->parameter_bytes, 22u);
  EXPECT_EQ(kernel->max_threads, 128u);
  EXPECT_EQ(program->FindGlobal("g")->size, 16u);
  EXPECT_EQ(program->FindKernel("g"), nullptr);
}

// A kernel with an instruction that is not covered cannot run: its line, and what it is.
TEST_F(ProgramTest, RefusesWhatIsNotCovered) {
  EXPECT_EQ(
      RefusalOf("\nsuq.channel_order.b32 %r2, [%rd1];"),
      "line 12: `suq.channel_order.b32`: of a handle, only width, height and depth can be asked "
      "for");
}

// Before sm_100 vectors have up to 16 bytes, as the driver's compiler says, too.
TEST_F(ProgramTest, RefusesLongVectors) {
  for (const char* body : {"ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];",
                           "st.global.v4.u64 [%rd1], {%rd1, %rd2, %rd3, %rd4};"}) {
    const absl::Status refused = MakeStatus(Module(Kernel(body)));
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("from PTX 8.8 and sm_100 on"));
  }
}

// What is not covered of clusters does not keep other kernels from running.
TEST_F(ProgramTest, RefusesOnlyTheKernelWithoutACover) {
  const auto program =
      Load(Module(".visible .entry a() .reqnctapercluster 2, 1, 1 { ret; }\n"
                  ".visible .entry b() .blocksareclusters { ret; }\n"
                  ".visible .entry c() { ret; }\n"));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->FindKernel("a")->refusal, "");
  EXPECT_THAT(program->FindKernel("b")->refusal, HasSubstr(".blocksareclusters"));
  EXPECT_EQ(program->FindKernel("c")->refusal, "");
}

constexpr char kReaching[] =
    ".func lacking()\n{\n.reg .b32 %r<2>; suq.channel_order.b32 %r1, [%r1];\n"
    "ret;\n}\n"
    ".func between() { call lacking, (); ret; }\n.func by_table() { call between, (); ret; }\n"
    ".global .align 8 .u64 table[1] = {by_table};\n"
    ".func never() { call lacking, (); ret; }\n"
    ".visible .entry direct() { call between, (); ret; }\n"
    ".visible .entry indirect()\n{\n.reg .b64 %rd<2>; P: .callprototype _ (); call %rd1, (), P;\n"
    "ret;\n}\n"
    ".func fine() { ret; }\n.visible .entry other() { call fine, (); ret; }\n";

// What a kernel may call refuses it too, also through other functions; nothing else does.
TEST_F(ProgramTest, RefusesKernelsThatMayCallWhatIsNotCovered) {
  const auto program = Load(Module(kReaching));
  ASSERT_NE(program, nullptr);
  const char* const words =
      "line 6: `suq.channel_order.b32`: of a handle, only width, height and depth can be asked "
      "for, "
      "in function 'lacking'";
  EXPECT_EQ(program->FindKernel("direct")->refusal, words);
  EXPECT_EQ(program->FindKernel("indirect")->refusal, words);
  EXPECT_EQ(program->FindKernel("other")->refusal, "");
}

// Thousands of functions and kernels that call by address load in no time: a minute is not enough
// for what grows with the square of their number, or more.
TEST_F(ProgramTest, LoadsManyCallsByAddress) {
  std::string text = ".shared .align 4 .b32 s[5];\n";
  for (int i = 0; i < 4000; ++i) {
    absl::StrAppend(&text, ".func f", i, "()\n{\n.reg .b64 %rd<2>; mov.u64 %rd1, f", i,
                    "; st.shared.u32 [s], 1;\nP: .callprototype _ (); call %rd1, (), P; ret;\n}\n",
                    ".visible .entry k", i, "()\n{\n.reg .b64 %rd<2>; mov.u64 %rd1, f", i,
                    ";\nP: .callprototype _ (); call %rd1, (), P; ret;\n}\n");
  }
  const auto program = Load(Module(text));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->FindKernel("k3999")->shared_bytes, 20u);
}

size_t Layouts(const Program& program) {
  std::set<const SharedLayout*> layouts;
  for (const KernelCode& kernel : program.code().kernels) layouts.insert(kernel.shared.get());
  return layouts.size();
}

// One list of them for all kernels, and not one for each.
TEST_F(ProgramTest, KernelsThatReachTheSameSharedVariablesHaveOneLayout) {
  std::string text, uses;
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&text, ".shared .b8 s", i, ";\n");
    absl::StrAppend(&uses, "st.shared.u8 [s", i, "], 1;\n");
  }
  absl::StrAppend(&text, ".func f()\n{\n", uses, "ret;\n}\n");
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppend(&text, ".visible .entry k", i, "()\n{\ncall f; ret;\n}\n");
  }
  const auto program = Load(Module(text + ".visible .entry other()\n{\nret;\n}\n"));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->FindKernel("k999")->shared_bytes, 1000u);
  EXPECT_EQ(Layouts(*program), 2u);
}

// Each kernel with a variable of its own: what they hold together is bounded.
TEST_F(ProgramTest, LayoutsThatGrowWithTheSquareOfTheTextAreRefused) {
  constexpr int kMany = 3000;
  std::string text, uses;
  for (int i = 0; i < kMany; ++i) {
    absl::StrAppend(&text, ".shared .b8 s", i, ";\n");
    absl::StrAppend(&uses, "st.shared.u8 [s", i, "], 1;\n");
  }
  absl::StrAppend(&text, ".func f()\n{\n", uses, "ret;\n}\n");
  for (int i = 0; i < kMany; ++i) {
    absl::StrAppend(&text, ".visible .entry k", i, "()\n{\n.shared .b8 own; st.shared.u8 [own], ",
                    "1; call f; ret;\n}\n");
  }
  const absl::Status refused = MakeStatus(Module(text));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("may reach more than 4194304"));
}

// A place names the functions that stand there, from the innermost outwards, as C++ has them.
TEST_F(ProgramTest, PlacesNameFunctionsThatAreInlined) {
  const auto program = Load(
      Module("\t.file 1 \"k.cu\"\n\t.file 2 \"f.h\"\n"
             ".visible .entry k() {\n.loc 1 5 3\n"
             ".loc 2 7 1, function_name outer, inlined_at 1 5 3\nbar.sync 0;\n"
             ".loc 2 9 4, function_name strings+6, inlined_at 2 7 1\ntrap;\n.loc 1 6 1\nret;\n}\n"
             ".section .debug_str {\nstrings:\n.b8 95,90,49,102,118,0\n.b8 95,90,49,103,105,0\n"
             "outer:\n.b8 95,90,49,104,118,0\n}\n"));
  ASSERT_NE(program, nullptr);
  EXPECT_THAT(program->SiteInWords(0, 0),
              HasSubstr(" (f.h:7 in h(), inlined at k.cu:5), bar.sync"));
  EXPECT_THAT(program->SiteInWords(0, 1),
              HasSubstr(" (f.h:9 in g(int), inlined at f.h:7 in h(), inlined at k.cu:5), trap"));
  EXPECT_THAT(program->SiteInWords(0, 2), HasSubstr(" (k.cu:6), ret"));
}

// All that a module needs is told, not only the first.
TEST_F(ProgramTest, TellsOfAllThatIsNotCovered) {
  const auto program =
      Load(Module(Kernel("suq.channel_order.b32 %r2, [%rd1];\nmov.u32 %r2, 0;\n"
                         "suq.channel_order.b32 %r2, [%rd1];")));
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->Refusals().size(), 2u);
  EXPECT_EQ(program->Refusals()[1].function, "k");
  EXPECT_EQ(program->Refusals()[1].line, 13);
  EXPECT_EQ(program->Refusals()[1].instruction, "suq.channel_order.b32");
}

// Operands that do not fit are an error: their number, their width, their kind.
TEST_F(ProgramTest, RefusesOperandsThatDoNotFit) {
  for (const char* body : {"add.u32 %r2, %r1;", "add.u32 %r2, %r1, %rd1;", "add.f32 %f1, %f1, %p1;",
                           "st.global.u64 [%rd1], %r1;", "ld.global.u64 %r1, [%rd1];",
                           "bar.sync %rd1;", "ld.shared.u32 %r1, [p];", "mov.b64 {%r1}, %rd1;"}) {
    EXPECT_EQ(MakeStatus(Module(Kernel(body))).code(), absl::StatusCode::kInvalidArgument) << body;
  }
}

TEST_F(ProgramTest, RefusesCallsThatPassOtherSizes) {
  const std::string functions =
      ".func take(.param .b64 a) { ret; }\n.func (.param .b32 r) give() { ret; }\n";
  for (const auto& [call, words] :
       {std::pair("call take, (%r1);", "'a' has 8 bytes, not 4"),
        std::pair("{ .param .b8 x[16]; call take, (x); }", "'a' has 8 bytes, not 16"),
        std::pair("call (%rd2), give, ();", "'r' has 4 bytes, not 8")}) {
    const absl::Status refused = MakeStatus(Module(functions + Kernel(call)));
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << call;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(words));
  }
}

// The place of a label, or of whatever else is no variable, is not that of a variable.
TEST_F(ProgramTest, RefusesAddressesOfOtherThings) {
  std::string variables;
  for (int i = 0; i < 40; ++i) absl::StrAppend(&variables, ".global .u32 g", i, ";\n");
  EXPECT_THAT(MakeStatus(Module(variables + Kernel("ld.global.u32 %r2, [g7]; L:"))), IsOk());
  for (const char* what : {"L", "%tid.x", "1.0", "%p1", "{%r2, %r3}", "T", "%r2|%r3", "!%p1"}) {
    const absl::Status refused = MakeStatus(
        Module(variables +
               Kernel(absl::StrCat("T: .branchtargets L; ld.global.u32 %r2, [", what, "]; L:"))));
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << what << refused;
  }
}

TEST_F(ProgramTest, RefusesToPassAPredicate) {
  const absl::Status refused =
      MakeStatus(Module(".func f(.param .b32 a) { ret; }\n" + Kernel("call f, (%p1);")));
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a predicate cannot be passed"));
}

// A function has as much memory of each kind as hardware, and not more.
TEST_F(ProgramTest, LimitsMemory) {
  for (const char* body : {".shared .b8 s[300000]; st.shared.u8 [s], 1;", ".local .b8 l[600000];",
                           ".local .b64 l[0x7fffffffffffffff];", ".param .b8 q[100000];"}) {
    EXPECT_FALSE(MakeStatus(Module(Kernel(body))).ok()) << body;
  }
}

// What is passed to one call is gone with its block: thousands of calls, as of assertions, take no
// more room than one.
TEST_F(ProgramTest, CallsInBlocksTakeTheSameRoom) {
  std::string body;
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&body, "{ .param .b64 a; .param .align 4 .b8 b[20]; st.param.b64 [a], 1;\n",
                    "st.param.b32 [b], 1; call take, (a, b); }\n");
  }
  const auto program =
      Load(Module(absl::StrCat(".func take(.param .b64 a, .param .align 4 .b8 b[20]) { ret; }\n",
                               ".visible .entry k() {", body, "ret; }")));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->code().functions[1].passed_bytes, 64u);
}

// Of blocks in a block, what the outer one passes stays.
TEST_F(ProgramTest, BlocksInABlockKeepItsRoom) {
  const auto program =
      Load(Module(".visible .entry k() {{ .param .b8 a[64]; { .param .b8 b[64]; }\n"
                  "{ .param .b8 c[64]; } .param .b8 d[128]; } .param .b8 e[64]; ret; }"));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->code().functions[0].passed_bytes, 192u);
}

// Parameters of a kernel leave room for those of the functions that it calls.
TEST_F(ProgramTest, KernelsWithManyParametersCallFunctions) {
  EXPECT_THAT(MakeStatus(Module(".func take(.param .b64 a) { ret; }\n"
                                ".entry k(.param .b8 q[32764]) { .param .b64 a;\n"
                                "st.param.b64 [a], 1; call take, (a); ret; }")),
              IsOk());
}

// It may be larger than all parameters together.
TEST_F(ProgramTest, TakesParametersOfAnyAlignment) {
  EXPECT_THAT(MakeStatus(Module(".entry k(.param .align 65536 .b8 q[32764]) { ret; }")), IsOk());
}

// What an instruction needs beside the registers, the next one uses too: as many as a product of
// matrices has when all its loops are unrolled do not run out of it.
TEST_F(ProgramTest, TakesThousandsOfFragments) {
  std::string body;
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&body,
                    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
                    "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd1];\n");
  }
  EXPECT_EQ(RefusalOf(body), "");
}

// Text that is cut, or has a part of another place, never does harm: it is refused, or it runs.
TEST_F(ProgramTest, SurvivesMutations) {
  std::ifstream file("kernels/fill_verify.ptx");
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  ASSERT_FALSE(text.empty());
  std::mt19937 random(7);
  const auto below = [&](size_t limit) { return random() % limit; };
  for (int i = 0; i < 300; ++i) {
    std::string mutated = text;
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      const size_t length = 1 + below(12);
      mutated.replace(below(mutated.size() - 20), below(12),
                      text.substr(below(text.size() - 20), length));
    }
    const auto parsed = Parse(mutated);
    if (!parsed.ok()) continue;
    const auto program = MakeProgram(*parsed);
    if (!program.ok() || (*program)->FindKernel("twinmmu_fill") == nullptr) continue;
    const auto grid = MakeGrid(*program, Dim3{2, 1, 1}, Dim3{40, 1, 1}, {}, "twinmmu_fill");
    grid->Run(10'000);
  }
}

}  // namespace
}  // namespace twinmmu::ptx

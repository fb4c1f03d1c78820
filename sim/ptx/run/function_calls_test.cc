// Calls of functions: of a module's own, and of those that every device has.

#include <string>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/device/graph_conditions.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSquare[] =
    ".func (.param .b32 out) square(.param .b32 in)\n{\n.reg .b32 %r<3>;\n"
    "ld.param.b32 %r1, [in]; mul.lo.s32 %r2, %r1, %r1; st.param.b32 [out], %r2; ret;\n}\n";

// A function gets its parameters and gives its result, also of lanes that come there apart.
TEST_F(GridTest, CallsFunctions) {
  EXPECT_EQ(Run(kSquare + Kernel("setp.lt.u32 %p1, %r1, 3; @%p1 bra L;\n"
                                 "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                                 "call.uni (b), square, (a); ld.param.b32 %r2, [b]; }\n"
                                 "L: st.global.u32 [%rd2], %r2;"),
                Dim3(), Dim3{6, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(6), ElementsAre(0, 0, 0, 9, 16, 25));
}

// A function is found by its address.
TEST_F(GridTest, CallsByAddress) {
  EXPECT_EQ(Run(kSquare +
                    std::string(".func (.param .b32 out) same(.param .b32 in)\n{\n"
                                ".reg .b32 %r<3>; ld.param.b32 %r1, [in];\n"
                                "st.param.b32 [out], %r1; ret;\n}\n") +
                    Kernel("mov.u64 %rd3, square; mov.u64 %rd4, same; and.b32 %r2, %r1, 1;\n"
                           "setp.eq.u32 %p1, %r2, 0; selp.u64 %rd5, %rd3, %rd4, %p1;\n"
                           "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                           "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                           "call (b), %rd5, (a), P; ld.param.b32 %r3, [b]; }\n"
                           "st.global.u32 [%rd2], %r3;"),
                Dim3(), Dim3{5, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(5), ElementsAre(0, 1, 4, 3, 16));
}

// What is no function cannot be called: a number, a kernel.
TEST_F(GridTest, CallsNothingElse) {
  for (const char* const what : {"0", "other"}) {
    EXPECT_EQ(Run(".entry other() { ret; }\n" +
                      Kernel(absl::StrCat("mov.u64 %rd3, ", what,
                                          "; P: .callprototype _ (); call %rd3, (), P;")),
                  Dim3(), Dim3()),
              Grid::State::kFaulted);
    EXPECT_EQ(fault_.kind, GridFault::kIllegalInstruction) << what;
  }
}

// Nor can what lies inside a function, or beyond the last one.
TEST_F(GridTest, CallsFunctionsAtTheirBeginOnly) {
  for (const char* const offset : {"8", "16", "32", "1600"}) {
    EXPECT_EQ(Run(kSquare + Kernel(absl::StrCat(
                                "mov.u64 %rd3, square; add.u64 %rd3, %rd3, ", offset,
                                ";\n{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                                "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                                "call (b), %rd3, (a), P; }\n")),
                  Dim3(), Dim3()),
              Grid::State::kFaulted);
    EXPECT_EQ(fault_.kind, GridFault::kIllegalInstruction) << offset;
  }
}

// Parameters of different sizes lie one behind the other, each where the function finds it.
TEST_F(GridTest, PassesSeveralParameters) {
  EXPECT_EQ(Run(".func (.param .b32 out) take(.param .b64 from, .param .b32 what)\n{\n"
                ".reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
                "ld.param.b64 %rd1, [from]; ld.param.b32 %r1, [what]; cvt.u32.u64 %r2, %rd1;\n"
                "sub.u32 %r3, %r2, %r1; st.param.b32 [out], %r3; ret;\n}\n" +
                    Kernel("{ .param .b64 a; .param .b32 b; .param .b32 c;\n"
                           "mul.wide.u32 %rd3, %r1, 10; st.param.b64 [a], %rd3;\n"
                           "st.param.b32 [b], %r1; call (c), take, (a, b);\n"
                           "ld.param.b32 %r2, [c]; }\nst.global.u32 [%rd2], %r2;"),
                Dim3(), Dim3{5, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(5), ElementsAre(0, 9, 18, 27, 36));
}

// mov gives the address of a parameter of a function in local memory, where the parameter can be
// read and changed; each lane has its own.
TEST_F(GridTest, AParameterHasALocalAddress) {
  EXPECT_EQ(Run(".func (.param .b32 out) sum(.param .align 8 .b8 in[16], .param .b32 index)\n{\n"
                ".reg .b32 %r<4>; .reg .b64 %rd<5>;\n"
                "mov.b64 %rd1, in; cvta.local.u64 %rd2, %rd1; ld.param.b32 %r1, [index];\n"
                "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd2, %rd3; ld.u32 %r2, [%rd4];\n"
                "add.u32 %r2, %r2, 100; st.u32 [%rd4], %r2; ld.local.u32 %r2, [%rd1+4];\n"
                "ld.local.u32 %r3, [%rd1+8]; add.u32 %r2, %r2, %r3; st.param.b32 [out], %r2;\n"
                "ret;\n}\n" +
                    Kernel("{ .param .align 8 .b8 a[16]; .param .b32 b; .param .b32 c;\n"
                           "st.param.b32 [a+4], %r1; st.param.b32 [a+8], 1000;\n"
                           "and.b32 %r4, %r1, 1; st.param.b32 [b], %r4; call (c), sum, (a, b);\n"
                           "ld.param.b32 %r3, [c]; }\nst.global.u32 [%rd2], %r3;"),
                Dim3(), Dim3{5, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(5), ElementsAre(1000, 1101, 1002, 1103, 1004));
}

// Registers and constants are passed as variables of .param are.
TEST_F(GridTest, PassesRegistersAndConstants) {
  EXPECT_EQ(Run(kSquare + Kernel("call (%r3), square, (%r1); call (%r4), square, (7);\n"
                                 "add.u32 %r3, %r3, %r4; st.global.u32 [%rd2], %r3;"),
                Dim3(), Dim3{5, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(5), ElementsAre(49, 50, 53, 58, 65));
}

// Lanes whose predicate is false go on behind a call, by name or by address.
TEST_F(GridTest, APartOfAWarpCalls) {
  for (const char* const call : {"square, (a)", "%rd3, (a), P"}) {
    EXPECT_EQ(Run(kSquare + Kernel(absl::StrCat(
                                "mov.u64 %rd3, square; setp.lt.u32 %p1, %r1, 3;\n"
                                "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                                "st.param.b32 [b], 7;\n"
                                "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                                "add.u32 %r4, %r1, 10; add.u32 %r4, %r4, 10; @%p1 call (b), ",
                                call,
                                "; ld.param.b32 %r3, [b]; }\n"
                                "add.u32 %r3, %r3, %r4; st.global.u32 [%rd2], %r3;")),
                  Dim3(), Dim3{5, 1, 1}),
              Grid::State::kDone);
    EXPECT_THAT(ReadAll(5), ElementsAre(20, 22, 26, 30, 31)) << call;
  }
}

// While some lanes are in a function, others get from the same place into another one, which has
// registers of its own.
TEST_F(GridTest, LanesAreInTwoFunctionsAtOnce) {
  EXPECT_EQ(Run(".func (.param .b32 out) wait(.param .b64 at)\n{\n"
                ".reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p;\nld.param.b64 %rd1, [at];\n"
                "W: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p, %r1, 0; @%p bra W;\n"
                "add.u32 %r2, %r1, 1; st.param.b32 [out], %r2; ret;\n}\n"
                ".func (.param .b32 out) set(.param .b64 at)\n{\n"
                ".reg .b32 %r<3>; .reg .b64 %rd<2>;\nld.param.b64 %rd1, [at]; mov.u32 %r1, 5;\n"
                "st.volatile.global.u32 [%rd1], %r1; st.param.b32 [out], %r1; ret;\n}\n" +
                    Kernel("mov.u64 %rd3, wait; mov.u64 %rd4, set; setp.eq.u32 %p1, %r1, 0;\n"
                           "selp.u64 %rd5, %rd3, %rd4, %p1; add.u64 %rd6, %rd1, 64;\n"
                           "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd6;\n"
                           "P: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
                           "call (b), %rd5, (a), P; ld.param.b32 %r3, [b]; }\n"
                           "st.global.u32 [%rd2], %r3;"),
                Dim3(), Dim3{2, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(2), ElementsAre(6, 5));
}

// Lanes whose predicate is false go on behind a return.
TEST_F(GridTest, APartOfAWarpReturns) {
  EXPECT_EQ(Run(".func (.param .b32 out) most(.param .b32 in)\n{\n.reg .b32 %r<3>; .reg .pred %p;\n"
                "ld.param.b32 %r1, [in]; st.param.b32 [out], %r1; setp.lt.u32 %p, %r1, 2;\n"
                "add.u32 %r2, %r2, 2; @%p ret; st.param.b32 [out], %r2; ret;\n}\n" +
                    Kernel("{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                           "call (b), most, (a); ld.param.b32 %r3, [b]; }\n"
                           "st.global.u32 [%rd2], %r3;"),
                Dim3(), Dim3{5, 1, 1}),
            Grid::State::kDone);
  EXPECT_THAT(ReadAll(5), ElementsAre(0, 1, 2, 2, 2));
}

constexpr char kSum[] =
    ".func (.param .b32 out) sum(.param .b32 in)\n{\n.reg .b32 %r<5>; .reg .pred %p;\n"
    ".local .align 4 .b32 kept;\nld.param.b32 %r1, [in]; st.local.u32 [kept], %r1;\n"
    "mov.u32 %r3, 0; setp.eq.u32 %p, %r1, 0; @%p bra E;\nsub.u32 %r2, %r1, 1;\n"
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), sum, (a);\n"
    "ld.param.b32 %r3, [b]; }\nE: ld.local.u32 %r4, [kept]; add.u32 %r3, %r3, %r4;\n"
    "st.param.b32 [out], %r3; ret;\n}\n";

// What a call has taken of the stack the next one takes again: hundreds need no more than one.
TEST_F(GridTest, GivesTheStackOfACallBack) {
  std::string calls = ".param .align 4 .b8 a[4096];\n";
  for (int i = 0; i < 300; ++i) absl::StrAppend(&calls, "call keep, (a);\n");
  EXPECT_EQ(
      Run(".func keep(.param .align 4 .b8 in[4096]) { ret; }\n" + Kernel(calls), Dim3(), Dim3()),
      Grid::State::kDone)
      << fault_.words;
}

// Each activation of a recursion has its own registers and local memory, for each lane to its own
// depth.
TEST_F(GridTest, CallsItself) {
  EXPECT_EQ(Run(kSum + Kernel("{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
                              "call (b), sum, (a); ld.param.b32 %r2, [b]; }\n"
                              "st.global.u32 [%rd2], %r2;"),
                Dim3(), Dim3{32, 1, 1}),
            Grid::State::kDone);
  EXPECT_EQ(Read(4), 10u);
  EXPECT_EQ(Read(31), 496u);
}

// A recursion without end runs out of stack.
TEST_F(GridTest, LimitsTheDepthOfCalls) {
  EXPECT_EQ(Run(kSum + Kernel("{ .param .b32 a; .param .b32 b; st.param.b32 [a], -1;\n"
                              "call (b), sum, (a); ld.param.b32 %r2, [b]; }"),
                Dim3(), Dim3()),
            Grid::State::kFaulted);
  EXPECT_EQ(fault_.kind, GridFault::kStackOverflow);
  EXPECT_EQ(fault_.words, "no room for a call of sum at depth 2049");
}

// What all activations hold together is bounded, too.
TEST_F(GridTest, LimitsWhatCallsPass) {
  EXPECT_EQ(Run(".func down(.param .b32 left, .param .align 4 .b8 much[4096])\n{\n"
                ".reg .b32 %r<3>; .reg .pred %p; ld.param.b32 %r1, [left];\n"
                "setp.eq.u32 %p, %r1, 0; @%p ret; sub.u32 %r2, %r1, 1;\n"
                ".param .b32 a; .param .align 4 .b8 b[4096]; st.param.b32 [a], %r2;\n"
                "call down, (a, b); ret;\n}\n" +
                    Kernel(".param .b32 a; .param .align 4 .b8 b[4096];\n"
                           "st.param.b32 [a], 1000; call down, (a, b);"),
                Dim3(), Dim3()),
            Grid::State::kFaulted);
  EXPECT_EQ(fault_.kind, GridFault::kStackOverflow);
}

// --- What every device has ---

constexpr char kExternal[] =
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n,\n"
    ".param .b64 s) .noreturn;\n"
    ".global .align 1 .b8 text[20] = {37, 100, 32, 37, 115, 32, 37, 46, 49, 102, 10};\n"
    ".global .align 1 .b8 word[4] = {97, 98, 99};\n";

// printf takes its arguments from where the caller put them, and gives their number.
TEST_F(GridTest, Prints) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(Run(kExternal +
                    Kernel(".local .align 8 .b8 l[24]; mov.u64 %rd3, l; st.local.u32 [%rd3], -5;\n"
                           "mov.u64 %rd4, word; st.local.u64 [%rd3+8], %rd4;\n"
                           "mov.f64 %fd1, 0d3FF8000000000000; st.local.f64 [%rd3+16], %fd1;\n"
                           "cvta.local.u64 %rd5, %rd3; mov.u64 %rd6, text;\n"
                           "{ .param .b64 f; .param .b64 a; .param .b32 r;\n"
                           "st.param.b64 [f], %rd6; st.param.b64 [a], %rd5;\n"
                           "call.uni (r), vprintf, (f, a); ld.param.b32 %r2, [r]; }\n"
                           "st.global.u32 [%rd1], %r2;"),
                Dim3(), Dim3()),
            Grid::State::kDone);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "-5 abc 1.5\n");
  EXPECT_EQ(Read(0), 3u);
}

// A failed assertion says which.
TEST_F(GridTest, FailsAssertions) {
  EXPECT_EQ(
      Run(kExternal + Kernel("mov.u64 %rd3, word;\n{ .param .b64 m; .param .b64 f; .param .b32 l; "
                             ".param .b64 n; .param .b64 s;\nst.param.b64 [m], %rd3; st.param.b64 "
                             "[f], %rd3; st.param.b32 [l], 12; st.param.b64 [n], %rd3;\n"
                             "st.param.b64 [s], 1; call.uni __assertfail, (m, f, l, n, s); }"),
          Dim3(), Dim3()),
      Grid::State::kFaulted);
  EXPECT_EQ(fault_.kind, GridFault::kAssert);
  EXPECT_EQ(fault_.words, "abc:12: abc: assertion `abc` failed");
}

// Each lane sets the condition that it names, to its own value.
TEST_F(GridTest, SetsConditionsOfGraphs) {
  const auto program = Load(
      Module(".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n" +
             Kernel("{ .param .b64 h; .param .b32 v; add.u32 %r2, %r1, 1; cvt.u64.u32 %rd3, %r2;\n"
                    "add.u32 %r3, %r1, 10; st.param.b64 [h], %rd3; st.param.b32 [v], %r3;\n"
                    "call cudaGraphSetConditional, (h, v); }")));
  ASSERT_NE(program, nullptr);
  Launch launch;
  launch.program = program;
  launch.kernel = program->FindKernel("k");
  launch.config = LaunchConfig{Dim3(), Dim3{3, 1, 1}, 0};
  launch.parameters.resize(launch.kernel->parameter_bytes);
  launch.conditions = std::make_shared<GraphConditions>();
  for (int i = 0; i < 4; ++i) launch.conditions->Add();
  EXPECT_EQ(Grid(GridEnvironment{&mmu_, &state_.sites, &state_.aliases}, launch, 1).Run(kEnough),
            Grid::State::kDone);
  std::vector<uint32_t> values;
  for (uint64_t handle = 1; handle < 5; ++handle) {
    values.push_back(launch.conditions->Get(handle));
  }
  EXPECT_THAT(values, ElementsAre(10, 11, 12, 0));
}

}  // namespace
}  // namespace twinmmu::ptx

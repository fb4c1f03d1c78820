// Program: what is said of kernels, and of what is not covered.

#include "sim/ptx/program/program.h"

#include <fstream>
#include <random>
#include <sstream>

#include "absl/status/status.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ProgramTest : public GridTest {
 protected:
  static absl::Status MakeStatus(const std::string& text) {
    const auto parsed = Parse(text);
    if (!parsed.ok()) return parsed.status();
    return MakeProgram(*parsed).status();
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

// What is not covered is refused before anything runs, with its line and what it is.
TEST_F(ProgramTest, RefusesWhatIsNotCovered) {
  const absl::Status status =
      MakeStatus(Module(Kernel("\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%rd1];")));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("line 12"), HasSubstr("`ldmatrix.sync.aligned.m8n8.x1.shared.b16`")));
}

// Vectors have up to 16 bytes.
TEST_F(ProgramTest, RefusesLongVectors) {
  for (const char* body : {"ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];",
                           "st.global.v4.u64 [%rd1], {%rd1, %rd2, %rd3, %rd4};"}) {
    EXPECT_EQ(MakeStatus(Module(Kernel(body))).code(), absl::StatusCode::kUnimplemented) << body;
  }
}

// Operands that do not fit are an error: their number, their width, their kind.
TEST_F(ProgramTest, RefusesOperandsThatDoNotFit) {
  for (const char* body : {"add.u32 %r2, %r1;", "add.u32 %r2, %r1, %rd1;", "add.f32 %f1, %f1, %p1;",
                           "st.global.u64 [%rd1], %r1;", "ld.global.u64 %r1, [%rd1];",
                           "bar.sync %rd1;", "ld.shared.u32 %r1, [p];", "mov.b64 {%r1}, %rd1;"}) {
    EXPECT_EQ(MakeStatus(Module(Kernel(body))).code(), absl::StatusCode::kInvalidArgument) << body;
  }
}

// A function has as much memory of each kind as hardware, and not more.
TEST_F(ProgramTest, LimitsMemory) {
  for (const char* body : {".shared .b8 s[300000]; st.shared.u8 [s], 1;", ".local .b8 l[600000];",
                           ".local .b64 l[0x7fffffffffffffff];", ".param .b8 q[100000];"}) {
    EXPECT_FALSE(MakeStatus(Module(Kernel(body))).ok()) << body;
  }
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

// How long a module takes until its kernels can run: in proportion to its text, whatever it is made
// of. From 10 KB to 100 MB, for which it takes ten gigabytes of memory; --benchmark_filter leaves
// some out.

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {
namespace {

constexpr char kHeader[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
constexpr char kRegisters[] =
    "{\n.reg .pred %p<4>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\nP: .callprototype _ ();\n";

// A part of a module by its number; all of them together are the text.
using Part = std::string (*)(int number);

// Instructions and branches, as of a compiler.
std::string Kernels(int number) {
  std::string text = absl::StrCat(".visible .entry k", number, "(.param .u64 p)\n", kRegisters,
                                  "ld.param.u64 %rd1, [p];\n");
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&text, "$L", i, ":\nadd.s32 %r", i + 1, ", %r", i, ", ", number,
                    ";\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 bra $L", i,
                    ";\nst.global.u32 [%rd1+16], %r2;\n");
  }
  return absl::StrCat(text, "ret;\n}\n");
}

// Functions that call each other by address, some with shared variables, and kernels that may call
// them all. Each kernel has a list of the shared variables that it may reach.
constexpr int kShared = 10;
std::string CallsByAddress(int number) {
  const std::string name = absl::StrCat("f", number);
  const std::string shared =
      number < kShared ? absl::StrCat(".shared .align 4 .b32 s", number, "[2];\n") : "";
  return absl::StrCat(shared, ".func ", name, "()\n", kRegisters, "mov.u64 %rd1, ", name,
                      ";\ncall %rd1, (), P;\n",
                      number < kShared ? absl::StrCat("st.shared.u32 [s", number, "], 1;\n") : "",
                      "ret;\n}\n.visible .entry k", number, "()\n", kRegisters, "mov.u64 %rd1, ",
                      name, ";\ncall %rd1, (), P;\nret;\n}\n");
}

// Functions, each of which calls the one before, and kernels that call them.
std::string Chains(int number) {
  const std::string calls = number == 0 ? "" : absl::StrCat("call.uni f", number - 1, ", ();\n");
  return absl::StrCat(".func f", number, "()\n", kRegisters, calls, "ret;\n}\n.visible .entry k",
                      number, "()\n", kRegisters, "call.uni f", number, ", ();\nret;\n}\n");
}

// Tables of addresses.
std::string Variables(int number) {
  return absl::StrCat(".global .align 8 .u64 v", number, "[2] = {v", number / 2 * (number != 0),
                      number == 0 ? "_, 0};\n" : ", 0};\n");
}

std::string First(Part part) {
  return absl::StrCat(kHeader, part == Variables ? ".global .align 8 .u64 v0_;\n" : "");
}

void BM_Load(benchmark::State& state, Part part) {
  std::string text = First(part);
  for (int i = 0; text.size() < static_cast<size_t>(state.range(0)); ++i) text += part(i);
  for (auto _ : state) {
    auto parsed = Parse(text);
    if (!parsed.ok()) return state.SkipWithError(std::string(parsed.status().message()).c_str());
    const auto program = MakeProgram(*std::move(parsed));
    if (!program.ok()) return state.SkipWithError(std::string(program.status().message()).c_str());
    std::vector<char> image((*program)->image_bytes());
    (*program)->WriteImages({DeviceAddress(0), image.data()}, {});
    benchmark::DoNotOptimize(image);
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}
BENCHMARK_CAPTURE(BM_Load, Kernels, Kernels)->RangeMultiplier(10)->Range(10'000, 100'000'000);
BENCHMARK_CAPTURE(BM_Load, CallsByAddress, CallsByAddress)
    ->RangeMultiplier(10)
    ->Range(10'000, 100'000'000);
BENCHMARK_CAPTURE(BM_Load, Chains, Chains)->RangeMultiplier(10)->Range(10'000, 100'000'000);
BENCHMARK_CAPTURE(BM_Load, Variables, Variables)->RangeMultiplier(10)->Range(10'000, 100'000'000);

}  // namespace
}  // namespace twinmmu::ptx

BENCHMARK_MAIN();

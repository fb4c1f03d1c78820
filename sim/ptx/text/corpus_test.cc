// Whole files: the project's kernels, and what nvcc made of testdata/*.cu.

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <ostream>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {
namespace {

struct File {
  const char* name;
  size_t functions;
  size_t variables;
  size_t instructions;
};

std::ostream& operator<<(std::ostream& out, const File& file) { return out << file.name; }

std::string Content(absl::string_view name) {
  std::ifstream file{std::string(name)};
  EXPECT_TRUE(file.is_open()) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Corpus : public testing::TestWithParam<File> {};

// All of a file is parsed: nothing in it is refused, or lost.
TEST_P(Corpus, Parses) {
  const absl::StatusOr<Module> module = Parse(Content(GetParam().name));
  ASSERT_THAT(module, IsOk());
  EXPECT_EQ(module->functions.size(), GetParam().functions);
  EXPECT_EQ(module->variables.size(), GetParam().variables);
  size_t instructions = 0;
  for (const Function& function : module->functions) instructions += function.body.size();
  EXPECT_EQ(instructions, GetParam().instructions);
}

// A file that ends anywhere gets an answer; inside of a function it is an error.
TEST_P(Corpus, CutOffAnywhereGetsAnAnswer) {
  const std::string text = Content(GetParam().name);
  // The file that is written by hand is short enough for each place.
  const size_t step = text.size() < 3000 ? 1 : text.size() / 60;
  for (size_t size = 0; size < text.size(); size += step) {
    const std::string cut = text.substr(0, size);
    const bool inside =
        std::count(cut.begin(), cut.end(), '{') != std::count(cut.begin(), cut.end(), '}');
    const absl::StatusOr<Module> module = Parse(cut);
    if (inside) {
      ASSERT_THAT(module, StatusIs(absl::StatusCode::kInvalidArgument)) << size;
    }
  }
}

// Small changes anywhere get an answer.
TEST_P(Corpus, ChangedAnywhereGetsAnAnswer) {
  const std::string pieces(
      "{}()[];,<>\"+-@!|_:. /* */ 4294967296 0x 0f1 %r1 % $ \xff A: bra A; .reg .b32 %r<5>;");
  const std::string text = Content(GetParam().name);
  std::mt19937_64 random(20240601);
  for (int i = 0; i < 40; ++i) {
    std::string changed = text;
    for (int changes = 0; changes < 3; ++changes) {
      const size_t place = random() % changed.size();
      const size_t length = random() % 8;
      changed.replace(place, length, pieces, random() % pieces.size(), random() % 5);
    }
    const absl::StatusOr<Module> module = Parse(changed);
    if (!module.ok()) {
      ASSERT_THAT(std::string(module.status().message()), testing::StartsWith("line "));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Corpus,
    testing::Values(File{"kernels/access.ptx", 4, 0, 36}, File{"kernels/alias.ptx", 2, 0, 83},
                    File{"kernels/alias_pair.ptx", 2, 0, 163},
                    File{"kernels/fill_verify.ptx", 3, 0, 702},
                    File{"kernels/orders.ptx", 1, 0, 35},
                    File{"sim/ptx/testdata/async_sm_90.ptx", 8, 0, 956},
                    File{"sim/ptx/testdata/atomics_sm_75_lines.ptx", 2, 10, 143},
                    File{"sim/ptx/testdata/atomics_sm_90.ptx", 2, 10, 143},
                    File{"sim/ptx/testdata/calls_sm_90_separate.ptx", 12, 8, 376},
                    File{"sim/ptx/testdata/debug_sm_80.ptx", 2, 0, 95},
                    File{"sim/ptx/testdata/inline_sm_80.ptx", 1, 0, 18},
                    File{"sim/ptx/testdata/numbers_sm_90.ptx", 2, 0, 177},
                    File{"sim/ptx/testdata/reduce_sm_90.ptx", 4, 1, 438},
                    File{"sim/ptx/testdata/written.ptx", 3, 11, 32}));

}  // namespace
}  // namespace twinmmu::ptx

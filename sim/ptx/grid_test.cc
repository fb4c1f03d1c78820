// Grid: kernels of this project, and how blocks run.

#include "sim/ptx/grid.h"

#include <fstream>
#include <sstream>

#include "sim/ptx/test_grid.h"

namespace twinmmu::ptx {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A load by a kernel gives what is there, and a store leaves it.
TEST_F(GridTest, LoadsAndStores) {
  const auto program = Load(TextOf("kernels/access.ptx"));
  ASSERT_NE(program, nullptr);
  Write<uint32_t>(0, 7);
  const auto grid =
      MakeGrid(program, Dim3(), Dim3(), {memory().value(), memory().value() + 4}, "twinmmu_load32");
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(1), 7u);
}

// No atomic addition of many threads is lost.
TEST_F(GridTest, CountsEachThread) {
  const auto program = Load(TextOf("kernels/access.ptx"));
  ASSERT_NE(program, nullptr);
  const auto grid = MakeGrid(program, Dim3{20, 1, 1}, Dim3{100, 1, 1},
                             {memory().value(), memory().value() + 4, 3}, "twinmmu_count", 3);
  EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read(0), 3000u);
  EXPECT_EQ(Read(1), 3000u);
}

// What fill wrote, verify finds; a word that was changed, it counts.
TEST_F(GridTest, FillsAndVerifies) {
  const auto program = Load(TextOf("kernels/fill_verify.ptx"));
  ASSERT_NE(program, nullptr);
  const uint64_t words = memory().value() + 64 + 4;
  const uint64_t result = memory().value();
  constexpr uint64_t kCount = 10'003;
  const auto run = [&](const char* name, const std::vector<uint64_t>& arguments) {
    const auto grid = MakeGrid(program, Dim3{4, 1, 1}, Dim3{96, 1, 1}, arguments, name);
    EXPECT_EQ(grid->Run(kEnough), Grid::State::kDone);
  };
  run("twinmmu_fill", {words, kCount, 5});
  run("twinmmu_verify_reset", {result});
  run("twinmmu_verify", {words, kCount, 5, result});
  EXPECT_EQ(Read<uint64_t>(0), 0u);
  Write<uint32_t>(17 + 5000, ~Read(17 + 5000));
  run("twinmmu_verify", {words, kCount, 5, result});
  EXPECT_EQ(Read<uint64_t>(0), 1u);
  EXPECT_EQ(Read<uint64_t>(1), 5000u);
}

}  // namespace
}  // namespace twinmmu::ptx
